//! Trials whose load several processes apply: the coordinator is part of `perbuck run`, each agent is `perbuck agent` on a machine of its own.
//!
//! The coordinator starts servers, loads and checks data, and reads counters as ever. An agent gets the study and its share of each trial.
//! What its workers see comes back as it is, and is merged as that of workers of one process.

mod agent;
pub mod check;
mod client;
mod ear;
mod fill;
mod lost;
mod member;
mod messages;
mod options;
mod prepare;

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::{AgentRecord, Flag, STARTS_TOGETHER_NS, starts_apart_ns};
use perbuck_fleet::Clock;
use perbuck_load::executor::Agent;
use perbuck_load::observer::Observer;
use perbuck_load::share::Share;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::{AgentFailure, RunError, TrialSpec};
use perbuck_load::window::steady_ns;

use crate::error::LabError;
use crate::stage::Trials;
use crate::trial::{Applied, Task};

pub use agent::{AgentOptions, serve};
use member::{Member, Sharing};
pub(crate) use messages::Load;
use messages::{StudyOrder, TrialOrder};
pub use options::{AgentAddress, FleetOptions, PORT, token};
pub use perbuck_fleet::{Build, Token};
pub use prepare::OneContender;

/// How long before it comes agents learn of the start, beside the longest round trip.
const LEAD: Duration = Duration::from_millis(200);
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
        let agents = options.most_of_one();
        if agents > fewest as usize {
            let plural = if fewest == 1 { "" } else { "s" };
            let message = format!("a trial has {fewest} connection{plural}, too few for {agents} agents");
            return Err(LabError::usage(message, "name fewer agents, or give every point more connections"));
        }
        let clock: Clock = Arc::new(steady_ns);
        let (members, study, looked) = (RefCell::default(), RefCell::default(), Cell::new(Instant::now()));
        let (options, stop) = (options.clone(), stop.clone());
        let fleet = Self { options, build: Build::running(), clock, members, study, looked, stop };
        let members = fleet.options.agents.iter().map(|agent| fleet.reach(agent)).collect::<Result<_, _>>()?;
        fleet.members.replace(members);
        Ok(fleet)
    }

    /// Has the load of a trial applied, each agent its share.
    pub(crate) fn run(&self, task: &Task<'_>, stop: &StopToken, observer: &mut dyn Observer) -> Result<Applied, RunError> {
        self.apply((task.key, &task.spec), &*task.stage.trials, stop, observer)
    }

    /// As [`Self::run`], of these trials.
    pub(crate) fn apply(
        &self,
        (key, spec): (&TrialKey, &TrialSpec),
        trials: &dyn Trials,
        stop: &StopToken,
        observer: &mut dyn Observer,
    ) -> Result<Applied, RunError> {
        // One that came back since takes part again.
        if self.looked.get().elapsed() > LOOK_FOR_LOST && self.members.borrow().iter().any(|m| m.lost().is_some()) {
            self.look();
        }
        let members = self.members.borrow();
        let there: Vec<&Member> = members.iter().filter(|m| m.drives(&key.contender)).collect();
        let (of, connections) = (there.len() as u32, spec.connections);
        if of == 0 || connections < of {
            let message = format!("{connections} connections cannot be divided among {of} agents");
            let help = "name fewer with --agents, or give the trial more connections".to_owned();
            return Err(RunError::Agent(AgentFailure { target: false, message, help }));
        }
        let (by_kind, keeps, reports) = (observer.by_kind(), stop.keeps(), Mutex::new(Vec::new()));
        let share = |(number, member): (u32, &&'_ Member)| {
            let spec = TrialSpec { share: Share { number, of }, ..spec.clone() };
            let order = TrialOrder { contender: key.contender.clone(), workload: key.workload.clone(), spec, by_kind, keeps };
            Sharing::new(order, member.shared(), &reports)
        };
        let sharing: Vec<Sharing<'_>> = (0..).zip(&there).map(share).collect();
        let longest = there.iter().filter_map(|m| m.offset()).map(|o| 4 * o.error_ns.unsigned_abs()).max().unwrap_or_default();
        let agents = sharing.into_iter().map(|s| Box::new(s) as Box<dyn Agent + '_>).collect();
        let outcome = trials.run_apart(spec, (agents, LEAD + Duration::from_nanos(longest)), stop, observer)?;
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
}

/// The remark on agents that did not start together.
fn apart(agents: &[AgentRecord]) -> Option<Flag> {
    let apart_ns = starts_apart_ns(agents);
    (apart_ns > STARTS_TOGETHER_NS).then_some(Flag::AgentsApart { apart_us: apart_ns / 1000 })
}
