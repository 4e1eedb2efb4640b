//! Recorded traffic, replayed on restored data: logs of PostgreSQL and MariaDB, made by perbuck's own load.

use std::path::Path;

use crate::common::maria::{Maria, study};
use crate::common::postgres::Postgres;
use crate::common::{Desk, server};
use perbuck_core::run_record::{Flag, RunRecord, TransactionRecord};

/// How long a load is recorded; `bench/traffic` says longer.
fn seconds() -> String {
    std::env::var("PERBUCK_TRAFFIC_SECONDS").unwrap_or_else(|_| "10".to_owned())
}

/// On a machine that client and server share the client may be late, and then only the comparison is refused.
fn run(desk: &Desk, study: &str) {
    let run = desk.perbuck(&["run", study]);
    let accepted = ["--insist client-limited", "--insist errors"];
    assert!(run.code == Some(0) || accepted.iter().any(|flag| run.err.contains(flag)), "{run:#?}");
}

/// What a study of traffic measures.
fn replay(desk: &Desk, name: &str, url: &str, workload: &str) -> RunRecord {
    let text = study(url, &format!("kind = \"traffic\"\n{workload}"), "trials = 1")
        .replace("name = \"s\"", &format!("name = \"{name}\""));
    desk.write(&format!("{name}.toml"), &text);
    run(desk, &format!("{name}.toml"));
    let record = desk.records(&format!("results/{name}")).remove(0);
    println!(
        "{name}: {} transactions of {}, {} failed, {} of {} row counts differ, {:.1} s, held {} ms, {} overtook; {:?}",
        sum(&record, TransactionRecord::completed),
        record.workload.parameters["recorded"],
        sum(&record, |t| t.failed),
        fact(&record, "diverged"),
        fact(&record, "compared"),
        record.measured.window_ns as f64 / 1e9,
        fact(&record, "held_ms"),
        fact(&record, "overtook"),
        record.flags
    );
    record
}

fn sum(record: &RunRecord, of: impl Fn(&TransactionRecord) -> u64) -> u64 {
    record.measured.transactions.values().map(of).sum()
}

fn fact(record: &RunRecord, name: &str) -> u64 {
    sum(record, |t| t.facts.get(name).copied().unwrap_or(0))
}

/// All transactions of the recording ended, and so many are in it at least.
fn all_ended(record: &RunRecord, at_least: u64) {
    let ended = sum(record, |t| t.completed() + t.failed);
    let recorded = &record.workload.parameters["recorded"];
    let count: u64 = recorded.split(' ').next().unwrap().replace(',', "").parse().unwrap();
    assert!(ended == count && count >= at_least, "{ended} of {recorded}");
}

/// They were all completed, but for questions that failed when they were recorded, too: logs of MySQL do not say what failed.
fn all_succeeded(record: &RunRecord, at_least: u64, failed_then: &[&str]) {
    assert!(record.errors.keys().all(|code| failed_then.contains(&code.as_str())), "{:?}", record.errors);
    let asked = record.errors.values().map(|error| error.count).sum::<u64>();
    assert_eq!(sum(record, |t| t.failed), asked, "{:?}", record.errors);
    all_ended(record, at_least);
}

fn keeps_up(record: &RunRecord) {
    assert_eq!(record.load.model, "streams");
    let open = record.measured.open_loop.as_ref().unwrap();
    let ended = sum(record, |t| t.completed() + t.failed);
    assert_eq!((open.offered, open.started), (ended, ended), "none is skipped, however late this machine is");
    let responses = sum(record, |t| t.response.count);
    assert_eq!(responses, sum(record, TransactionRecord::completed), "each has its time from when it was due");
    assert!(record.health.steadiness.is_none(), "a recording rises and falls as it was");
}

/// Whether a replay that no server can keep up with had to give the order up somewhere: then a transaction may fail.
fn overtook(record: &RunRecord) -> bool {
    record.workload.parameters["speed"].starts_with("50") && fact(record, "overtook") > 0
}

fn diverged(record: &RunRecord) -> Option<(u64, u64)> {
    record.flags.iter().find_map(|flag| match flag {
        Flag::Diverged { statements, compared } => Some((*statements, *compared)),
        _ => None,
    })
}

/// Logs all statements of a database; plans say how many rows each returned or changed.
fn record_all(shop: &Postgres) {
    let settings = [
        ("log_statement", "all"),
        ("session_preload_libraries", "auto_explain"),
        ("auto_explain.log_min_duration", "0"),
        ("auto_explain.log_analyze", "on"),
        ("auto_explain.log_timing", "off"),
    ];
    for (name, value) in settings {
        shop.admin_sql(&format!("ALTER DATABASE traffic_shop SET {name} = '{value}'"));
    }
}

#[test]
fn a_log_of_postgres_is_replayed_on_restored_data() {
    let mut desk = Desk::new();
    let shop = Postgres::fresh(&mut desk, "traffic_shop");
    let copies = ["traffic_once", "traffic_twice", "traffic_fast", "traffic_max", "traffic_planted"];
    let tpcc = "kind = \"tpcc\"\nwarehouses = 1";
    let sweep = format!("rate = [25]\nconnections = [4]\nwarmup = \"0s\"\nduration = \"{}s\"\ntrials = 1", seconds());
    desk.write("load.toml", &study(&shop.url(), tpcc, &sweep).replace("name = \"s\"", "name = \"load\""));
    desk.good(&["prepare", "load.toml"]);
    for copy in copies {
        shop.admin_sql(&format!("DROP DATABASE IF EXISTS {copy} WITH (FORCE)"));
        shop.admin_sql(&format!("CREATE DATABASE {copy} TEMPLATE traffic_shop OWNER perbuck"));
    }
    record_all(&shop);
    let started = |format: &str| {
        let name = shop.admin_sql(&format!("SELECT pg_current_logfile('{format}')"));
        Path::new(&server("PERBUCK_TEST_POSTGRES_DATADIR")).join(name.trim())
    };
    run(&desk, "load.toml");
    shop.admin_sql("ALTER DATABASE traffic_shop RESET ALL");
    for (format, name) in [("csvlog", "shop.csv"), ("jsonlog", "shop.json")] {
        std::fs::copy(started(format), desk.path(name)).unwrap();
    }
    let recorded = desk.records("results/load").remove(0);
    let orders =
        "SELECT (SELECT COUNT(*) FROM orders), (SELECT SUM(ol_amount) FROM order_line), (SELECT COUNT(*) FROM new_order)";
    let expected = shop.sql(orders);
    for (copy, workload) in copies.iter().zip([
        "log = \"shop.csv\"\nrecorded_database = \"traffic_shop\"",
        "log = \"shop.json\"\nrecorded_database = \"traffic_shop\"\nspeed = 2.0",
        "log = \"shop.json\"\nrecorded_database = \"traffic_shop\"\nspeed = 50.0",
        "log = \"shop.json\"\nrecorded_database = \"traffic_shop\"\nspeed = \"max\"",
        "log = \"shop.csv\"\nrecorded_database = \"traffic_shop\"\nspeed = 2.0",
    ]) {
        let on = Postgres { database: (*copy).to_owned(), ..shop.clone() };
        let planted = *copy == "traffic_planted";
        if planted {
            // Orders have other lines than they had.
            on.sql("DELETE FROM order_line WHERE ol_number = 1");
        }
        let record = replay(&desk, copy, &on.url(), workload);
        if workload.contains("max") {
            // Sessions overtake each other, so a new order may find its number taken: it is counted, and said.
            all_ended(&record, sum(&recorded, TransactionRecord::completed));
            assert!(record.measured.open_loop.is_none());
            continue;
        }
        keeps_up(&record);
        if overtook(&record) {
            all_ended(&record, sum(&recorded, TransactionRecord::completed));
            continue;
        }
        all_succeeded(&record, sum(&recorded, TransactionRecord::completed), &[]);
        // The data are those that the recorded load left.
        assert_eq!(on.sql(orders) == expected, !planted, "{copy}");
        let (now, then) = (record.measured.statements, recorded.statements_whole_run);
        assert!(now.update >= then.update && now.insert >= then.insert && now.delete == then.delete, "{now:?} {then:?}");
        let (compared, found) = (fact(&record, "compared"), diverged(&record));
        assert!(compared > record.measured.statements.total() / 2, "{compared} of {:?}", record.measured.statements);
        match found {
            Some((statements, of)) => assert!(planted && statements > 0 && of == compared, "{copy}: {statements} of {of}"),
            None => assert!(!planted, "{copy}"),
        }
    }
    // Values of the log get into no file of the results.
    let kept = desk.read("results/traffic_once/study.toml");
    assert!(kept.contains("fingerprint") && !kept.contains("UPDATE") && !kept.contains("SELECT"), "{kept}");
    let checked = desk.good(&["check", "traffic_once.toml"]).out;
    assert!(checked.contains("shop.csv (csvlog, ") && checked.contains(" MB in memory): "), "{checked}");
}

#[test]
fn logs_of_mariadb_are_replayed_with_their_row_counts() {
    let mut desk = Desk::new();
    let shop = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "traffic_shop");
    let script = "kind = \"tpcc\"\nwarehouses = 1";
    let sweep = format!("rate = [25]\nconnections = [4]\nwarmup = \"0s\"\nduration = \"{}s\"\ntrials = 1", seconds());
    let named = |name: &str, url: &str| study(url, script, &sweep).replace("name = \"s\"", &format!("name = \"{name}\""));
    desk.write("load.toml", &named("load", &shop.url()));
    desk.good(&["prepare", "load.toml"]);
    let data = shop.in_database("", "SELECT @@datadir");
    let file = |name: &str| Path::new(data.trim()).join(name);
    let on = "SET GLOBAL log_output = 'FILE', general_log_file = 'traffic-general.log', slow_query_log_file = 'traffic-slow.log', \
              long_query_time = 0, general_log = ON, slow_query_log = ON";
    shop.in_database("", on);
    let ran = desk.perbuck(&["run", "load.toml"]);
    shop.in_database(
        "",
        "SET GLOBAL general_log = OFF, slow_query_log = OFF, long_query_time = DEFAULT, general_log_file = DEFAULT, \
                      slow_query_log_file = DEFAULT",
    );
    assert!(ran.code == Some(0) || ran.err.contains("--insist client-limited"), "{ran:#?}");
    for name in ["traffic-general.log", "traffic-slow.log"] {
        std::fs::copy(file(name), desk.path(name)).unwrap();
        std::fs::remove_file(file(name)).unwrap();
    }
    let recorded = desk.records("results/load").remove(0);
    for (name, workload, planted) in [
        ("general", "log = \"traffic-general.log\"\nspeed = 2.0", false),
        ("general_fast", "log = \"traffic-general.log\"\nspeed = 50.0", false),
        ("slow", "log = \"traffic-slow.log\"", false),
        ("twice", "log = \"traffic-slow.log\"\nspeed = 2.0", false),
        ("reads", "log = \"traffic-slow.log\"\nspeed = \"max\"\nreads_only = true", false),
        ("planted", "log = \"traffic-slow.log\"\nspeed = 2.0", true),
    ] {
        let fresh = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", &format!("traffic_{name}"));
        desk.write("prepare.toml", &named("prepare", &fresh.url()));
        desk.good(&["prepare", "prepare.toml"]);
        if planted {
            // Orders have other lines than they had.
            fresh.sql("DELETE FROM order_line WHERE ol_number = 1");
        }
        let workload = format!("{workload}\nrecorded_database = \"traffic_shop\"");
        let record = replay(&desk, name, &fresh.url(), &workload);
        if overtook(&record) {
            all_ended(&record, sum(&recorded, TransactionRecord::completed));
        } else if name != "reads" {
            // perbuck asks which server it is by a table of TiDB and a variable of MySQL.
            all_succeeded(&record, sum(&recorded, TransactionRecord::completed), &["mysql 1109", "mysql 1193"]);
        }
        if !workload.contains("max") {
            keeps_up(&record);
        }
        let (compared, found) = (fact(&record, "compared"), diverged(&record));
        match name {
            "general" | "general_fast" => assert_eq!((compared, found), (0, None)),
            "reads" => {
                let sent = record.measured.statements;
                // They find the data as they were before the load, so some differ, which is told.
                assert!(sent.update + sent.insert + sent.delete == 0 && compared > 100, "{sent:?} {compared}");
            }
            "planted" => {
                let (statements, of) = found.unwrap();
                assert!(statements > 20 && statements < of && of == compared, "{statements} of {of}");
                let said = desk.good(&["report", "results/planted"]);
                let page = desk.read("results/planted/report.html");
                assert!(page.contains("other row counts than recorded"), "{said:?}");
            }
            _ => assert!(compared > 0 && found.is_none(), "{name}: {found:?} of {compared}"),
        }
    }
}

#[test]
fn a_log_that_is_none_is_refused_with_its_line() {
    let desk = Desk::new();
    desk.write("a.log", "once upon a time\n");
    let write =
        |workload: &str| desk.write("s.toml", &study("sqlite:a.db", &format!("kind = \"traffic\"\n{workload}"), "trials = 1"));
    write("log = \"a.log\"");
    let refused = desk.perbuck(&["check", "s.toml"]);
    assert!(refused.code != Some(0) && refused.err.contains("a.log:1: begins as no log"), "{refused:#?}");
    write("log = \"missing.csv\"\nspeed = 0\nformat = \"oracle\"");
    let refused = desk.perbuck(&["check", "s.toml"]);
    for words in ["there is no file `missing.csv`", "`speed` is no number from 0.001 to 1000", "there is no format \"oracle\""] {
        assert!(refused.err.contains(words), "{words}: {refused:#?}");
    }
}
