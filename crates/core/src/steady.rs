//! Had the trial settled when the measured window began, and did it stay settled?
//!
//! Two questions with two methods, both on the transactions completed in each second. Where did the transient end:
//! MSER-5, the truncation that minimises the standard error of what is left (White 1997; Franklin and White 2008).
//! Does the level still move: the slope of least squares with a standard error after Newey and West (1987), prewhitened
//! (Andrews and Monahan 1992) and with the degrees of freedom of the independent seconds (Santer and others 2000).
//! Without these two the test calls a tenth of all flat trials of 30 seconds a drift where seconds are autocorrelated.
//!
//! # The rule
//! 1. With fewer than [`LEAST_BATCHES`] batches of five seconds (warm-up included) or fewer than [`LEAST_MEASURED_S`]
//!    measured seconds it is too short to tell, unless a slope that can be computed drifts by 3.
//! 2. Two parts of a series differ where their means are apart by more than 2 % (5 % for a drift) of the longer part's,
//!    and by more than Student's two-sided 99.8 % quantile of the standard error that the longer part's batches give.
//! 3. It drifts where the change over the measured window is above 5 % of the mean with p < 0.01; or where its end, cut
//!    off by MSER-5 on the window read backwards, differs from what is before it.
//! 4. The warm-up was too short where the best truncation in the first half lies inside the measured window and the
//!    seconds before it differ from the rest. Where 3 holds too, it is a drift if the rest goes on in the same direction
//!    at least half as steeply.
//! 5. Otherwise it is settled. A minimum of MSER-5 in the second half says by definition that the series never settled,
//!    but one flat series in seven has it by chance: it is shown as no truncation, and judged by 3 and 4.
//!
//! On flat series of 40 to 660 seconds, independent or with an autocorrelation of up to 0.7, the warm-up is
//! called too short in less than 5 % of the trials, and a drift is seen in less than 6.5 % (see the tests). With an
//! autocorrelation of 0.9 each alarm is false in up to a fifth of the trials.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::stats;

/// Seconds of a batch.
pub const BATCH_S: usize = 5;
/// The least number of batches, warm-up included, from which MSER-5 is used: 40 seconds, so that a rest of the second
/// half alone still has four batches.
pub const LEAST_BATCHES: usize = 8;
/// The least number of measured seconds from which a slope is computed; fewer carry no autocorrelation worth correcting.
pub const LEAST_MEASURED_S: usize = 20;
/// The last batches, at which MSER-5 does not truncate beyond the half: the spread of so few is small by chance (Hoad,
/// Robinson and Davies 2010).
const LAST_BATCHES: usize = 5;
/// A criterion of MSER-5 that is larger by no more than this factor is so by chance.
const NEARLY: f64 = 1.35;
/// A transient matters above this share of the level.
const MATTERS: f64 = 0.02;
/// A drift matters above this share of the mean.
const DRIFT: f64 = 0.05;
/// A slope is taken for real below this p-value.
const DRIFT_P: f64 = 0.01;
/// Two-sided confidence of the comparison of two parts.
const CONFIDENCE: f64 = 0.998;
/// The highest autocorrelation of seconds that is taken for real: above it nothing is left of a window of a minute.
const AUTOCORRELATION_MAX: f64 = 0.9;

/// What a series of seconds says about its steadiness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Steadiness {
    /// Where MSER-5 says that the transient ended, in seconds since the start of the warm-up; a multiple of 5. `None`
    /// where the series is too short, or where the minimum lies in the second half.
    pub mser5_truncation_s: Option<u32>,
    /// Change over the measured window by least squares, in percent of its mean; `None` where the window is too short
    /// or nothing was completed.
    pub slope_percent: Option<f64>,
    /// The two-sided probability, from 0 to 1, of such a slope where there is none.
    pub slope_p_value: Option<f64>,
    /// What follows.
    pub verdict: Settled,
}

/// The verdict on a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Settled {
    /// Flat, as far as this series can tell.
    Settled,
    /// The measured window begins with a transient: a longer warm-up is needed.
    WarmupTooShort,
    /// The level moves across the measured window.
    Drifting,
    /// Too few seconds for an answer.
    TooShortToTell,
}

/// Judges the transactions completed per second (finite, from 0), of which the first `warmup` belong to the warm-up.
pub fn judge(series: &[f64], warmup: usize) -> Steadiness {
    let warmup = warmup.min(series.len());
    let measured = &series[warmup..];
    let slope = slope(measured);
    let slope_drifts = slope.is_some_and(|s| s.p_value < DRIFT_P && s.change.abs() > DRIFT);
    let long_enough = series.len() >= LEAST_BATCHES * BATCH_S && measured.len() >= LEAST_MEASURED_S;
    let cut = mser5(series).filter(|_| series.len() >= LEAST_BATCHES * BATCH_S);
    let late = cut.filter(|c| long_enough && c.early > warmup && differ(&series[warmup..], c.early - warmup, MATTERS));
    let verdict = match late {
        Some(late) if !(slope_drifts && goes_on(slope, &series[late.early..])) => Settled::WarmupTooShort,
        _ if slope_drifts || (long_enough && ends_elsewhere(measured)) => Settled::Drifting,
        _ if long_enough => Settled::Settled,
        _ => Settled::TooShortToTell,
    };
    Steadiness {
        mser5_truncation_s: cut.filter(|c| c.anywhere == c.early).map(|c| c.early as u32),
        slope_percent: slope.map(|s| s.change * 100.0),
        slope_p_value: slope.map(|s| s.p_value),
        verdict,
    }
}

/// Whether the rest moves in the direction of the whole, at least half as steeply.
fn goes_on(whole: Option<Slope>, rest: &[f64]) -> bool {
    whole.zip(slope(rest)).is_some_and(|(whole, rest)| rest.per_s / whole.per_s >= 0.5)
}

/// Whether the measured window ends on another level than it had before.
fn ends_elsewhere(measured: &[f64]) -> bool {
    let backwards: Vec<f64> = measured.iter().rev().copied().collect();
    mser5(&backwards).is_some_and(|cut| differ(&backwards, cut.early, DRIFT))
}

/// Whether the first `cut` seconds differ from the rest by more than `share` of it and by more than noise.
fn differ(series: &[f64], cut: usize, share: f64) -> bool {
    let (before, rest) = series.split_at(cut);
    let (Some(other), Some(level)) = (stats::mean(before), stats::mean(rest)) else {
        return false;
    };
    let batches = batch_means(rest);
    // The variance of a mean of 5 is a fifth of that of a second, and more with autocorrelation.
    let long_run = stats::variance(&batches) * BATCH_S as f64;
    let error = (long_run * (1.0 / before.len() as f64 + 1.0 / rest.len() as f64)).sqrt();
    let noise = stats::student_quantile(CONFIDENCE, batches.len() as f64 - 1.0) * error;
    (other - level).abs() > noise.max(share * level)
}

/// The transient at the start of a series, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Transient {
    /// Where MSER-5 says that it ends.
    pub(crate) end: usize,
    /// The earliest end that is nearly as good. MSER-5 often cuts later than it must.
    pub(crate) earliest: usize,
}

/// The transient of a series; none where it differs from the rest by no more than this share, or than noise. `None` where the series is
/// too short, or settles only in its second half: where [`MATTERS`] and noise say so.
pub(crate) fn transient(series: &[f64], share: f64) -> Option<Transient> {
    let cut = mser5(series).filter(|_| series.len() >= LEAST_BATCHES * BATCH_S)?;
    // After an early transient the rest may have its minimum late by chance: what lies between the two decides.
    if cut.anywhere > cut.early && differ(&series[cut.early..], cut.anywhere - cut.early, MATTERS) {
        return None;
    }
    let transient = Transient { end: cut.early, earliest: cut.nearly };
    Some(if differ(series, cut.early, share) { transient } else { Transient::default() })
}

/// The means of batches of five seconds.
fn batch_means(series: &[f64]) -> Vec<f64> {
    means_of(series, BATCH_S)
}

/// The means of whole batches of that many seconds; seconds beyond the last whole batch are left out.
pub(crate) fn means_of(series: &[f64], seconds: usize) -> Vec<f64> {
    series.chunks_exact(seconds).map(|b| b.iter().sum::<f64>() / seconds as f64).collect()
}

/// Where MSER-5 truncates, in seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Truncation {
    /// The best of all.
    anywhere: usize,
    /// The best in the first half.
    early: usize,
    /// The earliest whose criterion is at most [`NEARLY`] times that.
    nearly: usize,
}

/// The truncations that minimise the standard error of the rest, the earliest where several do; `None` without a batch.
fn mser5(series: &[f64]) -> Option<Truncation> {
    let batches = batch_means(series);
    let count = batches.len();
    // Sums are taken from the last value, so that equal batches have a spread of exactly 0.
    let origin = *batches.last()?;
    let half = count / 2;
    let latest = half.max(count.saturating_sub(LAST_BATCHES));
    let (mut sum, mut squares) = (0.0, 0.0);
    let (mut least, mut least_early) = (f64::INFINITY, f64::INFINITY);
    let (mut best, mut criteria) = (Truncation::default(), Vec::with_capacity(half + 1));
    for first in (0..count).rev() {
        let value = batches[first] - origin;
        sum += value;
        squares += value * value;
        let left = (count - first) as f64;
        let criterion = (squares - sum * sum / left).max(0.0) / (left * left);
        if first <= latest && criterion <= least {
            (least, best.anywhere) = (criterion, first * BATCH_S);
        }
        if first <= half {
            criteria.push(criterion);
            if criterion <= least_early {
                (least_early, best.early) = (criterion, first * BATCH_S);
            }
        }
    }
    let is_near = |criterion: &f64| *criterion <= NEARLY * least_early;
    best.nearly = criteria.iter().rev().position(is_near).unwrap_or(0) * BATCH_S;
    Some(best)
}

/// A line through the measured seconds.
#[derive(Debug, Clone, Copy)]
struct Slope {
    per_s: f64,
    /// Change over the window as a share of its mean.
    change: f64,
    p_value: f64,
}

/// Least squares over time; `None` for fewer than [`LEAST_MEASURED_S`] seconds, or where the mean is not above 0.
fn slope(series: &[f64]) -> Option<Slope> {
    let mean = stats::mean(series).filter(|m| *m > 0.0 && series.len() >= LEAST_MEASURED_S)?;
    let n = series.len() as f64;
    let times = || (0..series.len()).map(|i| i as f64 - (n - 1.0) / 2.0);
    let squares = n * (n * n - 1.0) / 12.0;
    let per_s = times().zip(series).map(|(t, y)| t * (y - mean)).sum::<f64>() / squares;
    let residuals: Vec<f64> = times().zip(series).map(|(t, y)| y - mean - per_s * t).collect();
    let correlation = autocorrelation(&residuals);
    let scores: Vec<f64> = times().zip(&residuals).map(|(t, e)| t * e).collect();
    let whitened: Vec<f64> = scores.windows(2).map(|w| w[1] - correlation * w[0]).collect();
    // n/(n−2) for the two numbers that were fitted.
    let error = (newey_west(&whitened) * n / (n - 2.0)).sqrt() / (1.0 - correlation) / squares;
    let freedom = (n * (1.0 - correlation) / (1.0 + correlation) - 2.0).max(1.0);
    let change = per_s * n / mean;
    // Below a billionth of the mean both are rounding: a constant has no slope, a line without noise is certain.
    let p_value = match (change.abs() < 1e-9, error * n / mean < 1e-9) {
        (true, _) => 1.0,
        (_, true) => 0.0,
        _ => StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |t| 2.0 * t.sf((per_s / error).abs())),
    };
    Some(Slope { per_s, change, p_value })
}

/// The correlation of neighbouring residuals of a line, from 0 to [`AUTOCORRELATION_MAX`], with the first-order correction of its
/// bias after a line was taken out: (2 + 4ρ)/n.
fn autocorrelation(residuals: &[f64]) -> f64 {
    let squares = residuals.iter().map(|e| e * e).sum::<f64>();
    let products = residuals.windows(2).map(|w| w[0] * w[1]).sum::<f64>();
    let plain = if squares > 0.0 { products / squares } else { 0.0 };
    (plain + (2.0 + 4.0 * plain) / residuals.len() as f64).clamp(0.0, AUTOCORRELATION_MAX)
}

/// The variance of the sum of the scores: Bartlett kernel, ⌊4(n/100)^(2/9)⌋ lags.
fn newey_west(scores: &[f64]) -> f64 {
    let lags = (4.0 * (scores.len() as f64 / 100.0).powf(2.0 / 9.0)) as usize;
    let mut sum = scores.iter().map(|s| s * s).sum::<f64>();
    for lag in 1..=lags.min(scores.len()) {
        let weight = 1.0 - lag as f64 / (lags as f64 + 1.0);
        sum += 2.0 * weight * scores.iter().zip(&scores[lag..]).map(|(a, b)| a * b).sum::<f64>();
    }
    // The kernel keeps this from being negative, but for rounding.
    sum.max(0.0)
}

#[cfg(test)]
mod tests;
