//! One trial: starts the workers, gives them a common start, collects what they saw. No code here runs per operation.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use perbuck_core::histogram::Histogram;
use perbuck_core::load_model::{LoadModel, Phase};
use perbuck_core::run_record::{ErrorRecord, Health, HistogramRecord, Interval, Measured, StatementCounts};
use perbuck_core::units::Seed;

use crate::arrivals::schedule;
use crate::collector::Collector;
use crate::driver::Driver;
use crate::error::DriverError;
use crate::limit::{EventLimit, Tolerance};
use crate::pace::PacePlan;
use crate::recorder::{KindSecond, Report};
use crate::shift::{self, StartSignal, WorkerOutcome, WorkerPlan};
use crate::stop::StopToken;
use crate::totals::{Names, PausesSeen};
use crate::workload::Workload;

mod figures;

use figures::{Seen, as_ended, finish};

/// How load is applied.
#[derive(Debug, Clone)]
pub struct TrialSpec {
    /// Closed or open loop.
    pub load: LoadModel,
    /// The phases of the window, for figures of their own; may be empty.
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
    /// Whether the time of each statement is written down, too.
    pub time_statements: bool,
    /// Which failures do not end the run.
    pub tolerance: Tolerance,
}

/// A second that is over.
#[derive(Debug, Clone, Copy)]
pub struct SecondSeen<'a> {
    /// As the record has it, and what was reported too late for the seconds before: the sum over all misses nothing.
    pub interval: &'a Interval,
    /// Service time of what was completed in it, in open loop response time.
    pub latency: &'a Histogram,
    /// Statements that returned a result set, of transactions that ended in it.
    pub read: u64,
    /// Statements that changed rows.
    pub write: u64,
    /// All other statements.
    pub other: u64,
    /// Connections opened again.
    pub reconnects: u64,
    /// Those of the errors that were the loss of a connection, or a vain try to open it again.
    pub losses: u64,
    /// Transactions in flight at its end; in closed loop the connections.
    pub in_flight: u64,
    /// By kind of transaction, where [`Observer::by_kind`] asks for it.
    pub kinds: &'a [KindSecond],
}

/// What happens at the edges of the measured window and after each second; the cli samples the machine there and shows
/// progress.
pub trait Observer {
    /// Whether seconds are looked at by kind of transaction, which costs one more histogram for each.
    fn by_kind(&self) -> bool {
        false
    }
    /// The measured window opens.
    fn opens(&mut self) {}
    /// A second is over.
    fn second(&mut self, _seen: &SecondSeen<'_>) {}
    /// The measured window closes.
    fn closes(&mut self) {}
}

/// An observer that does nothing.
#[derive(Debug, Clone, Copy)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// What a trial saw.
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
    /// Service time of the transactions that were given up in the window, by kind; only kinds that have any.
    pub failed_latency: BTreeMap<String, HistogramRecord>,
    /// Pauses that ended in the window, by kind; empty where terminals do not pause.
    pub pauses: BTreeMap<String, PausesSeen>,
}

/// What one terminal did in the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TerminalTotals {
    /// Transactions that ended.
    pub transactions: u64,
    /// The time that they took, in nanoseconds.
    pub busy_ns: u64,
    /// When the last transaction of the run ended, in nanoseconds relative to the window.
    pub last_ended_ns: i64,
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
    /// Somebody asked to stop.
    Interrupted,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(e) => write!(f, "cannot open a connection: {e}"),
            Self::Fatal(e) => write!(f, "no transaction can succeed: {e}"),
            Self::WorkerDied(e) => write!(f, "a load worker died, which is a defect of perbuck: {e}"),
            Self::Machine(e) => f.write_str(e),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs one trial to its end on threads of its own.
///
/// # Errors
/// The first error that ends a run. What was measured until then is thrown away: half a trial is no trial. Where the stop
/// token keeps what was measured, a request to stop is no error once the window has opened, but its end.
pub fn run_trial<D: Driver, W: Workload>(
    spec: &TrialSpec,
    driver: &Arc<D>,
    workload: &Arc<W>,
    stop: &StopToken,
    observer: &mut dyn Observer,
) -> Result<TrialOutcome, RunError> {
    let mut plans = worker_plans(spec, driver.blocking());
    plans.iter_mut().for_each(|plan| plan.by_kind = observer.by_kind());
    let workers = plans.len() as u32;
    let (trial_stop, start) = (StopToken::default(), StartSignal::default());
    let (reports, received) = mpsc::channel();
    thread::scope(|scope| {
        let spawn = |plan: WorkerPlan| {
            let (driver, workload, start) = (driver.clone(), workload.clone(), start.clone());
            let (trial_stop, reports) = (trial_stop.clone(), reports.clone());
            let trouble = trial_stop.clone();
            let spawned = thread::Builder::new().name("load".to_owned()).spawn_scoped(scope, move || {
                let shift = shift::run(plan, driver, workload, start, trial_stop, reports.clone());
                let outcome = catch_unwind(AssertUnwindSafe(|| on_own_loop(shift)));
                let outcome = outcome.unwrap_or_else(|panic| Err(RunError::WorkerDied(panic_text(panic.as_ref()))));
                if outcome.is_err() {
                    // The collector may have ended already, with the error of another worker.
                    let _ = reports.send(Report::GaveUp);
                }
                outcome
            });
            spawned.map_err(|e| {
                // The threads that there are wait for a start that will not come; the collector tells them.
                trouble.request();
                RunError::Machine(format!("cannot start a load thread: {e}"))
            })
        };
        let threads: Vec<_> = plans.into_iter().map(spawn).collect();
        // The collector sees the end of the reports only when every sender is gone, ours included.
        drop(reports);
        let mut collector = Collector::new(spec, workers, trial_stop, start, observer);
        let collected = collector.collect(&received, stop);
        let join = |t: Result<thread::ScopedJoinHandle<'_, _>, RunError>| {
            t.and_then(|t| t.join().unwrap_or_else(|_| Err(RunError::WorkerDied("it panicked".to_owned()))))
        };
        let outcomes: Vec<Result<WorkerOutcome, RunError>> = threads.into_iter().map(join).collect();
        let outcomes = first_error(outcomes, collected)?;
        let stopped_ns = collector.stopped_ns().filter(|at| stop.keeps() && *at > 0);
        if stop.requested() && stopped_ns.is_none() {
            return Err(RunError::Interrupted);
        }
        let planned_ns = spec.duration_ns;
        let spec = &as_ended(spec, &outcomes, stopped_ns);
        Ok(finish(
            spec,
            &Names::of(&**workload),
            (driver.blocking(), workload.pauses()),
            outcomes,
            Seen::of(&mut collector, spec, spec.duration_ns < planned_ns),
        ))
    })
}

/// Runs a future on a single-threaded event loop of this thread.
fn on_own_loop<T>(future: impl Future<Output = Result<T, RunError>>) -> Result<T, RunError> {
    perbuck_event::block_on(future)
        .unwrap_or_else(|e| Err(RunError::Machine(format!("the event loop of a load thread failed: {e}"))))
}

/// What a panic said.
fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|t| (*t).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it panicked".to_owned())
}

/// The error that explains the others: an interruption is what the other workers of a failed one report.
fn first_error(
    outcomes: Vec<Result<WorkerOutcome, RunError>>,
    collected: Result<(), RunError>,
) -> Result<Vec<WorkerOutcome>, RunError> {
    let mut good = Vec::new();
    let mut worst = collected.err();
    for outcome in outcomes {
        match outcome {
            Ok(outcome) => good.push(outcome),
            Err(error) if worst.is_none() || worst == Some(RunError::Interrupted) => worst = Some(error),
            Err(_) => {}
        }
    }
    worst.map_or(Ok(good), Err)
}

/// Deals terminals and arrivals to workers, as evenly as possible. A blocking driver gets a thread per session.
pub(crate) fn worker_plans(spec: &TrialSpec, blocking: bool) -> Vec<WorkerPlan> {
    let processors = thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let workers = if blocking { spec.connections } else { spec.workers.unwrap_or(processors).clamp(1, spec.connections.max(1)) };
    let share = |i: u32| (u64::from(spec.connections) * u64::from(i) / u64::from(workers.max(1))) as u32;
    let pace = match schedule(spec) {
        Some(schedule) if workers > 1 => PacePlan::Shared(Arc::new(Mutex::new(schedule))),
        Some(schedule) => PacePlan::Alone(Box::new(schedule)),
        None => PacePlan::Closed(spec.load.clone()),
    };
    let limit = EventLimit::new(spec.max_events);
    let plan = |terminals: Range<u32>| WorkerPlan {
        terminals,
        of: spec.connections,
        seed: spec.seed,
        max_attempts: spec.max_attempts.max(1),
        drain: Duration::from_nanos(spec.drain_ns),
        pace: pace.clone(),
        phase_ends: phase_ends(spec),
        limit: limit.clone(),
        time_statements: spec.time_statements,
        tolerance: spec.tolerance.clone(),
        by_kind: false,
    };
    (0..workers).map(|i| plan(share(i)..share(i + 1))).collect()
}

/// Where the phases of the window end; the last one at its end.
fn phase_ends(spec: &TrialSpec) -> Vec<i64> {
    let mut end = 0;
    let declared = spec.phases.iter().map(|p| {
        end += p.length_ns as i64;
        end.min(spec.duration_ns as i64)
    });
    let mut ends: Vec<i64> = declared.collect();
    match ends.last_mut() {
        Some(last) => *last = spec.duration_ns as i64,
        None => ends.push(spec.duration_ns as i64),
    }
    ends
}

#[cfg(test)]
mod tests;
