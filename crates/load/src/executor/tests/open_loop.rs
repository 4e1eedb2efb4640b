//! Open loop and phases under the simulated clock: what is due is known, so every number has an exact expectation.

use perbuck_core::histogram::Histogram;
use perbuck_core::load_model::{Phase, PhaseLoad};

use super::*;

const SECOND: u64 = 1_000_000_000;
/// Two statements of 1 ms.
const SERVICE_NS: u64 = 2_000_000;

fn open(connections: u32, per_s: u32, arrivals: Arrivals) -> TrialSpec {
    let base = spec(connections);
    TrialSpec { load: LoadModel::rate(per_s, arrivals, base.warmup_ns + base.duration_ns), ..base }
}

fn response(outcome: &TrialOutcome) -> Histogram {
    transactions(outcome).response.to_histogram().unwrap()
}

/// Nothing is lost: what was due was started or still waits, what was started has ended or is unfinished, and the
/// seconds add up to the totals.
fn add_up(outcome: &TrialOutcome) {
    let open = outcome.measured.open_loop.as_ref().unwrap();
    let t = transactions(outcome);
    assert_eq!(open.backlog_at_open + open.offered, open.started + open.backlog_at_close, "{open:?}");
    let windowed = || outcome.intervals.iter().filter(|i| i.start_ms >= 0);
    assert_eq!(windowed().map(|i| i.due).sum::<u64>(), open.offered);
    assert_eq!(windowed().map(|i| i.transactions).sum::<u64>(), t.completed());
    assert_eq!(outcome.intervals.last().unwrap().backlog, open.backlog_at_close);
    for h in [&t.wait, &t.service, &t.response] {
        assert_eq!(h.count, t.completed());
    }
    assert_eq!(t.wait.sum_ns + t.service.sum_ns, t.response.sum_ns);
}

#[test]
fn below_capacity_every_arrival_starts_when_it_is_due() {
    for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
        let outcome = simulate(&open(64, 1000, arrivals), SimDriver::default()).unwrap();
        add_up(&outcome);
        let (open, t) = (outcome.measured.open_loop.as_ref().unwrap(), transactions(&outcome));
        let expected = if arrivals == Arrivals::Uniform { 10_000..=10_000 } else { 9_600..=10_400 };
        assert!(expected.contains(&open.offered), "{open:?}");
        assert!(t.completed().abs_diff(open.offered) <= 10, "{t:?}");
        assert_eq!((t.service.max_ns, t.wait.max_ns, t.response.max_ns), (SERVICE_NS, 0, SERVICE_NS));
        assert_eq!((open.backlog_at_open, open.backlog_at_close, outcome.health.late_sends), (0, 0, 0));
    }
}

#[test]
fn the_offer_is_the_seeds_whatever_the_workers_and_the_target() {
    let run = |workers, service_ms| {
        let spec = TrialSpec { workers: Some(workers), ..open(16, 500, Arrivals::Poisson) };
        let driver = SimDriver { service: Duration::from_millis(service_ms), ..SimDriver::default() };
        let outcome = simulate(&spec, driver).unwrap();
        add_up(&outcome);
        outcome.intervals.iter().map(|i| i.due).collect::<Vec<_>>()
    };
    let one = run(1, 1);
    assert_eq!(run(5, 1), one);
    assert_eq!(run(2, 100), one);
}

#[test]
fn at_twice_the_capacity_nothing_is_skipped_and_the_response_time_is_the_backlogs() {
    // 4 connections, 2 ms each: 2,000 a second can be done, 4,000 are due.
    let outcome = simulate(&open(4, 4000, Arrivals::Uniform), SimDriver::default()).unwrap();
    add_up(&outcome);
    let (open, t) = (outcome.measured.open_loop.as_ref().unwrap(), transactions(&outcome));
    assert_eq!(open.offered, 40_000);
    assert!(t.completed().abs_diff(20_000) <= 8 && t.failed == 0, "{t:?}");
    // After one second of warm-up and ten of window half of 44,000 wait or are in flight.
    assert!(open.backlog_at_close.abs_diff(22_000) <= 8, "{open:?}");
    assert!((open.backlog_at_close..=open.backlog_at_close + 4).contains(&open.unfinished.count), "{open:?}");
    for i in &outcome.intervals {
        let end_s = i.start_ms as f64 / 1000.0 + 1.0;
        assert!((i.backlog as f64 - 2000.0 * (end_s + 1.0)).abs() <= 8.0, "{i:?}");
    }
    // What ends at time t of the run was due at t / 2: the last one waited for half of eleven seconds.
    let response = response(&outcome);
    let at = |p| response.percentile_ns(p).unwrap() as f64 / 1e9;
    for p in [1.0, 50.0, 99.0] {
        let expected = (1.0 + 10.0 * p / 100.0) / 2.0;
        assert!((at(p) - expected).abs() < 0.02, "p{p}: {} against {expected}", at(p));
    }
    // The service time alone shows nothing of all this.
    assert_eq!(t.service.max_ns, SERVICE_NS);
    // Those that wait have been due since at most half of eleven seconds.
    assert!((open.unfinished.max_ns as f64 / 1e9 - 5.5).abs() < 0.01, "{open:?}");
}

#[test]
fn a_stall_is_in_the_response_time_of_every_arrival_that_falls_into_it() {
    // From 2 s to 4 s of the window nothing ends; sessions open one second before it.
    let outcome = simulate(&open(4000, 500, Arrivals::Uniform), stalling(3, 5)).unwrap();
    add_up(&outcome);
    let slow = |h: &Histogram| h.buckets().filter(|(ns, _)| *ns > 100_000_000).map(|(_, n)| n).sum::<u64>();
    // 1,000 arrivals are due in two seconds; the last 0.1 s of them wait for less than 0.1 s.
    assert!(slow(&response(&outcome)).abs_diff(950) <= 2, "{}", slow(&response(&outcome)));
    // With 4,000 connections they all were sent in the stall. With two, the others had to wait.
    let few = simulate(&open(2, 500, Arrivals::Uniform), stalling(3, 5)).unwrap();
    add_up(&few);
    let service = few.measured.transactions["two_selects"].service.to_histogram().unwrap();
    assert_eq!(slow(&service), 2, "the service time hides the stall but for those in flight");
    assert!(slow(&response(&few)) >= 950, "{}", slow(&response(&few)));
}

#[test]
fn errors_and_retries_add_up_in_open_loop_too() {
    let failing = vec![(10, SimDriver::error(ErrorClass::Failed, 1062)), (33, SimDriver::error(ErrorClass::Lost, 2013))];
    let outcome = simulate(&open(8, 400, Arrivals::Poisson), SimDriver { failing, ..SimDriver::default() }).unwrap();
    let (open, t) = (outcome.measured.open_loop.as_ref().unwrap(), transactions(&outcome));
    assert_eq!(open.backlog_at_open + open.offered, open.started + open.backlog_at_close);
    assert!(t.failed > 100 && outcome.health.connections_lost > 10);
    let ended = t.completed() + t.failed;
    assert!(ended.abs_diff(open.started) <= 8, "{ended} of {}", open.started);
}

#[test]
fn a_ramp_offers_its_integral_and_phases_have_numbers_of_their_own() {
    let rate = |from_per_s, to_per_s| PhaseLoad::Rate { from_per_s, to_per_s };
    let phases: Vec<Phase> = [(4, rate(100.0, 100.0)), (4, rate(100.0, 500.0)), (2, rate(0.0, 0.0))]
        .map(|(seconds, load)| Phase { length_ns: seconds * SECOND, load })
        .to_vec();
    let base = spec(32);
    let load = LoadModel::phased(&phases, Arrivals::Uniform, base.warmup_ns);
    let outcome = simulate(&TrialSpec { load, phases, ..base }, SimDriver::default()).unwrap();
    add_up(&outcome);
    assert_eq!(outcome.measured.open_loop.as_ref().unwrap().offered, 400 + 1200);
    let done: Vec<u64> = outcome.measured.phases.iter().map(|p| p.transactions["two_selects"].completed()).collect();
    assert!(done[0].abs_diff(400) <= 1 && done[1].abs_diff(1200) <= 2 && done[2] <= 2, "{done:?}");
    assert_eq!(done.iter().sum::<u64>(), transactions(&outcome).completed());
}

#[test]
fn steps_of_connections_are_as_many_as_declared() {
    let step = |n| Phase { length_ns: 2 * SECOND, load: PhaseLoad::Connections(n) };
    let phases = vec![step(1), step(8), step(3), step(8), step(2)];
    let base = spec(8);
    let load = LoadModel::phased(&phases, Arrivals::Uniform, base.warmup_ns);
    let outcome = simulate(&TrialSpec { load, phases, ..base }, SimDriver::default()).unwrap();
    let done: Vec<u64> = outcome.measured.phases.iter().map(|p| p.transactions["two_selects"].completed()).collect();
    for (n, done) in [1, 8, 3, 8, 2].into_iter().zip(&done) {
        assert!(done.abs_diff(n * 1000) <= 8, "{n} connections: {done}");
    }
    assert!(outcome.health.littles_law.is_none() && outcome.measured.open_loop.is_none());
}
