//! One trial: starts the workers, gives them a common start, collects what they saw. No code here runs per operation.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use perbuck_core::run_record::{
    ErrorRecord, Gap, Health, HistogramRecord, Interval, Measured, StatementCounts, TransactionRecord,
};
use perbuck_core::units::Seed;
use tokio::sync::{mpsc, watch};

use crate::collector::Collector;
use crate::driver::Driver;
use crate::error::DriverError;
use crate::recorder::{Bucket, ErrorCounts, Recorder, Report, SECOND_NS, common_gaps};
use crate::stop::StopToken;
use crate::worker::{self, WorkerOutcome, WorkerPlan};
use crate::workload::Workload;

/// How load is applied.
#[derive(Debug, Clone)]
pub struct TrialSpec {
    /// Connections (closed loop).
    pub connections: u32,
    /// Threads; `None` is one per processor, at most one per connection.
    pub workers: Option<u32>,
    /// Time before the measured window, nanoseconds.
    pub warmup_ns: u64,
    /// The measured window, nanoseconds.
    pub duration_ns: u64,
    /// Attempts per transaction, at most.
    pub max_attempts: u32,
    /// The seed of the operations.
    pub seed: Seed,
    /// How long transactions in flight are waited for, nanoseconds.
    pub drain_ns: u64,
}

/// What happens at the edges of the measured window and after each second; the cli samples the machine there and shows
/// progress.
pub trait Observer {
    /// The measured window opens.
    fn opens(&mut self) {}
    /// A second is over.
    fn second(&mut self, _interval: &Interval) {}
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
    /// Somebody asked to stop.
    Interrupted,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(e) => write!(f, "cannot open a connection: {e}"),
            Self::Fatal(e) => write!(f, "no transaction can succeed: {e}"),
            Self::WorkerDied(e) => write!(f, "a load worker died, which is a defect of perbuck: {e}"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs one trial to its end on threads of its own.
///
/// # Errors
/// The first error that ends a run. What was measured until then is thrown away: half a trial is no trial.
pub fn run_trial<D: Driver, W: Workload>(
    spec: &TrialSpec,
    driver: &Arc<D>,
    workload: &Arc<W>,
    stop: &StopToken,
    observer: &mut dyn Observer,
) -> Result<TrialOutcome, RunError> {
    let plans = worker_plans(spec, driver.blocking());
    let workers = plans.len() as u32;
    let trial_stop = StopToken::default();
    let (start, started) = watch::channel(None);
    let (reports, received) = mpsc::unbounded_channel();
    let (outcomes, seen) = thread::scope(|scope| {
        let spawn = |plan: WorkerPlan| {
            let (driver, workload, started) = (driver.clone(), workload.clone(), started.clone());
            let (trial_stop, reports) = (trial_stop.clone(), reports.clone());
            scope.spawn(move || {
                let outcome = on_own_loop(worker::run(plan, driver, workload, started, trial_stop, reports.clone()));
                if outcome.is_err() {
                    // The collector may have ended already, with the error of another worker.
                    let _ = reports.send(Report::GaveUp);
                }
                outcome
            })
        };
        let threads: Vec<_> = plans.into_iter().map(spawn).collect();
        // The collector sees the end of the reports only when every sender is gone, ours included.
        drop(reports);
        // Workers that are ready wait for the collector's start signal. Where its own loop cannot start, for want of file
        // descriptors, only its end tells them that none will come; so it ends before they are joined.
        let (collected, seen) = {
            let mut collector = Collector::new(spec, (workers, workload.kinds().len()), trial_stop, start, observer);
            let collected = on_own_loop(collector.collect(received, stop));
            (collected, (collector.intervals(), collector.total))
        };
        let join =
            |t: thread::ScopedJoinHandle<'_, _>| t.join().unwrap_or_else(|_| Err(RunError::WorkerDied("it panicked".to_owned())));
        let outcomes: Vec<Result<WorkerOutcome, RunError>> = threads.into_iter().map(join).collect();
        (first_error(outcomes, collected), seen)
    });
    let outcomes = outcomes?;
    if stop.requested() {
        return Err(RunError::Interrupted);
    }
    Ok(finish(spec, workload.kinds(), outcomes, seen))
}

/// Runs a future on a single-threaded event loop of this thread.
fn on_own_loop<T>(future: impl Future<Output = Result<T, RunError>>) -> Result<T, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| RunError::WorkerDied(format!("cannot start an event loop: {e}")))?;
    tokio::task::LocalSet::new().block_on(&runtime, future)
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

/// Deals terminals to workers, as evenly as possible. A blocking driver gets a thread per session.
pub(crate) fn worker_plans(spec: &TrialSpec, blocking: bool) -> Vec<WorkerPlan> {
    let processors = thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let workers = if blocking { spec.connections } else { spec.workers.unwrap_or(processors).clamp(1, spec.connections.max(1)) };
    let share = |i: u32| (u64::from(spec.connections) * u64::from(i) / u64::from(workers.max(1))) as u32;
    let plan = |terminals: Range<u32>| WorkerPlan {
        terminals,
        of: spec.connections,
        seed: spec.seed,
        max_attempts: spec.max_attempts.max(1),
        drain: Duration::from_nanos(spec.drain_ns),
    };
    (0..workers).map(|i| plan(share(i)..share(i + 1))).collect()
}

fn finish(
    spec: &TrialSpec,
    kinds: &[&'static str],
    outcomes: Vec<WorkerOutcome>,
    (intervals, total): (Vec<Interval>, Bucket),
) -> TrialOutcome {
    let transaction = |k: &crate::recorder::KindBucket| TransactionRecord {
        committed: k.committed,
        rolled_back: k.rolled_back,
        failed: k.failed,
        service: HistogramRecord::from_histogram(&k.service),
    };
    let transactions = kinds.iter().zip(&total.kinds).map(|(name, k)| ((*name).to_owned(), transaction(k))).collect();
    let measured = Measured { window_ns: spec.duration_ns, transactions, statements: total.statements, retries: total.retries };
    let (mut whole, mut errors, mut health) = (StatementCounts::default(), ErrorCounts::new(), Health::default());
    let mut gaps = Vec::new();
    let workers = outcomes.len() as u32;
    for outcome in outcomes {
        health.aborted += outcome.aborted;
        add_worker(outcome.recorder, &mut whole, &mut errors, &mut health, &mut gaps);
    }
    let common = common_gaps(&gaps);
    health.longest_gap_ns = common.iter().map(|(f, t)| (t - f) as u64).max().unwrap_or(0);
    let long = |(f, t): &(i64, i64)| t - f >= SECOND_NS;
    health.gaps = common
        .iter()
        .filter(|g| long(g))
        .map(|(f, t)| Gap { start_ms: f / 1_000_000, length_ms: ((t - f) / 1_000_000) as u64 })
        .collect();
    let errors = errors
        .into_iter()
        .map(|(code, e)| (code.to_string(), ErrorRecord { count: e.count, class: e.class.word().to_owned(), example: e.example }))
        .collect();
    TrialOutcome { workers, measured, statements_whole_run: whole, errors, intervals, health }
}

fn add_worker(
    recorder: Recorder,
    whole: &mut StatementCounts,
    errors: &mut ErrorCounts,
    health: &mut Health,
    gaps: &mut Vec<Vec<(i64, i64)>>,
) {
    whole.add(&recorder.whole);
    health.connections_lost += recorder.lost;
    health.reconnects += recorder.reconnects;
    health.drained += recorder.drained;
    gaps.push(recorder.gaps);
    for (code, error) in recorder.errors {
        match errors.get_mut(&code) {
            Some(existing) => existing.count += error.count,
            None => {
                errors.insert(code, error);
            }
        }
    }
}

#[cfg(test)]
mod tests;
