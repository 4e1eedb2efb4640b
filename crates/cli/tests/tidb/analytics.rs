//! TPC-H with right answers, and CH-benCHmark, on the embedded store.

use super::common::tidb::Tidb;

/// A study of one workload on the server, which keeps it in a database of its own.
fn study(tidb: &Tidb, workload: &str, sweep: &str) -> String {
    tidb.sql("CREATE DATABASE IF NOT EXISTS analytics");
    let target = format!("tidb://root@127.0.0.1:{}/analytics", tidb.port);
    format!(
        "schema = 1\nname = \"s\"\n[[contender]]\nname = \"t\"\ntarget = \"{target}\"\n[[workload]]\nname = \"w\"\n{workload}\n[sweep]\n{sweep}\ntrials = 1\n"
    )
}

#[test]
fn all_queries_of_tpch_have_the_right_answers() {
    let tidb = Tidb::start();
    let validated = "kind = \"tpch\"\nscale = 0.01\nsubstitution = \"validation\"\nrefresh = false";
    tidb.desk.write("s.toml", &study(&tidb, validated, "streams = [2]"));
    let ran = tidb.desk.good(&["run", "s.toml"]);
    let record = tidb.desk.records("results/s").pop().unwrap();
    let checked = record.measured.transactions.values().filter_map(|t| t.facts.get("answers_checked")).sum::<u64>();
    assert_eq!((checked, record.errors.len()), (66, 0), "{ran:#?}");
    // With refreshes and drawn values every query still ends.
    tidb.desk.write("s.toml", &study(&tidb, "kind = \"tpch\"\nscale = 0.01", "streams = [2]").replace("\"s\"", "\"r\""));
    assert!(tidb.desk.good(&["run", "s.toml"]).out.contains("QphH"));
}

#[test]
fn queries_run_beside_transactions_which_keep_their_conditions() {
    let tidb = Tidb::start();
    let both = study(&tidb, "kind = \"ch\"\nwarehouses = 1", "connections = [2]\nwarmup = \"1s\"\nduration = \"20s\"");
    tidb.desk.write("s.toml", &both);
    let ran = tidb.desk.good(&["run", "s.toml"]);
    assert!(ran.err.contains("after the last trial 11 of 12 conditions hold, 1 does not apply"), "{ran:#?}");
    let record = tidb.desk.records("results/s").pop().unwrap();
    let completed = |kind: &str| record.measured.transactions.get(kind).map_or(0, |t| t.committed);
    assert!(completed("new_order") > 0 && completed("freshness") > 0, "{record:#?}");
    assert!((1..=22).map(|number| completed(&format!("Q{number}"))).sum::<u64>() > 0, "{record:#?}");
    assert_eq!(record.measured.transactions.values().map(|t| t.failed).sum::<u64>(), 0, "{:#?}", record.errors);
}
