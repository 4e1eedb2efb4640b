//! Beside the compared metric: transactions and statements per second of a point, and its kinds of transaction.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::findings::LatencyInterval;
use super::points::latency_of;
use super::result::{Latency, PointResult};
use crate::run_record::{RunRecord, StatementCounts, TransactionRecord};
use crate::stats::{self, Design, Interval, Merged, Ratio, Summarise, Trial};
use crate::units::total;

/// A rate of a point.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// Mean over the trials, per second.
    pub mean: f64,
    /// Its interval; `None` for fewer than two trials.
    pub interval: Option<Interval>,
    /// Ratio to the baseline at the same point (of an A/A control to what it repeats); `None` for the baseline itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
}

/// What a point did in a second, whatever metric is compared.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PointRates {
    /// Completed transactions of all kinds per second.
    pub transactions: Rate,
    /// Statements per second; `None` where no statement was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statements: Option<Rate>,
    /// What these statements were; `None` without statements or transactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_transaction: Option<StatementSplit>,
}

/// Statements per completed transaction, over all trials of a point. Those of failed and repeated attempts are included.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StatementSplit {
    /// Statements that returned a result set.
    pub read: f64,
    /// Statements that changed at least one row.
    pub write: f64,
    /// All others: begin, commit, rollback, and changes that matched nothing.
    pub other: f64,
}

/// One kind of transaction at one point.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct KindResult {
    /// The kind, as the workload names it.
    pub kind: String,
    /// Completed transactions of this kind per second.
    pub throughput: Rate,
    /// Seconds that one of them took, of trials in which none of them failed; only where each belongs to the metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Rate>,
    /// Service time of all trials together; in open loop response time of those that ended in the window.
    pub latency: Latency,
    /// Intervals of its percentiles; `None` for fewer than two trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_interval: Option<LatencyInterval>,
}

/// Fills the rates and kinds of a point, without their ratios. `merged` are its histograms by kind.
/// `each` says that each transaction belongs to the metric.
pub(super) fn fill(
    point: &mut PointResult,
    (trials, each): (&[&RunRecord], bool),
    merged: &BTreeMap<&str, Merged>,
    confidence: f64,
) {
    if trials.is_empty() {
        return;
    }
    let of = |values: Vec<Trial>| {
        let mean = stats::mean(&stats::units(&values)).unwrap_or(0.0);
        Rate { mean, interval: stats::summary_interval(&[values], Summarise::Mean, confidence), ratio: None }
    };
    let rate = |count: &dyn Fn(&RunRecord) -> u64| of(values(trials, count));
    let counted = trials.iter().all(|r| statements(r) > 0);
    point.rates = Some(PointRates {
        transactions: rate(&transactions),
        statements: counted.then(|| rate(&statements)),
        per_transaction: split(trials).filter(|_| counted),
    });
    let used =
        |name: &str| trials.iter().filter_map(|r| r.measured.transactions.get(name)).any(|t| t.completed() > 0 || t.failed > 0);
    let kinds: Vec<(&&str, &Merged)> = merged.iter().filter(|(name, _)| used(name)).collect();
    for (name, merged) in kinds.iter().filter(|_| kinds.len() > 1) {
        let (latency, interval) = latency_of(merged, confidence);
        let throughput = rate(&|r| of_kind(r, name));
        let seconds = Some(seconds(trials, name)).filter(|all| each && !all.is_empty()).map(of);
        point.kinds.push(KindResult { kind: (**name).to_owned(), throughput, seconds, latency, latency_interval: interval });
    }
}

/// Fills the ratios of a point to another one, whose trials come first.
pub(super) fn compare(point: &mut PointResult, trials: [&[&RunRecord]; 2], confidence: f64, design: Design) {
    let ratio_of = |of: &dyn Fn(&[&RunRecord]) -> Vec<Trial>| {
        let [base, mine] = trials.map(|side| [of(side)]);
        stats::ratio(&base, &mine, Summarise::Mean, confidence, design).map(|estimate| estimate.ratio)
    };
    let ratio = |count: &dyn Fn(&RunRecord) -> u64| ratio_of(&|side| values(side, count));
    if let Some(rates) = &mut point.rates {
        rates.transactions.ratio = ratio(&transactions);
        if let Some(rate) = &mut rates.statements {
            rate.ratio = ratio(&statements);
        }
    }
    for kind in &mut point.kinds {
        kind.throughput.ratio = ratio(&|r| of_kind(r, &kind.kind));
        if let Some(time) = &mut kind.seconds {
            time.ratio = ratio_of(&|side| seconds(side, &kind.kind));
        }
    }
}

/// Seconds of one transaction of a kind in each trial in which none of them failed.
fn seconds(trials: &[&RunRecord], kind: &str) -> Vec<Trial> {
    let of = |r: &&RunRecord| {
        let t = r.measured.transactions.get(kind).filter(|t| t.failed == 0 && t.service.count > 0)?;
        let value = t.service.sum_ns as f64 / 1e9 / t.service.count as f64;
        Some(Trial { deployment: r.key.deployment(), block: r.key.trial, value })
    };
    trials.iter().filter_map(of).collect()
}

/// A count of each trial, per second of its window.
fn values(trials: &[&RunRecord], count: &dyn Fn(&RunRecord) -> u64) -> Vec<Trial> {
    let seconds = |r: &RunRecord| r.measured.window_ns as f64 / 1e9;
    let value = |r: &RunRecord| if r.measured.window_ns > 0 { count(r) as f64 / seconds(r) } else { 0.0 };
    trials.iter().map(|r| Trial { deployment: r.key.deployment(), block: r.key.trial, value: value(r) }).collect()
}

fn transactions(r: &RunRecord) -> u64 {
    total(r.measured.transactions.values().map(TransactionRecord::completed))
}

fn statements(r: &RunRecord) -> u64 {
    r.measured.statements.total()
}

fn of_kind(r: &RunRecord, kind: &str) -> u64 {
    r.measured.transactions.get(kind).map_or(0, TransactionRecord::completed)
}

/// The statements of all trials over their transactions; `None` where none was completed.
fn split(trials: &[&RunRecord]) -> Option<StatementSplit> {
    let completed = total(trials.iter().map(|r| transactions(r)));
    let per = |count: fn(&StatementCounts) -> u64| {
        total(trials.iter().map(|r| count(&r.measured.statements))) as f64 / completed as f64
    };
    (completed > 0).then(|| StatementSplit { read: per(|s| s.read), write: per(|s| s.write), other: per(|s| s.other) })
}
