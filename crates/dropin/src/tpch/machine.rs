//! What programs read: one JSON document at the end of a run.

use std::collections::BTreeMap;

use perbuck_core::run_record::ErrorRecord;
use serde::Serialize;

use super::lines::Row;

/// A run as JSON. Times are seconds; the rows have go-tpc's names of columns, with numbers.
#[derive(Debug, Serialize)]
pub(super) struct RunJson<'a> {
    pub(super) perbuck: &'static str,
    /// Every parameter of the workload with its effective value.
    pub(super) parameters: &'a BTreeMap<String, String>,
    /// The address of the database, without any credential.
    pub(super) target: &'a str,
    pub(super) threads: u32,
    pub(super) warmup_s: f64,
    /// The length of the measured window.
    pub(super) measured_s: f64,
    pub(super) current: &'a [CurrentJson],
    pub(super) summary: &'a [Row],
    pub(super) queries_per_hour: f64,
    /// Answers that were compared with the right one and equal to it.
    pub(super) right_answers: u64,
    pub(super) disclosure: &'static str,
    /// Errors of the whole run.
    pub(super) errors_by_code: &'a BTreeMap<String, ErrorRecord>,
    /// Not ended within the limit for the last queries.
    pub(super) aborted: u64,
    /// What a reader of the numbers must know.
    pub(super) flags: Vec<String>,
    /// How the run differs from one of go-tpc.
    pub(super) notes: Vec<&'static str>,
    /// Whether the user ended it before its time.
    pub(super) interrupted: bool,
    /// The record of the run.
    pub(super) record: Option<&'a str>,
}

/// The rows of the interval that ended at this second of the window.
#[derive(Debug, Serialize)]
pub(super) struct CurrentJson {
    pub(super) at_s: u32,
    pub(super) operations: Vec<Row>,
}
