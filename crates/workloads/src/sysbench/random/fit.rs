//! How well counts agree with a law.

use crate::testing::chi_square;

/// Chi-square over the value that one of 10 000 right samples exceeds: above 1 the law is not the one expected.
pub(super) fn misfit(counts: &[f64], expected: &[f64]) -> f64 {
    let (sum, freedom) = chi_square(counts, expected);
    sum / limit(freedom)
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
