//! The engine against the simulated database under a virtual clock: every figure is exact.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use perbuck_core::load_model::LoadModel;
use perbuck_core::units::Seed;
use perbuck_event::TaskSet;

use super::*;
use crate::connection::Connection;
use crate::driver::Session;
use crate::error::{Cause, DriverError, ErrorClass};
use crate::limit::Tolerance;
use crate::observer::{SecondSeen, Unobserved};
use crate::sim::SimDriver;
use crate::statement::{Catalogue, StatementId, Verb};
use crate::workload::{Done, Operation, Pauses, Terminal, TerminalId, Workload};

/// Two statements a transaction; every fourth one is rolled back by design.
struct TwoSelects {
    catalogue: Arc<Catalogue>,
    terminals: AtomicU64,
    renews_after: Option<u64>,
    pauses: Pauses,
}

struct TwoSelectsTerminal {
    content: u64,
    renews_after: Option<u64>,
    pauses: Pauses,
}

impl TwoSelects {
    fn new() -> Arc<Self> {
        let mut catalogue = Catalogue::default();
        catalogue.add(Verb::Select, "SELECT 1");
        Arc::new(Self {
            catalogue: Arc::new(catalogue),
            terminals: AtomicU64::new(0),
            renews_after: None,
            pauses: Pauses::default(),
        })
    }

    /// Wants a new connection after every so many transactions.
    fn renewing(transactions: u64) -> Arc<Self> {
        let catalogue = Self::new().catalogue();
        Arc::new(Self { catalogue, terminals: AtomicU64::new(0), renews_after: Some(transactions), pauses: Pauses::default() })
    }
}

impl Workload for TwoSelects {
    type Terminal = TwoSelectsTerminal;

    fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.clone()
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["two_selects"]
    }

    fn fact_names(&self) -> &'static [&'static [&'static str]] {
        &[&["selects", "thirds"]]
    }

    fn pauses(&self) -> bool {
        self.pauses != Pauses::default()
    }

    fn terminal(&self, id: TerminalId) -> TwoSelectsTerminal {
        self.terminals.fetch_add(1, Ordering::Relaxed);
        TwoSelectsTerminal { content: u64::from(id.index), renews_after: self.renews_after, pauses: self.pauses }
    }
}

impl Terminal for TwoSelectsTerminal {
    fn kind(&mut self, _operation: &Operation) -> u8 {
        0
    }

    async fn transaction<S: Session>(&mut self, c: &mut Connection<S>, operation: &mut Operation) -> Result<Done, DriverError> {
        self.content ^= operation.rng.next_u64();
        c.execute(StatementId(0)).await?;
        c.execute(StatementId(0)).await?;
        let facts = [2, (operation.sequence % 3) as u16, 0, 9];
        Ok(Done { kind: 0, rolled_back: operation.sequence % 4 == 3, facts })
    }

    fn pauses(&mut self, _operation: &Operation) -> Pauses {
        self.pauses
    }

    fn reconnects_after(&self, sequence: u64) -> bool {
        self.renews_after.is_some_and(|n| (sequence + 1).is_multiple_of(n))
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
        time_statements: false,
        tolerance: Tolerance::All,
    }
}

/// Runs all workers of a trial on one simulated clock, as the executor does on threads of their own.
fn simulate(spec: &TrialSpec, driver: SimDriver) -> Result<TrialOutcome, RunError> {
    simulate_with(spec, driver, &TwoSelects::new(), &mut |_| {})
}

fn simulate_with(
    spec: &TrialSpec,
    driver: SimDriver,
    workload: &Arc<TwoSelects>,
    see: &mut dyn FnMut(&SecondSeen<'_>),
) -> Result<TrialOutcome, RunError> {
    perbuck_event::block_on_simulated(async {
        let (driver, stop) = (Arc::new(driver), StopToken::default());
        let (start, (reports, received)) = (StartSignal::default(), mpsc::channel());
        let plans = worker_plans(spec, false, false);
        let mut watched = Watched { opened: 0, closed: 0, see };
        let mut collector = Collector::new(spec, plans.len() as u32, stop.clone(), start.clone(), &mut watched);
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
            collector.look(&StopToken::default());
        }
        while let Some(outcome) = workers.next().await {
            outcomes.push(outcome);
        }
        received.try_iter().for_each(|report| collector.take(report));
        let collected = collector.end();
        let outcomes = first_error(outcomes, collected)?;
        let planned_ns = spec.duration_ns;
        let spec = &as_ended(spec, &outcomes, None);
        let seen = Seen::of(&mut collector, spec, spec.duration_ns < planned_ns);
        assert_eq!((watched.opened, watched.closed), (1, 1));
        Ok(finish(spec, &Names::of(&**workload), (false, workload.pauses()), outcomes, seen))
    })
}

struct Watched<'a> {
    opened: u32,
    closed: u32,
    see: &'a mut dyn FnMut(&SecondSeen<'_>),
}

impl Observer for Watched<'_> {
    fn second(&mut self, seen: &SecondSeen<'_>) {
        (self.see)(seen);
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
    let t = &outcome.measured.transactions["two_selects"];
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
}

#[test]
fn k_injected_errors_are_exactly_k_in_the_record() {
    let failing = vec![(100, SimDriver::error(ErrorClass::Retry, 1213))];
    let outcome = simulate(&spec(4), SimDriver { failing, ..SimDriver::default() }).unwrap();
    let statements = outcome.statements_whole_run.select;
    let injected = outcome.errors["sim 1213"].count;
    // Each session fails its own every hundredth statement.
    assert!(injected <= statements / 100 && injected + 4 > statements / 100, "{injected} of {statements}");
    assert_eq!(outcome.statements_whole_run.rollback, injected);
    assert_eq!(outcome.measured.transactions["two_selects"].failed, 0);
    assert!(outcome.measured.retries > 0 && outcome.measured.retries <= injected);
}

#[test]
fn attempts_end_and_failures_are_counted() {
    let failing = vec![(1, SimDriver::error(ErrorClass::Retry, 1213))];
    let outcome = simulate(&spec(1), SimDriver { failing, ..SimDriver::default() }).unwrap();
    let t = &outcome.measured.transactions["two_selects"];
    assert_eq!((t.committed, t.service.count), (0, 0));
    // Three attempts of one statement of 1 ms, then the next transaction.
    assert!((3_332..=3_334).contains(&t.failed), "{}", t.failed);
    assert!(outcome.measured.retries.abs_diff(2 * t.failed) <= 2);
    assert_eq!(outcome.health.longest_gap_ns, 10_000_000_000);
}

#[test]
fn duplicates_fail_without_a_retry() {
    let failing = vec![(10, SimDriver::error(ErrorClass::Failed, 1062))];
    let outcome = simulate(&spec(1), SimDriver { failing, ..SimDriver::default() }).unwrap();
    assert_eq!(outcome.measured.retries, 0);
    assert!(outcome.measured.transactions["two_selects"].failed > 900);
}

#[test]
fn a_lost_connection_is_opened_again_and_counted() {
    let failing = vec![(1_000, SimDriver::error(ErrorClass::Lost, 2013))];
    let outcome = simulate(&spec(2), SimDriver { failing, ..SimDriver::default() }).unwrap();
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
fn a_refused_connection_ends_the_run_before_it_starts() {
    let driver = SimDriver { max_connections: 3, ..SimDriver::default() };
    assert_eq!(simulate(&spec(8), driver), Err(RunError::Connect(SimDriver::error(ErrorClass::Refused, 1040))));
}

#[test]
fn a_stall_is_reported_as_a_gap_of_its_length() {
    // Sessions open one second of warm-up before the window, so the stall is 2 s to 5 s of the window.
    let stall = Some(Duration::from_secs(3)..Duration::from_secs(6));
    let outcome = simulate(&spec(8), SimDriver { stall, ..SimDriver::default() }).unwrap();
    let gap = outcome.health.gaps[0];
    assert_eq!(outcome.health.gaps.len(), 1);
    assert!((1_960..=2_010).contains(&gap.start_ms) && (2_980..=3_010).contains(&gap.length_ms), "{gap:?}");
    let h = outcome.measured.transactions["two_selects"].service.to_histogram().unwrap();
    assert!(h.max_ns() >= 2_990_000_000);
}

#[test]
fn stuck_transactions_are_aborted_after_the_drain_and_said_so() {
    let stall = Some(Duration::from_secs(3)..Duration::from_secs(1000));
    let outcome = simulate(&spec(8), SimDriver { stall, ..SimDriver::default() }).unwrap();
    assert_eq!(outcome.health.aborted, 8);
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
    let plans = worker_plans(&TrialSpec { workers: Some(3), ..spec(10) }, false, false);
    let sizes: Vec<usize> = plans.iter().map(|p| p.terminals.len()).collect();
    assert_eq!((plans.len(), sizes.iter().sum::<usize>(), plans[2].terminals.end), (3, 10, 10));
    assert!(sizes.iter().all(|s| (3..=4).contains(s)));
    assert_eq!(worker_plans(&spec(5), true, false).len(), 5);
    assert_eq!(worker_plans(&spec(1), false, false).len(), 1);
}

#[test]
fn on_real_threads_a_request_to_stop_throws_the_trial_away() {
    let stop = StopToken::default();
    let asked = stop.clone();
    let started = Instant::now();
    let asker = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        asked.request();
    });
    let result = run_trial(&spec(4), &Arc::new(SimDriver::default()), &TwoSelects::new(), &stop, &mut Unobserved);
    asker.join().unwrap();
    assert_eq!(result, Err(RunError::Interrupted));
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn on_real_threads_a_short_trial_ends_whole() {
    let spec = TrialSpec { warmup_ns: 50_000_000, duration_ns: 300_000_000, ..spec(4) };
    let outcome =
        run_trial(&spec, &Arc::new(SimDriver::default()), &TwoSelects::new(), &StopToken::default(), &mut Unobserved).unwrap();
    assert_eq!(outcome.workers, 2);
    assert!(outcome.measured.transactions["two_selects"].completed() > 50);
    assert_eq!(outcome.measured.window_ns, 300_000_000);
}

#[test]
fn a_refused_connection_on_real_threads_does_not_hang_the_others() {
    let driver = SimDriver { max_connections: 3, ..SimDriver::default() };
    let result = run_trial(&spec(8), &Arc::new(driver), &TwoSelects::new(), &StopToken::default(), &mut Unobserved);
    assert!(matches!(result, Err(RunError::Connect(_))), "{result:?}");
}

mod allocations;
mod hosts;
mod limits;
mod open_loop;
mod pauses;
