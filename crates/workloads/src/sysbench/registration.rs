//! What sysbench declares.

use std::borrow::Cow;
use std::collections::BTreeMap;

use perbuck_core::metric::{Counted, Metric, Period, TPS};
use perbuck_core::workload_kind::{Disclosed, Disclosure, Parameters, WorkloadKind};

use super::{OPTIONS, Options, Script};
use crate::benchmark::Benchmark;

/// The name by which a record counts the rows of `bulk_insert` that the server acknowledged in the measured time.
pub const ROWS_ACKNOWLEDGED: &str = "rows_acknowledged";

/// What `bulk_insert` is compared by: its events append rows to a buffer, and thousands may end before a statement is sent.
pub static ROWS_PER_SECOND: Metric = Metric::rate(
    "rows",
    "rows/s",
    ["rows that the server acknowledged", "rows"],
    Counted::Facts(Cow::Borrowed(&[Cow::Borrowed(ROWS_ACKNOWLEDGED)])),
    Period::Second,
);

/// sysbench among the kinds of workload.
pub static KIND: WorkloadKind = WorkloadKind {
    parameters: &OPTIONS,
    metrics: &[&ROWS_PER_SECOND],
    metric: |parameters| if is_bulk(parameters) { &ROWS_PER_SECOND } else { &TPS },
    disclosure,
    statements_per_transaction,
    statement_mix,
    writes: |parameters| Options::checked(parameters).map_or(true, |options| options.script.writes()),
    without_values: Some(""),
    ..WorkloadKind::plain("sysbench", "the OLTP scripts of sysbench")
};

fn is_bulk(parameters: &BTreeMap<String, String>) -> bool {
    parameters.get("script").is_some_and(|script| Script::named(script) == Some(Script::BulkInsert))
}

fn disclosure(shown: &Disclosed<'_>) -> Option<Disclosure> {
    let compared = if *shown.metric == ROWS_PER_SECOND {
        "Rows per second are those that the server acknowledged in the measured time."
    } else {
        "So the numbers here count what was appended, also where no statement was sent."
    };
    let text = format!(
        "A transaction of {} appends a row to a buffer, which is sent as one INSERT when it is full, and latencies are those of appending. \
         {compared}",
        shown.workload
    );
    is_bulk(shown.parameters).then_some(Disclosure { text, ceiling: None })
}

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

/// Reads, writes, and BEGIN with COMMIT of the three scripts that have transactions.
fn statement_mix(parameters: &Parameters) -> Option<[f64; 3]> {
    let all = statements_per_transaction(parameters)?;
    let script = parameters.get("script").map_or_else(String::new, |script| script.value.to_string());
    match Script::named(&script).unwrap_or(Script::ReadWrite) {
        Script::ReadOnly => Some([all - 2.0, 0.0, 2.0]),
        Script::WriteOnly => Some([0.0, all - 2.0, 2.0]),
        Script::ReadWrite => Some([all - 6.0, 4.0, 2.0]),
        _ => None,
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

    #[test]
    fn reads_and_writes_of_a_transaction_are_those_of_the_script() {
        for (script, expected) in [
            ("oltp_read_write", Some([14.0, 4.0, 2.0])),
            ("oltp_read_only", Some([14.0, 0.0, 2.0])),
            ("oltp_write_only", Some([0.0, 4.0, 2.0])),
            ("oltp_insert", None),
        ] {
            assert_eq!(statement_mix(&parameters(&[("script", script)])), expected, "{script}");
        }
        assert_eq!(statement_mix(&parameters(&[])), Some([14.0, 4.0, 2.0]));
    }

    #[test]
    fn rows_per_second_are_those_of_bulk_insert_alone() {
        let of = |script: &str| BTreeMap::from([("script".to_owned(), script.to_owned())]);
        for (script, is_bulk) in [("bulk_insert", true), ("oltp_insert", false)] {
            assert_eq!(KIND.has(&ROWS_PER_SECOND, &of(script)), is_bulk, "{script}");
            assert_eq!(*(KIND.metric)(&of(script)) == ROWS_PER_SECOND, is_bulk, "{script}");
            assert!(KIND.has(&TPS, &of(script)));
        }
        let said = |metric: &Metric| {
            disclosure(&Disclosed { workload: "w", metric, parameters: &of("bulk_insert") }).map_or(String::new(), |d| d.text)
        };
        assert!(said(&ROWS_PER_SECOND).contains("acknowledged") && said(&TPS).contains("also where no statement was sent"));
        assert_eq!(disclosure(&Disclosed { workload: "w", metric: &TPS, parameters: &of("oltp_insert") }), None);
    }
}
