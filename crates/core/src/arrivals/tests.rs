//! Known answers of the schedule: exact times, integrals, and the distribution of Poisson arrivals.

use proptest::prelude::*;

use super::*;

const S: u64 = 1_000_000_000;

fn constant(seconds: u64, rate: f64) -> RatePhase {
    ramp(seconds, rate, rate)
}

fn ramp(seconds: u64, from_per_s: f64, to_per_s: f64) -> RatePhase {
    RatePhase { length_ns: seconds * S, from_per_s, to_per_s }
}

fn uniform(phases: &[RatePhase]) -> Vec<u64> {
    Schedule::new(phases, Arrivals::Uniform, Seed(1)).collect()
}

fn poisson(phases: &[RatePhase], seed: u64) -> Vec<u64> {
    Schedule::new(phases, Arrivals::Poisson, Seed(seed)).collect()
}

/// A uniform schedule that has already given `k` arrivals of its first phase.
fn uniform_from(phase: RatePhase, k: u64) -> Schedule {
    let mut schedule = Schedule::new(&[phase], Arrivals::Uniform, Seed(1));
    schedule.whole = k;
    schedule
}

#[test]
fn uniform_times_are_exact() {
    assert_eq!(uniform(&[constant(1, 4.0)]), [0, S / 4, S / 2, 3 * S / 4]);
    assert_eq!(uniform(&[constant(1, 3.0)]), [0, 333_333_333, 666_666_667]);
    for (rate, seconds) in [(1.0, 7), (999.0, 3), (12_345.678, 2), (0.1, 30)] {
        let starts = uniform(&[constant(seconds, rate)]);
        assert_eq!(starts.len(), (rate * seconds as f64).ceil() as usize, "{rate}");
        for (k, start) in starts.iter().enumerate() {
            assert_eq!(*start, (k as f64 * 1e9 / rate).round() as u64, "{k} at {rate}");
        }
    }
}

#[test]
fn the_billionth_arrival_is_where_it_belongs() {
    let k = 1_000_000_000u64;
    for rate in [1_000u64, 1_333, 70_001, 1_000_000] {
        let exact = ((u128::from(k) * 1_000_000_000 + u128::from(rate) / 2) / u128::from(rate)) as u64;
        let phase = constant(exact / S + 1, rate as f64);
        let mut schedule = uniform_from(phase, k);
        assert!(schedule.next().unwrap().abs_diff(exact) <= 1, "{rate}");
        assert_eq!(schedule.count() as u64, phase.length_ns / S * rate - k - 1);
    }
}

#[test]
fn very_low_and_very_high_rates_count_right() {
    assert_eq!(uniform(&[constant(35, 0.1)]), [0, 10 * S, 20 * S, 30 * S]);
    let fast = RatePhase { length_ns: S / 100, from_per_s: 1e7, to_per_s: 1e7 };
    let starts = uniform(&[fast]);
    assert_eq!(starts.len(), 100_000);
    assert!(starts.iter().enumerate().all(|(k, start)| *start == k as u64 * 100));
    let n = poisson(&[fast], 3).len() as f64;
    assert!((n - 1e5).abs() < 5.0 * 1e5f64.sqrt(), "{n}");
}

#[test]
fn ramps_solve_their_quadratic() {
    // Λ(t) = 5t²: arrival k is due at √(k/5) seconds.
    let up = uniform(&[ramp(10, 0.0, 100.0)]);
    assert_eq!(up.len(), 500);
    for (k, start) in up.iter().enumerate() {
        assert!(((k as f64 / 5.0).sqrt() * 1e9 - *start as f64).abs() <= 1.0, "{k}: {start}");
    }
    // The mirror image has its points from the end, where 500 − k are left.
    let down = uniform(&[ramp(10, 100.0, 0.0)]);
    assert_eq!(down.len(), 500);
    for (k, start) in down.iter().enumerate() {
        let left = ((500 - k) as f64 / 5.0).sqrt();
        assert!(((10.0 - left) * 1e9 - *start as f64).abs() <= 2.0, "{k}: {start}");
    }
    // Between two rates above 0, checked by the integral itself.
    let phases = [ramp(10, 200.0, 1_000.0)];
    let starts = uniform(&phases);
    assert_eq!(starts.len(), 6_000);
    for (k, start) in starts.iter().enumerate() {
        assert!((expected(&phases, *start) - k as f64).abs() < 1e-5, "{k}");
    }
}

#[test]
fn phases_join_without_losing_a_fraction() {
    // 2.5 arrivals, silence, 2.5 arrivals: the sixth would be due at the end.
    let phases = [constant(5, 0.5), constant(7, 0.0), constant(0, 1e6), constant(5, 0.5)];
    assert_eq!(uniform(&phases), [0, 2 * S, 4 * S, 13 * S, 15 * S]);
    assert_eq!(expected(&phases, u64::MAX), 5.0);
    assert_eq!(expected(&phases, 9 * S), 2.5);
    assert_eq!(expected(&phases, 13 * S), 3.0);
    // Silence first: the first arrival is due when the load begins.
    assert_eq!(uniform(&[constant(3, 0.0), constant(2, 1.0)]), [3 * S, 4 * S]);
    // A thousand phases of a third of an arrival each.
    let thirds = vec![constant(1, 1.0 / 3.0); 1_000];
    let starts = uniform(&thirds);
    assert!(starts.len().abs_diff(334) <= 1, "{}", starts.len());
    assert!(starts.iter().enumerate().all(|(k, s)| s.abs_diff(k as u64 * 3 * S) <= 1));
    assert!(poisson(&phases, 1).iter().all(|s| !(5 * S..12 * S).contains(s)));
}

#[test]
fn nothing_comes_of_nothing() {
    for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
        for phases in [vec![], vec![constant(9, 0.0)], vec![constant(0, 5.0)], vec![ramp(2, f64::NAN, -1.0)]] {
            let mut schedule = Schedule::new(&phases, arrivals, Seed(1));
            assert_eq!((schedule.next(), schedule.next()), (None, None));
        }
    }
}

/// Kolmogorov and Smirnov's distance of gaps from the exponential distribution, and its critical value at 1 %.
fn distance(mut gaps: Vec<f64>) -> (f64, f64) {
    gaps.sort_unstable_by(f64::total_cmp);
    let n = gaps.len() as f64;
    let off = |(i, gap): (usize, &f64)| [i, i + 1].map(|rank| (1.0 - (-gap).exp() - rank as f64 / n).abs());
    (gaps.iter().enumerate().flat_map(off).fold(0.0, f64::max), 1.628 / n.sqrt())
}

#[test]
fn poisson_gaps_are_exponential_by_kolmogorov_and_smirnov() {
    for seed in 1..=5 {
        let starts = poisson(&[constant(200, 100.0)], seed);
        let (distance, critical) = distance(starts.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e7).collect());
        assert!(distance < critical, "seed {seed}: {distance} of {}", starts.len());
    }
}

#[test]
fn poisson_counts_have_the_mean_and_the_variance_of_the_integral() {
    let phases = [constant(3, 40.0), ramp(4, 40.0, 0.0), constant(2, 0.0), ramp(5, 10.0, 50.0)];
    let mean = expected(&phases, u64::MAX);
    assert_eq!(mean, 350.0);
    let runs = 2_000;
    let counts: Vec<f64> = (0..runs).map(|seed| poisson(&phases, seed).len() as f64).collect();
    let n = runs as f64;
    let got = counts.iter().sum::<f64>() / n;
    let variance = counts.iter().map(|c| (c - got).powi(2)).sum::<f64>() / (n - 1.0);
    assert!((got - mean).abs() < 4.0 * (mean / n).sqrt(), "{got}");
    // The standard error of a variance is about √(2/n) of it.
    assert!((variance / mean - 1.0).abs() < 4.0 * (2.0 / n).sqrt(), "{variance}");
}

#[test]
fn poisson_on_a_ramp_has_unit_rate_through_the_integral() {
    let phases = [ramp(50, 0.0, 400.0), ramp(50, 400.0, 0.0)];
    let starts = poisson(&phases, 11);
    let (distance, critical) = distance(starts.windows(2).map(|w| expected(&phases, w[1]) - expected(&phases, w[0])).collect());
    assert!(distance < critical, "{distance} of {}", starts.len());
}

#[test]
fn a_long_sum_of_variates_keeps_its_digits() {
    // A trillion points into the load the gaps still have the mean of 100 ns.
    let mut schedule = Schedule::new(&[constant(200_000, 1e7)], Arrivals::Poisson, Seed(5));
    schedule.whole = 1_000_000_000_000;
    let first = schedule.next().unwrap();
    let n = 100_000;
    let last = schedule.nth(n - 1).unwrap();
    let mean = (last - first) as f64 / n as f64;
    assert!((mean - 100.0).abs() < 4.0 * 100.0 / (n as f64).sqrt(), "{mean}");
}

#[test]
fn the_schedule_is_a_function_of_its_arguments() {
    let phases = [constant(5, 100.0)];
    assert_eq!(poisson(&phases, 7), poisson(&phases, 7));
    assert_ne!(poisson(&phases, 7), poisson(&phases, 8));
    let mut schedule = Schedule::new(&phases, Arrivals::Poisson, Seed(7));
    let skipped = schedule.nth(99);
    let clone = schedule.clone();
    assert!(skipped.is_some());
    assert_eq!(schedule.collect::<Vec<_>>(), clone.collect::<Vec<_>>());
}

#[test]
fn later_versions_must_give_these_starts() {
    let starts: Vec<u64> = Schedule::new(&[constant(1, 1_000.0)], Arrivals::Poisson, Seed(42)).take(4).collect();
    assert_eq!(starts, [79_792, 180_077, 1_074_211, 1_682_531]);
}

fn phases() -> impl Strategy<Value = Vec<RatePhase>> {
    let rate = prop_oneof![Just(0.0), 0.01f64..10.0, 10.0f64..500.0];
    let phase = (prop_oneof![Just(0u64), 1u64..1_000, 1u64..2 * S], rate.clone(), rate, any::<bool>());
    let phase = phase.prop_map(|(length_ns, from_per_s, other, flat)| {
        let to_per_s = if flat { from_per_s } else { other };
        RatePhase { length_ns, from_per_s, to_per_s }
    });
    prop::collection::vec(phase, 0..6)
}

proptest! {
    #[test]
    fn starts_ascend_and_stay_inside(phases in phases(), seed in any::<u64>(), poisson in any::<bool>()) {
        let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Uniform };
        let total: u64 = phases.iter().map(|p| p.length_ns).sum();
        let starts: Vec<u64> = Schedule::new(&phases, arrivals, Seed(seed)).collect();
        prop_assert!(starts.is_sorted());
        prop_assert!(starts.iter().all(|s| *s < total));
        let integral = expected(&phases, total);
        let allowed = if poisson { 7.0 * integral.sqrt() + 12.0 } else { 1.0 };
        prop_assert!((starts.len() as f64 - integral).abs() <= allowed, "{} against {integral}", starts.len());
    }

    #[test]
    fn before_any_time_uniform_starts_equal_the_integral(phases in phases(), share in 0.0f64..1.0) {
        let total: u64 = phases.iter().map(|p| p.length_ns).sum();
        let until = (total as f64 * share) as u64;
        let before = uniform(&phases).iter().filter(|s| **s < until).count() as f64;
        prop_assert!((before - expected(&phases, until)).abs() <= 1.0 + 1e-6);
    }
}
