//! The input and the output of a trial: how load is applied, what was measured, or why there is no result.

use std::collections::BTreeMap;
use std::fmt;

use perbuck_core::load_model::{LoadModel, Phase};
use perbuck_core::run_record::{ErrorRecord, Health, HistogramRecord, Interval, Measured, StatementCounts};
use perbuck_core::units::Seed;
use serde::{Deserialize, Serialize};

use crate::error::DriverError;
use crate::limit::Tolerance;
use crate::share::Share;
use crate::statement_times::StepTotals;
use crate::totals::{PausesSeen, TerminalTotals};

/// How load is applied.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TrialSpec {
    /// Closed or open loop.
    pub load: LoadModel,
    /// The phases of the window, which get their own numbers; may be empty.
    pub phases: Vec<Phase>,
    /// Connections; in open loop the most transactions in flight.
    pub connections: u32,
    /// Threads; `None` is one per processor, at most one per connection.
    pub workers: Option<u32>,
    /// Time before the measured window, nanoseconds.
    pub warmup_ns: u64,
    /// The measured window, nanoseconds.
    pub duration_ns: u64,
    /// Attempts per transaction, at most.
    pub max_attempts: u32,
    /// The seed of the operations and arrivals.
    pub seed: Seed,
    /// How long transactions in flight are waited for, nanoseconds.
    pub drain_ns: u64,
    /// The window ends early, with the last of so many transactions started in it.
    pub max_events: Option<u64>,
    /// Whether each terminal has a last transaction: the window is over with the last terminal.
    pub streams: bool,
    /// Whether the time of each statement is written down, too.
    pub time_statements: bool,
    /// The errors that do not end the run.
    pub tolerance: Tolerance,
    /// The share of all this that is this process's.
    pub share: Share,
}

impl TrialSpec {
    /// Where the phases of the window end, in nanoseconds from its start; the last one at its end.
    pub(crate) fn phase_ends(&self) -> Vec<i64> {
        let mut end = 0;
        let declared = self.phases.iter().map(|p| {
            end += p.length_ns as i64;
            end.min(self.duration_ns as i64)
        });
        let mut ends: Vec<i64> = declared.collect();
        match ends.last_mut() {
            Some(last) => *last = self.duration_ns as i64,
            None => ends.push(self.duration_ns as i64),
        }
        ends
    }
}

/// What a trial measured.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialOutcome {
    /// Threads that owned the connections.
    pub workers: u32,
    /// The measured window.
    pub measured: Measured,
    /// Statements from the first connection to the last.
    pub statements_whole_run: StatementCounts,
    /// Errors of the whole run by code.
    pub errors: BTreeMap<String, ErrorRecord>,
    /// Seconds, warm-up included.
    pub intervals: Vec<Interval>,
    /// The client's state; CPU times are left to the observer.
    pub health: Health,
    /// What each terminal did in the window.
    pub terminals: Vec<TerminalTotals>,
    /// Times of statements that ended in the window, by label of the catalogue; empty unless asked for.
    pub statement_latency: BTreeMap<String, HistogramRecord>,
    /// The steps of the workload by number; empty unless times were asked for.
    pub steps: Vec<StepTotals>,
    /// Service time of the transactions that were given up in the window, by kind; only kinds that have any.
    pub failed_latency: BTreeMap<String, HistogramRecord>,
    /// Pauses that ended in the window, by kind; empty where terminals do not pause.
    pub pauses: BTreeMap<String, PausesSeen>,
}

/// Why a trial has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// A connection could not be opened at the start.
    Connect(DriverError),
    /// No transaction can succeed.
    Fatal(DriverError),
    /// A worker or a terminal panicked.
    WorkerDied(String),
    /// The machine gives no more threads or file descriptors.
    Machine(String),
    /// An agent ended its share: why.
    Agent(AgentFailure),
    /// An agent was lost, or its share cannot be trusted: the trial is void, and says nothing of the database.
    AgentLost(String),
    /// The user asked to stop.
    Interrupted,
}

/// Why an agent ended its share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFailure {
    /// Whether the target cannot be reached from there, or refuses it.
    pub target: bool,
    /// What it says, with its name.
    pub message: String,
    /// The way out; may be empty.
    pub help: String,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(e) => write!(f, "cannot open a connection: {e}"),
            Self::Fatal(e) => write!(f, "no transaction can succeed: {e}"),
            Self::WorkerDied(e) => write!(f, "a load worker died: {e}; this is a defect of perbuck, please report it"),
            Self::Machine(e) | Self::AgentLost(e) => f.write_str(e),
            Self::Agent(failure) => f.write_str(&failure.message),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for RunError {}
