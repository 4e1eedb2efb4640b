//! The whole pipeline on SQLite files: the same data for all contenders, checked before and after, reset as asked.

use std::collections::BTreeMap;

use crate::common::{Desk, LONG_ENOUGH, QUICK, SQLITE_STUDY, edited};
use rusqlite::Connection;
use serde_json::Value;

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e} in {text}"))
}

/// Names of the tables that a workload made.
fn tables(database: &Connection) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'perbuck_data' ORDER BY name";
    let mut statement = database.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// How many rows of each table in one file are not in the other, and how many rows there are.
fn differences(desk: &Desk, one: &str, other: &str) -> BTreeMap<String, (i64, i64)> {
    let database = Connection::open(desk.path(one)).unwrap();
    database.execute("ATTACH ?1 AS other", [desk.path(other).to_str().unwrap()]).unwrap();
    let compared = |table: String| {
        let missing =
            |a: &str, b: &str| format!("SELECT COUNT(*) FROM (SELECT * FROM {a}.{table} EXCEPT SELECT * FROM {b}.{table})");
        let count = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        let differ = count(&missing("main", "other")) + count(&missing("other", "main"));
        let (rows, others) =
            (count(&format!("SELECT COUNT(*) FROM {table}")), count(&format!("SELECT COUNT(*) FROM other.{table}")));
        (table, (differ + (rows - others).abs(), rows))
    };
    tables(&database).into_iter().map(compared).collect()
}

#[test]
fn every_command_works_on_a_study_and_every_json_is_json() {
    let desk = Desk::new();
    desk.write("study.toml", SQLITE_STUDY);
    let checked = desk.good(&["check", "study.toml"]);
    assert!(checked.out.contains("2 contenders × 1 workloads × 2 points × 2 trials = 8 trials"), "{checked:#?}");
    assert_eq!(parsed(&desk.good(&["check", "--json", "study.toml"]).out), Value::Array(Vec::new()));
    let priced = desk.good(&["price", "study.toml"]);
    assert!(priced.out.contains("m7g.large") && priced.out.contains("us-east-1"), "{priced:#?}");
    let bills = parsed(&desk.good(&["price", "--json", "study.toml"]).out);
    assert_eq!((&bills[0]["contender"], &bills[1]["contender"]), (&"full".into(), &"off".into()));

    let prepared = desk.good(&["prepare", "study.toml"]);
    for contender in ["full", "off"] {
        assert!(prepared.err.contains(&format!("{contender}, rw: loaded 1,000 rows")), "{prepared:#?}");
        assert!(prepared.err.contains(&format!("{contender}, rw: 2 of 2 conditions hold\n")), "{prepared:#?}");
    }
    assert_eq!(differences(&desk, "full.db", "off.db"), BTreeMap::from([("sbtest1".to_owned(), (0, 1000))]));
    let rerun = desk.good(&["prepare", "study.toml"]);
    assert!(rerun.err.contains("the data are there") && !rerun.err.contains("loaded"), "{rerun:#?}");

    let ran = parsed(&desk.good(&["run", "--json", "study.toml"]).out);
    let compared = parsed(&desk.good(&["compare", "--json", "results/small"]).out);
    assert_eq!(ran, compared, "run ends with what compare says");
    assert_eq!((&compared["planned"], &compared["found"]), (&8.into(), &8.into()));
    let text = desk.good(&["compare", "results/small"]).out;
    assert!(text.contains("Verdict") && text.contains("baseline"), "{text}");
    let written = desk.good(&["report", "-o", "page", "results/small"]).out;
    assert!(written.contains("page/report.html") && desk.read("page/report.md").contains("off"), "{written}");
    assert!(!desk.path("results/small/report.html").exists(), "only where it was asked for");
    assert!(parsed(&desk.good(&["report", "--json", "results/small"]).out).is_object());
}

#[test]
fn contenders_see_the_same_work_and_records_say_what_the_data_were() {
    let desk = Desk::new();
    desk.write("study.toml", SQLITE_STUDY);
    desk.good(&["run", "study.toml"]);
    let records = desk.records("results");
    assert_eq!(records.len(), 8);
    let rows = BTreeMap::from([("sbtest1".to_owned(), 1000)]);
    let mut seeds = BTreeMap::new();
    for record in &records {
        assert_eq!((&record.workload.rows_before, &record.workload.rows_after), (&rows, &rows));
        assert_eq!(record.workload.data_fingerprint, records[0].workload.data_fingerprint);
        assert_eq!(record.target.variables["synchronous"].to_lowercase(), record.key.contender);
        assert!(record.host.shared_with_server && record.measured.statements.total() > 0);
        let key = (record.key.workload.clone(), record.key.connections, record.key.trial);
        seeds.entry(key).or_insert_with(Vec::new).push(record.trial_seed);
    }
    assert!(seeds.values().all(|pair| pair.len() == 2 && pair[0] == pair[1]), "one seed for both contenders: {seeds:?}");
    let different: std::collections::BTreeSet<u64> = seeds.values().map(|pair| pair[0].0).collect();
    assert_eq!(different.len(), 4, "another seed for each trial: {seeds:?}");
}

#[test]
fn a_reset_per_trial_reloads_the_data() {
    for (reset, data) in [("per-trial", "reloaded"), ("never", "kept")] {
        let desk = Desk::new();
        // So many rows that no trial replaces them all, however fast the machine.
        let with_reset = format!("table_size = 20000\nreset = \"{reset}\"");
        let one = [QUICK[0], QUICK[1], LONG_ENOUGH, ("table_size = 1000", &with_reset)];
        desk.write("study.toml", &edited(&one));
        desk.good(&["run", "study.toml"]);
        assert!(desk.records("results").iter().all(|r| r.workload.data == "kept"), "fresh data need no reload");
        let database = Connection::open(desk.path("full.db")).unwrap();
        assert_eq!(database.execute("UPDATE sbtest1 SET pad = 'marked'", []).unwrap(), 20_000);
        drop(database);
        desk.write("study.toml", &edited(&[one[0], one[2], one[3]]));
        let ran = desk.good(&["run", "study.toml"]);
        let records = desk.records("results");
        let second = records.iter().find(|r| r.key.contender == "full" && r.key.trial == 2).unwrap();
        assert_eq!(second.workload.data, data, "{ran:#?}");
        assert_eq!(second.workload.rows_before["sbtest1"], 20_000, "{ran:#?}");
        let database = Connection::open(desk.path("full.db")).unwrap();
        let marked: i64 = database.query_row("SELECT COUNT(*) FROM sbtest1 WHERE pad = 'marked'", [], |r| r.get(0)).unwrap();
        assert_eq!(marked > 0, reset == "never", "{marked} {ran:#?}");
        // Rows that went away are no data of ours any more: refused, and nothing is dropped.
        assert_eq!(database.execute("DELETE FROM sbtest1 WHERE id > 19990", []).unwrap(), 10);
        drop(database);
        desk.write("study.toml", &edited(&[one[0], one[2], one[3], ("trials = 2", "trials = 3")]));
        let refused = desk.perbuck(&["run", "study.toml"]);
        assert_eq!(refused.code, Some(4), "{refused:#?}");
        assert!(refused.err.contains("sbtest1 with 19990 rows, where 20000 were loaded"), "{}", refused.err);
    }
}

#[test]
fn what_sqlite_takes_is_told_and_what_it_reads_from_disk_is_not() {
    let desk = Desk::new();
    let sweep = ("connections = [1, 2]", "connections = [1]\nprewarm = \"indexes\"");
    desk.write("study.toml", &edited(&[sweep, ("trials = 2", "trials = 1"), LONG_ENOUGH]));
    let ran = desk.good(&["run", "study.toml"]);
    assert!(ran.err.contains("; the server does not count what it reads from disk"), "{ran:#?}");
    for r in desk.records("results") {
        let (size, prewarm) = (r.workload.data_size.unwrap(), r.workload.prewarm.unwrap());
        assert_eq!((prewarm.passes, prewarm.pages_read), (1, None));
        let data = size.tables_bytes.unwrap() + size.indexes_bytes.unwrap();
        assert!((200_000..size.store_bytes.unwrap()).contains(&data), "{size:?}");
    }
    desk.good(&["report", "results/small"]);
    assert!(desk.read("results/small/report.md").contains("indexes: 1 pass in "), "{}", desk.read("results/small/report.md"));
}

#[test]
fn another_seed_makes_other_data() {
    let desk = Desk::new();
    let seeded = edited(&[("schema = 1", "schema = 1\nseed = 7"), ("full.db", "full7.db"), ("off.db", "off7.db")]);
    desk.write("study.toml", SQLITE_STUDY);
    desk.write("seeded.toml", &seeded);
    desk.good(&["prepare", "study.toml"]);
    desk.good(&["prepare", "seeded.toml"]);
    assert_eq!(differences(&desk, "full7.db", "off7.db")["sbtest1"], (0, 1000));
    let (differ, rows) = differences(&desk, "full.db", "full7.db")["sbtest1"];
    assert!(rows == 1000 && differ > 1900, "nearly every row differs: {differ}");
}

/// Rows of one warehouse by 1.2.1 and 4.3.3.1; order lines are as many as the orders' counts say.
const FRESH: [(&str, i64); 8] = [
    ("customer", 30_000),
    ("district", 10),
    ("history", 30_000),
    ("item", 100_000),
    ("new_order", 9_000),
    ("orders", 30_000),
    ("stock", 100_000),
    ("warehouse", 1),
];

const CONDITIONS: [&str; 4] = ["3.3.2.1 holds:", "3.3.2.2 holds:", "3.3.2.3 holds:", "3.3.2.4 holds:"];

/// Breaks the data by hand: the statement, what is broken then, and the row that must be named.
const BREAKS: [(&str, &str, &str); 6] = [
    ("UPDATE warehouse SET w_ytd = w_ytd + 1", "condition 3.3.2.1, 3.3.2.8)", "w_id 1"),
    ("UPDATE warehouse SET w_ytd = w_ytd - 1", "", ""),
    ("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 7", "condition 3.3.2.2)", "d_id 7"),
    ("UPDATE district SET d_next_o_id = d_next_o_id - 1 WHERE d_id = 7", "", ""),
    (
        "DELETE FROM new_order WHERE no_d_id = 3 AND no_o_id = (SELECT MIN(no_o_id) + 1 FROM new_order WHERE no_d_id = 3)",
        "condition 3.3.2.3, 3.3.2.5)",
        "no_d_id 3",
    ),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 4 AND o_id = 5",
        "condition 3.3.2.3, 3.3.2.4, 3.3.2.5, 3.3.2.6)",
        "d_id 4",
    ),
];

fn conditions_hold(said: &str, lines: &[&str]) {
    for (contender, line) in ["full", "off"].iter().flat_map(|c| lines.iter().map(move |l| (c, l))) {
        let holds = format!("{contender}, tpcc: {line}");
        assert!(said.contains(&holds), "{holds} is missing in {said}");
    }
    assert!(!said.contains("BROKEN"), "{said}");
}

fn tpcc_records_are_sound(desk: &Desk) {
    let records = desk.records("results");
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].trial_seed, records[1].trial_seed);
    for record in &records {
        let grown = |table: &str| record.workload.rows_after[table] - record.workload.rows_before[table];
        let measured = |kind: &str| record.measured.transactions[kind].committed;
        assert!(FRESH.iter().all(|(table, rows)| record.workload.rows_before[*table] == *rows as u64), "{record:#?}");
        // The warm-up and the drain add rows that the measured window does not count.
        assert!(grown("orders") >= measured("new_order") && grown("history") >= measured("payment"));
        assert!(record.errors.is_empty() && record.load.connections == 32, "{:#?}", record.errors);
        assert_eq!(record.measured.transactions.values().map(|t| t.failed).sum::<u64>(), 0);
        // All the time of all connections is accounted for, that of transactions across the edges of the window included.
        assert!(record.health.edges.is_some() && record.health.littles_law.is_some_and(|l| l.holds()), "{:#?}", record.health);
        let processors = record.health.samples.as_ref().unwrap();
        assert!(!processors.steps_ms.is_empty() && processors.processors.iter().any(|p| !p.work.is_empty()), "{processors:?}");
    }
}

#[test]
fn tpcc_stays_consistent_under_32_connections_and_a_broken_row_is_found() {
    let desk = Desk::new();
    let tpcc = ("name = \"rw\"\nkind = \"sysbench\"\ntable_size = 1000", "name = \"tpcc\"\nkind = \"tpcc\"\nwarehouses = 1");
    desk.write("study.toml", &edited(&[tpcc, ("[1, 2]", "[32]"), ("\"200ms\"", "\"2s\""), QUICK[1]]));
    conditions_hold(&desk.good(&["prepare", "study.toml"]).err, &["12 of 12 conditions hold\n"]);
    let compared = differences(&desk, "full.db", "off.db");
    assert!(compared.values().all(|(differ, _)| *differ == 0), "the same rows for both: {compared:?}");
    assert!(FRESH.iter().all(|(table, rows)| compared[*table].1 == *rows), "{compared:?}");
    let ran = desk.good(&["run", "study.toml"]);
    assert!(ran.err.contains("after the last trial 22 of 24 conditions hold, 2 do not apply\n"), "{ran:#?}");
    tpcc_records_are_sound(&desk);
    conditions_hold(&desk.good(&["prepare", "--check", "--verbose", "study.toml"]).err, &CONDITIONS);

    for (sql, broken, row) in BREAKS {
        assert!(Connection::open(desk.path("full.db")).unwrap().execute(sql, []).unwrap() > 0, "{sql}");
        let found = desk.perbuck(&["prepare", "--check", "--verbose", "study.toml"]);
        assert_eq!(found.code, Some(i32::from(!broken.is_empty())), "{sql}: {found:#?}");
        assert_eq!(found.err.contains("BROKEN"), !broken.is_empty(), "{sql}: {found:#?}");
        assert!(found.err.contains(broken) && found.err.contains(row), "{sql}: {found:#?}");
        assert_eq!(found.err.contains("help: measurements on such data mean nothing"), !broken.is_empty(), "{found:#?}");
    }
}
