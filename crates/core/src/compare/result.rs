//! What a comparison says, as data: with the study the only input of reports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beside::Beside;
use super::claims::ClaimResult;
use super::disputed::DisputedPrice;
use super::explain::{Decomposition, Explained};
use super::factors::FactorResult;
use super::findings::{LatencyInterval, Layout, Noise, Objective, ObjectiveLatency, Outlier, Overall, TrialPosition, Without};
use super::interference::InterferenceResult;
use super::looks::Looks;
use super::models::Models;
use super::rates::{KindResult, PointRates};
use super::schema_1::first_schema;
use super::spent::Spent;
use super::stalls::Stalls;
use crate::bill::Bill;
use crate::metric::{Metric, named};
use crate::stats::{Interval, Rank, Ratio};
use crate::study::{Decision, Summary};
use crate::units::MicroUsd;
use crate::usl::Scalability;

/// The result of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Version of these fields: 2. Version 1 has no such field and other names (`cells`, `place`, `places`), which are still read.
    #[serde(default = "first_schema")]
    pub schema: u32,
    /// Name of the study.
    pub study: String,
    /// The question.
    pub question: String,
    /// Name of the contender that others are compared with.
    pub baseline: String,
    /// The decision rule.
    pub decision: Decision,
    /// How often the results were looked at; `None` is once, after the trials that were planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<Looks>,
    /// How the trials were made.
    pub layout: Layout,
    /// Trials planned.
    pub planned: usize,
    /// Trials found.
    pub found: usize,
    /// Where the values were published, for a study that perbuck did not measure: title, author and date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// One entry per workload.
    pub workloads: Vec<WorkloadResult>,
    /// Over all workloads, one entry per contender but the baseline; empty for a single workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overall: Vec<Overall>,
    /// What the levels of each factor do to the ratios; empty in a study without factors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<FactorResult>,
    /// What two loads at once did to each other, by contender; empty where no workload has two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interference: Vec<InterferenceResult>,
    /// The claims of the study, decided on its trials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimResult>,
    /// What an article printed, beside what was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    /// All bills: contenders in the order of the study, regions in the order of the study.
    pub bills: Vec<Bill>,
    /// What the study itself cost; `None` where its results folder does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
    /// Remarks that a reader must see, with the trials they concern.
    pub remarks: Vec<Remark>,
}

impl Comparison {
    /// The version of its fields.
    pub const SCHEMA: u32 = 2;

    /// The confidence of each interval: that of the study, or a higher one where results are looked at more than once.
    pub fn confidence(&self) -> f64 {
        self.looks.as_ref().map_or(self.decision.confidence, |looks| looks.confidence)
    }

    /// The confidence that is printed beside intervals: that of all looks together where they were planned, else that of each interval.
    pub fn printed_confidence(&self) -> f64 {
        if self.decision.until.is_some() { self.decision.confidence } else { self.confidence() }
    }

    /// How many trials of a point the plan wants before the verdicts, and are not there.
    pub fn missing(&self) -> u32 {
        let judged = self.workloads.iter().flat_map(|w| &w.contenders).filter_map(|c| c.throughput.as_ref());
        judged.map(Judgement::missing).max().unwrap_or(0)
    }

    /// Whether several contenders cost the same in a region: price then cancels out, and work per dollar says what throughput says.
    pub fn price_cancels(&self, region: &str) -> bool {
        let mut totals = self.bills.iter().filter(|b| b.region == region).map(Bill::horizon_total);
        let first = totals.next();
        let mut others = totals.peekable();
        others.peek().is_some() && others.all(|total| Some(total) == first)
    }
}

/// A remark on some trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remark {
    /// In words.
    pub text: String,
    /// The name of the flag that these trials have; `None` where it is no flag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
    /// How many trials it concerns.
    pub trials: usize,
    /// The first of them.
    pub example: String,
}

/// Everything about one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadResult {
    /// Name of the workload.
    pub workload: String,
    /// Its kind.
    pub kind: String,
    /// The value that is compared.
    #[serde(flatten, with = "named")]
    #[schemars(flatten, with = "named::Named")]
    pub metric: Metric,
    /// How points become one value.
    pub summary: Summary,
    /// Every measured point, by level and then contender.
    #[serde(alias = "cells")]
    pub points: Vec<PointResult>,
    /// One entry per contender, in the order of the study.
    pub contenders: Vec<ContenderResult>,
    /// The noise floor, where the study has an A/A control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// Who keeps the latency objective, where the study has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<Objective>,
}

impl WorkloadResult {
    /// The point at which a contender has most of what is compared, the one with the fewest connections among equals; `None` without a
    /// mean.
    pub fn best_of(&self, contender: &str) -> Option<&PointResult> {
        let mine = self.points.iter().filter(|p| p.contender == contender);
        let means = mine.filter_map(|p| Some((p.mean?, p)));
        means.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.level.cmp(&a.1.level))).map(|(_, point)| point)
    }
}

/// One contender at one point.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PointResult {
    /// The contender.
    pub contender: String,
    /// Connections; in open loop transactions offered per second.
    pub level: u32,
    /// The metric of each trial, in the order of the blocks.
    pub values: Vec<f64>,
    /// Deployment and trial of each value.
    #[serde(alias = "places", default, skip_serializing_if = "Vec::is_empty")]
    pub positions: Vec<TrialPosition>,
    /// Their mean; `None` without trials.
    pub mean: Option<f64>,
    /// Interval of the mean; `None` for fewer than two trials.
    pub interval: Option<Interval>,
    /// Ratio to the baseline at the same point (of an A/A control to what it repeats); `None` for the baseline itself.
    pub ratio: Option<Ratio>,
    /// What follows, after Holm's correction over all points of the study; `None` where there is no ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
    /// Trials that lie apart; they count in the mean and in the ratio.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<Outlier>,
    /// Trials that stalled: far on the bad side of the others, or with a gap, by more than the margin. Where there are some, the
    /// intervals of the point do not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalled: Vec<TrialPosition>,
    /// What the point would say without outliers, its own and the baseline's; `None` where neither has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<Without>,
    /// Service time of all trials together; in open loop response time.
    pub latency: Latency,
    /// Intervals of its percentiles; `None` for fewer than two trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_interval: Option<LatencyInterval>,
    /// The percentile of the latency objective; `None` where the study has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<ObjectiveLatency>,
    /// Transactions and statements per second, whatever metric is compared; `None` without trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<PointRates>,
    /// Its kinds of transaction by name, where trials have two or more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindResult>,
    /// Where its processor time went, and what bound it; `None` where nothing of it is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explained: Option<Explained>,
    /// Transactions given up in the measured windows.
    pub failed: u64,
    /// Attempts beyond the first in the measured windows.
    pub retries: u64,
}

/// Percentiles of merged histograms, nanoseconds; 0 without data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Median.
    pub p50_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Exact maximum.
    pub max_ns: u64,
}

/// One contender over the whole workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContenderResult {
    /// The contender.
    pub contender: String,
    /// The contender that it repeats as an A/A control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_of: Option<String>,
    /// The summary value; `None` where a point has no trial.
    pub value: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
    /// Against the baseline; `None` for the baseline itself and for an A/A control.
    pub throughput: Option<Judgement>,
    /// Why it differs from what it is compared with; `None` for the baseline, and where the servers' processor time is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Decomposition>,
    /// How often its trials stalled; `None` for fewer than two trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<Stalls>,
    /// How throughput grows with connections; `None` in open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scalability: Option<Scalability>,
    /// By region, in the order of the study; empty without prices.
    pub price: Vec<PricePerformance>,
}

/// Cost against work in one region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PricePerformance {
    /// The region.
    pub region: String,
    /// The monthly total.
    pub monthly: MicroUsd,
    /// The total over the horizon.
    pub total: MicroUsd,
    /// Dollars of the total per unit of the metric; lower is better. `None` without throughput.
    pub usd_per_unit: Option<f64>,
    /// Units of the metric per dollar of the total; higher is better. `None` without cost.
    pub units_per_usd: Option<f64>,
    /// Interval of `usd_per_unit`.
    pub usd_per_unit_interval: Option<Interval>,
    /// Work per dollar against the baseline; `None` for the baseline itself or without cost.
    pub value_for_money: Option<Judgement>,
    /// The cost, and work per dollar, over the prices that lists disagree on; `None` where they agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disputed: Option<DisputedPrice>,
    /// The same cost and throughput by other models; `None` without throughput or cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Models>,
}

/// A ratio to the baseline (above 1 is better) and what follows from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// Contender over baseline.
    pub ratio: Ratio,
    /// What follows.
    pub verdict: Verdict,
    /// The smallest difference that trials like these find in four of five studies.
    pub detectable: Option<f64>,
    /// How many blocks, trials of the smaller side, or deployments the error comes from.
    pub units: usize,
    /// The smallest error level at which the interval decides; `None` without an interval.
    pub level: Option<f64>,
    /// What ranks say; `None` for values of money, whose ranks are those of the throughput, and over several workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
}

/// What a comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval is above 1 + margin.
    Better,
    /// The whole interval is below 1 / (1 + margin).
    Worse,
    /// The whole interval is inside the margin.
    Equivalent,
    /// Anything else.
    Undecided {
        /// Why.
        why: Why,
    },
}

/// Why nothing could be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Why {
    /// A point has a single trial: there is no interval.
    SingleTrial,
    /// A point is one published value: nothing is known of its uncertainty.
    #[serde(alias = "single-figure")]
    SingleValue,
    /// Trials like these would decide after this many more at each point.
    MoreTrials {
        /// Further trials per point.
        more: u32,
    },
    /// Deployments like these would decide after this many more.
    MoreDeployments {
        /// Further deployments.
        more: u32,
    },
    /// The difference is so close to the margin that a thousand more trials would not decide.
    OnTheEdge,
    /// The difference is so close to the margin that the trials up to the largest number hardly decide.
    Hopeless {
        /// The most blocks of the study.
        most: u32,
    },
    /// Trials that the study plans before its verdicts are missing.
    Unfinished {
        /// How many at each point.
        missing: u32,
    },
    /// By itself the interval decides, but not after correction for so many comparisons.
    Family {
        /// How many.
        of: usize,
    },
}

impl Judgement {
    /// Trials of a point that the plan wants before a verdict, and that are not there.
    pub fn missing(&self) -> u32 {
        if let Verdict::Undecided { why: Why::Unfinished { missing } } = self.verdict { missing } else { 0 }
    }
}

impl Verdict {
    /// One word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::Undecided { .. } => "undecided",
        }
    }

    /// The word, and the reason where there is one.
    pub fn text(self) -> String {
        match self {
            Self::Undecided { why } => format!("undecided: {}", why.text()),
            decided => decided.word().to_owned(),
        }
    }
}

impl Why {
    fn text(self) -> String {
        let plural = |n: u32| if n == 1 { "" } else { "s" };
        match self {
            Self::SingleTrial => "a single trial has no interval".to_owned(),
            Self::SingleValue => "a single published value has no interval".to_owned(),
            Self::MoreTrials { more } => format!("about {more} more trial{} per point should settle it", plural(more)),
            Self::MoreDeployments { more } => format!("about {more} more deployment{} should settle it", plural(more)),
            Self::Hopeless { most } => format!("too close to the margin: {most} trials hardly settle it"),
            Self::Unfinished { missing } => {
                format!("{missing} planned trial{} missing", if missing == 1 { " is" } else { "s are" })
            }
            Self::Family { of } => format!("the interval alone decides, but not after the correction for {of} comparisons"),
            Self::OnTheEdge => "too close to the margin: a thousand more trials would not settle it".to_owned(),
        }
    }
}
