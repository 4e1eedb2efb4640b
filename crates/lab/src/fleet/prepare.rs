//! What agents are told before the first trial: what is measured, where, and how much of it each has to hold.

use std::collections::BTreeMap;

use perbuck_database::endpoint::{host_text, is_of_this_machine};
use perbuck_database::registry::AnyTarget;
use perbuck_database::secret::Secret;
use perbuck_load::stop::StopToken;

use super::Fleet;
use super::messages::{Load, Reached, StudyOrder};
use super::options::{AgentAddress, FleetOptions};
use crate::ceiling::CONTENDER;
use crate::distance::near_enough;
use crate::error::{ErrorKind, LabError};
use crate::inputs::Inputs;
use crate::progress::Progress;
use crate::servers::Servers;
use crate::stage::no_target;

/// A study of one contender that no file holds.
#[derive(Debug, Clone, Copy)]
pub struct OneContender<'a> {
    /// The text of the study.
    pub text: &'a str,
    /// What it calls the contender.
    pub contender: &'a str,
    /// Where it is, which may differ from what the study says.
    pub target: &'a AnyTarget,
    /// The password of its user.
    pub password: &'a Secret,
    /// Connections of its trial.
    pub connections: u32,
    /// Load threads of each agent; as many as processors if not given.
    pub threads: Option<u32>,
}

impl Fleet {
    /// Tells all of them what is measured, and where; no trial has more connections than that.
    ///
    /// # Errors
    /// One that cannot drive it, or a contender that only this process reaches.
    pub(crate) fn prepare(
        &self,
        (inputs, most): (&Inputs, Load),
        servers: &Servers,
        passwords: &[Secret],
        progress: &mut dyn Progress,
    ) -> Result<(), LabError> {
        let mut reached = BTreeMap::new();
        for (i, contender) in inputs.study.contenders.iter().enumerate() {
            let own = || Some((inputs.targets.get(i)?.as_ref()?, passwords.get(i)?));
            let private = servers.of(i);
            let Some((target, password)) = private.or_else(own) else { return Err(no_target(contender)) };
            let (address, password) = (private.map(|_| target.address()), password.bytes().to_vec());
            let by = contender.control_of.as_ref().unwrap_or(&contender.name).clone();
            self.reachable((&contender.name, &by), target)?;
            reached.insert(contender.name.clone(), Reached { address, password, by });
        }
        let (name, text, prices) = (inputs.name.clone(), inputs.text.clone(), inputs.prices.clone());
        self.tell(StudyOrder { name, text, prices, reached, most, simulated: false }, progress)?;
        for member in self.members.borrow().iter().filter(|m| m.lost().is_none()) {
            for (contender, distance) in member.distances() {
                near_enough(&inputs.study, &format!("agent {}", member.name()), &contender, Some(distance))?;
            }
        }
        Ok(())
    }

    /// Reaches all agents, and has each prepare the workloads of a study for the simulated driver.
    ///
    /// # Errors
    /// An agent that is not there, or does not agree; more agents than connections.
    pub(crate) fn simulating(
        options: &FleetOptions,
        inputs: &Inputs,
        stop: &StopToken,
        progress: &mut dyn Progress,
    ) -> Result<Self, LabError> {
        let points = inputs.study.workloads.iter().flat_map(|workload| inputs.study.sweep_of(&workload.name).points());
        let fleet = Self::gather(options, points.map(|(connections, _)| connections).min().unwrap_or(1), stop)?;
        let (name, text, prices) = (inputs.name.clone(), inputs.text.clone(), inputs.prices.clone());
        let nowhere = Reached { address: None, password: Vec::new(), by: CONTENDER.to_owned() };
        let reached = [(CONTENDER.to_owned(), nowhere)].into();
        fleet.tell(StudyOrder { name, text, prices, reached, most: Load::default(), simulated: true }, progress)?;
        Ok(fleet)
    }

    /// As for a study, of one contender.
    ///
    /// # Errors
    /// One that cannot drive it, or a contender that only this process reaches.
    pub fn prepare_one(&self, one: &OneContender<'_>, progress: &mut dyn Progress) -> Result<(), LabError> {
        let OneContender { text, contender, target, password, connections, threads } = *one;
        self.reachable((contender, contender), target)?;
        let (address, password) = (Some(target.address()), password.bytes().to_vec());
        let reached = Reached { address, password, by: contender.to_owned() };
        let (name, text, reached) = ("the command line".to_owned(), text.to_owned(), [(contender.to_owned(), reached)].into());
        self.tell(
            StudyOrder { name, text, prices: None, reached, most: Load { connections, threads }, simulated: false },
            progress,
        )
    }

    fn tell(&self, order: StudyOrder, progress: &mut dyn Progress) -> Result<(), LabError> {
        for member in self.members.borrow().iter().filter(|m| m.lost().is_none()) {
            match member.prepare(&order, self.with_same_contender(&member.agent)) {
                Ok(()) => progress.line(&format!("agent {}: {}", member.name(), member.machine())),
                Err(error) if error.kind() == ErrorKind::AgentLost => member.lose(error.words().0),
                Err(error) => return Err(error),
            }
        }
        self.study.replace(Some(order));
        self.regroup(&self.stop, progress)
    }

    /// How many agents share the trials of one with it, itself included.
    pub(super) fn with_same_contender(&self, agent: &AgentAddress) -> u32 {
        self.options.agents.iter().filter(|other| other.contender == agent.contender).count() as u32
    }

    /// Makes sure that agents can reach a contender, and that an address of this machine alone is only given to agents of this machine.
    fn reachable(&self, (contender, by): (&str, &str), target: &AnyTarget) -> Result<(), LabError> {
        if target.server().is_none() {
            let message = format!("contender `{contender}` is {}, which agents cannot reach", target.address());
            return Err(LabError::usage(message, "run it without --agents, or give it a database with an address"));
        }
        let host = |address: &String| address.rsplit_once(':').map_or("", |(host, _)| host).trim_matches(['[', ']']).to_owned();
        let servers = target.server().map(|server| server.hosts.as_slice()).unwrap_or_default();
        let here = servers.iter().find(|(host, _)| is_of_this_machine(host)).map(|(host, port)| host_text(host, *port));
        let own = self.options.agents.iter().filter(|agent| agent.contender.as_deref().is_none_or(|of| of == by));
        let elsewhere = own.map(|agent| &agent.address).find(|address| !is_of_this_machine(&host(address)));
        match (here, elsewhere) {
            (Some(server), Some(agent)) => {
                let message = format!(
                    "contender `{contender}` is at {server}, an address of this machine alone, and agent {agent} is elsewhere"
                );
                Err(LabError::usage(message, "give it an address that the agents' machines reach"))
            }
            _ => Ok(()),
        }
    }
}
