//! How large a difference must be for trials like these to find it.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{Ratio, student_quantile};

/// The share of studies that are to find the difference.
const POWER: f64 = 0.8;
/// Steps of the integral over the estimated error; its integrand is smooth, so that the sum is exact to six digits.
const STEPS: usize = 96;

/// The smallest true relative difference that four of five studies with such an error find, that is: whose interval excludes 1.
/// `None` without an interval.
pub fn detectable(ratio: &Ratio, confidence: f64) -> Option<f64> {
    ratio.interval?;
    Some((needed_effect(confidence, ratio.freedom) * ratio.log_error).exp_m1())
}

/// The probability that an interval excludes 1 in the right direction, where the true logarithm of the ratio is `effect` standard
/// errors from 0: the upper tail of the noncentral t distribution.
pub fn power(effect: f64, confidence: f64, freedom: f64) -> f64 {
    let Ok(normal) = Normal::new(0.0, 1.0) else { return 0.0 };
    let (t, f) = (student_quantile(confidence, freedom), freedom.max(1.0));
    // The estimated over the true error is the root of a chi-square over its degrees of freedom; the density peaks near 1.
    let top = 1.0 + 6.5 / (2.0 * f).sqrt();
    let log_density = |s: f64| (f - 1.0) * s.ln() - f * (s * s - 1.0) / 2.0;
    let (mut mass, mut found) = (0.0, 0.0);
    for step in 0..STEPS {
        let s = top * (step as f64 + 0.5) / STEPS as f64;
        let weight = log_density(s).exp();
        mass += weight;
        found += weight * normal.cdf(effect - t * s);
    }
    found / mass
}

/// The effect in standard errors at which the power is [`POWER`], by bisection.
fn needed_effect(confidence: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 4.0 * student_quantile(confidence, freedom) + 4.0);
    for _ in 0..30 {
        let middle = (low + high) / 2.0;
        if power(middle, confidence, freedom) < POWER { low = middle } else { high = middle }
    }
    high
}
