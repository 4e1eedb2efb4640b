//! Known answers of the variance and of the edges of the rule; simulated studies are in `tests/windows.rs`.

use super::*;
use crate::rng::{OpRng, tests::normal};
use crate::units::Seed;

/// Seconds of a level of 1,000, each autocorrelated with the one before by `phi`.
fn series(seed: u64, seconds: usize, cv: f64, phi: f64) -> Vec<f64> {
    let mut rng = OpRng::new(Seed(seed));
    let (mut state, step) = (normal(&mut rng), (1.0 - phi * phi).sqrt());
    let mut next = || {
        let now = state;
        state = phi * now + step * normal(&mut rng);
        now
    };
    (0..seconds).map(|_| 1_000.0 * (1.0 + cv * next())).collect()
}

fn pilots(cv: f64, between: f64) -> Vec<Vec<f64>> {
    [-1.0, 0.0, 1.0]
        .iter()
        .zip(1..)
        .map(|(at, seed)| series(seed, 300, cv, 0.0).iter().map(|y| y * (1.0 + at * between)).collect())
        .collect()
}

#[test]
fn batch_means_give_the_variance_of_a_long_mean() {
    for (phi, factor) in [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0)] {
        let all: Vec<f64> = (0..40).map(|seed| long_run_variance(&series(seed, 3_000, 0.01, phi)) / 100.0).collect();
        let mean = stats::mean(&all).unwrap();
        // The largest of several lengths is a little too large.
        assert!(mean > 0.9 * factor && mean < 1.6 * factor, "{phi}: {mean}");
    }
    // A cycle of ten seconds vanishes in long batches, and shows in short ones.
    let cycle: Vec<f64> = (0..300).map(|s| if s % 10 < 5 { 900.0 } else { 1_100.0 }).collect();
    assert!(long_run_variance(&cycle) > 40_000.0, "{}", long_run_variance(&cycle));
    assert_eq!(long_run_variance(&[7.0; 300]), 0.0);
}

#[test]
fn the_window_follows_noise_and_the_deviation_between_trials() {
    let constant = find(&[vec![vec![500.0; 300]; 3]]).unwrap();
    assert_eq!((constant.warmup_s, constant.duration_s, constant.slowest), (5, 35, (0, 0)));
    assert!(!constant.is_cut_short() && constant.drifting.is_empty());
    let window = |cv: f64, between: f64| find(&[pilots(cv, between)]).unwrap();
    let (quiet, noisy, apart) = (window(0.01, 0.0), window(0.05, 0.0), window(0.05, 0.05));
    assert!(quiet.duration_s < noisy.duration_s && apart.duration_s < noisy.duration_s, "{quiet:?} {noisy:?} {apart:?}");
    assert!((apart.between - 0.05).abs() < 0.01, "{apart:?}");
    // Trials that are alike leave it to the floor.
    let cut = find(&[vec![series(1, 300, 0.2, 0.0); 3]]).unwrap();
    assert!(cut.is_cut_short() && cut.duration_s == 150, "{cut:?}");
    // All points decide: the noisiest says how long, whatever its position.
    let both = find(&[pilots(0.01, 0.0), pilots(0.05, 0.0)]).unwrap();
    assert!(both.duration_s >= noisy.duration_s.min(150), "{both:?}");
    // A unit changes nothing.
    let scaled: Vec<Vec<f64>> = pilots(0.05, 0.0).iter().map(|all| all.iter().map(|y| y * 1024.0).collect()).collect();
    assert_eq!(find(&[scaled]).unwrap().duration_s, noisy.duration_s);
}

#[test]
fn the_slowest_point_gives_the_warm_up_and_an_unsettled_one_is_named() {
    let step = |at: usize| -> Vec<Vec<f64>> {
        pilots(0.01, 0.0)
            .iter()
            .map(|all| all.iter().enumerate().map(|(s, y)| if s < at { y * 0.5 } else { *y }).collect())
            .collect()
    };
    let found = find(&[step(20), step(60), step(0)]).unwrap();
    assert_eq!((found.slowest, found.warmup_s), ((1, 60), 75));
    assert_eq!(find(&[step(0), step(140)]), Err(Unsettled { point: 1, limit_s: 100 }));
    assert_eq!(find(&[step(240)]).unwrap_err().point, 0);
    assert_eq!(find(&[vec![vec![0.0; 300]; 3]]).unwrap_err().point, 0, "nothing was completed");
    assert_eq!(find(&[vec![vec![1.0; 39]; 3]]).unwrap_err().limit_s, 13, "too short to tell");
    let ramp: Vec<f64> = (0..300).map(|s| 1_000.0 + f64::from(s)).collect();
    assert!(find(&[vec![ramp; 3]]).is_err());
}
