//! What a comparison says beside ratios and verdicts: how it was designed, what was noise, what stood out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::disputed::DisputedRatio;
use super::result::{Judgement, Verdict, Why};
use crate::stats::{self, Interval, Ratio};
use crate::units::MicroUsd;

/// How the trials were made, and what the intervals therefore rest on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Layout {
    /// Blocks, or trials one by one.
    pub design: stats::Design,
    /// Deployments found; with two or more their means are the unit of every interval.
    pub deployments: u32,
    /// The A/A control, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
}

/// An A/A control: a contender that ran twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Control {
    /// The name of the second run.
    pub name: String,
    /// The contender that it repeats.
    pub of: String,
}

/// What an A/A control says of a workload: a difference that is none, and how wide it may look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// The control over the contender that it repeats; its interval is the noise floor.
    pub ratio: Ratio,
    /// The verdict that the decision rule gives it: "better" or "worse" says that the study cannot be trusted.
    pub verdict: Verdict,
}

impl Noise {
    /// Takes the verdict back: trials of the plan are missing.
    pub(super) fn leave_open(&mut self, missing: u32) {
        self.verdict = Verdict::Undecided { why: Why::Unfinished { missing } };
    }
}

/// The position of a value among the trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialPosition {
    /// The deployment, from 1.
    pub deployment: u32,
    /// The trial within it, which is its block, from 1.
    pub trial: u32,
}

/// A trial that lies apart from the others of its point. It counts in the mean and in the ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// Which trial.
    #[serde(alias = "place")]
    pub position: TrialPosition,
    /// Its value.
    pub value: f64,
    /// Its distance from the median in robust standard deviations (modified z), with its sign.
    pub modified_z: f64,
    /// What the record says that may explain it; empty where nothing does.
    pub causes: Vec<String>,
}

/// What a point would say without its outliers, beside what it says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Without {
    /// The mean of the other trials.
    pub mean: f64,
    /// The ratio to the baseline without the outliers of both; `None` for the baseline itself.
    pub ratio: Option<Ratio>,
}

/// Intervals of percentiles, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyInterval {
    /// Of the median.
    pub p50_ns: Interval,
    /// Of the 95th percentile.
    pub p95_ns: Interval,
    /// Of the 99th percentile.
    pub p99_ns: Interval,
}

/// The percentile that the latency objective of the study is about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectiveLatency {
    /// Nanoseconds.
    pub ns: u64,
    /// Its interval; `None` for fewer than two trials.
    pub interval: Option<Interval>,
    /// Whether it keeps the objective. A rate that was not kept keeps none.
    pub kept: bool,
    /// Whether its whole interval does, and no trial stalled, where the interval does not hold.
    pub surely: bool,
}

/// One contender over all workloads: the geometric mean of its ratios with the weights of the study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overall {
    /// The contender.
    pub contender: String,
    /// Workloads and their weights, which sum to 1.
    pub weights: Vec<(String, f64)>,
    /// Throughput against the baseline.
    pub throughput: Judgement,
    /// Work per dollar against the baseline, by region; empty without prices.
    pub price: Vec<OverallPrice>,
}

/// Work per dollar over all workloads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverallPrice {
    /// The region.
    pub region: String,
    /// Against the baseline.
    pub value_for_money: Judgement,
    /// The same over the prices that lists disagree on; `None` where they agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disputed: Option<DisputedRatio>,
}

/// What a workload says under the latency objective of the study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Objective {
    /// The best point of each contender that keeps the objective somewhere.
    pub kept: Vec<Kept>,
    /// Contenders that keep it at no point.
    pub broken: Vec<String>,
    /// The contender with the fewest dollars per unit under the objective, by region; empty without prices.
    pub cheapest: Vec<Cheapest>,
}

/// The point with the most throughput at which a contender keeps the objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    /// The contender.
    pub contender: String,
    /// Connections, or transactions offered per second.
    pub level: u32,
    /// The mean of its trials there.
    pub throughput: f64,
    /// The percentile there, nanoseconds.
    pub latency_ns: u64,
    /// Its interval; `None` for a single trial.
    pub interval: Option<Interval>,
    /// Whether the whole interval keeps the objective.
    pub surely: bool,
    /// Cost by region.
    pub price: Vec<KeptPrice>,
}

/// What a contender costs under the objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeptPrice {
    /// The region.
    pub region: String,
    /// The bill of a month.
    pub monthly: MicroUsd,
    /// Dollars of the total per unit of throughput under the objective.
    pub usd_per_unit: f64,
}

/// The cheapest contender in a region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cheapest {
    /// The region.
    pub region: String,
    /// The fewest dollars per unit under the objective.
    pub per_unit: String,
    /// The lowest bill among those that keep it at all.
    pub bill: String,
}
