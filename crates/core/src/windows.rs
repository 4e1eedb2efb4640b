//! Warm-up and window of a study, from pilot trials: long trials without a warm-up, several of each point.
//!
//! # The rule
//! 1. The transient of a pilot trial ends where MSER-5 cuts it (White 1997; Hoad, Robinson and Davies 2010), if the seconds before the cut
//!    differ from the rest by more than [`MATTERS`] and by more than noise. Where no cut in the first third is nearly as good, a pilot trial
//!    is no answer.
//! 2. The warm-up is the longest transient and a quarter of it. MSER-5 cuts an exponential where what is left of it is as large as the
//!    noise of five seconds, and a short window would still show that.
//! 3. The variance of a mean over t seconds is V / t. V is that of batch means (Law and Kelton): the length of a batch times the variance
//!    of their means, the largest over batches of 5, 10, 20, … seconds. Long batches show slow waves, short ones show cycles such as
//!    checkpoints.
//! 4. The window is the shortest over which √(V / t) is at most the deviation between the pilot trials of a point, or [`ERROR_FLOOR`] of
//!    the mean if that is more: with a longer one a study would gain less than by another trial.

use crate::stats;
use crate::steady::{self, BATCH_S, LEAST_BATCHES, Settled};

/// Pilot trials of each point: a deviation needs two, and of three one may find a cold server.
pub const PILOTS: u32 = 3;
/// The shortest pilot trial, in seconds.
pub const SHORTEST_PILOT_S: u32 = (LEAST_BATCHES * BATCH_S) as u32;
/// The shortest window, in seconds: with the shortest warm-up the steadiness of a trial can be judged.
const SHORTEST_S: usize = 35;
/// A transient matters above this share of the level.
const MATTERS: f64 = 0.01;
/// A relative standard error of a trial that needs no longer window, whatever trials differ by.
pub const ERROR_FLOOR: f64 = 0.005;
/// Batches from which a variance is computed, at least; of the shortest ones there may be fewer.
const BATCHES: usize = 10;

/// What the pilot trials of a workload say.
#[derive(Debug, Clone, PartialEq)]
pub struct Windows {
    /// Seconds before the measured window.
    pub warmup_s: u32,
    /// The measured window in seconds.
    pub duration_s: u32,
    /// The point with the longest transient, and that transient in seconds.
    pub slowest: (usize, u32),
    /// The relative standard error of a trial's mean over that window, where it is the largest.
    pub error: f64,
    /// The relative standard deviation between the pilot trials of a point, pooled over points.
    pub between: f64,
    /// The points whose level still moves after the warm-up.
    pub drifting: Vec<usize>,
}

impl Windows {
    /// Whether a longer window would have been taken, had the pilot trials been longer.
    pub fn is_cut_short(&self) -> bool {
        self.error > self.between.max(ERROR_FLOOR)
    }
}

/// A point that did not settle in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsettled {
    /// Which one.
    pub point: usize,
    /// Seconds in which it should have.
    pub limit_s: u32,
}

/// Finds warm-up and window from transactions completed in each second: points, their pilot trials, seconds.
///
/// # Errors
/// The first point that does not settle in the first third of a pilot trial, or completes nothing.
pub fn find(points: &[Vec<Vec<f64>>]) -> Result<Windows, Unsettled> {
    let seconds = points.iter().flatten().map(Vec::len).min().unwrap_or(0);
    let limit = seconds / 3;
    let unsettled = |point| Unsettled { point, limit_s: limit as u32 };
    let mut slowest = (0, 0);
    for (point, trials) in points.iter().enumerate() {
        for series in trials {
            let found = steady::transient(series, MATTERS).filter(|found| found.earliest <= limit).ok_or(unsettled(point))?;
            if found.end > slowest.1 {
                slowest = (point, found.end);
            }
        }
    }
    let most = seconds / 2 / BATCH_S * BATCH_S;
    let warmup = in_batches(slowest.1 * 5 / 4).min(most).max(BATCH_S);
    let (mut worst, mut between, mut drifting) = (0.0_f64, 0.0_f64, Vec::new());
    for (point, trials) in points.iter().enumerate() {
        let rest: Vec<&[f64]> = trials.iter().filter_map(|series| series.get(warmup..seconds)).collect();
        let means: Vec<f64> = rest.iter().filter_map(|series| stats::mean(series)).collect();
        let level = stats::mean(&means).filter(|level| *level > 0.0).ok_or(unsettled(point))?;
        let long_run: Vec<f64> = rest.iter().map(|series| long_run_variance(series)).collect();
        worst = worst.max(stats::mean(&long_run).unwrap_or(0.0) / (level * level));
        between += stats::variance(&means) / (level * level) / points.len() as f64;
        if trials.iter().any(|series| steady::judge(series, warmup).verdict == Settled::Drifting) {
            drifting.push(point);
        }
    }
    let between = between.sqrt();
    let needed = worst / between.max(ERROR_FLOOR).powi(2);
    // The longest is far below what a number of seconds can be.
    let duration = in_batches(needed.ceil().min(most as f64) as usize).clamp(SHORTEST_S.min(most), most);
    Ok(Windows {
        warmup_s: warmup as u32,
        duration_s: duration as u32,
        slowest: (slowest.0, slowest.1 as u32),
        error: (worst / duration.max(1) as f64).sqrt(),
        between,
        drifting,
    })
}

/// Seconds, rounded up to whole batches.
fn in_batches(seconds: usize) -> usize {
    seconds.div_ceil(BATCH_S) * BATCH_S
}

/// The variance of a mean over one second as batch means give it: the largest over batches of 5 seconds and their doubles of which there
/// are enough.
fn long_run_variance(series: &[f64]) -> f64 {
    let lengths = std::iter::successors(Some(BATCH_S), |length| Some(length * 2));
    let enough = |length: &usize| *length == BATCH_S || series.len() / length >= BATCHES;
    let of = |length: usize| stats::variance(&steady::means_of(series, length)) * length as f64;
    lengths.take_while(enough).map(of).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests;
