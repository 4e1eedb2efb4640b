//! How well counts agree with a law: Pearson's chi-square, bins of small expectation taken together.

/// Expected counts below this are pooled, as the approximation by chi-square demands.
const FEWEST: f64 = 10.0;

/// Chi-square over the value that one of 10 000 right samples exceeds: above 1 the law is not the one expected.
pub(super) fn misfit(counts: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(counts.len(), expected.len());
    let total: (f64, f64) = (counts.iter().sum(), expected.iter().sum());
    assert!((total.0 - total.1).abs() < 1e-6 * total.0, "{total:?}");
    let (mut sum, mut bins, mut pool) = (0.0, 0.0, (0.0, 0.0));
    let mut add = |(count, want): (f64, f64)| {
        sum += (count - want).powi(2) / want;
        bins += 1.0;
    };
    for (&count, &want) in counts.iter().zip(expected) {
        // Neighbours are pooled, so that a law that is wrong in its tail is still seen.
        pool = (pool.0 + count, pool.1 + want);
        if pool.1 >= FEWEST {
            add(std::mem::take(&mut pool));
        }
    }
    if pool.1 > 0.0 || pool.0 > 0.0 {
        add((pool.0, pool.1.max(1.0)));
    }
    sum / limit(bins - 1.0)
}

/// The 99.99 % point of chi-square, by Wilson and Hilferty's cube.
fn limit(freedom: f64) -> f64 {
    let ninth = 2.0 / (9.0 * freedom.max(1.0));
    freedom.max(1.0) * (1.0 - ninth + 3.719 * ninth.sqrt()).powi(3)
}

#[test]
fn the_limit_is_that_of_the_tables() {
    for (freedom, known) in [(10.0, 35.564), (99.0, 161.319), (999.0, 1_175.3)] {
        assert!((limit(freedom) / known - 1.0).abs() < 0.015, "{freedom}: {}", limit(freedom));
    }
}
