//! What trials like these can find: the difference that shows, and how many more would decide.
//!
//! Both are about the rule with its margin, for four of five studies. The scatter is itself an estimate of a few trials, so that both
//! average over what it may be (Student's distribution as a predictive one: Geisser 1993, section 2.2).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use statrs::distribution::{ContinuousCDF, Normal};

use super::{Ratio, student, student_quantile};

/// The share of studies that are to decide.
const POWER: f64 = 0.8;
/// The same for further trials. The width of their interval is taken as known, which costs a point (tests/looks.rs).
const POWER_OF_MORE: f64 = 0.81;
/// Steps of the integral over an estimated error; its integrand is smooth.
const STEPS: usize = 32;
/// The most trials that anyone makes.
const MOST_TRIALS: u32 = 1000;

/// How the relative difference of two contenders scatters from block to block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scatter {
    /// Standard deviation of a block.
    pub each: f64,
    /// Degrees of freedom that it was estimated with; infinite where it is assumed.
    pub freedom: f64,
}

/// The smallest true relative difference that four of five studies like this one call better, or worse: whose whole interval lies
/// beyond the margin. `None` without an interval.
pub fn detectable(ratio: &Ratio, confidence: f64, margin: f64) -> Option<f64> {
    ratio.interval?;
    Some((margin.ln_1p() + needed_effect(confidence, [ratio.freedom; 2]) * ratio.log_error).exp_m1())
}

/// The same of a study of so many blocks (at least 2) whose scatter was seen elsewhere.
pub fn detectable_with(scatter: Scatter, blocks: u32, confidence: f64, margin: f64) -> f64 {
    let error = scatter.each / f64::from(blocks).sqrt();
    (margin.ln_1p() + needed_effect(confidence, [scatter.freedom, f64::from(blocks) - 1.0]) * error).exp_m1()
}

/// The probability that a study decides, where the true logarithm of the ratio lies `effect` standard errors beyond the margin. The error
/// was estimated with the first degrees of freedom, and the study estimates its own with the second.
pub fn power(effect: f64, confidence: f64, freedom: [f64; 2]) -> f64 {
    let Ok(normal) = Normal::new(0.0, 1.0) else { return 0.0 };
    let t = student_quantile(confidence, freedom[1]);
    let [seen, own] = freedom.map(estimated_errors);
    let found = |(mine, weight): &(f64, f64)| {
        let decides = |(other, w): &(f64, f64)| w * normal.cdf(effect * mine - t * other);
        weight * own.iter().map(decides).sum::<f64>()
    };
    seen.iter().map(found).sum()
}

/// What an estimated error is of the true one: the root of a chi-square over its degrees of freedom, with weights that sum to 1.
fn estimated_errors(freedom: f64) -> Vec<(f64, f64)> {
    if freedom.is_infinite() {
        return vec![(1.0, 1.0)];
    }
    let f = freedom.max(1.0);
    let reach = 6.5 / (2.0 * f).sqrt();
    let (low, high) = ((1.0 - reach).max(0.0), 1.0 + reach);
    let at = |step: usize| low + (high - low) * (step as f64 + 0.5) / STEPS as f64;
    let density = |s: f64| ((f - 1.0) * s.ln() - f * (s * s - 1.0) / 2.0).exp();
    let mass: f64 = (0..STEPS).map(|step| density(at(step))).sum();
    (0..STEPS).map(|step| (at(step), density(at(step)) / mass)).collect()
}

/// The effect in standard errors at which the power is [`POWER`]. The points of a study ask for few different ones, thousands of times.
fn needed_effect(confidence: f64, freedom: [f64; 2]) -> f64 {
    static KNOWN: Mutex<BTreeMap<[u64; 3], f64>> = Mutex::new(BTreeMap::new());
    // Three digits of a freedom are enough; Welch's have many.
    let freedom = freedom.map(|f| if f.is_finite() { (f * 1000.0).round() / 1000.0 } else { f });
    let key = [confidence, freedom[0], freedom[1]].map(f64::to_bits);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known().get(&key).copied();
    found.unwrap_or_else(|| {
        let effect = bisected_effect(confidence, freedom);
        known().insert(key, effect);
        effect
    })
}

fn bisected_effect(confidence: f64, freedom: [f64; 2]) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while power(high, confidence, freedom) < POWER {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..16 {
        let middle = (low + high) / 2.0;
        if power(middle, confidence, freedom) < POWER { low = middle } else { high = middle }
    }
    high
}

/// A study that may get more trials.
#[derive(Debug, Clone, Copy)]
pub struct Extended<'a> {
    /// What it says so far.
    pub ratio: &'a Ratio,
    /// Blocks, trials or deployments that this comes from.
    pub units: usize,
    /// Confidence of the interval that it will have.
    pub confidence: f64,
    /// Relative differences below this are none.
    pub margin: f64,
}

impl Extended<'_> {
    /// The probability of a verdict after so many more trials, by what was seen so far. The mean of all trials is then Student's around
    /// the present one.
    pub fn chance(&self, more: u32) -> f64 {
        let (n, all) = (self.units as f64, self.units as f64 + f64::from(more));
        let Some(student) = student(self.ratio.freedom).filter(|_| more > 0 && self.ratio.log_error > 0.0) else { return 0.0 };
        let each = self.ratio.log_error * n.sqrt();
        let freedom = self.ratio.freedom / (n - 1.0).max(1.0) * (all - 1.0);
        let half = student_quantile(self.confidence, freedom) * each / all.sqrt();
        let moves = each * (1.0 / n - 1.0 / all).sqrt();
        let (edge, now) = (self.margin.ln_1p(), self.ratio.value.ln());
        let below = |value: f64| student.cdf((value - now) / moves);
        let equivalent = (below(edge - half) - below(half - edge)).max(0.0);
        1.0 - below(edge + half) + below(-edge - half) + equivalent
    }

    /// The fewest further trials after which four of five such studies have a verdict; `None` where a thousand are not enough.
    pub fn trials_that_decide(&self) -> Option<u32> {
        let decides = |more: u32| self.chance(more) >= POWER_OF_MORE;
        if !decides(MOST_TRIALS) {
            return None;
        }
        let (mut too_few, mut enough) = (0, MOST_TRIALS);
        while enough - too_few > 1 {
            let middle = (too_few + enough) / 2;
            if decides(middle) { enough = middle } else { too_few = middle }
        }
        Some(enough)
    }
}
