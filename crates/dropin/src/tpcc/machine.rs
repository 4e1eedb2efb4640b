//! What programs read: one JSON document at the end of a run.

use std::collections::BTreeMap;

use perbuck_core::run_record::{AuditValue, ErrorRecord};
use serde::Serialize;

use super::lines::{Row, Wait};

/// A run as JSON. Times are seconds, latencies milliseconds; the rows have go-tpc's names of columns, with numbers.
#[derive(Debug, Serialize)]
pub(crate) struct RunJson<'a> {
    pub(super) perbuck: &'static str,
    /// Every parameter of the workload with its effective value.
    pub(super) parameters: &'a BTreeMap<String, String>,
    /// The address of the database, without any credential.
    pub(super) target: &'a str,
    pub(super) threads: u32,
    /// As `--seed` takes it.
    pub(super) seed: u64,
    pub(super) warmup_s: f64,
    /// The length of the measured window.
    pub(super) measured_s: f64,
    pub(super) current: &'a [CurrentJson],
    pub(super) summary: &'a [Row],
    /// Mean keying and think times; empty without `--wait`.
    pub(super) waits_s: BTreeMap<String, f64>,
    /// New orders a minute, those rolled back by design included.
    #[serde(rename = "tpmC")]
    pub(super) tpmc: f64,
    #[serde(rename = "tpmTotal")]
    pub(super) tpm_total: f64,
    /// In percent of 12.86 for each warehouse.
    pub(super) efficiency: f64,
    pub(super) efficiency_meaning: &'static str,
    pub(super) audit: Vec<AuditValueJson>,
    pub(super) disclosure: &'static str,
    /// Attempts beyond the first in the measured window.
    pub(super) retries: u64,
    /// Errors of the whole run.
    pub(super) errors_by_code: &'a BTreeMap<String, ErrorRecord>,
    /// Not ended within the limit for the last transactions.
    pub(super) aborted: u64,
    /// What a reader of the numbers must know.
    pub(super) flags: Vec<String>,
    /// How the run differs from the specification.
    pub(super) notes: &'static [&'static str],
    /// Whether the user ended it before its time.
    pub(super) interrupted: bool,
    /// The record of the run.
    pub(super) record: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct CurrentJson {
    at_s: u32,
    operations: Vec<Row>,
    waits_s: BTreeMap<String, f64>,
}

impl CurrentJson {
    /// The rows and waits of the interval that ended at this second of the window.
    pub(super) fn of(at_s: u32, operations: Vec<Row>, all: &[Wait]) -> Self {
        Self { at_s, operations, waits_s: waits(all) }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct AuditValueJson {
    clause: String,
    what: String,
    /// `null` where nothing was looked at.
    value: Option<f64>,
    unit: String,
    least: Option<f64>,
    most: Option<f64>,
    /// How far chance alone may carry it to either side.
    chance: f64,
    of: u64,
    judgement: &'static str,
}

impl From<&AuditValue> for AuditValueJson {
    fn from(value: &AuditValue) -> Self {
        Self {
            clause: value.clause.clone(),
            what: value.what.clone(),
            value: (value.of > 0).then_some(value.value),
            unit: value.unit.clone(),
            least: value.least,
            most: value.most,
            chance: value.width,
            of: value.of,
            judgement: value.judgement.words(),
        }
    }
}

pub(super) fn waits(waits: &[Wait]) -> BTreeMap<String, f64> {
    waits.iter().map(|wait| (wait.operation.clone(), wait.mean_s)).collect()
}
