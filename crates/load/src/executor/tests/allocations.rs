//! An operation allocates nothing: ten times as many in the same time need no more allocations.

use perbuck_core::arrivals::Arrivals;

use super::*;

/// Operations and allocations of one simulated run. Seconds, probes and connections allocate, and are the same in both.
fn run(spec: &TrialSpec, service_us: u64) -> (u64, u64) {
    let driver = SimDriver { service: Duration::from_micros(service_us), ..SimDriver::default() };
    let mut ended = 0;
    let info = allocation_counter::measure(|| {
        ended = simulate(spec, driver).unwrap().measured.transactions["two_selects"].completed();
    });
    (ended, info.count_total)
}

#[test]
fn a_closed_loop_allocates_nothing_per_operation() {
    let (slow, few) = run(&spec(8), 10_000);
    let (fast, many) = run(&spec(8), 500);
    assert!(fast >= slow + 70_000, "{slow} and {fast}");
    assert!(many <= few + 20, "{few} allocations for {slow} operations, {many} for {fast}");
}

#[test]
fn an_open_loop_allocates_nothing_per_operation() {
    let open = |per_s| {
        let base = spec(64);
        TrialSpec { load: LoadModel::rate(per_s, Arrivals::Poisson, base.warmup_ns + base.duration_ns), ..base }
    };
    let (slow, few) = run(&open(100), 1000);
    let (fast, many) = run(&open(8000), 1000);
    assert!(fast >= slow + 70_000, "{slow} and {fast}");
    assert!(many <= few + 20, "{few} allocations for {slow} operations, {many} for {fast}");
}
