//! What sysbench declares.

use std::collections::BTreeMap;

use perbuck_core::study::Scalar;
use perbuck_core::units::Seed;
use perbuck_core::workload_kind::{Parameters, WorkloadKind};

use perbuck_database::Dialect;

use super::{OPTIONS, Options, Script, Sysbench, SysbenchData};
use crate::benchmark::{Benchmark, speaks_sql};
use crate::params::Reader;

/// sysbench among the kinds of workload.
pub static KIND: WorkloadKind = WorkloadKind {
    parameters: &OPTIONS,
    statements_per_transaction,
    without_values: Some(""),
    ..WorkloadKind::plain("sysbench", "the OLTP scripts of sysbench")
};

impl Benchmark for Options {
    type Dataset = SysbenchData;
    type Workload = Sysbench;

    fn kind() -> &'static WorkloadKind {
        &KIND
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        Self::read(reader)
    }

    fn dataset(&self, dialect: &'static dyn Dialect, seed: Seed) -> SysbenchData {
        SysbenchData::new(self.clone(), dialect, seed)
    }

    fn workload(&self, dialect: &'static dyn Dialect, _seed: Seed) -> Sysbench {
        Sysbench::new(self, dialect)
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        self.parameters()
    }

    fn conflict(&self, other: &dyn Benchmark) -> Option<String> {
        let other: &Self = other.options()?;
        if self.data_parameters() != other.data_parameters() {
            return Some(format!("{} and {} do not begin with the same tables", self.script.name(), other.script.name()));
        }
        let changing = [self, other].into_iter().find(|o| o.script.changes_row_counts() && self.script != other.script)?;
        Some(format!("{} changes how many rows they have", changing.script.name()))
    }

    fn refusal(&self, dialect: &dyn Dialect) -> Option<(String, String)> {
        speaks_sql(dialect)
    }

    fn connections_max(&self) -> Option<(u32, &'static str)> {
        (self.script == Script::BulkInsert).then_some((self.threads, "threads"))
    }

    fn needs_values(&self) -> bool {
        false
    }
}

/// Statements of one transaction of a script with its default options; `None` where an option changes their number.
fn statements_per_transaction(parameters: &Parameters) -> Option<f64> {
    let changing = [
        "point_selects",
        "range_selects",
        "skip_trx",
        "simple_ranges",
        "sum_ranges",
        "order_ranges",
        "distinct_ranges",
        "index_updates",
        "non_index_updates",
        "delete_inserts",
    ];
    if changing.iter().any(|key| parameters.contains_key(*key)) {
        return None;
    }
    let script = match parameters.get("script").map(|s| &s.value) {
        Some(Scalar::Text(script)) => Script::named(script)?,
        None => Script::ReadWrite,
        Some(_) => return None,
    };
    // 10 point selects, 4 ranges; 2 updates, a delete and an insert; BEGIN and COMMIT.
    match script {
        Script::ReadWrite => Some(20.0),
        Script::ReadOnly => Some(16.0),
        Script::WriteOnly => Some(6.0),
        Script::PointSelect | Script::UpdateIndex | Script::UpdateNonIndex | Script::Insert | Script::Delete => Some(1.0),
        Script::BulkInsert | Script::RandomPoints | Script::RandomRanges => None,
    }
}

#[cfg(test)]
mod tests {
    use perbuck_core::study::Located;

    use super::*;

    #[test]
    fn the_number_of_statements_is_known_where_no_option_changes_it() {
        let of = |words: &[(&str, Scalar)]| {
            let given = |(k, v): &(&str, Scalar)| ((*k).to_owned(), Located { value: v.clone(), line: 1 });
            statements_per_transaction(&words.iter().map(given).collect())
        };
        let script = |name: &str| ("script", Scalar::Text(name.to_owned()));
        assert_eq!((of(&[]), of(&[script("oltp_read_only")])), (Some(20.0), Some(16.0)));
        assert_eq!((of(&[script("oltp_insert")]), of(&[script("bulk_insert")])), (Some(1.0), None));
        assert_eq!(of(&[("skip_trx", Scalar::Bool(true))]), None);
        assert_eq!(of(&[("script", Scalar::Int(1))]), None);
    }
}
