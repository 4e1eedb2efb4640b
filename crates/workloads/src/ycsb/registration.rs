//! What YCSB declares.

use perbuck_core::workload_kind::WorkloadKind;

/// YCSB among the kinds of workload.
pub static KIND: WorkloadKind =
    WorkloadKind { choices: &["workload"], ..WorkloadKind::plain("ycsb", "the core workload of YCSB, on rows by their keys") };
