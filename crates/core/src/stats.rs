//! Estimates with their uncertainty. Trials are the unit, never requests; where a study has several deployments, they are.
//!
//! A ratio is one of arithmetic means, so that it agrees with the values that are printed. Its interval is Student's on
//! the logarithmic scale, with an error that follows from how the trials were made ([`Design`]):
//!
//! - **Blocks.** Each block holds both contenders once, in random order. What a block does to both cancels out in the
//!   difference of their relative deviations, and that difference is symmetric where both scatter alike, which is what
//!   Student's interval needs to cover what it says from three blocks on. A bootstrap of so few does not
//!   (docs/method/intervals.md).
//! - **Independent.** Trials that were started one by one, or at another time: Welch's interval.
//! - **The best point.** Its interval is wider by what the choice among points gains, and its error smaller ([`choice`]).
//! - **Deployments.** With two or more, the means of the deployments take the place of the blocks, and the degrees of freedom
//!   are theirs: trials on one machine tell nothing of the next one.

mod choice;
mod family;
mod looks;
mod outlier;
mod percentile;
mod power;
mod rank;
mod scatter;
mod stall;
mod variance;

use std::collections::BTreeSet;

use crate::metric::Better;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use choice::Choice;
pub use family::{deciding_level, holm};
pub use looks::level_of_each_look;
pub use outlier::{Label, label_outliers, median};
pub use percentile::{Merged, Percentile};
pub use power::{Extended, Scatter, detectable, detectable_with, power};
pub use rank::{Rank, rank};
pub use scatter::Deviation;
pub use stall::share_interval;
pub use variance::{Components, components};

/// A confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// How the points of a workload become one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summarise {
    /// Arithmetic mean of the points' means.
    Mean,
    /// The largest of the points' means.
    Max,
    /// The smallest of the points' means.
    Min,
}

impl Summarise {
    /// The best of the points.
    pub fn best(better: Better) -> Self {
        match better {
            Better::Higher => Self::Max,
            Better::Lower => Self::Min,
        }
    }
}

/// How trials were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// In blocks that hold every contender once, in random order.
    #[default]
    Blocks,
    /// One by one, or the contenders at different times.
    Independent,
}

/// The value of one trial and its place in the study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// The deployment, from 1.
    pub deployment: u32,
    /// The block within it, from 1.
    pub block: u32,
    /// The value.
    pub value: f64,
}

/// A ratio of two summaries and what is known of its error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// other / base.
    pub value: f64,
    /// Interval of the ratio; `None` where there are fewer than two blocks, or trials, or a value of zero.
    pub interval: Option<Interval>,
    /// Standard error of the logarithm of the ratio, with what the choice of best points adds; 0 where unknown.
    pub log_error: f64,
    /// Degrees of freedom of that error.
    pub freedom: f64,
}

/// A ratio with what it was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The ratio.
    pub ratio: Ratio,
    /// How many blocks, trials of the smaller side, or deployments its error comes from.
    pub units: usize,
    /// The relative deviation of other minus base in each of them, named by deployment and block; their mean is 0. Those of best points
    /// are smaller by as much as their error is. Empty where the two were not measured in blocks.
    pub deviations: Vec<((u32, u32), f64)>,
    /// By how much the logarithm of the ratio is too high because best points were chosen by the same trials; 0 for a mean of points.
    pub choice: f64,
}

/// The mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The unbiased variance; 0 for fewer than two values.
pub(crate) fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    match mean(values) {
        Some(m) if values.len() > 1 => values.iter().map(|v| (v - m).powi(2)).sum::<f64>() / (n - 1.0),
        _ => 0.0,
    }
}

/// The two-sided quantile of Student's distribution: 2.776 for confidence 0.95 and 4 degrees of freedom.
pub fn student_quantile(confidence: f64, freedom: f64) -> f64 {
    student(freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(0.5 + confidence / 2.0))
}

/// Student's distribution. The constructor refuses only a scale of 0 or less and freedoms of 0 or less; both are excluded.
fn student(freedom: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, freedom.max(1.0)).ok()
}

/// The values alone.
pub fn values(trials: &[Trial]) -> Vec<f64> {
    trials.iter().map(|t| t.value).collect()
}

/// The values that intervals rest on: those of the trials, or the means of two or more deployments.
pub fn units(trials: &[Trial]) -> Vec<f64> {
    values(&unit_trials(trials))
}

/// The means of the deployments where there are two or more, else the trials as they are.
pub fn unit_trials(trials: &[Trial]) -> Vec<Trial> {
    let deployments: BTreeSet<u32> = trials.iter().map(|t| t.deployment).collect();
    if deployments.len() < 2 {
        return trials.to_vec();
    }
    let of = |d: u32| {
        let values: Vec<f64> = trials.iter().filter(|t| t.deployment == d).map(|t| t.value).collect();
        Trial { deployment: d, block: 0, value: mean(&values).unwrap_or(0.0) }
    };
    deployments.into_iter().map(of).collect()
}

/// The mean of a point: of its trials, or of the means of its deployments.
fn point_mean(trials: &[Trial]) -> Option<f64> {
    mean(&units(trials))
}

/// The summary of several points, each with its trials; `None` where a point has no trial.
pub fn summarise(points: &[Vec<Trial>], how: Summarise) -> Option<f64> {
    let whole = points.iter().all(|point| !point.is_empty());
    mean(&counted(points, how).into_iter().filter_map(|p| point_mean(p)).collect::<Vec<_>>()).filter(|_| whole)
}

/// The points that a summary is made from: all of them, or the best one.
fn counted<'p>(points: &'p [Vec<Trial>], how: Summarise) -> Vec<&'p Vec<Trial>> {
    let by_mean = |a: &&'p Vec<Trial>, b: &&'p Vec<Trial>| point_mean(a).unwrap_or(0.0).total_cmp(&point_mean(b).unwrap_or(0.0));
    match how {
        Summarise::Mean => points.iter().collect(),
        Summarise::Max => points.iter().max_by(by_mean).into_iter().collect(),
        Summarise::Min => points.iter().min_by(by_mean).into_iter().collect(),
    }
}

/// The summary value of each block that has a trial at every counted point.
fn block_values(points: &[&Vec<Trial>]) -> Vec<Trial> {
    let Some(first) = points.first() else { return Vec::new() };
    let at =
        |point: &[Trial], t: &Trial| point.iter().find(|o| (o.deployment, o.block) == (t.deployment, t.block)).map(|o| o.value);
    let whole = |t: &Trial| {
        let values: Vec<f64> = points.iter().map(|p| at(p, t)).collect::<Option<_>>()?;
        Some(Trial { value: mean(&values)?, ..*t })
    };
    let mut values: Vec<Trial> = first.iter().filter_map(whole).collect();
    values.sort_by_key(|t| (t.deployment, t.block));
    values
}

/// One value for each trial number of a workload, for statistics of ranks and for weighing workloads: the mean of its points
/// in that block, or its value at the best point.
pub fn values_by_block(points: &[Vec<Trial>], how: Summarise) -> Vec<Trial> {
    block_values(&counted(points, how))
}

/// Student's interval of a summary on the logarithmic scale, so that it never reaches below zero; a point is a summary of itself. `None`
/// where it has fewer than two blocks or deployments, or is zero.
pub fn summary_interval(points: &[Vec<Trial>], how: Summarise, confidence: f64) -> Option<Interval> {
    let value = summarise(points, how).filter(|v| *v > 0.0)?;
    let units = units(&block_values(&counted(points, how)));
    let n = units.len() as f64;
    let centre = mean(&units).filter(|m| *m > 0.0 && n > 1.0)?;
    let chosen = Choice::of(points, how);
    let squared = variance(&units) / n / centre.powi(2);
    let error = (squared * choice::share_left(&[chosen], squared)).sqrt();
    let half = student_quantile(confidence, n - 1.0) * choice::widened(error, chosen.gain, n - 1.0, confidence);
    Some(Interval { low: value * (-half).exp(), high: value * half.exp() })
}

/// `other / base` with its interval; `None` where a side has no data or a summary of zero.
pub fn ratio(base: &[Vec<Trial>], other: &[Vec<Trial>], how: Summarise, confidence: f64, design: Design) -> Option<Estimate> {
    let below = summarise(base, how).filter(|v| *v > 0.0)?;
    let above = summarise(other, how).filter(|v| *v > 0.0)?;
    let sides = [Choice::of(base, how), Choice::of(other, how)];
    let gained = choice::gain_of_ratio(sides[0], sides[1]);
    let choice = if how == Summarise::Min { -gained } else { gained };
    let rule = IntervalRule { confidence, choice };
    let found = match design {
        Design::Blocks => in_blocks([&counted(base, how), &counted(other, how)], sides, rule),
        Design::Independent => independent([&counted(base, how), &counted(other, how)], sides, above / below, rule),
    };
    let unknown = Ratio { value: above / below, interval: None, log_error: 0.0, freedom: 0.0 };
    Some(found.unwrap_or(Estimate { ratio: unknown, units: 1, deviations: Vec::new(), choice }))
}

/// What makes an interval of an error.
#[derive(Debug, Clone, Copy)]
pub struct IntervalRule {
    /// The share of intervals that hold the truth, from 0 to 1.
    pub confidence: f64,
    /// The shift by the choice of best points; see [`Estimate::choice`].
    pub choice: f64,
}

/// The ratio over the blocks that hold both sides; `None` for fewer than two.
fn in_blocks([base, other]: [&[&Vec<Trial>]; 2], sides: [Choice; 2], rule: IntervalRule) -> Option<Estimate> {
    let (base, other) = (block_values(base), block_values(other));
    let named = |t: &Trial| (t.deployment, t.block);
    let both = |t: &&Trial, side: &[Trial]| side.iter().any(|o| named(o) == named(t));
    let below: Vec<Trial> = unit_trials(&base.iter().filter(|t| both(t, &other)).copied().collect::<Vec<_>>());
    let above: Vec<Trial> = unit_trials(&other.iter().filter(|t| both(t, &base)).copied().collect::<Vec<_>>());
    let (x, y) = (mean(&values(&below)).filter(|m| *m > 0.0)?, mean(&values(&above)).filter(|m| *m > 0.0)?);
    let mut deviations: Vec<((u32, u32), f64)> =
        below.iter().zip(&above).map(|(b, a)| (named(b), a.value / y - b.value / x)).collect();
    if deviations.len() < 2 {
        return None;
    }
    let alone = |deviations: &[((u32, u32), f64)]| deviations.iter().map(|(_, d)| *d).collect::<Vec<_>>();
    // The deviations shrink and not only their error, so that a mean over workloads has the error of best points as well.
    let share = choice::share_left(&sides, variance(&alone(&deviations)) / deviations.len() as f64).sqrt();
    deviations.iter_mut().for_each(|(_, d)| *d *= share);
    let ratio = of_deviations(y / x, &alone(&deviations), rule);
    Some(Estimate { ratio, units: deviations.len(), deviations, choice: rule.choice })
}

/// The ratio whose relative error is the mean of these deviations.
pub fn of_deviations(value: f64, deviations: &[f64], rule: IntervalRule) -> Ratio {
    let n = deviations.len() as f64;
    with_error(value, (variance(deviations) / n).sqrt(), n - 1.0, rule)
}

/// The ratio with this error of its logarithm, beside that of the choice.
pub(crate) fn with_error(value: f64, log_error: f64, freedom: f64, rule: IntervalRule) -> Ratio {
    let log_error = choice::widened(log_error, rule.choice, freedom, rule.confidence);
    let half = student_quantile(rule.confidence, freedom) * log_error;
    let interval = Some(Interval { low: value * (-half).exp(), high: value * half.exp() });
    Ratio { value, interval, log_error, freedom }
}

/// Welch's interval over trials that have nothing to do with each other, with Satterthwaite's degrees of freedom; `None`
/// where a counted point has a single trial.
fn independent(points: [&[&Vec<Trial>]; 2], sides: [Choice; 2], value: f64, rule: IntervalRule) -> Option<Estimate> {
    let (mut error, mut weighted, mut loose) = (0.0, 0.0, 0.0);
    let mut units = usize::MAX;
    for side in points {
        let points: Vec<Vec<f64>> = side.iter().map(|p| self::units(p)).collect();
        let total: f64 = points.iter().filter_map(|p| mean(p)).sum();
        for point in &points {
            let n = point.len() as f64;
            units = units.min(point.len());
            let part = variance(point) / n / total.powi(2);
            error += part;
            weighted += part * part / (n - 1.0).max(1.0);
            loose += n - 1.0;
        }
    }
    if units < 2 {
        return None;
    }
    let freedom = if weighted > 0.0 { error * error / weighted } else { loose };
    let ratio = with_error(value, (error * choice::share_left(&sides, error)).sqrt(), freedom, rule);
    Some(Estimate { ratio, units, deviations: Vec::new(), choice: rule.choice })
}

#[cfg(test)]
mod tests;
