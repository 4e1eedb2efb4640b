//! Every option by name: its kind, its default, what it does and which scripts have it.

use perbuck_core::study::Scalar;
use perbuck_core::workload_kind::Decides::{Data, Run};
use perbuck_core::workload_kind::Parameter as P;
use perbuck_core::workload_kind::ParameterKind::{Number, Switch, Text, Whole};

use super::{Compat, MAX_REPEATS, MAX_TABLE_SIZE, MAX_TABLES, MAX_THREADS, MAX_VALUES};
use crate::params::value_of;
use crate::sysbench::script::Script;

/// The options of a script in the order of their names, with the defaults of `compat`; of all scripts for `None`.
pub fn option_help(script: Option<Script>, compat: Option<Compat>) -> Vec<P> {
    let shown = OPTIONS.iter().filter(|o| script.is_none_or(|s| belongs_to(o.name, s)));
    let default =
        |o: &P| if matches!(o.name, "rand_type" | "data_rand_type") { Compat::rand_type(compat).name() } else { o.default };
    let mut help: Vec<P> = shown.map(|o| P { default: default(o), ..*o }).collect();
    help.sort_by_key(|o| o.name);
    help
}

/// The value of option `name` from the text of a command line or a configuration file, in the way sysbench reads it:
/// `1e6` is a whole number, `on`, `true`, `1` and no text at all switch on. Text that is none of this stays text, so that
/// reading the options can quote it. `None` where there is no such option.
pub fn option_value(name: &str, text: &str) -> Option<Scalar> {
    value_of(&OPTIONS, (name, text), whole, |text| match text {
        "" | "on" | "true" | "1" => Some(true),
        "off" | "false" | "0" => Some(false),
        _ => None,
    })
}

/// A whole number, also in the notation of floating numbers (sysbench reads all its numbers so).
fn whole(text: &str) -> Option<i64> {
    let exact = |v: &f64| v.fract() == 0.0 && v.abs() < 1e15;
    text.parse().ok().or_else(|| text.parse().ok().filter(exact).map(|v| v as i64))
}

/// A switch as a record has it.
pub(super) fn on_off(value: bool) -> &'static str {
    if value { "on" } else { "off" }
}

/// Whether a script has the option of that name.
pub(super) fn belongs_to(option: &str, script: Script) -> bool {
    match option {
        "random_points" => script == Script::RandomPoints,
        "number_of_ranges" | "delta" => script == Script::RandomRanges,
        "threads" => script == Script::BulkInsert,
        "script" | "compat" => true,
        // Those of the tables with id, k, c and pad.
        "data_rand_type" => script != Script::BulkInsert,
        name => name.starts_with("rand_") || script != Script::BulkInsert,
    }
}

/// All of them.
pub static OPTIONS: [P; 35] = [
    P::new("tables", Whole(1, MAX_TABLES), "1", Data, "how many tables: sbtest1, sbtest2 …"),
    P::new("table_size", Whole(1, MAX_TABLE_SIZE), "10000", Data, "rows of each table"),
    P::new("range_size", Whole(1, MAX_TABLE_SIZE), "100", Run, "ids that a range SELECT covers"),
    P::new("point_selects", Whole(0, MAX_REPEATS), "10", Run, "SELECTs by key in a transaction"),
    P::new("simple_ranges", Whole(0, MAX_REPEATS), "1", Run, "plain range SELECTs in a transaction"),
    P::new("sum_ranges", Whole(0, MAX_REPEATS), "1", Run, "range SELECTs with SUM(k) in a transaction"),
    P::new("order_ranges", Whole(0, MAX_REPEATS), "1", Run, "range SELECTs with ORDER BY in a transaction"),
    P::new("distinct_ranges", Whole(0, MAX_REPEATS), "1", Run, "range SELECTs with DISTINCT in a transaction"),
    P::new("index_updates", Whole(0, MAX_REPEATS), "1", Run, "UPDATEs of the indexed column in a transaction"),
    P::new("non_index_updates", Whole(0, MAX_REPEATS), "1", Run, "UPDATEs of a column without index in a transaction"),
    P::new("delete_inserts", Whole(0, MAX_REPEATS), "1", Run, "pairs of DELETE and INSERT of one id in a transaction"),
    P::new("range_selects", Switch, "on", Run, "whether the four range SELECTs are done at all"),
    P::new("skip_trx", Switch, "off", Run, "leaves out BEGIN and COMMIT, so that every statement commits for itself"),
    P::new("auto_inc", Switch, "on", Data, "whether the database numbers new rows; otherwise the client does"),
    P::new("secondary", Switch, "off", Data, "a plain index on id in place of the primary key"),
    P::new("create_secondary", Switch, "on", Data, "an index on k, made after the rows are in"),
    P::new("reconnect", Whole(0, u32::MAX as i64), "0", Run, "reopens each connection after so many events; 0 is never"),
    P::new("mysql_storage_engine", Text, "innodb", Data, "the storage engine of new tables (MySQL)"),
    P::new("create_table_options", Text, "", Data, "text to append to CREATE TABLE"),
    P::new("mysql_table_options", Text, "", Data, "the older name of create_table_options"),
    P::new("pgsql_variant", Text, "", Data, "\"redshift\" leaves out the index on k, pairs of DELETE and INSERT, and SERIAL"),
    P::new("random_points", Whole(1, MAX_VALUES), "10", Run, "values of k that a SELECT asks for"),
    P::new("number_of_ranges", Whole(1, MAX_VALUES / 2), "10", Run, "ranges of k that a SELECT counts"),
    P::new("delta", Whole(0, MAX_TABLE_SIZE), "5", Run, "distance between the ends of such a range"),
    P::new("threads", Whole(1, MAX_THREADS), "1", Data, "how many tables there are: one for each connection"),
    P::new("rand_type", Text, "uniform", Run, "how ids are drawn: uniform, gaussian, special, pareto or zipfian"),
    P::new(
        "data_rand_type",
        Text,
        "uniform",
        Data,
        "how `k` is drawn when rows are loaded; rand_type where not given (not in sysbench)",
    ),
    P::new(
        "rand_spec_iter",
        Whole(1, 1_000),
        "12",
        Data,
        "uniform numbers averaged for a draw of gaussian, and of special outside its band",
    ),
    P::new("rand_spec_pct", Whole(0, 100), "1", Data, "percent of the ids that are the hot band of special"),
    P::new("rand_spec_res", Whole(0, 100), "75", Data, "percent of the draws that fall into that band"),
    P::new("rand_pareto_h", Number(0.001, 0.999), "0.2", Data, "h of pareto: the first h of the ids get 1 - h of the draws"),
    P::new("rand_zipfian_exp", Number(0.0, 100.0), "0.8", Data, "the exponent of zipfian"),
    P::new("rand_scramble", Switch, "off", Data, "spreads hot ids over the whole table (not in sysbench)"),
    P::new("compat", Text, "", Data, "takes the defaults and the draws of \"sysbench-1.0\" or \"sysbench-1.1\""),
    P::new("script", Text, "oltp_read_write", Run, "which script is run"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_sysbench_reads_them() {
        let int = |text| option_value("table_size", text);
        assert_eq!([int("1000"), int("1e6")], [Some(Scalar::Int(1_000)), Some(Scalar::Int(1_000_000))]);
        for odd in ["1.5", "1k", "", "nan", "1e99"] {
            assert_eq!(int(odd), Some(Scalar::Text(odd.to_owned())));
        }
        let switches = ["", "on", "true", "1", "off", "false", "0"].map(|t| option_value("skip_trx", t).unwrap());
        assert_eq!(switches, [true, true, true, true, false, false, false].map(Scalar::Bool));
        assert_eq!(option_value("skip_trx", "yes"), Some(Scalar::Text("yes".to_owned())));
        assert_eq!(option_value("rand_pareto_h", "0.3"), Some(Scalar::Float(0.3)));
        assert_eq!(option_value("mysql_storage_engine", "0"), Some(Scalar::Text("0".to_owned())));
        assert_eq!(option_value("no_such", "0"), None);
    }

    #[test]
    fn a_script_shows_its_own_options_in_order() {
        let names = |script| option_help(script, None).into_iter().map(|o| o.name).collect::<Vec<_>>();
        let all = names(None);
        assert_eq!(all.len(), OPTIONS.len());
        assert!(all.is_sorted() && all.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(names(Some(Script::RandomRanges)).contains(&"delta") && !names(Some(Script::ReadOnly)).contains(&"delta"));
        let bulk = names(Some(Script::BulkInsert));
        assert!(bulk.contains(&"threads") && !bulk.contains(&"tables"), "{bulk:?}");
        let rand_type = |compat| {
            let help = option_help(Some(Script::ReadOnly), compat);
            help.into_iter().find(|o| o.name == "rand_type").unwrap().default
        };
        assert_eq!([None, Some(Compat::Sysbench10), Some(Compat::Sysbench11)].map(rand_type), ["uniform", "special", "uniform"]);
    }
}
