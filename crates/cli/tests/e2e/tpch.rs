//! TPC-H through the binary: trials of both tests on real databases, with right answers, wrong answers, and queries that do not end.

#[path = "tpch/plans.rs"]
mod plans;

use std::collections::BTreeMap;

use crate::common::maria::{Maria, study};
use crate::common::postgres::Postgres;
use crate::common::{Desk, Ended, server};
use perbuck_core::run_record::{Flag, RunRecord};

const SMALL: &str = "kind = \"tpch\"\nscale = 0.01";

/// QphH of a record by its times alone, as clauses 5.4.1 to 5.4.3 have it.
fn by_hand(r: &RunRecord) -> f64 {
    let seconds = |kind: &str| r.measured.transactions[kind].service.sum_ns as f64 / 1e9;
    let names = (1..=22).map(|q| format!("power Q{q}")).chain(["power RF1".to_owned(), "power RF2".to_owned()]);
    let times: Vec<f64> = names.map(|name| seconds(&name)).collect();
    let longest = times.iter().copied().fold(0.0, f64::max);
    let product: f64 = times.iter().map(|t| t.max(longest / 1000.0)).product();
    let power = 3600.0 * 0.01 / product.powf(1.0 / 24.0);
    let throughput = f64::from(r.load.connections) * 22.0 * 3600.0 * 0.01 / seconds("throughput test");
    (power * throughput).sqrt()
}

fn facts(r: &RunRecord, name: &str) -> BTreeMap<String, u64> {
    let found = r.measured.transactions.iter().filter_map(|(kind, t)| Some((kind.clone(), *t.facts.get(name)?)));
    found.filter(|(_, count)| *count > 0).collect()
}

const VALIDATED: &str = "kind = \"tpch\"\nscale = 0.01\nsubstitution = \"validation\"\nrefresh = false";

/// A trial on fresh data: every query once alone and once in each of two streams, and all answers are right.
fn answers_are_right(desk: &Desk, url: &str) {
    desk.write("v.toml", &study(url, VALIDATED, "streams = [2]\ntrials = 1").replace("name = \"s\"", "name = \"v\""));
    let ran = desk.good(&["run", "v.toml"]);
    let r = desk.records("results/v").pop().unwrap();
    let checked = facts(&r, "answers_checked");
    assert_eq!((checked.len(), checked.values().sum::<u64>(), r.errors.len()), (44, 66, 0), "{checked:?} {ran:#?}");
    assert!(ran.out.contains("QpH without refresh") && r.flags.iter().all(|f| !matches!(f, Flag::NoValue { .. })), "{ran:#?}");
}

/// The answers, and then two trials with other values on data that are refreshed three times in each, by the next sets.
fn trials_are_whole(desk: &Desk, url: &str, orders: &dyn Fn(&str) -> String) {
    answers_are_right(desk, url);
    desk.write("s.toml", &study(url, SMALL, "streams = [2]\ntrials = 2"));
    let ran = desk.good(&["run", "s.toml"]);
    assert!(ran.out.contains("QphH"), "{ran:#?}");
    let records = desk.records("results/s");
    assert_eq!(records.len(), 2);
    for r in &records {
        let value = r.metric(r.workload.metric.metric());
        assert!(value > 0.0 && (value / by_hand(r) - 1.0).abs() < 1e-9, "{value} {}", by_hand(r));
        assert_eq!((r.load.model.as_str(), r.load.connections, r.measured.transactions.len()), ("streams", 2, 49));
        assert_eq!((r.measured.transactions["RF1"].committed, r.measured.transactions["RF2"].committed), (2, 2));
        assert_eq!(r.workload.rows_before["orders"], r.workload.rows_after["orders"], "2.5: as many orders as before");
        let streams = r.measured.transactions["throughput test"].service.sum_ns;
        let longest =
            r.measured.transactions.iter().filter(|(kind, _)| kind.starts_with('Q')).map(|(_, t)| t.service.max_ns).max();
        assert!(streams >= longest.unwrap() && streams <= r.measured.window_ns, "{streams}");
        assert!(
            r.flags.iter().all(|f| !matches!(f, Flag::NoValue { .. } | Flag::ManyErrors { .. } | Flag::Gap { .. })),
            "{:?}",
            r.flags
        );
    }
    // Three sets of ten orders in each trial: one of the power test, and one for each stream.
    assert_eq!(orders("SELECT COUNT(*) FROM orders WHERE o_orderkey % 32 >= 8").trim(), "60");
    let report = desk.good(&["report", "results/s"]);
    let page = desk.read("results/s/report.md");
    assert!(
        page.contains("power Q1 ") && page.contains("is not a TPC result") && !page.contains("without a stall"),
        "{report:#?}"
    );
    desk.good(&["verify", "results/s"]);
    // Right answers are those of fresh data.
    desk.write("v.toml", &desk.read("v.toml").replace("trials = 1", "trials = 2"));
    let refused = desk.perbuck(&["run", "v.toml"]);
    assert!(refused.code != Some(0) && refused.err.contains("ran 6 times on the data"), "{refused:#?}");
}

#[test]
fn mariadb_gives_right_answers_in_both_tests() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "tpch");
    trials_are_whole(&desk, &maria.url(), &|sql| maria.sql(sql));
}

#[test]
fn postgres_gives_right_answers_in_both_tests() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "tpch");
    trials_are_whole(&desk, &postgres.url(), &|sql| postgres.sql(sql));
}

fn sqlite(desk: &Desk, sql: &str) -> String {
    let file = rusqlite::Connection::open(desk.path("h.db")).unwrap();
    if sql.starts_with("SELECT") {
        return file.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap().to_string();
    }
    file.execute_batch(sql).unwrap();
    String::new()
}

#[test]
fn sqlite_gives_right_answers_in_both_tests_and_wrong_ones_are_failed_queries() {
    let desk = Desk::new();
    trials_are_whole(&desk, "sqlite:h.db", &|sql| sqlite(&desk, sql));
    std::fs::remove_file(desk.path("h.db")).unwrap();
    desk.write("s.toml", &study("sqlite:h.db", VALIDATED, "streams = [2]\ntrials = 1").replace("name = \"s\"", "name = \"w\""));
    desk.good(&["prepare", "s.toml"]);
    // The returned lines of Q1 to Q22 are of all tables; a price that is another one changes the sums of many of them.
    sqlite(&desk, "UPDATE lineitem SET l_extendedprice = l_extendedprice * 2 WHERE l_returnflag = 'R'");
    let ran: Ended = desk.perbuck(&["run", "s.toml"]);
    let last = desk.records("results/w").pop().unwrap_or_else(|| panic!("{ran:#?}"));
    assert!(last.errors.contains_key("client wrong answer"), "{:?}", last.errors);
    assert!(last.errors["client wrong answer"].example.starts_with("the answer of Q"), "{:?}", last.errors);
    let failed = last.measured.transactions.iter().filter(|(kind, t)| kind.contains('Q') && t.failed > 0).count();
    assert!(failed > 2 && last.measured.transactions["power Q1"].failed == 1, "{failed}");
    let Some(Flag::NoValue { why }) = last.flags.iter().find(|f| matches!(f, Flag::NoValue { .. })) else { panic!("{last:#?}") };
    assert!(why.contains("power Q1: 1 failed") && last.metric(last.workload.metric.metric()) == 0.0, "{why}");
}

/// A study of two databases, whose values are drawn, so that no right answer is known.
fn of_two(name: &str) -> String {
    let two = "[[contender]]\nname = \"n\"\ntarget = \"duckdb:n.duckdb\"\n[[workload]]";
    let workload = format!("{SMALL}\nrefresh = false");
    let text = study("sqlite:h.db", &workload, "streams = [2]\ntrials = 1").replace("[[workload]]", two);
    text.replace("name = \"s\"", &format!("name = \"{name}\""))
}

#[test]
fn two_databases_give_the_same_answers_and_the_queries_that_differ_are_named() {
    server("PERBUCK_DUCKDB_LIBRARY");
    let desk = Desk::new();
    desk.write("same.toml", &of_two("same"));
    let ran = desk.good(&["run", "same.toml"]);
    assert!(!ran.out.contains("answers of"), "{ran:#?}");
    let digests = desk.records("results/same").iter().map(|r| facts(r, "digest_1")).collect::<Vec<_>>();
    assert!(digests[0].len() == 44 && digests[0] == digests[1], "{digests:?}");
    // One price of each order is another one.
    sqlite(&desk, "UPDATE lineitem SET l_extendedprice = l_extendedprice + 100 WHERE l_linenumber = 1");
    desk.write("other.toml", &of_two("other"));
    let ran = desk.perbuck(&["run", "other.toml"]);
    let compared = desk.perbuck(&["compare", "results/other"]);
    let said = "answers of m and n to the same queries differ in trial 1: ";
    assert!(compared.out.contains(said) && compared.out.contains("and "), "{ran:#?} {compared:#?}");
    let json = desk.perbuck(&["compare", "results/other", "--json"]);
    assert!(json.out.contains(said), "{json:#?}");
    desk.perbuck(&["report", "results/other"]);
    assert!(desk.read("results/other/report.md").contains(said));
}

#[test]
fn a_query_over_its_limit_has_failed_and_an_interrupted_refresh_is_said() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "tpch_limit");
    let workload = format!("{SMALL}\nlimit = 1\nrefresh = false");
    desk.write("s.toml", &study(&postgres.url(), &workload, "streams = [1]\ntrials = 1"));
    desk.good(&["prepare", "s.toml"]);
    // Q1 reads more than a second; the other queries read LINEITEM by a table that sleeps for none of its rows.
    postgres.sql("ALTER TABLE region RENAME TO region_; CREATE VIEW region AS SELECT r.* FROM region_ r, pg_sleep(1.5)");
    let ran = desk.perbuck(&["run", "s.toml", "--plans"]);
    let r = desk.records("results/s").pop().unwrap_or_else(|| panic!("{ran:#?}"));
    assert!(r.errors.contains_key("sqlstate 57014"), "{:?}", r.errors);
    let failed: Vec<_> = r.target.plans.as_ref().unwrap().queries.iter().filter(|q| q.error.is_some()).collect();
    assert_eq!(failed.iter().map(|q| q.query.as_str()).collect::<Vec<_>>(), ["Q2", "Q5", "Q8"]);
    assert!(failed.iter().all(|q| q.shape.is_none() && q.error.as_ref().unwrap().contains("57014")), "{failed:?}");
    for kind in ["power Q2", "power Q5", "power Q8", "Q2", "Q5", "Q8"] {
        assert_eq!((r.measured.transactions[kind].failed, r.measured.transactions[kind].committed), (1, 0), "{kind}");
    }
    assert!(r.flags.iter().any(|f| matches!(f, Flag::NoValue { why } if why.contains("power Q2: 1 failed"))), "{:?}", r.flags);
    assert_eq!(r.workload.metric.metric().name, "qph_read");

    // A new order without the deletion of an old one: a refresh that was cut between its functions.
    postgres.sql("DROP VIEW region; ALTER TABLE region_ RENAME TO region; DELETE FROM orders WHERE o_orderkey = 1");
    desk.write("t.toml", &study(&postgres.url(), SMALL, "streams = [1]\ntrials = 1").replace("name = \"s\"", "name = \"t\""));
    let refused = desk.perbuck(&["run", "t.toml"]);
    assert!(
        refused.code == Some(1) && refused.err.contains("ORDERS has 14999 rows, of which 0 are of update sets"),
        "{refused:#?}"
    );
    assert!(refused.err.contains("`perbuck prepare --force STUDY` loads them again"), "{refused:#?}");
    desk.good(&["prepare", "--force", "t.toml"]);
    let reloaded = desk.good(&["run", "t.toml"]);
    assert!(reloaded.out.contains("QphH"), "{reloaded:#?}");
}

#[test]
fn what_streams_do_not_have_is_refused() {
    let desk = Desk::new();
    desk.write("s.toml", &study("sqlite:h.db", SMALL, "trials = 1"));
    let refused = desk.perbuck(&["capacity", "s.toml", "--percentile", "99", "--at-most", "20ms"]);
    assert!(refused.code == Some(2) && refused.err.contains("has no rate that could be searched"), "{refused:#?}");
    let refused = desk.perbuck(&["run", "s.toml", "--driver", "sim"]);
    assert!(refused.code == Some(2), "{refused:#?}");
    for (workload, sweep, said) in [
        (format!("{SMALL}\nduration = \"1s\""), "trials = 1", "ends with the last of them"),
        (format!("{SMALL}\nconnections = [2]"), "trials = 1", "ends with the last of them"),
        (SMALL.to_owned(), "connections = [1]\nrate = [10]", "no `rate`"),
        ("kind = \"tpch\"\nscale = 0.015".to_owned(), "trials = 1", "more than two decimals"),
        (format!("{SMALL}\nsubstitution = \"validation\""), "trials = 1", "add `refresh = false`"),
        (
            "kind = \"tpch\"\nscale = 0.1\nrefresh = false\nsubstitution = \"validation\"".to_owned(),
            "trials = 1",
            "not known at scale 0.1",
        ),
        (
            format!("{SMALL}\nqueries = \"q1,q23\"\nrefresh = false"),
            "trials = 1",
            "`queries` holds \"q23\", which is none of q1 to q22",
        ),
        (format!("{SMALL}\nqueries = \"q1\""), "trials = 1", "`queries` is given, and `refresh` belongs to the tests"),
        (format!("{SMALL}\nqueries = \"q1\"\nrefresh = false\nstreams = [2]"), "trials = 1", "are no streams"),
        (SMALL.to_owned(), "duration = \"10s\"", "`sweep.duration` plays no part"),
        (SMALL.to_owned(), "connections = [4]", "`sweep.connections` plays no part"),
        ("kind = \"sysbench\"\nstreams = [2]".to_owned(), "trials = 1", "are no streams"),
        ("kind = \"sysbench\"".to_owned(), "streams = [2]", "`sweep.streams` plays no part"),
        ("kind = \"ch\"".to_owned(), "streams = [2]", "`query_streams` of a workload says"),
        ("kind = \"ch\"\nstreams = [2]".to_owned(), "trials = 1", "give `query_streams` in place"),
    ] {
        desk.write("s.toml", &study("sqlite:h.db", &workload, sweep));
        let refused = desk.perbuck(&["check", "s.toml"]);
        assert!(refused.code == Some(2) && refused.err.contains(said), "{workload} {refused:#?}");
    }
}
