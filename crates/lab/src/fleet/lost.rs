//! Agents that are lost: looked for, waited for, and what may be left of them at the servers.

use std::time::{Duration, Instant};

use perbuck_fleet::FleetError;
use perbuck_load::stop::StopToken;

use super::Fleet;
use super::member::Member;
use super::options::AgentAddress;
use crate::error::{ErrorKind, LabError};
use crate::progress::Progress;
use crate::servers::RemoteAgent;

/// How often a lost agent is looked for that is waited for.
const LOOK: Duration = Duration::from_secs(1);
/// An agent that is cut off drops its share after a second of silence. So long it may take to be back, with its sessions closed.
const DROPS_SHARE: Duration = Duration::from_secs(3);
/// How often it is looked for meanwhile.
const LOOK_SOON: Duration = Duration::from_millis(250);
/// How often a wait asks whether the user wants to stop.
const STEP: Duration = Duration::from_millis(20);

/// What helps with an agent that perbuck started.
const LAUNCHED: &str = "a firewall may close its ports: perbuck uses 10000 to 29999; or start it there with `perbuck agent`";

/// The agents that are lost.
struct Lost {
    /// Each with the reason.
    all: Vec<String>,
    /// Those of them whose sessions may still be there.
    silent: Vec<String>,
    /// How many agents are left.
    there: usize,
    /// A contender without any, or inside `None` where agents drive all of them.
    without: Option<Option<String>>,
}

impl Fleet {
    /// After the loss of agents: looks for them, and says with whom the study goes on.
    ///
    /// # Errors
    /// None is left; a request to stop.
    pub(crate) fn regroup(&self, stop: &StopToken, progress: &mut dyn Progress) -> Result<(), LabError> {
        let until = Instant::now() + DROPS_SHARE;
        loop {
            self.look();
            let Lost { all: lost, silent, there, without } = self.lost();
            if lost.is_empty() {
                return Ok(());
            }
            let names = lost.join(", ");
            if !self.options.wait_for_lost && !silent.is_empty() && Instant::now() < until {
                progress.passing(&format!("waiting until lost agents have closed their sessions: {names}"));
                wait(LOOK_SOON, stop)?;
            } else if !self.options.wait_for_lost && without.is_none() {
                progress.alert(&format!("going on with {there} of {} agents; lost: {names}", self.options.agents.len()));
                if !silent.is_empty() {
                    progress.alert(&format!(
                        "sessions of {} may remain at the servers and hold locks until the servers close them",
                        silent.join(", ")
                    ));
                }
                return Ok(());
            } else if !self.options.wait_for_lost {
                let help = "start the agents again, then run the same command; finished trials are kept";
                let whose = without.flatten().map(|name| format!(" for contender `{name}`")).unwrap_or_default();
                return Err(LabError::new(ErrorKind::AgentLost, format!("no agent is left{whose}: {names}"), help));
            } else {
                progress.passing(&format!("waiting for lost agents: {names}"));
                wait(LOOK, stop)?;
            }
        }
    }

    fn lost(&self) -> Lost {
        let members = self.members.borrow();
        let lost: Vec<(&Member, String)> = members.iter().filter_map(|m| Some((m, m.lost()?))).collect();
        let silent = lost.iter().filter(|(m, _)| !m.is_absent.get()).map(|(m, _)| format!("agent {}", m.name())).collect();
        let is_left = |of: &Option<String>| members.iter().any(|m| m.agent.contender == *of && m.lost().is_none());
        let without = members.iter().map(|m| &m.agent.contender).find(|of| !is_left(of)).cloned();
        let there = members.len() - lost.len();
        Lost { all: lost.into_iter().map(|(m, why)| format!("{} ({why})", m.name())).collect(), silent, there, without }
    }

    /// Reaches those again that were lost, where they are back.
    pub(super) fn look(&self) {
        let study = self.study.borrow();
        for member in self.members.borrow_mut().iter_mut().filter(|m| m.lost().is_some()) {
            let back = self.reach_or_absent(&member.agent).and_then(|back| {
                study
                    .as_ref()
                    .map_or(Ok(()), |order| back.prepare(order, self.with_same_contender(&back.agent)))
                    .map_err(|error| (error, false))?;
                Ok(back)
            });
            match back {
                Ok(back) => *member = back,
                // What keeps it away now is what the user can mend.
                Err((error, is_absent)) => {
                    member.is_absent.set(is_absent);
                    member.lose(error.words().0);
                }
            }
        }
        self.looked.set(Instant::now());
    }

    pub(super) fn reach(&self, agent: &AgentAddress) -> Result<Member, LabError> {
        self.reach_or_absent(agent).map_err(|(error, _)| error)
    }

    /// Reaches an agent, or says whether its process is gone for certain: then its system has closed its sessions.
    fn reach_or_absent(&self, agent: &AgentAddress) -> Result<Member, (LabError, bool)> {
        let name = agent.address.as_str();
        // One that perbuck starts itself has a token of its own.
        let launched = agent.is_launched().then(|| RemoteAgent::start(name, &self.stop)).transpose().map_err(|e| (e, false))?;
        let (at, token) = launched.as_ref().map_or((name, &self.options.token), |remote| (&*remote.at, &remote.token));
        let reached = perbuck_fleet::reach(at, (token, &self.build), self.clock.clone());
        let channel = reached.map_err(|e| {
            let help = if agent.is_launched() { LAUNCHED } else { way_out(&e) };
            let is_absent = matches!(e, FleetError::Absent(_));
            (LabError::new(ErrorKind::Target, format!("agent {name}: {e}"), help), is_absent)
        })?;
        Ok(Member::new(agent.clone(), (channel, launched), self.stop.clone()))
    }
}

/// What helps with an agent that a user started.
fn way_out(error: &FleetError) -> &'static str {
    match error {
        FleetError::Unreachable(_) | FleetError::Absent(_) => "start it there with `perbuck agent`; is its port open?",
        FleetError::Version(_) => "install the same perbuck on both machines",
        FleetError::Build(..) => "copy the program of this machine to that one, and start `perbuck agent` there again",
        FleetError::Token => "copy the file of the token to that machine, and start `perbuck agent` there again",
        FleetError::Refused(_) => "wait until the other one has ended, or name another agent",
    }
}

fn wait(long: Duration, stop: &StopToken) -> Result<(), LabError> {
    let until = Instant::now() + long;
    while Instant::now() < until {
        if stop.requested() {
            return Err(LabError::interrupted());
        }
        std::thread::sleep(STEP);
    }
    Ok(())
}
