//! Trials whose load several processes apply: the coordinator is part of `perbuck run`, each agent is `perbuck agent` on a machine of its own.
//!
//! The coordinator starts servers, loads and checks data, and reads counters as ever. An agent gets the study and its share of each trial.
//! What its workers see comes back as it is, and is merged as that of workers of one process.

mod agent;
pub mod check;
mod fill;
mod member;
mod messages;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use perbuck_core::run_record::{AgentRecord, Flag, STARTS_TOGETHER_NS, starts_apart_ns};
use perbuck_database::registry::AnyTarget;
use perbuck_database::secret::Secret;
use perbuck_database::server::ServerTarget;
use perbuck_fleet::{Clock, FleetError};
use perbuck_load::executor::Agent;
use perbuck_load::observer::Observer;
use perbuck_load::share::Share;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::RunError;
use perbuck_load::window::steady_ns;

use crate::error::{ErrorKind, LabError};
use crate::inputs::Inputs;
use crate::progress::Progress;
use crate::servers::Servers;
use crate::stage::no_target;
use crate::trial::{Applied, Task};

pub use agent::{AgentOptions, serve};
use member::{Member, Sharing};
use messages::{Reached, StudyOrder, TrialOrder};
pub use perbuck_fleet::Token;

/// How long before it comes agents learn of the start, beside the longest round trip.
const LEAD: Duration = Duration::from_millis(200);
/// How often a lost agent is looked for.
const LOOK: Duration = Duration::from_secs(1);
/// How often a study that goes on without a lost agent looks for it: reaching a machine that is away takes seconds.
const LOOK_FOR_LOST: Duration = Duration::from_secs(60);

/// Where the agents are, and what happens without one of them.
#[derive(Debug, Clone)]
pub struct FleetOptions {
    /// `host:port` of each.
    pub agents: Vec<String>,
    /// What they and this process know.
    pub token: Token,
    /// Whether a lost agent is waited for; else the next trials go on with those that are left.
    pub wait_for_lost: bool,
}

/// The agents of a study.
pub struct Fleet {
    options: FleetOptions,
    clock: Clock,
    members: RefCell<Vec<Member>>,
    /// What they were told last: one that comes back is told it again.
    study: RefCell<Option<StudyOrder>>,
    /// When lost agents were looked for.
    looked: Cell<Instant>,
    stop: StopToken,
}

impl Fleet {
    /// Reaches all of them, for trials of which none has fewer connections than that.
    ///
    /// # Errors
    /// One that is not there, or does not agree; more agents than connections.
    pub fn gather(options: &FleetOptions, fewest: u32, stop: &StopToken) -> Result<Self, LabError> {
        if options.agents.len() > fewest as usize {
            let (plural, agents) = (if fewest == 1 { "" } else { "s" }, options.agents.len());
            let message = format!("a trial has {fewest} connection{plural}, too few for {agents} agents");
            return Err(LabError::usage(message, "name fewer agents, or give every point more connections"));
        }
        let clock: Clock = Arc::new(steady_ns);
        let members = options.agents.iter().map(|name| reach(name, options, &clock, stop)).collect::<Result<_, _>>()?;
        let (members, study, looked) = (RefCell::new(members), RefCell::default(), Cell::new(Instant::now()));
        Ok(Self { options: options.clone(), clock, members, study, looked, stop: stop.clone() })
    }

    /// Tells all of them what is measured, and where.
    ///
    /// # Errors
    /// One that cannot drive it, or a contender that only this process reaches.
    pub(crate) fn prepare(
        &self,
        inputs: &Inputs,
        servers: &Servers,
        passwords: &[Secret],
        progress: &mut dyn Progress,
    ) -> Result<(), LabError> {
        let mut reached = BTreeMap::new();
        for (i, contender) in inputs.study.contenders.iter().enumerate() {
            let own = || Some((inputs.targets.get(i)?.as_ref()?, passwords.get(i)?));
            let private = servers.of(i);
            let Some((target, password)) = private.or_else(own) else { return Err(no_target(contender)) };
            if target.server().is_none() {
                let message = format!("contender `{}` is {}, which agents cannot reach", contender.name, target.address());
                return Err(LabError::usage(message, "run it without --agents, or give it a database with an address"));
            }
            self.others_reach(&contender.name, target)?;
            let address = private.map(|_| target.address());
            reached.insert(contender.name.clone(), Reached { address, password: password.bytes().to_vec() });
        }
        let (name, text, prices) = (inputs.name.clone(), inputs.text.clone(), inputs.prices.clone());
        let order = StudyOrder { name, text, prices, reached };
        for member in self.members.borrow_mut().iter_mut().filter(|m| m.lost().is_none()) {
            match member.prepare(&order) {
                Ok(()) => progress.line(&format!("agent {}: {}", member.name, member.machine())),
                Err(error) if error.kind() == ErrorKind::AgentLost => member.lose(error.words().0),
                Err(error) => return Err(error),
            }
        }
        self.study.replace(Some(order));
        self.regroup(&self.stop, progress)
    }

    /// Makes sure that a server of this machine's loopback address is only given to agents of this machine.
    fn others_reach(&self, contender: &str, target: &AnyTarget) -> Result<(), LabError> {
        let is_here = |host: &str| host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
        let host = |address: &String| address.rsplit_once(':').map_or("", |(host, _)| host).trim_matches(['[', ']']).to_owned();
        let server = target.server().map(ServerTarget::addresses).unwrap_or_default();
        let elsewhere = self.options.agents.iter().find(|agent| !is_here(&host(agent)));
        match (server.iter().find(|address| is_here(&host(address))), elsewhere) {
            (Some(server), Some(agent)) => {
                let message = format!(
                    "contender `{contender}` is at {server}, an address of this machine alone, and agent {agent} is elsewhere"
                );
                Err(LabError::usage(message, "give it an address that the agents' machines reach"))
            }
            _ => Ok(()),
        }
    }

    /// Has the load of a trial applied, each agent its share.
    pub(crate) fn run(&self, task: &Task<'_>, stop: &StopToken, observer: &mut dyn Observer) -> Result<Applied, RunError> {
        // One that came back since takes part again.
        if self.looked.get().elapsed() > LOOK_FOR_LOST && self.members.borrow().iter().any(|m| m.lost().is_some()) {
            self.look();
        }
        let members = self.members.borrow();
        let there: Vec<&Member> = members.iter().filter(|m| m.lost().is_none()).collect();
        let (of, connections) = (there.len() as u32, task.spec.connections);
        if of == 0 || connections < of {
            return Err(RunError::Agent(format!(
                "{connections} connections cannot be divided among {of} agents; name fewer with --agents"
            )));
        }
        let (by_kind, reports) = (observer.by_kind(), Mutex::new(Vec::new()));
        let share = |(number, member): (u32, &&'_ Member)| {
            let spec = perbuck_load::trial::TrialSpec { share: Share { number, of }, ..task.spec.clone() };
            let order = TrialOrder { contender: task.key.contender.clone(), workload: task.key.workload.clone(), spec, by_kind };
            Sharing::new(order, member.shared(), &reports)
        };
        let sharing: Vec<Sharing<'_>> = (0..).zip(&there).map(share).collect();
        let longest = there.iter().filter_map(|m| m.offset()).map(|o| 4 * o.error_ns.unsigned_abs()).max().unwrap_or_default();
        let agents = sharing.into_iter().map(|s| Box::new(s) as Box<dyn Agent + '_>).collect();
        let outcome = task.stage.trials.run_apart(&task.spec, (agents, LEAD + Duration::from_nanos(longest)), stop, observer)?;
        let mut seen = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
        seen.sort_by_key(|seen| seen.number);
        let (mut agents, mut flags, mut as_text, mut sent, mut new_records) = (Vec::new(), Vec::new(), 0, 0, Vec::new());
        for one in seen {
            agents.push(one.record);
            flags.extend(one.flags);
            as_text += one.as_text;
            sent += one.sent;
            new_records.extend(one.new_records);
        }
        fill::agree(&new_records)?;
        flags.extend(apart(&agents));
        Ok(Applied { outcome, agents, flags, as_text, sent, new_records })
    }

    /// After the loss of agents: looks for them, and says with whom the study goes on.
    ///
    /// # Errors
    /// None is left; a request to stop.
    pub(crate) fn regroup(&self, stop: &StopToken, progress: &mut dyn Progress) -> Result<(), LabError> {
        loop {
            self.look();
            let lost: Vec<String> =
                self.members.borrow().iter().filter_map(|m| Some(format!("{} ({})", m.name, m.lost()?))).collect();
            let there = self.members.borrow().len() - lost.len();
            if lost.is_empty() {
                return Ok(());
            }
            let lost = lost.join(", ");
            if !self.options.wait_for_lost && there > 0 {
                progress.alert(&format!("going on with {there} of {} agents; lost: {lost}", self.options.agents.len()));
                return Ok(());
            }
            if !self.options.wait_for_lost {
                let help = "start the agents again, then run the same command; finished trials are kept";
                return Err(LabError::new(ErrorKind::AgentLost, format!("no agent is left: {lost}"), help));
            }
            let until = Instant::now() + LOOK;
            progress.passing(&format!("waiting for lost agents: {lost}"));
            while Instant::now() < until {
                if stop.requested() {
                    return Err(LabError::interrupted());
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    /// Reaches those again that were lost, where they are back.
    fn look(&self) {
        let study = self.study.borrow();
        for member in self.members.borrow_mut().iter_mut().filter(|m| m.lost().is_some()) {
            let back = reach(&member.name, &self.options, &self.clock, &self.stop).and_then(|mut back| {
                study.as_ref().map_or(Ok(()), |order| back.prepare(order))?;
                Ok(back)
            });
            match back {
                Ok(back) => *member = back,
                // What keeps it away now is what the user can mend.
                Err(error) => member.lose(error.words().0),
            }
        }
        self.looked.set(Instant::now());
    }
}

fn reach(name: &str, options: &FleetOptions, clock: &Clock, stop: &StopToken) -> Result<Member, LabError> {
    let reached = perbuck_fleet::reach(name, &options.token, clock.clone());
    let channel = reached.map_err(|e| {
        let help = match e {
            FleetError::Unreachable(_) => "start it there with `perbuck agent`; is its port open?",
            FleetError::Version(_) => "install the same perbuck on both machines",
            FleetError::Token => "copy the file of the token to that machine, and start `perbuck agent` there again",
            FleetError::Refused(_) => "wait until the other one has ended, or name another agent",
        };
        LabError::new(ErrorKind::Target, format!("agent {name}: {e}"), help)
    })?;
    Ok(Member::new(name.to_owned(), channel, stop.clone()))
}

/// The remark on agents that did not start together.
fn apart(agents: &[AgentRecord]) -> Option<Flag> {
    let apart_ns = starts_apart_ns(agents);
    (apart_ns > STARTS_TOGETHER_NS).then_some(Flag::AgentsApart { apart_us: apart_ns / 1000 })
}
