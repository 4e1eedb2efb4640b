//! When a difference counts, and when trials end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::MicroUsd;

/// When a difference counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// Confidence of the intervals, such as 0.95.
    pub confidence: f64,
    /// Relative differences below this are "equivalent", such as 0.03.
    pub margin: f64,
    /// That trials end when the verdicts are there; `None` runs all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// A latency objective.
    pub slo: Option<Slo>,
}

impl Default for Decision {
    fn default() -> Self {
        Self { confidence: 0.95, margin: 0.03, until: None, slo: None }
    }
}

impl Decision {
    /// The confidence of an interval after more trials than were planned: each extension has half the error level of the plan before it. Looks
    /// that were planned keep theirs.
    pub fn confidence_of_more(&self) -> f64 {
        if self.until.is_some() { self.confidence } else { 1.0 - (1.0 - self.confidence) / 2.0 }
    }
}

/// Trials that end when the verdicts are there (`until = "decided"`): after each block from the least on they are looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Until {
    /// Blocks before the first look, at least 2.
    pub least: u32,
    /// The last block: the most trials of any workload.
    pub most: u32,
    /// One run starts no block by which it would use more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

/// What one run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// Nanoseconds.
    Ns(u64),
    /// Dollars, by the bills of the contenders that are up and of the client.
    Usd(MicroUsd),
}

/// The rule that was in force when a trial ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoppingRule {
    /// Confidence of the intervals.
    pub confidence: f64,
    /// The margin.
    pub margin: f64,
    /// Trials that were planned for its point in each deployment; the most of them where the verdicts end them.
    pub trials: u32,
    /// Deployments that were planned.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub deployments: u32,
    /// Blocks before the first look, where the verdicts end the trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<u32>,
}

/// A latency objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slo {
    /// Which percentile, 0 to 100.
    pub percentile: f64,
    /// Its highest admissible value in nanoseconds.
    pub at_most_ns: u64,
}

fn one() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}
