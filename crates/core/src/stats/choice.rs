//! What it costs to choose the best of several points by the trials that also give its value.
//!
//! The best of k equal points is above them all by chance: by the expected maximum of k normal values (Blom 1958). That gain
//! is a shift and no scatter, so it widens the interval by the normal quantile, beside Student's times the error. Points count as equal
//! within 1.5 standard errors of their difference to the best one, by blocks. The rule was chosen by simulation
//! (docs/method/intervals.md); leaving out the block that is evaluated covers less, because those choices depend on each other.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{Summarise, Trial, counted, mean, point_mean, student_quantile, unit_trials, values, variance};

/// A point is near the best one where it is below it by at most so many standard errors of the difference.
const NEAR: f64 = 1.5;

/// By how much, as a share of itself, the best point is better than it should be because it was chosen; 0 where nothing was chosen.
pub(super) fn gain(points: &[Vec<Trial>], how: Summarise) -> f64 {
    let chosen = counted(points, how);
    let (false, [best]) = (how == Summarise::Mean, chosen.as_slice()) else { return 0.0 };
    let Some(top) = point_mean(best).filter(|m| *m > 0.0) else { return 0.0 };
    let others = points.iter().filter(|p| !std::ptr::eq(*p, *best));
    let near: Vec<f64> = others.filter_map(|p| squared_error(best, p)).collect();
    // A difference has the errors of both points.
    let error = (mean(&near).unwrap_or(0.0) / 2.0).sqrt() / top;
    error * expected_maximum(near.len() + 1)
}

/// The squared error of the difference of two points, where they are near each other.
fn squared_error(best: &[Trial], other: &[Trial]) -> Option<f64> {
    let in_block = |t: &Trial, side: &[Trial]| side.iter().find(|o| (o.deployment, o.block) == (t.deployment, t.block)).copied();
    let difference = |t: &Trial| Some(Trial { value: t.value - in_block(t, other)?.value, ..*t });
    let apart = values(&unit_trials(&best.iter().filter_map(difference).collect::<Vec<_>>()));
    let squared = variance(&apart) / apart.len() as f64;
    let distance = (point_mean(best)? - point_mean(other)?).abs();
    (apart.len() > 1 && distance <= NEAR * squared.sqrt()).then_some(squared)
}

/// The expected maximum of `count` standard normal values (Blom 1958).
fn expected_maximum(count: usize) -> f64 {
    let share = (count as f64 - 0.375) / (count as f64 + 0.25);
    if count < 2 { 0.0 } else { normal_quantile(share) }
}

/// The error that gives, times Student's quantile, the interval of an error and a gain of choice.
pub(super) fn widened(error: f64, gain: f64, freedom: f64, confidence: f64) -> f64 {
    let share = normal_quantile(0.5 + confidence / 2.0) / student_quantile(confidence, freedom);
    error.hypot(gain * share)
}

fn normal_quantile(share: f64) -> f64 {
    Normal::new(0.0, 1.0).map_or(0.0, |n| n.inverse_cdf(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(values: &[f64]) -> Vec<Trial> {
        values.iter().zip(1..).map(|(value, block)| Trial { deployment: 1, block, value: *value }).collect()
    }

    #[test]
    fn a_clear_best_point_and_a_mean_have_no_gain() {
        let points = [point(&[100.0, 102.0, 98.0]), point(&[80.0, 81.0, 79.0])];
        assert_eq!((gain(&points, Summarise::Max), gain(&points[..1], Summarise::Max)), (0.0, 0.0));
        assert_eq!((gain(&points, Summarise::Mean), gain(&[], Summarise::Max)), (0.0, 0.0));
    }

    #[test]
    fn the_gain_of_two_near_points_is_that_by_hand() {
        // Differences 2, −3, 4: mean 1, variance 13; squared error 13/3, below which 1 lies. √(13/6)/101 × 0.589.
        let points = [point(&[100.0, 103.0, 97.0]), point(&[102.0, 100.0, 101.0])];
        let found = gain(&points, Summarise::Max);
        assert!((found - (13.0f64 / 6.0).sqrt() / 101.0 * 0.5895).abs() < 1e-5, "{found}");
        // The same for the lowest.
        assert!((gain(&points, Summarise::Min) - found * 1.01).abs() < 1e-4);
        // Student's quantile of two degrees of freedom, and the normal one: half of the interval is √((4.303 e)² + (1.96 g)²).
        let half = 4.3027 * widened(0.01, 0.02, 2.0, 0.95);
        assert!((half - (0.043_027f64.powi(2) + 0.039_2f64.powi(2)).sqrt()).abs() < 1e-4, "{half}");
    }
}
