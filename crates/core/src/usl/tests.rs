//! The law is found again in points that follow it, with and without noise.

use super::*;
use crate::rng::tests::normal;

const LEVELS: [u32; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

fn law(lambda: f64, sigma: f64, kappa: f64) -> Vec<(u32, f64)> {
    let curve = Curve { log_lambda: lambda.ln(), sigma, kappa };
    LEVELS.iter().map(|n| (*n, curve.at(f64::from(*n)))).collect()
}

fn noisy(points: &[(u32, f64)], cv: f64, rng: &mut OpRng) -> Vec<(u32, f64)> {
    points.iter().map(|(n, x)| (*n, x * (1.0 + cv * normal(rng)))).collect()
}

#[test]
fn the_parameters_of_the_reference_are_recovered_within_one_percent() {
    let found = fit(&law(1000.0, 0.02, 1e-4), 0.95, Seed(1)).unwrap();
    for (value, truth) in [(found.lambda, 1000.0), (found.sigma, 0.02), (found.kappa, 1e-4)] {
        assert!((value / truth - 1.0).abs() < 1e-6, "{found:?}");
    }
    // √(0.98 / 1e-4) = 98.99.
    assert_eq!(found.connections_max.map(f64::round), Some(99.0));
    assert!(found.from_one && found.points == 10 && found.error < 1e-9, "{found:?}");
}

#[test]
fn noise_of_one_percent_moves_them_little() {
    let mut rng = OpRng::new(Seed(2));
    let found = fit(&noisy(&law(1000.0, 0.02, 1e-4), 0.01, &mut rng), 0.95, Seed(1)).unwrap();
    assert!((found.lambda / 1000.0 - 1.0).abs() < 0.03, "{found:?}");
    assert!((found.connections_max.unwrap() / 98.99 - 1.0).abs() < 0.05, "{found:?}");
}

#[test]
fn a_parameter_that_would_be_negative_is_none() {
    // Better than linear: no contention at all.
    let points: Vec<(u32, f64)> = LEVELS.iter().map(|n| (*n, 100.0 * f64::from(*n).powf(1.02))).collect();
    let found = fit(&points, 0.95, Seed(1)).unwrap();
    assert_eq!((found.sigma, found.kappa, found.connections_max), (0.0, 0.0, None));
    assert_eq!(found.no_top, Some(NoTop::KappaNotApart));
    let saturating = fit(&law(500.0, 0.1, 0.0), 0.95, Seed(1)).unwrap();
    assert!((saturating.sigma - 0.1).abs() < 1e-6 && saturating.connections_max.is_none(), "{saturating:?}");
}

#[test]
fn nothing_is_read_off_far_beyond_the_last_point() {
    let points: Vec<(u32, f64)> = law(1000.0, 0.02, 1e-4).into_iter().take(7).collect();
    let found = fit(&points, 0.95, Seed(1)).unwrap();
    // The top at 99 lies beyond 1.5 × 64.
    assert_eq!((found.reach, found.connections_max, found.throughput_max), (96.0, None, None));
    assert_eq!(found.no_top, Some(NoTop::BeyondReach));
    assert!(found.at(96.0).is_some() && found.at(97.0).is_none());
    assert!(fit(&points[..6], 0.95, Seed(1)).unwrap().intervals.is_none());
    assert!(fit(&points[..3], 0.95, Seed(1)).is_none());
}

#[test]
fn peak_knee_and_plateau_are_measured_points() {
    let points = [(1, 100.0), (4, 380.0), (16, 900.0), (64, 1000.0), (128, 990.0), (256, 700.0)];
    let found = describe(&points, 0.03, 0.95, Seed(1)).unwrap();
    assert_eq!((found.peak, found.knee, found.plateau), (64, 16, (64, 128)));
    assert!(describe(&points[..1], 0.03, 0.95, Seed(1)).is_none());
    assert!(describe(&[(1, 0.0), (2, 1.0)], 0.03, 0.95, Seed(1)).is_none());
}

/// The share of curves that get a top, in percent: of a truth at so many of the levels, with this scatter.
fn tops(truth: (f64, f64), count: usize, cv: f64, curves: u64) -> f64 {
    let points: Vec<(u32, f64)> = law(1000.0, truth.0, truth.1).into_iter().take(count).collect();
    let mut rng = OpRng::at(Seed(17), count as u64, (cv * 1e3) as u64);
    let has_top =
        |curve: &u64| fit(&noisy(&points, cv, &mut rng), 0.95, Seed(*curve)).is_some_and(|f| f.connections_max.is_some());
    (0..curves).filter(has_top).count() as f64 / curves as f64 * 100.0
}

/// docs/method/scalability.md gives the table of `PERBUCK_STUDIES=20000`.
#[test]
#[allow(clippy::print_stdout, reason = "it prints the table of docs/method/scalability.md")]
fn curves_without_a_top_get_one_in_at_most_5_percent() {
    let studies = std::env::var("PERBUCK_STUDIES").ok().and_then(|text| text.parse().ok());
    for (count, few) in [(4, 600), (5, 600), (6, 600), (7, 60), (10, 60)] {
        let curves: u64 = studies.unwrap_or(few);
        for truth in [(0.0, 0.0), (0.05, 0.0), (0.3, 0.0)] {
            let found = [0.01, 0.03, 0.1].map(|cv| tops(truth, count, cv, curves));
            println!("{count} points, σ = {}: {found:.1?} % have a top", truth.0);
            // Three standard errors of the count beside the 5 %.
            let allowed = 5.0 + 300.0 * (0.05 * 0.95 / curves as f64).sqrt();
            assert!(found.iter().all(|share| *share <= allowed), "{count} {truth:?}: {found:?}");
        }
    }
    // One that has a top within the reach is found by ten points.
    assert!(tops((0.02, 1e-4), 10, 0.03, 40) > 90.0);
}
