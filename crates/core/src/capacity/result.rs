//! What a search for the capacity says, as data and in a sentence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{Beta, ContinuousCDF};

use super::{CapacityRule, ProbeResult};
use crate::arrivals::Arrivals;
use crate::stats::Interval;
use crate::units::{Seed, thousands};

/// Confidence of the interval of [`Votes::keeps`].
const CONFIDENCE: f64 = 0.95;

/// The schema number of [`CapacityRecord`].
pub const CAPACITY_SCHEMA: u32 = 1;

/// What `perbuck capacity` found for one contender and workload, as it writes it to `capacity.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapacityRecord {
    /// Always 1.
    pub schema: u32,
    /// Version of perbuck that wrote it.
    pub perbuck: String,
    /// Name of the study.
    pub study: String,
    /// Fingerprint of everything in the study that decides what is measured.
    pub study_fingerprint: String,
    /// The study's seed.
    pub seed: Seed,
    /// Name of the contender.
    pub contender: String,
    /// Name of the workload.
    pub workload: String,
    /// The objective in words, such as `p99 at most 20.0 ms`.
    pub objective: String,
    /// The most transactions in flight.
    pub connections: u32,
    /// How the intended starts lay in time.
    pub arrivals: Arrivals,
    /// Warm-up of each trial, nanoseconds.
    pub warmup_ns: u64,
    /// Measured window of each trial, nanoseconds.
    pub duration_ns: u64,
    /// What was searched, and how closely.
    pub rule: CapacityRule,
    /// What was found. The trials lie in the folders beside this file, one record each.
    pub result: CapacityResult,
    /// The result in plain words.
    pub sentence: String,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapacityResult {
    /// The highest rate at which the objective was kept, in transactions per second, with all rates below it that were
    /// tried kept too; `None` where even the lowest was broken.
    pub capacity_per_s: Option<u32>,
    /// The lowest rate at which it was broken; `None` where it never was.
    pub broken_per_s: Option<u32>,
    /// The trials at `capacity_per_s`.
    pub kept: Option<Votes>,
    /// The trials at `broken_per_s`.
    pub broken: Option<Votes>,
    /// All rates at which some trials kept the objective and some did not, ascending; the edges may be among them.
    pub unsure: Vec<Votes>,
    /// Why the search ended.
    pub why: Why,
    /// All trials in the order in which they were run.
    pub probes: Vec<ProbeResult>,
}

/// The outcomes of one rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Votes {
    /// Transactions per second.
    pub rate_per_s: u32,
    /// Trials that kept the objective.
    pub kept: u32,
    /// All trials.
    pub trials: u32,
    /// The probability, from 0 to 1, that a trial at this rate keeps the objective: the interval of Clopper and Pearson
    /// (1934) at 95 %. Three of three say no more than 29 % to 100 %.
    pub keeps: Interval,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The bracket is as narrow as asked.
    Resolved,
    /// Even the lowest rate was broken.
    LowestBroken,
    /// The highest rate was kept: the capacity is at least that.
    HighestKept,
    /// The client was the limit in a trial at an edge: the capacity is at least what was kept.
    ClientLimited,
    /// Too many rates were overturned by their later trials: the boundary lies somewhere in a bracket wider than asked.
    Noisy,
}

impl Votes {
    /// `kept` of `trials` (from 1) at a rate.
    pub(super) fn new(rate_per_s: u32, kept: u32, trials: u32) -> Self {
        let (k, n) = (f64::from(kept), f64::from(trials));
        let tail = (1.0 - CONFIDENCE) / 2.0;
        // The constructor refuses only shapes of 0 or less, which the two conditions exclude.
        let quantile = |a, b, p| Beta::new(a, b).map(|beta| beta.inverse_cdf(p));
        let low = if kept == 0 { 0.0 } else { quantile(k, n - k + 1.0, tail).unwrap_or(0.0) };
        let high = if kept == trials { 1.0 } else { quantile(k + 1.0, n - k, 1.0 - tail).unwrap_or(1.0) };
        Self { rate_per_s, kept, trials, keeps: Interval { low, high } }
    }
}

impl CapacityResult {
    /// Whether the capacity may be higher than what was kept, because nothing that the database did ended the search.
    pub fn at_least(&self) -> bool {
        self.capacity_per_s.is_some() && (self.broken.is_none() || self.why == Why::ClientLimited)
    }

    /// Where the capacity lies by the outcomes: up to the first of these rates every trial kept the objective, and from the second one on
    /// none did. Each is `None` where no trial tells it.
    pub fn range(&self, rule: &CapacityRule) -> (Option<u32>, Option<u32>) {
        let rates = |kept: bool| self.probes.iter().filter(move |p| rule.keeps(p) == kept).map(|p| p.rate_per_s);
        let (broken, kept) = (rates(false).min().unwrap_or(u32::MAX), rates(true).max().unwrap_or(0));
        let above = rates(false).filter(|rate| *rate > kept && self.why != Why::ClientLimited).min();
        (rates(true).filter(|rate| *rate < broken).max(), above)
    }

    /// The result in plain words, such as `the objective was kept in 3 of 3 trials at 4,100/s and broken in 3 of 3 at
    /// 4,182/s`, and what limits it.
    pub fn sentence(&self) -> String {
        let plural = |n: u32| if n == 1 { "" } else { "s" };
        let rate = |votes: &Votes| thousands(u64::from(votes.rate_per_s));
        let share = |trials: u32, of: &Votes| format!("{trials} of {} trial{} at {}/s", of.trials, plural(of.trials), rate(of));
        let mut text = match (&self.kept, &self.broken) {
            (Some(k), Some(b)) => {
                let broken = format!("broken in {} of {} at {}/s", b.trials - b.kept, b.trials, rate(b));
                format!("the objective was kept in {} and {broken}", share(k.kept, k))
            }
            (Some(k), None) => format!("the objective was kept in {}, the highest rate tried", share(k.kept, k)),
            (None, Some(b)) => format!("the objective was broken in {}, the lowest rate tried", share(b.trials - b.kept, b)),
            (None, None) => "no rate was tried".to_owned(),
        };
        if self.why == Why::ClientLimited {
            text.push_str("; the client was the limit");
        }
        if let Some(kept) = self.kept.as_ref().filter(|_| self.at_least()) {
            text.push_str(&format!("; the capacity is at least {}/s", rate(kept)));
        }
        if self.why == Why::Noisy {
            text.push_str("; later trials kept contradicting earlier ones, so the boundary is noisy");
        }
        match self.unsure.as_slice() {
            [] => {}
            [only] => text.push_str(&format!("; outcomes were mixed at {}/s", rate(only))),
            [first, .., last] => {
                let (rates, first, last) = (self.unsure.len(), rate(first), rate(last));
                text.push_str(&format!("; outcomes were mixed at {rates} rates from {first}/s to {last}/s"));
            }
        }
        text
    }
}
