//! One trial: starts the workers, gives them a common start, collects what they saw. No code here runs per operation.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::arrivals::schedule;
use crate::collector::Collector;
use crate::driver::Driver;
use crate::latch::Latch;
pub use crate::lifecycle::WorkerOutcome;
use crate::lifecycle::{self, WorkerPlan};
use crate::limit::EventLimit;
use crate::observer::{Observer, Wanted};
use crate::share::Terminals;
use crate::stop::StopToken;
use crate::trial::{RunError, TrialOutcome, TrialSpec};
use crate::workload::Workload;

mod hands;
mod lateness;
mod outcome;
mod relay;

pub use hands::{Agent, Signals};
use hands::{Hand, joined, spawn};
pub use lateness::{Lateness, lateness};
use outcome::{Seen, as_ended, finish};
pub use relay::Coordinator;
use relay::Relay;

/// How long before it comes the workers of one process learn of the start.
const LEAD: Duration = Duration::from_millis(5);

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
    let wanted = Wanted { by_kind: observer.by_kind(), lists: observer.lists() };
    let hands = here(spec, driver, workload, wanted);
    let (spec, outcomes, seen) = run_hands(spec, (hands, LEAD), stop, observer)?;
    Ok(finish(&spec, &**workload, driver.blocking(), outcomes, seen))
}

/// Runs one trial whose load others apply, in other processes, each a share of it. They are given the start so long before it
/// comes.
///
/// # Errors
/// As [`run_trial`].
pub fn run_apart<'a, W: Workload>(
    spec: &TrialSpec,
    workload: &W,
    (agents, lead): (Vec<Box<dyn Agent + 'a>>, Duration),
    stop: &StopToken,
    observer: &mut dyn Observer,
) -> Result<TrialOutcome, RunError> {
    let hand = |agent: Box<dyn Agent + 'a>| -> Hand<'a> { Box::new(move |signals| agent.apply(&signals)) };
    let hands = agents.into_iter().map(hand).collect();
    let (spec, outcomes, seen) = run_hands(spec, (hands, lead), stop, observer)?;
    Ok(finish(&spec, workload, false, outcomes, seen))
}

/// Applies this process's share of a trial that another one coordinates; what its workers saw goes there.
///
/// # Errors
/// As [`run_trial`].
pub fn run_share<D: Driver, W: Workload>(
    (spec, by_kind): (&TrialSpec, bool),
    driver: &Arc<D>,
    workload: &Arc<W>,
    stop: &StopToken,
    coordinator: &mut dyn Coordinator,
) -> Result<Vec<WorkerOutcome>, RunError> {
    let hands = here(spec, driver, workload, Wanted { by_kind, lists: false });
    let (signals, received) = Signals::new(stop);
    thread::scope(|scope| {
        let mut relay = Relay::new(spec, hands.len(), &signals, coordinator);
        let threads = spawn(scope, hands, signals);
        let relayed = relay.pass_on(&received, stop);
        let outcomes = first_error(joined(threads), relayed)?;
        if stop.requested() && !stop.keeps() { Err(RunError::Interrupted) } else { Ok(outcomes) }
    })
}

/// The workers of this process, one hand each.
fn here<D: Driver, W: Workload>(spec: &TrialSpec, driver: &Arc<D>, workload: &Arc<W>, wanted: Wanted) -> Vec<Hand<'static>> {
    let hand = |plan: WorkerPlan| -> Hand<'static> {
        let (driver, workload) = (driver.clone(), workload.clone());
        Box::new(move |Signals { start, stop, reports }| {
            on_own_loop(lifecycle::run(plan, driver, workload, start, stop, reports)).map(|outcome| vec![outcome])
        })
    };
    worker_plans(spec, (driver.blocking(), workload.extra_terminals()), wanted).into_iter().map(hand).collect()
}

/// Runs the hands of one trial to their end; returns the trial as it ended, too.
fn run_hands(
    spec: &TrialSpec,
    (hands, lead): (Vec<Hand<'_>>, Duration),
    stop: &StopToken,
    observer: &mut dyn Observer,
) -> Result<(TrialSpec, Vec<WorkerOutcome>, Seen), RunError> {
    let (signals, received) = Signals::new(stop);
    thread::scope(|scope| {
        let (trial_stop, start) = (signals.stop.clone(), signals.start.clone());
        let mut collector = Collector::new(spec, (hands.len() as u32, lead), trial_stop, start, observer);
        let threads = spawn(scope, hands, signals);
        let collected = collector.collect(&received, stop);
        let outcomes = first_error(joined(threads), collected)?;
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

/// The error that explains the others: an interruption is what the other hands of a failed one report.
fn first_error(
    outcomes: Vec<Result<Vec<WorkerOutcome>, RunError>>,
    collected: Result<(), RunError>,
) -> Result<Vec<WorkerOutcome>, RunError> {
    let mut worst = collected.err();
    let mut keep = |error| {
        if matches!(worst, None | Some(RunError::Interrupted)) {
            worst = Some(error);
        }
    };
    let good = outcomes.into_iter().filter_map(|outcome| outcome.map_err(&mut keep).ok()).flatten().collect();
    worst.map_or(Ok(good), Err)
}

/// Deals terminals and arrivals of this process to workers, as evenly as possible, and so many terminals beside those of the load. A blocking
/// driver gets a thread per session, and so does what runs beside a load that has no end: to read a large answer must delay no terminal of it.
pub(crate) fn worker_plans(spec: &TrialSpec, (blocking, extra): (bool, u32), wanted: Wanted) -> Vec<WorkerPlan> {
    let processors = thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let apart = if spec.streams || spec.share.number > 0 { 0 } else { extra };
    let mine = spec.share.terminals(spec.connections.saturating_add(if spec.streams { extra } else { 0 }));
    let workers = if blocking { mine.count } else { spec.workers.unwrap_or(processors).clamp(1, mine.count.max(1)) };
    let position = |i: u32| (u64::from(mine.count) * u64::from(i) / u64::from(workers.max(1))) as u32;
    let arrivals = schedule(spec).map(|schedule| Arc::new(Mutex::new(schedule)));
    let (limit, spec) = (EventLimit::new(spec.max_events.map(|events| spec.share.part(events))), Arc::new(spec.clone()));
    let latch = Latch::default();
    let plan = |terminals: Terminals| WorkerPlan {
        terminals,
        spec: spec.clone(),
        arrivals: arrivals.clone(),
        limit: limit.clone(),
        latch: latch.clone(),
        wanted,
    };
    let load = (0..workers).map(|i| mine.between(position(i), position(i + 1)));
    load.chain((0..apart).map(|i| Terminals::one(spec.connections + i))).map(plan).collect()
}

#[cfg(test)]
mod tests;
