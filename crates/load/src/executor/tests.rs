//! The engine against the simulated database under a virtual clock: every number is exact.

use std::sync::mpsc;
use std::time::Instant;

use perbuck_core::arrivals::{Arrivals, RatePhase};
use perbuck_core::load_model::LoadModel;
use perbuck_core::run_record::{Interval, TransactionRecord};
use perbuck_core::units::Seed;
use perbuck_event::TaskSet;

use super::*;
use crate::connection::Connection;
use crate::driver::Session;
use crate::error::{Cause, DriverError, ErrorClass};
use crate::limit::Tolerance;
use crate::observer::{SecondSeen, Unobserved};
use crate::recorder::{Report, Second};
use crate::share::Share;
use crate::sim::SimDriver;
use crate::start::StartSignal;
use crate::statement::{Catalogue, StatementId, Verb};
use crate::workload::{Done, Operation, Pauses, Terminal, TerminalId, Workload};

/// Two statements a transaction; every fourth one is rolled back by design.
#[derive(Clone)]
struct TwoSelects {
    catalogue: Arc<Catalogue>,
    renews_after: Option<u64>,
    pauses: Pauses,
    prepares_ahead: bool,
    counts_failed: bool,
}

/// What it drew, and its workload.
struct TwoSelectsTerminal(u64, TwoSelects);

impl TwoSelects {
    fn new() -> Arc<Self> {
        Self::with(None, Pauses::default())
    }

    /// Wants a new connection after so many transactions, and pauses.
    fn with(renews_after: Option<u64>, pauses: Pauses) -> Arc<Self> {
        let mut catalogue = Catalogue::default();
        catalogue.add(Verb::Select, "SELECT 1");
        catalogue.time_steps(2);
        Arc::new(Self { catalogue: Arc::new(catalogue), renews_after, pauses, prepares_ahead: false, counts_failed: false })
    }
}

impl Workload for TwoSelects {
    type Terminal = TwoSelectsTerminal;

    fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.clone()
    }

    fn kinds(&self) -> Vec<&str> {
        vec!["two_selects"]
    }

    fn fact_names(&self) -> &'static [&'static [&'static str]] {
        &[&["selects", "thirds"]]
    }

    fn pauses(&self) -> bool {
        self.pauses != Pauses::default()
    }

    fn prepares_ahead(&self) -> bool {
        self.prepares_ahead
    }

    fn counts_failed(&self) -> bool {
        self.counts_failed
    }

    fn terminal(&self, id: TerminalId) -> TwoSelectsTerminal {
        TwoSelectsTerminal(id.index.into(), self.clone())
    }
}

impl Terminal for TwoSelectsTerminal {
    fn kind(&mut self, _operation: &Operation) -> u8 {
        0
    }

    async fn transaction<S: Session>(&mut self, c: &mut Connection<S>, operation: &mut Operation) -> Result<Done, DriverError> {
        self.0 ^= operation.rng.next_u64();
        for step in [0, 1] {
            let began_ns = c.step_begins(step);
            c.execute(StatementId(0)).await?;
            c.step_ended(began_ns);
        }
        let facts = [2, (operation.sequence % 3) as u16, 0, 9];
        Ok(Done { kind: 0, rolled_back: operation.sequence % 4 == 3, facts })
    }

    fn pauses(&mut self, _operation: &Operation) -> Pauses {
        self.1.pauses
    }

    fn reconnects_after(&self, sequence: u64) -> bool {
        self.1.renews_after.is_some_and(|n| (sequence + 1).is_multiple_of(n))
    }
}

fn spec(connections: u32) -> TrialSpec {
    TrialSpec {
        load: LoadModel::closed(),
        phases: Vec::new(),
        connections,
        workers: Some(2),
        warmup_ns: 1_000_000_000,
        duration_ns: 10_000_000_000,
        max_attempts: 3,
        seed: Seed(42),
        drain_ns: 5_000_000_000,
        max_events: None,
        streams: false,
        time_statements: false,
        tolerance: Tolerance::All,
        share: Share::WHOLE,
    }
}

/// A driver of which every n-th statement of a session fails.
fn failing(every: u64, class: ErrorClass, code: i32) -> SimDriver {
    SimDriver { failing: vec![(every, SimDriver::error(class, code))], ..SimDriver::default() }
}

/// A driver of which no statement ends between these seconds after a session was opened.
fn stalling(from_s: u64, to_s: u64) -> SimDriver {
    SimDriver { stall: Some(Duration::from_secs(from_s)..Duration::from_secs(to_s)), ..SimDriver::default() }
}

fn transactions(outcome: &TrialOutcome) -> &TransactionRecord {
    &outcome.measured.transactions["two_selects"]
}

/// Runs all workers of a trial on one simulated clock, as the executor does on threads of their own.
fn simulate(spec: &TrialSpec, driver: SimDriver) -> Result<TrialOutcome, RunError> {
    simulate_with(spec, driver, &TwoSelects::new(), &mut |_| {})
}

fn simulate_with<W: Workload>(
    spec: &TrialSpec,
    driver: SimDriver,
    workload: &Arc<W>,
    see: &mut dyn FnMut(&SecondSeen<'_>),
) -> Result<TrialOutcome, RunError> {
    perbuck_event::block_on_simulated(async {
        let (driver, stop) = (Arc::new(driver), StopToken::default());
        let (start, (reports, received)) = (StartSignal::default(), mpsc::channel());
        let plans = worker_plans(spec, (false, 0), Wanted::default());
        let mut watched = Watched { opened: 0, closed: 0, transactions: 0, errors: 0, see };
        let mut collector = Collector::new(spec, (plans.len() as u32, LEAD), stop.clone(), start.clone(), &mut watched);
        let mut workers = TaskSet::default();
        for plan in plans {
            let worker = lifecycle::run(plan, driver.clone(), workload.clone(), start.clone(), stop.clone(), reports.clone());
            let reports = reports.clone();
            workers.spawn(async move {
                let outcome = worker.await;
                if outcome.is_err() {
                    let _ = reports.send(Report::GaveUp);
                }
                outcome
            });
        }
        let mut outcomes = Vec::new();
        while workers.running() > 0 {
            perbuck_event::sleep(Duration::from_millis(20)).await;
            received.try_iter().for_each(|report| collector.take(report));
            collector.check(&StopToken::default());
        }
        while let Some(outcome) = workers.next().await {
            outcomes.push(outcome.map(|outcome| vec![outcome]));
        }
        received.try_iter().for_each(|report| collector.take(report));
        let collected = collector.end();
        let outcomes = first_error(outcomes, collected)?;
        let planned_ns = spec.duration_ns;
        let spec = &as_ended(spec, &outcomes, None);
        let seen = Seen::of(&mut collector, spec, spec.duration_ns < planned_ns);
        assert_eq!((watched.opened, watched.closed), (1, 1));
        let outcome = finish(spec, &**workload, false, outcomes, seen);
        // Who adds up the seconds and the rest misses nothing.
        let sum = |count: fn(&Interval) -> u64| outcome.intervals.iter().map(count).sum::<u64>();
        assert_eq!((watched.transactions, watched.errors), (sum(|i| i.transactions), sum(|i| i.errors)));
        Ok(outcome)
    })
}

struct Watched<'a> {
    opened: u32,
    closed: u32,
    transactions: u64,
    errors: u64,
    see: &'a mut dyn FnMut(&SecondSeen<'_>),
}

impl Observer for Watched<'_> {
    fn second(&mut self, seen: &SecondSeen<'_>) {
        (self.see)(seen);
        self.rest(seen.second);
    }

    fn rest(&mut self, rest: &Second) {
        self.transactions += rest.transactions;
        self.errors += rest.errors;
        assert_eq!(rest.by_class.iter().sum::<u64>(), rest.errors);
    }

    fn opens(&mut self) {
        self.opened += 1;
    }

    fn closes(&mut self) {
        self.closed += 1;
    }
}

#[test]
fn a_run_to_the_end_counts_exactly() {
    // 8 connections, 2 statements of 1 ms: 500 transactions a second each, in warm-up and window alike.
    let outcome = simulate(&spec(8), SimDriver::default()).unwrap();
    let t = transactions(&outcome);
    let completed = t.completed();
    assert!((39_960..=40_000).contains(&completed), "{completed}");
    assert_eq!(outcome.measured.statements.total(), 2 * completed);
    assert_eq!(outcome.measured.statements.select, 2 * completed);
    assert!(t.rolled_back.abs_diff(completed / 4) <= 16, "{}", t.rolled_back);
    let h = t.service.to_histogram().unwrap();
    assert_eq!((h.count(), h.percentile_ns(50.0), h.max_ns()), (completed, Some(2_000_000), 2_000_000));
    // One second of warm-up and ten of window; the sum over seconds is the total.
    assert_eq!(outcome.intervals.len(), 11);
    let windowed: u64 = outcome.intervals.iter().filter(|i| i.start_ms >= 0).map(|i| i.transactions).sum();
    assert_eq!(windowed, completed);
    assert!(outcome.errors.is_empty() && outcome.health.gaps.is_empty());
    let law = outcome.health.littles_law.unwrap();
    assert!(law.holds() && (law.ratio - 1.0).abs() < 0.001, "{law:?}");
}

#[test]
fn k_injected_errors_are_exactly_k_in_the_record() {
    let outcome = simulate(&spec(4), failing(100, ErrorClass::Retry, 1213)).unwrap();
    let statements = outcome.statements_whole_run.select;
    let injected = outcome.errors["sim 1213"].count;
    // Each session fails its own every hundredth statement.
    assert!(injected <= statements / 100 && injected + 4 > statements / 100, "{injected} of {statements}");
    assert_eq!(outcome.statements_whole_run.rollback, injected);
    assert_eq!(transactions(&outcome).failed, 0);
    assert!(outcome.measured.retries > 0 && outcome.measured.retries <= injected);
}

#[test]
fn attempts_end_and_failures_are_counted_and_duplicates_have_one() {
    let outcome = simulate(&spec(1), failing(1, ErrorClass::Retry, 1213)).unwrap();
    let t = transactions(&outcome);
    assert_eq!((t.committed, t.service.count), (0, 0));
    // Three attempts of one statement of 1 ms, then the next transaction.
    assert!((3_332..=3_334).contains(&t.failed), "{}", t.failed);
    assert!(outcome.measured.retries.abs_diff(2 * t.failed) <= 2);
    assert_eq!(outcome.health.longest_gap_ns, 10_000_000_000);
    let outcome = simulate(&spec(1), failing(10, ErrorClass::Failed, 1062)).unwrap();
    assert_eq!(outcome.measured.retries, 0);
    assert!(transactions(&outcome).failed > 900);
}

#[test]
fn a_lost_connection_is_reopened_and_counted() {
    let outcome = simulate(&spec(2), failing(1_000, ErrorClass::Lost, 2013)).unwrap();
    let health = &outcome.health;
    assert!(health.connections_lost >= 20, "{health:?}");
    assert_eq!(health.connections_lost, outcome.errors["sim 2013"].count);
    assert!(health.connections_lost - health.reconnects <= 2, "{health:?}");
}

#[test]
fn a_fatal_error_ends_the_run_with_its_reason() {
    let error = SimDriver::error(ErrorClass::Fatal, 1146).because(Some(Cause::NoTable));
    let failing = vec![(50, error.clone())];
    let named = DriverError::new(error.class, error.code, format!("{}, for query 'SELECT 1'", error.message));
    let named = named.because(Some(Cause::NoTable));
    assert_eq!(simulate(&spec(4), SimDriver { failing, ..SimDriver::default() }), Err(RunError::Fatal(named)));
}

#[test]
fn a_refused_connection_ends_the_run_before_it_starts_also_on_real_threads() {
    let driver = SimDriver { max_connections: 3, ..SimDriver::default() };
    let refused = Err(RunError::Connect(SimDriver::error(ErrorClass::Refused, 1040)));
    assert_eq!(simulate(&spec(8), driver.clone()), refused);
    let result = run_trial(&spec(8), &Arc::new(driver), &TwoSelects::new(), &StopToken::default(), &mut Unobserved);
    assert_eq!(result, refused);
}

#[test]
fn a_stall_is_a_gap_of_its_length_and_one_without_an_end_is_aborted_after_the_drain() {
    // Sessions open one second of warm-up before the window, so the stall is 2 s to 5 s of the window.
    let outcome = simulate(&spec(8), stalling(3, 6)).unwrap();
    let gap = outcome.health.gaps[0];
    assert_eq!(outcome.health.gaps.len(), 1);
    assert!((1_960..=2_010).contains(&gap.start_ms) && (2_980..=3_010).contains(&gap.length_ms), "{gap:?}");
    let h = transactions(&outcome).service.to_histogram().unwrap();
    assert!(h.max_ns() >= 2_990_000_000);
    assert_eq!(simulate(&spec(8), stalling(3, 1000)).unwrap().health.aborted, 8);
}

#[test]
fn seconds_cut_by_warmup_and_window_say_their_true_length() {
    let spec = TrialSpec { warmup_ns: 1_300_000_000, duration_ns: 2_500_000_000, ..spec(4) };
    let outcome = simulate(&spec, SimDriver::default()).unwrap();
    let seen: Vec<(i64, u64)> = outcome.intervals.iter().map(|i| (i.start_ms, i.length_ms)).collect();
    assert_eq!(seen, [(-1300, 300), (-1000, 1000), (0, 1000), (1000, 1000), (2000, 500)]);
    // 4 connections, 2 ms a transaction: 2 a millisecond, whatever the length.
    for i in &outcome.intervals[1..] {
        assert!(i.transactions.abs_diff(2 * i.length_ms) <= 8, "{i:?}");
    }
}

#[test]
fn terminals_are_dealt_evenly_and_none_is_lost() {
    let plans = worker_plans(&TrialSpec { workers: Some(3), ..spec(10) }, (false, 0), Wanted::default());
    let sizes: Vec<u32> = plans.iter().map(|p| p.terminals.count).collect();
    assert_eq!((plans.len(), plans[2].terminals.indexes().last()), (3, Some(9)));
    assert_eq!(plans.iter().flat_map(|p| p.terminals.indexes()).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    assert!(sizes.iter().all(|s| (3..=4).contains(s)));
    assert_eq!(worker_plans(&spec(5), (true, 0), Wanted::default()).len(), 5);
    assert_eq!(worker_plans(&spec(1), (false, 0), Wanted::default()).len(), 1);
}

#[test]
fn on_real_threads_a_request_to_stop_throws_the_trial_away() {
    // One arrival in ten seconds: all terminals sleep.
    let slow = RatePhase { length_ns: 60_000_000_000, from_per_s: 0.1, to_per_s: 0.1 };
    let open = LoadModel::Open { arrivals: Arrivals::Uniform, phases: vec![slow] };
    let open = TrialSpec { load: open, warmup_ns: 0, duration_ns: 60_000_000_000, ..spec(16) };
    for (what, spec, workload) in [
        ("busy terminals", spec(4), TwoSelects::new()),
        ("terminals that wait for an arrival", open, TwoSelects::new()),
        ("terminals that pause", spec(4), pauses::pausing(60_000, 0)),
    ] {
        let (stop, started) = (StopToken::default(), Instant::now());
        let result = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(150));
                stop.request();
            });
            run_trial(&spec, &Arc::new(SimDriver::default()), &workload, &stop, &mut Unobserved)
        });
        assert_eq!(result, Err(RunError::Interrupted), "{what}");
        assert!(started.elapsed() < Duration::from_secs(5), "{what}");
    }
}

#[test]
fn on_real_threads_a_short_trial_ends_whole() {
    let spec = TrialSpec { warmup_ns: 50_000_000, duration_ns: 300_000_000, ..spec(4) };
    let outcome =
        run_trial(&spec, &Arc::new(SimDriver::default()), &TwoSelects::new(), &StopToken::default(), &mut Unobserved).unwrap();
    assert_eq!(outcome.workers, 2);
    assert!(transactions(&outcome).completed() > 50);
    assert_eq!(outcome.measured.window_ns, 300_000_000);
}

mod ahead;
mod allocations;
mod apart;
mod hosts;
mod limits;
mod open_loop;
mod pauses;
