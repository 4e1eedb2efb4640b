//! What YCSB declares.

use std::collections::BTreeMap;

use perbuck_core::units::Seed;
use perbuck_core::workload_kind::WorkloadKind;
use perbuck_database::Dialect;

use super::{Options, PROPERTIES, Ycsb, YcsbData};
use crate::benchmark::Benchmark;
use crate::params::Reader;

/// YCSB among the kinds of workload.
pub static KIND: WorkloadKind = WorkloadKind {
    parameters: &PROPERTIES,
    without_values: Some("without inserts and `dataintegrity`"),
    ..WorkloadKind::plain("ycsb", "the core workload of YCSB, on rows by their keys")
};

impl Benchmark for Options {
    type Dataset = YcsbData;
    type Workload = Ycsb;

    fn kind() -> &'static WorkloadKind {
        &KIND
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        Self::read(reader)
    }

    fn dataset(&self, dialect: &'static dyn Dialect, seed: Seed) -> YcsbData {
        YcsbData::new(self.clone(), dialect, seed)
    }

    fn workload(&self, dialect: &'static dyn Dialect, seed: Seed) -> Ycsb {
        Ycsb::new(self.clone(), dialect, seed)
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        self.parameters()
    }

    fn conflict(&self, other: &dyn Benchmark) -> Option<String> {
        let other: &Self = other.options()?;
        if self.data_parameters() != other.data_parameters() {
            return Some("they do not begin with the same records".to_owned());
        }
        (self != other && (self.grows() || other.grows())).then(|| "inserts change how many records there are".to_owned())
    }

    fn refusal(&self, _dialect: &dyn Dialect) -> Option<(String, String)> {
        None
    }

    fn counts_found_rows(&self) -> bool {
        true
    }

    fn needs_values(&self) -> bool {
        self.dataintegrity || self.grows()
    }
}
