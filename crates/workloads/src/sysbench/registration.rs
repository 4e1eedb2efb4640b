//! What sysbench declares.

use perbuck_core::study::Scalar;
use perbuck_core::workload_kind::{Parameters, WorkloadKind};

use super::Script;

/// sysbench among the kinds of workload.
pub static KIND: WorkloadKind = WorkloadKind {
    choices: &["script"],
    statements_per_transaction,
    ..WorkloadKind::plain("sysbench", "the OLTP scripts of sysbench")
};

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
