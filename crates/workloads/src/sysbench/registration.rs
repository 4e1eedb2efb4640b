//! What sysbench declares.

use perbuck_core::workload_kind::{Parameters, WorkloadKind};

use super::{OPTIONS, Options, Script};
use crate::benchmark::Benchmark;

/// sysbench among the kinds of workload.
pub static KIND: WorkloadKind = WorkloadKind {
    parameters: &OPTIONS,
    statements_per_transaction,
    without_values: Some(""),
    ..WorkloadKind::plain("sysbench", "the OLTP scripts of sysbench")
};

/// Statements of one transaction of a script with its default options; `None` where an option changes their number.
fn statements_per_transaction(parameters: &Parameters) -> Option<f64> {
    let changing = "point_selects range_selects skip_trx simple_ranges sum_ranges order_ranges distinct_ranges index_updates \
                    non_index_updates delete_inserts";
    if changing.split(' ').any(|key| parameters.contains_key(key)) {
        return None;
    }
    let script = parameters.get_key_value("script").map(|(key, value)| (key.clone(), value.clone()));
    let options = Options::checked(&script.into_iter().collect()).ok()?;
    match options.script {
        Script::BulkInsert | Script::RandomPoints | Script::RandomRanges => None,
        // Plus BEGIN and COMMIT.
        script => Some((options.statements_per_event() + 2 * u64::from(script.has_transactions())) as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::parameters;

    #[test]
    fn the_number_of_statements_is_known_where_no_option_changes_it() {
        for (words, expected) in [
            (&[][..], Some(20.0)),
            (&[("script", "oltp_read_only")], Some(16.0)),
            (&[("script", "oltp_write_only")], Some(6.0)),
            (&[("script", "oltp_point_select")], Some(1.0)),
            (&[("script", "oltp_insert")], Some(1.0)),
            (&[("script", "bulk_insert")], None),
            (&[("skip_trx", "true")], None),
            (&[("script", "1")], None),
        ] {
            assert_eq!(statements_per_transaction(&parameters(words)), expected, "{words:?}");
        }
    }
}
