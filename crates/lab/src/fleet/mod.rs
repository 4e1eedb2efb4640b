//! Trials whose load several processes apply: the coordinator is part of `perbuck run`, each agent is `perbuck agent` on a machine of its own.
//!
//! The coordinator starts servers, loads and checks data, and reads counters as ever. An agent gets the study and its share of each trial.
//! What its workers see comes back as it is, and is merged as that of workers of one process.

mod agent;
pub mod check;
mod client;
mod fill;
mod member;
mod messages;
mod options;
mod prepare;

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use perbuck_core::run_record::{AgentRecord, Flag, STARTS_TOGETHER_NS, starts_apart_ns};
use perbuck_fleet::{Clock, FleetError};
use perbuck_load::executor::Agent;
use perbuck_load::observer::Observer;
use perbuck_load::share::Share;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::{AgentFailure, RunError};
use perbuck_load::window::steady_ns;

use crate::error::{ErrorKind, LabError};
use crate::progress::Progress;
use crate::trial::{Applied, Task};

pub use agent::{AgentOptions, serve};
use member::{Member, Sharing};
use messages::{StudyOrder, TrialOrder};
pub(crate) use messages::Load;
pub use options::{FleetOptions, PORT, token};
pub use prepare::OneContender;
pub use perbuck_fleet::{Build, Token};

/// How long before it comes agents learn of the start, beside the longest round trip.
const LEAD: Duration = Duration::from_millis(200);
/// How often a lost agent is looked for.
const LOOK: Duration = Duration::from_secs(1);
/// How often a study that goes on without a lost agent looks for it: reaching a machine that is away takes seconds.
const LOOK_FOR_LOST: Duration = Duration::from_secs(60);

/// The agents of a study.
pub struct Fleet {
    options: FleetOptions,
    build: Build,
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
        let (members, study, looked) = (RefCell::default(), RefCell::default(), Cell::new(Instant::now()));
        let (options, stop) = (options.clone(), stop.clone());
        let fleet = Self { options, build: Build::running(), clock, members, study, looked, stop };
        let members = fleet.options.agents.iter().map(|name| fleet.reach(name)).collect::<Result<_, _>>()?;
        fleet.members.replace(members);
        Ok(fleet)
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
            let message = format!("{connections} connections cannot be divided among {of} agents");
            let help = "name fewer with --agents, or give the trial more connections".to_owned();
            return Err(RunError::Agent(AgentFailure { target: false, message, help }));
        }
        let (by_kind, keeps, reports) = (observer.by_kind(), stop.keeps(), Mutex::new(Vec::new()));
        let share = |(number, member): (u32, &&'_ Member)| {
            let spec = perbuck_load::trial::TrialSpec { share: Share { number, of }, ..task.spec.clone() };
            let order = TrialOrder { contender: task.key.contender.clone(), workload: task.key.workload.clone(), spec, by_kind, keeps };
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
            flags.extend(one.flags);
            flags.extend(one.client.flags(&one.record.name, outcome.measured.window_ns));
            agents.push(one.record);
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
            let back = self.reach(&member.name).and_then(|mut back| {
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

    fn reach(&self, name: &str) -> Result<Member, LabError> {
        let reached = perbuck_fleet::reach(name, (&self.options.token, &self.build), self.clock.clone());
        let channel = reached.map_err(|e| {
            let help = match e {
                FleetError::Unreachable(_) => "start it there with `perbuck agent`; is its port open?",
                FleetError::Version(_) => "install the same perbuck on both machines",
                FleetError::Build(..) => "copy the program of this machine to that one, and start `perbuck agent` there again",
                FleetError::Token => "copy the file of the token to that machine, and start `perbuck agent` there again",
                FleetError::Refused(_) => "wait until the other one has ended, or name another agent",
            };
            LabError::new(ErrorKind::Target, format!("agent {name}: {e}"), help)
        })?;
        Ok(Member::new(name.to_owned(), channel, self.stop.clone()))
    }
}

/// The remark on agents that did not start together.
fn apart(agents: &[AgentRecord]) -> Option<Flag> {
    let apart_ns = starts_apart_ns(agents);
    (apart_ns > STARTS_TOGETHER_NS).then_some(Flag::AgentsApart { apart_us: apart_ns / 1000 })
}
