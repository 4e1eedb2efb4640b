//! The highest rate at which a database keeps a latency objective, as a search that is driven from outside.
//!
//! The search doubles the rate from the lowest one until a rate is broken, then halves the bracket by geometric means
//! until it is narrow. A rate is tried `repeats` times at most: during the search two more outcomes of one kind than of
//! the other decide it, otherwise the majority of all repeats (a tie is broken). Before the search ends both edges of
//! the bracket get all their repeats; where that overturns an edge, the search goes on from the bracket that is left.
//! Near the boundary outcomes are a matter of chance, so a search gives up after [`OVERTURNS`] overturned rates and says
//! that the boundary is noisy.
//!
//! The state is the list of results alone: the same results in the same order give the same next step.

mod result;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load_model::HIGHEST_PER_S;
pub use result::{CAPACITY_SCHEMA, CapacityRecord, CapacityResult, Votes, Why};

/// How many rates may be overturned before no new rate is tried.
pub const OVERTURNS: usize = 3;

/// What is searched, and how closely.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapacityRule {
    /// The percentile of the response time that the objective is about, above 0 to 100.
    pub percentile: f64,
    /// The objective: that percentile is at most this many nanoseconds; from 1.
    pub at_most_ns: u64,
    /// Where the search begins, in transactions per second; from 1.
    pub lowest_per_s: u32,
    /// Where it ends even though the objective is kept, at least `lowest_per_s`; `None`: [`HIGHEST_PER_S`].
    pub highest_per_s: Option<u32>,
    /// The relative width of the final bracket, above 0 to 1: 0.02 for two percent. Neighbouring whole rates are narrow
    /// enough in any case.
    pub resolution: f64,
    /// Trials of each edge; from 1.
    pub repeats: u32,
    /// The share of the offered transactions that must be completed, above 0 to 1: below it a queue only grows.
    pub keeps_up: f64,
}

impl CapacityRule {
    /// Whether a trial kept the objective: the percentile is known and low enough, and the database kept up. Failed
    /// transactions are offered and not completed.
    pub fn keeps(&self, result: &ProbeResult) -> bool {
        let fast = result.response_ns.is_some_and(|ns| ns <= self.at_most_ns);
        fast && self.keeps_up(result)
    }

    /// Whether the database completed enough of what was offered; what was young at the end is not held against it.
    pub fn keeps_up(&self, result: &ProbeResult) -> bool {
        (result.completed + result.young) as f64 >= self.keeps_up * result.offered as f64
    }

    fn highest(&self) -> u32 {
        self.highest_per_s.unwrap_or(HIGHEST_PER_S)
    }

    fn check(&self) -> Result<(), String> {
        let (lowest, highest) = (self.lowest_per_s, self.highest());
        let share = |value: f64| value > 0.0 && value <= 1.0;
        let percentile = self.percentile > 0.0 && self.percentile <= 100.0;
        let checks = [
            (percentile, format!("the percentile {} is not above 0 and at most 100", self.percentile)),
            (self.at_most_ns > 0, "no response takes 0 ns; the objective must be longer".to_owned()),
            (lowest > 0, "the lowest rate must be at least 1/s".to_owned()),
            (highest >= lowest, format!("the highest rate of {highest}/s is below the lowest of {lowest}/s")),
            (highest <= HIGHEST_PER_S, format!("the highest rate of {highest}/s is above {HIGHEST_PER_S}/s")),
            (share(self.resolution), format!("the resolution {} is not above 0 and at most 1", self.resolution)),
            (self.repeats > 0, "each edge needs at least one trial".to_owned()),
            (share(self.keeps_up), format!("the share {} that must be completed is not above 0 and at most 1", self.keeps_up)),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, wrong)| Err(wrong))
    }
}

/// A trial that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Transactions offered per second.
    pub rate_per_s: u32,
    /// Which trial of this rate, from 1.
    pub repeat: u32,
}

/// What a wanted trial gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeResult {
    /// Transactions offered per second.
    pub rate_per_s: u32,
    /// Which trial of this rate, from 1.
    pub repeat: u32,
    /// Transactions due in the measured window; from 1.
    pub offered: u64,
    /// Transactions that were completed in it.
    pub completed: u64,
    /// Transactions that had been due for so short a time when the window closed that they are not held against the
    /// database, though they were not completed.
    pub young: u64,
    /// The percentile of the response time in nanoseconds; `None` where nothing was completed.
    pub response_ns: Option<u64>,
    /// Transactions of these that failed.
    pub failed: u64,
    /// Whether the client, not the database, was the limit.
    pub client_limited: bool,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Run this trial and tell its result.
    Probe(Probe),
    /// The search is over.
    Done(CapacityResult),
}

/// The search.
#[derive(Debug, Clone)]
pub struct Search {
    rule: CapacityRule,
    probes: Vec<ProbeResult>,
}

/// The outcomes of a rate so far.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    kept: u32,
    trials: u32,
    /// The latest decision; `None` while more trials are needed.
    decision: Option<bool>,
    /// Whether a decision was reversed by later trials.
    overturned: bool,
    first: Option<bool>,
}

impl Tally {
    fn count(&mut self, kept: bool, repeats: u32) {
        self.kept += u32::from(kept);
        self.trials += 1;
        let broken = self.trials - self.kept;
        let decided = self.trials >= repeats || self.kept.abs_diff(broken) >= 2;
        self.decision = decided.then_some(self.kept > broken);
        self.first = self.first.or(self.decision);
        self.overturned = self.decision.is_some() && self.decision != self.first;
    }
}

type Edge = Option<(u32, Tally)>;

impl Search {
    /// A search that has not begun.
    ///
    /// # Errors
    /// Says which value of the rule is out of its range.
    pub fn new(rule: CapacityRule) -> Result<Self, String> {
        rule.check()?;
        Ok(Self { rule, probes: Vec::new() })
    }

    /// The trial that is wanted now, or the result.
    pub fn next(&self) -> Step {
        let tallies = self.tallies();
        if let Some((rate, tally)) = tallies.iter().find(|(_, t)| t.decision.is_none()) {
            return Step::Probe(Probe { rate_per_s: *rate, repeat: tally.trials + 1 });
        }
        let broken: Edge = tallies.iter().find(|(_, t)| t.decision == Some(false)).map(|(r, t)| (*r, *t));
        // All rates are decided here, so every one below the lowest that is broken is kept.
        let below = broken.map_or(u64::MAX, |(rate, _)| u64::from(rate));
        let kept: Edge = tallies.iter().rev().find(|(r, _)| u64::from(**r) < below).map(|(r, t)| (*r, *t));
        let stalled = tallies.values().filter(|t| t.overturned).count() > OVERTURNS;
        let rate_per_s = match (kept.map(|k| k.0), broken.map(|b| b.0)) {
            (None, None) => self.rule.lowest_per_s,
            (None, Some(_)) => return self.finish(kept, broken, Why::LowestBroken, &tallies),
            (Some(k), None) if k >= self.rule.highest() => return self.finish(kept, broken, Why::HighestKept, &tallies),
            (Some(k), Some(b)) if self.narrow(k, b) => return self.finish(kept, broken, Why::Resolved, &tallies),
            _ if stalled => return self.finish(kept, broken, Why::Noisy, &tallies),
            (Some(k), None) => k.saturating_mul(2).min(self.rule.highest()),
            (Some(k), Some(b)) => {
                (f64::from(k) * f64::from(b)).sqrt().round().clamp(f64::from(k) + 1.0, f64::from(b) - 1.0) as u32
            }
        };
        Step::Probe(Probe { rate_per_s, repeat: 1 })
    }

    /// Takes the result of the wanted trial.
    ///
    /// # Errors
    /// Says so where this trial was not wanted, or where nothing was offered in it.
    pub fn tell(&mut self, result: ProbeResult) -> Result<(), String> {
        let told = format!("trial {} at {}/s", result.repeat, result.rate_per_s);
        match self.next() {
            Step::Done(_) => Err(format!("the search is over; {told} was not wanted")),
            Step::Probe(p) if (p.rate_per_s, p.repeat) != (result.rate_per_s, result.repeat) => {
                Err(format!("{told} was not wanted, but trial {} at {}/s", p.repeat, p.rate_per_s))
            }
            Step::Probe(_) if result.offered == 0 => Err(format!("nothing was offered in {told}, so it tells nothing")),
            Step::Probe(_) => {
                self.probes.push(result);
                Ok(())
            }
        }
    }

    fn tallies(&self) -> BTreeMap<u32, Tally> {
        let mut tallies: BTreeMap<u32, Tally> = BTreeMap::new();
        for probe in &self.probes {
            tallies.entry(probe.rate_per_s).or_default().count(self.rule.keeps(probe), self.rule.repeats);
        }
        tallies
    }

    fn narrow(&self, kept: u32, broken: u32) -> bool {
        broken - kept <= 1 || f64::from(broken - kept) <= self.rule.resolution * f64::from(kept)
    }

    /// The end, once both edges have all their repeats.
    fn finish(&self, kept: Edge, broken: Edge, why: Why, tallies: &BTreeMap<u32, Tally>) -> Step {
        for (rate_per_s, tally) in [kept, broken].into_iter().flatten() {
            if tally.trials < self.rule.repeats {
                return Step::Probe(Probe { rate_per_s, repeat: tally.trials + 1 });
            }
        }
        let votes = |(rate, tally): (u32, Tally)| Votes::new(rate, tally.kept, tally.trials);
        let edges = [kept, broken].map(|edge| edge.map(|(rate, _)| rate));
        let limited = self.probes.iter().any(|p| p.client_limited && edges.contains(&Some(p.rate_per_s)));
        let mixed = tallies.iter().filter(|(_, t)| t.kept > 0 && t.kept < t.trials);
        Step::Done(CapacityResult {
            capacity_per_s: edges[0],
            broken_per_s: edges[1],
            kept: kept.map(votes),
            broken: broken.map(votes),
            unsure: mixed.map(|(rate, tally)| votes((*rate, *tally))).collect(),
            why: if limited { Why::ClientLimited } else { why },
            probes: self.probes.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
