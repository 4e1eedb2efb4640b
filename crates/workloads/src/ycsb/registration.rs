//! What YCSB declares.

use perbuck_core::workload_kind::WorkloadKind;

use super::{Options, PROPERTIES};
use crate::benchmark::Benchmark;

/// YCSB among the kinds of workload.
pub static KIND: WorkloadKind = WorkloadKind {
    parameters: &PROPERTIES,
    writes: |parameters| Options::checked(parameters).map_or(true, |options| options.writes()),
    without_values: Some("without inserts and `dataintegrity`"),
    ..WorkloadKind::plain("ycsb", "the core workload of YCSB, on rows by their keys")
};
