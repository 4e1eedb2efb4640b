//! A value that was measured in blocks, and what each block adds to its error.

use std::collections::BTreeMap;

use crate::stats::{self, Interval, Trial};

/// A block, or a trial of one point where trials do not share blocks: point, deployment, block.
type Unit = (u32, u32, u32);

/// A smooth function of measured means. Its error is linear in those of the means (the delta method), and what a block does to several of
/// them adds up before it is squared, so that a common drift cancels out of a ratio.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Linear {
    pub(super) value: f64,
    /// The part of the error that each unit adds; the variance is the sum of their squares.
    parts: BTreeMap<Unit, f64>,
    /// Degrees of freedom: those of the point that has the fewest.
    freedom: f64,
    /// Whether every point has an error: one of a single trial has none.
    known: bool,
}

impl Linear {
    /// A number without error.
    pub(super) fn constant(value: f64) -> Self {
        Self { value, parts: BTreeMap::new(), freedom: f64::INFINITY, known: true }
    }

    /// The mean of a point; `point` tells it from others where their trials share no blocks, and is 0 where they do. `None` without trials.
    pub(super) fn mean(trials: &[Trial], point: u32) -> Option<Self> {
        let units = stats::unit_trials(trials);
        let value = stats::mean(&stats::values(&units))?;
        let n = units.len() as f64;
        let part = |t: &Trial| ((point, t.deployment, t.block), (t.value - value) / (n * (n - 1.0)).sqrt());
        let known = units.len() > 1;
        let parts = if known { units.iter().map(part).collect() } else { BTreeMap::new() };
        Some(Self { value, parts, freedom: n - 1.0, known })
    }

    /// A function of two values, with its derivatives by each of them.
    pub(super) fn of_two(a: &Self, b: &Self, value: f64, [by_a, by_b]: [f64; 2]) -> Self {
        let mut parts: BTreeMap<Unit, f64> = a.parts.iter().map(|(unit, part)| (*unit, by_a * part)).collect();
        for (unit, part) in &b.parts {
            *parts.entry(*unit).or_default() += by_b * part;
        }
        Self { value, parts, freedom: a.freedom.min(b.freedom), known: a.known && b.known }
    }

    /// A function of one value, with its derivative.
    pub(super) fn of_one(self, value: f64, derivative: f64) -> Self {
        Self { value, parts: self.parts.into_iter().map(|(unit, part)| (unit, derivative * part)).collect(), ..self }
    }

    pub(super) fn sum(all: &[Self]) -> Self {
        all.iter().fold(Self::constant(0.0), |sum, one| Self::of_two(&sum, one, sum.value + one.value, [1.0, 1.0]))
    }

    /// The logarithm; `None` of what is not above zero.
    pub(super) fn ln(self) -> Option<Self> {
        let value = self.value;
        (value > 0.0).then(|| self.of_one(value.ln(), 1.0 / value))
    }

    /// The covariance of the errors of two values.
    pub(super) fn covariance(&self, other: &Self) -> f64 {
        self.parts.iter().filter_map(|(unit, part)| Some(part * other.parts.get(unit)?)).sum()
    }

    /// Student's quantile for its error.
    pub(super) fn quantile(&self, confidence: f64) -> f64 {
        // What has no error needs none; a large number of degrees is as good as infinitely many.
        stats::student_quantile(confidence, self.freedom.min(1e6))
    }

    /// Its interval; `None` where a point has a single trial.
    pub(super) fn interval(&self, confidence: f64) -> Option<Interval> {
        let half = self.quantile(confidence) * self.covariance(self).sqrt();
        self.known.then_some(Interval { low: self.value - half, high: self.value + half })
    }

    pub(super) fn is_known(&self) -> bool {
        self.known
    }
}
