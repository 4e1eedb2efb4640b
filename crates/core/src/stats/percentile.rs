//! Percentiles of merged histograms, with intervals by leaving out one run after the other.

use super::{Interval, student_quantile};
use crate::histogram::Histogram;

/// Highest value and count of each bucket that is not empty, ascending.
type Buckets = Vec<(u64, u64)>;

/// The histograms of several runs, merged, and each by itself.
#[derive(Debug, Default)]
pub struct Merged {
    all: Histogram,
    runs: Vec<Buckets>,
}

/// A percentile of all runs together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Percentile {
    /// Nanoseconds; 0 without data.
    pub ns: u64,
    /// Its interval in nanoseconds; `None` for fewer than two runs.
    pub interval: Option<Interval>,
}

impl Merged {
    /// Adds a run.
    pub fn add(&mut self, run: &Histogram) {
        if run.count() > 0 {
            self.all.merge(run);
            self.runs.push(run.buckets().collect());
        }
    }

    /// All runs in one.
    pub fn all(&self) -> &Histogram {
        &self.all
    }

    /// Percentiles (ascending, 0 to 100) of all runs. The interval is Student's on the logarithmic scale with the jackknife's
    /// error: the scatter of what the runs give when one of them is left out. Runs are left out, never requests, which are
    /// not independent of each other.
    pub fn percentiles(&self, percents: &[f64], confidence: f64) -> Vec<Percentile> {
        let whole: Buckets = self.all.buckets().collect();
        let without: Vec<Vec<u64>> = self.runs.iter().map(|run| left(&whole, run, percents)).collect();
        let one = |(i, percent): (usize, &f64)| {
            let ns = self.all.percentile_ns(*percent).unwrap_or(0);
            let logs: Vec<f64> = without.iter().map(|found| (found[i].max(1) as f64).ln()).collect();
            Percentile { ns, interval: interval(ns, &logs, confidence) }
        };
        percents.iter().enumerate().map(one).collect()
    }
}

/// Percentiles of what is left without one run.
fn left(whole: &Buckets, run: &Buckets, percents: &[f64]) -> Vec<u64> {
    let total: u64 = whole.iter().map(|(_, n)| n).sum::<u64>() - run.iter().map(|(_, n)| n).sum::<u64>();
    let rank = |percent: &f64| ((percent / 100.0 * total as f64).ceil() as u64).max(1);
    let mut wanted = percents.iter().map(rank).peekable();
    let mut of_run = run.iter().peekable();
    let (mut found, mut seen) = (Vec::with_capacity(percents.len()), 0);
    for (value, count) in whole {
        let gone = of_run.next_if(|(v, _)| v == value).map_or(0, |(_, n)| *n);
        seen += count - gone;
        while wanted.next_if(|rank| *rank <= seen).is_some() {
            found.push(*value);
        }
    }
    // Nothing is left of a single run.
    found.resize(percents.len(), 0);
    found
}

/// The jackknife's interval (Efron and Tibshirani 1993, chapter 11) around a value, from its logarithms without each run.
fn interval(ns: u64, logs: &[f64], confidence: f64) -> Option<Interval> {
    let n = logs.len() as f64;
    let centre = super::mean(logs).filter(|_| logs.len() > 1 && ns > 0)?;
    let error = (logs.iter().map(|l| (l - centre).powi(2)).sum::<f64>() * (n - 1.0) / n).sqrt();
    let half = student_quantile(confidence, n - 1.0) * error;
    Some(Interval { low: ns as f64 * (-half).exp(), high: ns as f64 * half.exp() })
}
