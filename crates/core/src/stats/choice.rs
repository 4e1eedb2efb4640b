//! What it costs to choose the best of several points by the trials that also give its value.
//!
//! The best of k equal points is above them all by chance: by the expected maximum of k normal values (Blom 1958). That gain
//! is a shift and no scatter, so it widens the interval by the normal quantile, beside Student's times the error. The maximum also
//! scatters less than a single value (Teichroew 1956), so the error counts less of what a point scatters by itself. The rule was chosen
//! by simulation (docs/method/intervals.md); leaving out the block that is evaluated covers less, because those choices depend on each other.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{Summarise, Trial, counted, mean, point_mean, student_quantile, unit_trials, values, variance};

/// A point is near the best one where it is below it by at most so many standard errors of the difference.
const NEAR: f64 = 2.25;

/// What a choice did to the value of one side of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    /// By how much, as a share of itself, the best point is better than it should be.
    pub gain: f64,
    /// The part of the gain that is sure.
    sure: f64,
    /// Squared error of a point by itself, without what blocks share, as a share of the square of the best one.
    squared: f64,
    /// The share of that squared error which is left in the best of the near points.
    left: f64,
}

impl Choice {
    /// Nothing was chosen, or the best point is clear.
    const NONE: Self = Self { gain: 0.0, sure: 0.0, squared: 0.0, left: 1.0 };

    /// That of the best of these points.
    pub(super) fn of(points: &[Vec<Trial>], how: Summarise) -> Self {
        let chosen = counted(points, how);
        let (false, [best]) = (how == Summarise::Mean, chosen.as_slice()) else { return Self::NONE };
        let Some(top) = point_mean(best).filter(|m| *m > 0.0) else { return Self::NONE };
        let others: Vec<_> = points.iter().filter(|p| !std::ptr::eq(*p, *best)).collect();
        let near: Vec<f64> = others.iter().filter_map(|p| squared_error(best, p)).collect();
        let Some(apart) = mean(&near) else { return Self::NONE };
        // A difference has the errors of both points.
        let squared = apart / 2.0 / top.powi(2);
        let expected = expected_maximum(near.len() + 1);
        let gain = squared.sqrt() * expected;
        // A curve of which few points are near has a round top, and near points then are not equal.
        let sure = gain * near.len() as f64 / others.len() as f64;
        // Two to the minus expected maximum is the variance of the maximum of up to eight normal values within 0.02 (Teichroew 1956).
        Self { gain, sure, squared, left: (-expected).exp2() }
    }
}

/// By how much the logarithm of a ratio is too high: the larger of what either side may have gained more than the other surely did.
pub(super) fn gain_of_ratio(base: Choice, other: Choice) -> f64 {
    let (raised, lowered) = (other.gain - base.sure, base.gain - other.sure);
    if raised >= lowered { raised } else { -lowered }
}

/// The share of a relative squared error that is left where its sides are best points; 1 where none was chosen.
pub(super) fn share_left(sides: &[Choice], squared: f64) -> f64 {
    let own: f64 = sides.iter().map(|side| side.squared).sum();
    let left: f64 = sides.iter().map(|side| side.left * side.squared).sum();
    // What blocks share, and a side with a clear best point, stay as they are.
    let rest = (squared - own).max(0.0);
    if own > 0.0 { (left + rest) / (own + rest) } else { 1.0 }
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
        for (points, how) in
            [(&points[..], Summarise::Max), (&points[..1], Summarise::Max), (&points, Summarise::Mean), (&[], Summarise::Max)]
        {
            assert_eq!(Choice::of(points, how), Choice::NONE);
        }
        assert_eq!((gain_of_ratio(Choice::NONE, Choice::NONE), share_left(&[Choice::NONE; 2], 0.01)), (0.0, 1.0));
        assert_eq!(share_left(&[Choice::NONE; 2], 0.0), 1.0);
    }

    #[test]
    fn the_gain_of_two_near_points_is_that_by_hand() {
        // Differences 2, −3, 4: mean 1, variance 13; squared error 13/3, below which 1 lies. √(13/6)/101 × 0.589.
        let points = [point(&[100.0, 103.0, 97.0]), point(&[102.0, 100.0, 101.0])];
        let found = Choice::of(&points, Summarise::Max);
        assert!((found.gain - (13.0f64 / 6.0).sqrt() / 101.0 * 0.5895).abs() < 1e-5, "{found:?}");
        assert!((found.squared - 13.0 / 6.0 / 101.0f64.powi(2)).abs() < 1e-9 && found.sure == found.gain, "{found:?}");
        assert!((found.left - 0.6646).abs() < 1e-4, "{found:?}");
        // The same for the lowest.
        assert!((Choice::of(&points, Summarise::Min).gain - found.gain * 1.01).abs() < 1e-4);
        // Student's quantile of two degrees of freedom, and the normal one: half of the interval is √((4.303 e)² + (1.96 g)²).
        let half = 4.3027 * widened(0.01, 0.02, 2.0, 0.95);
        assert!((half - (0.043_027f64.powi(2) + 0.039_2f64.powi(2)).sqrt()).abs() < 1e-4, "{half}");
    }

    #[test]
    fn of_a_curve_with_clear_points_a_part_of_the_gain_is_sure() {
        let points = [point(&[100.0, 103.0, 97.0]), point(&[102.0, 100.0, 101.0]), point(&[50.0, 52.0, 49.0])];
        let round = Choice::of(&points, Summarise::Max);
        let flat = Choice::of(&points[..2], Summarise::Max);
        assert!(round.gain == flat.gain && (round.sure - flat.sure / 2.0).abs() < 1e-12, "{round:?}");
        // Equal gains cancel out where both are sure, else half of one stays; the sign says which side gained.
        assert_eq!(gain_of_ratio(flat, flat), 0.0);
        assert!((gain_of_ratio(round, flat) - flat.gain / 2.0).abs() < 1e-12);
        assert!((gain_of_ratio(flat, round) + flat.gain / 2.0).abs() < 1e-12);
        assert!(gain_of_ratio(Choice::NONE, flat) == flat.gain && gain_of_ratio(flat, Choice::NONE) == -flat.gain);
    }

    #[test]
    fn the_error_loses_what_the_best_of_near_points_scatters_less() {
        let side = Choice { gain: 0.0, sure: 0.0, squared: 2.0, left: 0.5 };
        // Of 5, 2 + 2 are the points' own, of which half is left: (2 + 1) / 5. The error may also be estimated as less than they have.
        assert_eq!((share_left(&[side; 2], 5.0), share_left(&[side; 2], 3.0)), (0.6, 0.5));
        assert_eq!(share_left(&[Choice::NONE, side], 4.0), 0.75);
    }
}
