//! A metric of two tests in one trial: kinds that ran one after the other, and kinds that several streams ran at the same time (TPC-H 5.4).

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run_record::{RunRecord, TransactionRecord};

/// A list of kinds of transaction.
pub type KindNames = Cow<'static, [Cow<'static, str>]>;

/// What the two tests are made of. Their rates are multiplied by the size of the data; the metric is their geometric mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Composite {
    /// The parameter of the workload that says the size, a number.
    pub size: Cow<'static, str>,
    /// The kinds that ran one after the other, once each.
    pub alone: KindNames,
    /// The kinds that every stream ran once. There are as many streams as connections.
    pub together: KindNames,
    /// The kind whose one transaction lasted from the start of the first stream to the end of the last.
    pub elapsed: Cow<'static, str>,
}

/// The values of the two tests in one trial, in units of a [`super::Period`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompositeValues {
    /// The size over the geometric mean of the times (5.4.1).
    pub power: f64,
    /// The size times the transactions of all streams over their time (5.4.2).
    pub throughput: f64,
}

impl CompositeValues {
    /// The metric (5.4.3).
    pub fn mean(self) -> f64 {
        (self.power * self.throughput).sqrt()
    }
}

/// A time that is less than this share of the longest one counts as so much (5.4.1.4).
const LEAST_SHARE: f64 = 1.0 / 1000.0;

impl Composite {
    /// The values of a trial in units of `period_s`, where every transaction that the tests need was completed.
    ///
    /// # Errors
    /// Names the kinds that are missing or failed: a trial of which one query has no time has no value.
    pub fn values(&self, record: &RunRecord, period_s: f64) -> Result<CompositeValues, String> {
        let streams = u64::from(record.load.connections);
        let wanted = self.alone.iter().map(|kind| (kind, 1)).chain(self.together.iter().map(|kind| (kind, streams)));
        let missing: Vec<String> =
            wanted.chain([(&self.elapsed, 1)]).filter_map(|(kind, times)| missing(record, kind, times)).collect();
        if !missing.is_empty() {
            return Err(missing.join(", "));
        }
        let size = record.workload.parameters.get(self.size.as_ref()).and_then(|size| size.parse::<f64>().ok());
        let size = size.filter(|size| *size > 0.0).ok_or_else(|| format!("`{}` is not recorded", self.size))?;
        let seconds = |kind: &str| record.measured.transactions.get(kind).map_or(0.0, |t| t.service.sum_ns as f64 / 1e9);
        let times: Vec<f64> = self.alone.iter().map(|kind| seconds(kind)).collect();
        let least = times.iter().copied().fold(0.0, f64::max) * LEAST_SHARE;
        let logarithms: f64 = times.iter().map(|time| time.max(least).ln()).sum();
        let done = (self.together.len() as u64 * streams) as f64;
        Ok(CompositeValues {
            power: size * period_s / (logarithms / times.len().max(1) as f64).exp(),
            throughput: size * period_s * done / seconds(&self.elapsed),
        })
    }
}

/// What of a kind is missing: `Q9: 1 failed`.
fn missing(record: &RunRecord, kind: &str, times: u64) -> Option<String> {
    let none = TransactionRecord::default();
    let t = record.measured.transactions.get(kind).unwrap_or(&none);
    match (t.committed, t.failed) {
        (_, failed) if failed > 0 => Some(format!("{kind}: {failed} failed")),
        (committed, _) if committed != times => Some(format!("{kind}: {committed} of {times} ended")),
        _ => None,
    }
}
