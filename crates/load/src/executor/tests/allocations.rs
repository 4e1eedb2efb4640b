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
fn no_loop_allocates_per_operation() {
    let open = |per_s| {
        let base = spec(64);
        TrialSpec { load: LoadModel::rate(per_s, Arrivals::Poisson, base.warmup_ns + base.duration_ns), ..base }
    };
    for [slow, fast] in [[(spec(8), 10_000), (spec(8), 500)], [(open(100), 1000), (open(8000), 1000)]] {
        let ((slow, few), (fast, many)) = (run(&slow.0, slow.1), run(&fast.0, fast.1));
        assert!(fast >= slow + 70_000, "{slow} and {fast}");
        assert!(many <= few + 20, "{few} allocations for {slow} operations, {many} for {fast}");
    }
}
