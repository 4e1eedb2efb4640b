//! Every script beside the real sysbench 1.0.20, on MariaDB and PostgreSQL: the same statements by kind for the same number
//! of events, either program on the tables of the other, and what the real program cannot do.

use crate::common::both::{Both, Words, options};
use crate::common::{Desk, QUICK, edited};
use perbuck_load::driver::Driver;
use perbuck_load::trial::RunError;
use perbuck_workloads::sysbench::{SCRIPTS, prewarm};

/// The options of the tables, of theirs and ours: `bulk_insert` has none in sysbench and says how many it has in ours; the
/// cleanup of the scripts that read one table refuses to drop two.
fn sizes(script: &str, connections: &'static str) -> [Vec<(&'static str, &'static str)>; 2] {
    let tables = if script.starts_with("select_random") { "1" } else { "2" };
    let same = vec![("tables", tables), ("table_size", "500")];
    if script == "bulk_insert" { [Vec::new(), vec![("threads", connections)]] } else { [same.clone(), same] }
}

fn rows<D: Driver>(both: &Both<D>, n: u32) -> u64 {
    both.sql(&format!("SELECT COUNT(*) FROM sbtest{n}")).parse().unwrap()
}

/// Statements of `events` events on one connection, of theirs on their tables and of ours on ours.
fn counts<D: Driver>(both: &Both<D>, script: &str, words: Words<'_>, events: u64) -> [[u64; 3]; 2] {
    let [prepared, ours] = sizes(script, "1").map(|sizes| [&sizes, words].concat());
    let options = options(script, &ours);
    let number = format!("--events={events}");
    both.their(script, &prepared, &["prepare"]);
    let theirs = both.their(script, &prepared, &["--threads=1", "--time=0", &number, "run"]);
    both.our_cleanup(&options);
    both.our_prepare(&options);
    let ours = both.our(&options, 1, events, 7);
    both.checks_hold(&options);
    both.our_cleanup(&options);
    [theirs, ours]
}

fn statements_agree_by_kind<D: Driver>(both: &Both<D>) {
    for (script, _) in SCRIPTS.iter().filter(|(name, _)| *name != "oltp_delete") {
        // Enough rows for several INSERTs of half a megabyte.
        let events = if *script == "bulk_insert" { 100_000 } else { 60 };
        let [theirs, ours] = counts(both, script, &[], events);
        assert_eq!(ours, theirs, "{script}: read, write, other");
        assert!(theirs.iter().sum::<u64>() >= events.min(3), "{script}: {theirs:?}");
    }
    let variations: [(&str, Words<'_>); 7] = [
        ("oltp_read_write", &[("skip_trx", "on"), ("point_selects", "3"), ("delete_inserts", "2")]),
        ("oltp_read_only", &[("range_selects", "off")]),
        ("oltp_write_only", &[("index_updates", "4"), ("non_index_updates", "0")]),
        ("oltp_update_index", &[("index_updates", "3")]),
        ("oltp_insert", &[("auto_inc", "off")]),
        ("select_random_points", &[("random_points", "3")]),
        ("select_random_ranges", &[("number_of_ranges", "2"), ("delta", "9")]),
    ];
    for (script, words) in variations {
        let [theirs, ours] = counts(both, script, words, 20);
        assert_eq!(ours, theirs, "{script} {words:?}: read, write, other");
    }
    // How many DELETEs miss is chance, but each one is a write or something other.
    let [theirs, ours] = counts(both, "oltp_delete", &[("rand_type", "uniform")], 1_000);
    for [read, write, other] in [theirs, ours] {
        assert_eq!((read, write + other), (0, 1_000));
        // 1000 draws of 1000 rows hit 1000 (1 − 1/e) of them, with a standard deviation of ten.
        assert!(write.abs_diff(632) < 60, "{write} of 1000 hit");
    }
}

fn either_works_on_the_tables_of_the_other<D: Driver>(both: &Both<D>) {
    for (script, _) in SCRIPTS {
        let [sizes, our_sizes] = sizes(script, "2");
        let options = options(script, &our_sizes);
        both.our_prepare(&options);
        both.their(script, &sizes, &["--threads=2", "--events=50", "--time=0", "run"]);
        both.their(script, &sizes, &["--threads=2", "cleanup"]);
        assert!(!both.table_exists(1) && !both.table_exists(2), "{script}: their cleanup drops our tables");
        both.their(script, &sizes, &["--threads=2", "prepare"]);
        both.our(&options, 1, 50, 9);
        both.checks_hold(&options);
        for sql in prewarm(&options, both.dialect()) {
            both.sql(&sql);
        }
        both.our_cleanup(&options);
        assert!(!both.table_exists(1) && !both.table_exists(2), "{script}: our cleanup drops their tables");
    }
}

fn new_ids_never_meet_old_ones<D: Driver>(both: &Both<D>) {
    let numbered = options("oltp_insert", &[("auto_inc", "off"), ("tables", "2")]);
    both.our_prepare(&numbered);
    assert_eq!((rows(both, 1), rows(both, 2)), (0, 0), "as in sysbench, the tables begin empty");
    // The same seed on purpose, and another number of connections.
    both.our(&numbered, 4, 300, 1);
    both.our(&numbered, 3, 300, 1);
    assert_eq!(rows(both, 1) + rows(both, 2), 600);
    both.our_cleanup(&numbered);
    both.their("oltp_insert", &[("auto_inc", "off"), ("tables", "2")], &["prepare"]);
    both.their("oltp_insert", &[("auto_inc", "off"), ("tables", "2")], &["--events=200", "--threads=4", "--time=0", "run"]);
    // The real program scatters its ids over all 32 bits; any of them may be the last one of the column.
    both.sql(&format!("INSERT INTO sbtest2 (id, k, c, pad) VALUES ({}, 1, '', '')", i32::MAX));
    match both.ours(&numbered, 4, 300, 1) {
        Err(RunError::Fatal(error)) => assert!(error.message.contains("load the tables again"), "{error}"),
        other => panic!("{other:?}"),
    }
    both.our_cleanup(&numbered);
    // Two runs of bulk_insert, too, of which the second one fails in sysbench.
    let bulk = options("bulk_insert", &[("threads", "2")]);
    both.our_prepare(&bulk);
    both.our(&bulk, 2, 5_000, 1);
    both.our(&bulk, 2, 5_000, 1);
    assert_eq!(rows(both, 1) + rows(both, 2), 10_000);
    let ends = both.sql("SELECT COUNT(*) - MAX(id) FROM sbtest1");
    assert_eq!(ends, "0", "no id is left out");
    match both.ours(&bulk, 3, 10, 1) {
        Err(RunError::Fatal(error)) => assert!(error.message.contains("set `threads`"), "{error}"),
        other => panic!("{other:?}"),
    }
    both.our_cleanup(&bulk);
    both.their("bulk_insert", &[], &["prepare"]);
    both.their("bulk_insert", &[], &["--events=100", "--time=0", "run"]);
    let second = both.theirs("bulk_insert", &[], &["--events=100", "--time=0", "run"]);
    let text = [second.stdout, second.stderr].concat();
    assert!(String::from_utf8_lossy(&text).contains("FATAL"), "{}", String::from_utf8_lossy(&text));
    assert_eq!(rows(both, 1), 100, "their second run added no row");
    both.our(&options("bulk_insert", &[]), 1, 100, 1);
    assert_eq!(rows(both, 1), 200, "we go on where it ended");
}

fn connections_are_renewed<D: Driver>(both: &Both<D>) {
    let plain = options("oltp_point_select", &[("reconnect", "5")]);
    both.our_prepare(&plain);
    assert_eq!(both.our(&plain, 2, 40, 1), [40, 0, 0]);
    both.our_cleanup(&plain);
}

/// `SERIAL` goes on after the loaded ids, whichever program inserts.
fn the_database_numbers_new_rows<D: Driver>(both: &Both<D>) {
    let insert = options("oltp_insert", &[("table_size", "500")]);
    both.our_prepare(&insert);
    both.our(&insert, 4, 100, 1);
    both.their("oltp_insert", &[("table_size", "500")], &["--events=100", "--time=0", "run"]);
    assert_eq!((rows(both, 1), both.sql("SELECT MIN(id) FROM sbtest1").as_str()), (700, "1"));
    // sysbench makes every sequence from the start; TiDB and MariaDB may leave gaps, but none goes back.
    assert!(both.sql("SELECT MAX(id) FROM sbtest1").parse::<u64>().unwrap() >= 700);
    both.our_cleanup(&insert);
}

fn all_of_it<D: Driver>(both: &Both<D>) {
    statements_agree_by_kind(both);
    either_works_on_the_tables_of_the_other(both);
    new_ids_never_meet_old_ones(both);
    connections_are_renewed(both);
    the_database_numbers_new_rows(both);
}

/// The whole way of a study, with its loads, resets and checks.
#[test]
fn every_script_runs_in_a_study_on_sqlite() {
    for (script, _) in SCRIPTS {
        let desk = Desk::new();
        let size = if script == "bulk_insert" { "threads = 1" } else { "table_size = 1000" };
        let size = format!("script = \"{script}\"\n{size}");
        let edits = [&QUICK[..], &[("table_size = 1000", size.as_str())]].concat();
        desk.write("s.toml", &edited(&edits));
        desk.good(&["run", "s.toml"]);
        let records = desk.records("results/small");
        assert_eq!(records.len(), 2);
        for record in records {
            let done = &record.measured.transactions[script];
            assert!(done.committed > 10 && done.failed == 0 && record.errors.is_empty(), "{script}: {record:#?}");
            assert_eq!(record.workload.kind, "sysbench");
        }
    }
}

#[test]
fn mariadb() {
    let both = Both::on_mariadb("sysbench_workloads");
    assert_eq!(both.dialect().name(), "MySQL");
    all_of_it(&both);
}

#[test]
fn postgres() {
    let both = Both::on_postgres("sysbench_workloads");
    assert_eq!(both.dialect().name(), "PostgreSQL");
    all_of_it(&both);
}
