//! What YCSB declares.

use perbuck_core::workload_kind::WorkloadKind;

use super::PROPERTIES;

/// YCSB among the kinds of workload.
pub static KIND: WorkloadKind = WorkloadKind {
    parameters: &PROPERTIES,
    without_values: Some("without inserts and `dataintegrity`"),
    ..WorkloadKind::plain("ycsb", "the core workload of YCSB, on rows by their keys")
};
