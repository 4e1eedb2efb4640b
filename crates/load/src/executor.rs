//! One trial: starts the workers, gives them a common start, collects what they saw. No code here runs per operation.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::arrivals::schedule;
use crate::collector::Collector;
use crate::driver::Driver;
use crate::lifecycle::{self, WorkerOutcome, WorkerPlan};
use crate::limit::EventLimit;
use crate::observer::Observer;
use crate::recorder::Report;
use crate::start::StartSignal;
use crate::stop::StopToken;
use crate::trial::{RunError, TrialOutcome, TrialSpec};
use crate::workload::Workload;

mod outcome;

use outcome::{Seen, as_ended, finish};

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
    let work: &Work = &|plan, start, trial_stop, reports| {
        on_own_loop(lifecycle::run(plan, driver.clone(), workload.clone(), start, trial_stop, reports))
    };
    let (spec, outcomes, seen) = run_workers(spec, driver.blocking(), stop, observer, work)?;
    Ok(finish(&spec, &**workload, driver.blocking(), outcomes, seen))
}

/// What one worker does on its thread.
type Work<'a> = dyn Fn(WorkerPlan, StartSignal, StopToken, Sender<Report>) -> Result<WorkerOutcome, RunError> + Sync + 'a;

/// Runs the workers of one trial to their end; returns the trial as it ended, too.
fn run_workers(
    spec: &TrialSpec,
    blocking: bool,
    stop: &StopToken,
    observer: &mut dyn Observer,
    work: &Work<'_>,
) -> Result<(TrialSpec, Vec<WorkerOutcome>, Seen), RunError> {
    let plans = worker_plans(spec, blocking, observer.by_kind());
    let workers = plans.len() as u32;
    let (trial_stop, start) = (stop.of_trial(), StartSignal::default());
    let (reports, received) = mpsc::channel();
    thread::scope(|scope| {
        let spawn = |plan: WorkerPlan| {
            let (trial_stop, start, reports) = (trial_stop.clone(), start.clone(), reports.clone());
            let trouble = trial_stop.clone();
            let spawned = thread::Builder::new().name("load".to_owned()).spawn_scoped(scope, move || {
                let outcome = catch_unwind(AssertUnwindSafe(|| work(plan, start, trial_stop, reports.clone())));
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
        let stopped_ns = collector.stopped_ns.filter(|at| stop.keeps() && *at > 0);
        if stop.requested() && stopped_ns.is_none() {
            return Err(RunError::Interrupted);
        }
        let ended = as_ended(spec, &outcomes, stopped_ns);
        let seen = Seen::of(&mut collector, &ended, ended.duration_ns < spec.duration_ns);
        Ok((ended, outcomes, seen))
    })
}

fn on_own_loop<T>(future: impl Future<Output = Result<T, RunError>>) -> Result<T, RunError> {
    perbuck_event::block_on(future)
        .unwrap_or_else(|e| Err(RunError::Machine(format!("the event loop of a load thread failed: {e}"))))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|t| (*t).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it panicked".to_owned())
}

/// The error that explains the others: an interruption is what the other workers of a failed one report.
fn first_error(
    outcomes: Vec<Result<WorkerOutcome, RunError>>,
    collected: Result<(), RunError>,
) -> Result<Vec<WorkerOutcome>, RunError> {
    let mut worst = collected.err();
    let mut keep = |error| {
        if matches!(worst, None | Some(RunError::Interrupted)) {
            worst = Some(error);
        }
    };
    let good = outcomes.into_iter().filter_map(|outcome| outcome.map_err(&mut keep).ok()).collect();
    worst.map_or(Ok(good), Err)
}

/// Deals terminals and arrivals to workers, as evenly as possible. A blocking driver gets a thread per session.
pub(crate) fn worker_plans(spec: &TrialSpec, blocking: bool, by_kind: bool) -> Vec<WorkerPlan> {
    let processors = thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let workers = if blocking { spec.connections } else { spec.workers.unwrap_or(processors).clamp(1, spec.connections.max(1)) };
    let share = |i: u32| (u64::from(spec.connections) * u64::from(i) / u64::from(workers.max(1))) as u32;
    let arrivals = schedule(spec).map(|schedule| Arc::new(Mutex::new(schedule)));
    let (limit, spec) = (EventLimit::new(spec.max_events), Arc::new(spec.clone()));
    let plan = |terminals: Range<u32>| WorkerPlan {
        terminals,
        spec: spec.clone(),
        arrivals: arrivals.clone(),
        limit: limit.clone(),
        by_kind,
    };
    (0..workers).map(|i| plan(share(i)..share(i + 1))).collect()
}

#[cfg(test)]
mod tests;
