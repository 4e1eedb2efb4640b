//! The servers' own metrics of a trial: their growth is the server's, the file of series beside a record is the one that it names, and
//! what was changed in it is found. In a binary of its own, one at a time, because it reads counters of the whole server.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::common::Desk;
use crate::common::maria::{Maria, study};
use crate::common::postgres::Postgres;
use perbuck_core::run_record::{RunRecord, ServerMetrics, ServerSeries, ServerWork};
use sha2::{Digest, Sha256};

static SERVER: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    SERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Two transactions a second, evenly, and a window that opens and closes halfway between two: nothing is in flight at its edges, so what
/// the server counts in it is what the client counts.
const APART: &str = "rate = [2]\narrivals = \"uniform\"\nconnections = [4]\nwarmup = \"750ms\"\nduration = \"4s\"\ntrials = 2";
const WORKLOAD: &str = "kind = \"sysbench\"\ntables = 1\ntable_size = 1000";

/// A busy machine may start a transaction late, which is no fair measurement, as the exit code says; the records are kept.
fn run(desk: &Desk) {
    let ran = desk.perbuck(&["run", "s.toml"]);
    assert!(matches!(ran.code, Some(0 | 4)), "{ran:#?}");
}

fn path(desk: &Desk, record: &RunRecord) -> PathBuf {
    desk.path(&format!("results/s/{}.series", record.path()))
}

/// The metrics of a record and its file of series, whose sums must be one another's.
fn metered<'r>(desk: &Desk, record: &'r RunRecord) -> (&'r ServerMetrics, ServerSeries) {
    let metrics = record.target.metrics.as_ref().unwrap();
    let text = fs::read_to_string(path(desk, record)).unwrap();
    let sum: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(metrics.series_sha256.as_ref(), Some(&sum));
    let series = ServerSeries::from_json(&text).unwrap();
    assert_eq!((series.growth(), series.means()), (metrics.growth.clone(), metrics.means.clone()));
    assert!(series.steps_ms.len() >= 3 && series.steps_ms.last() == Some(&metrics.to_ms), "{:?}", series.steps_ms);
    assert!(metrics.from_ms < metrics.to_ms && u64::from(metrics.to_ms) >= record.measured.window_ns / 1_000_000);
    (metrics, series)
}

/// A counter that the server had before the trials, and after them, must enclose what the record says of each trial.
fn encloses(before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>, series: &[ServerSeries]) -> usize {
    let mut last = BTreeMap::new();
    for one in series {
        for counter in one.counters.iter().filter(|counter| before.contains_key(&counter.name)) {
            let (name, growth) = (&counter.name, counter.values.0.iter().sum::<f64>());
            let least = last.get(name).unwrap_or(&before[name]);
            assert!(counter.first >= *least, "{name}: {least} {}", counter.first);
            last.insert(name.clone(), counter.first + growth);
        }
    }
    for (name, value) in &last {
        assert!(*value <= after[name], "{name}: {value} {}", after[name]);
    }
    last.len()
}

#[test]
fn mariadb_counted_what_the_record_says_of_the_window() {
    let _alone = alone();
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "metered");
    desk.write("s.toml", &study(&maria.url(), WORKLOAD, APART));
    desk.good(&["prepare", "s.toml"]);
    let status = || -> BTreeMap<String, f64> {
        let rows = maria.sql("SHOW GLOBAL STATUS");
        let pairs = rows.lines().filter_map(|line| line.split_once('\t'));
        let named = |name: &str| match name.to_lowercase().strip_prefix("com_") {
            Some(command) => format!("mysql_global_status_commands_total{{command=\"{command}\"}}"),
            None => format!("mysql_global_status_{}", name.to_lowercase()),
        };
        pairs.filter_map(|(name, value)| Some((named(name), value.parse().ok()?))).collect()
    };
    let before = status();
    run(&desk);
    let after = status();
    let records = desk.records("results/s");
    let series: Vec<ServerSeries> = records.iter().map(|record| metered(&desk, record).1).collect();
    assert!(encloses(&before, &after, &series) > 20);
    for record in &records {
        let (metrics, counted) = (record.target.metrics.as_ref().unwrap(), record.measured.statements);
        let command = |name: &str| {
            metrics.growth.get(&format!("mysql_global_status_commands_total{{command=\"{name}\"}}")).copied().unwrap_or(0.0)
                as u64
        };
        let seen = ["select", "insert", "delete", "begin", "commit", "rollback"].map(command);
        let sent = [counted.select, counted.insert, counted.delete, counted.begin, counted.commit, counted.rollback];
        assert_eq!(seen, sent, "{metrics:#?}");
        // perbuck updates its lease now and then.
        assert!((counted.update..=counted.update + 3).contains(&command("update")), "{metrics:#?}");
        assert_eq!(command("commit"), 8, "two a second for four seconds");
        assert!(metrics.means["mysql_global_status_threads_connected"] >= 2.0, "its own and some of four: {:?}", metrics.means);
        // It is off unless the server is told otherwise.
        assert_eq!(metrics.not_told.get("performance_schema").map(String::as_str), Some("it is off on the server"));
        // What reads the metrics is not another client. A renewal of the lease may stand between the server's count and perbuck's.
        assert!(
            matches!(&record.target.work, Some(ServerWork::Statements { all, own }) if all.abs_diff(*own) <= 1),
            "{:?}",
            record.target.work
        );
    }
}

#[test]
fn postgresql_counted_what_the_record_says_of_the_window() {
    let _alone = alone();
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "metered");
    desk.write("s.toml", &study(&postgres.url(), WORKLOAD, APART));
    desk.good(&["prepare", "s.toml"]);
    let views = || -> BTreeMap<String, f64> {
        let view = |name: &str| {
            let sql = format!("SELECT j.key, j.value FROM {name} v, jsonb_each_text(to_jsonb(v)) j WHERE j.value ~ '^[0-9.]+$'");
            let ending = if name == "pg_stat_bgwriter" { "_total" } else { "" };
            let rows = postgres.sql(&sql);
            let pairs = rows.lines().filter_map(|line| line.split_once('\t'));
            let named = |column: &str| format!("{name}_{}{ending}", column.trim_start_matches("wal_"));
            pairs.filter_map(|(column, value)| Some((named(column), value.parse().ok()?))).collect::<Vec<(String, f64)>>()
        };
        ["pg_stat_bgwriter", "pg_stat_wal"].into_iter().flat_map(view).collect()
    };
    let (before, after) = {
        let _still = postgres.without_autovacuum();
        let before = views();
        run(&desk);
        (before, views())
    };
    let records = desk.records("results/s");
    let series: Vec<ServerSeries> = records.iter().map(|record| metered(&desk, record).1).collect();
    assert!(encloses(&before, &after, &series) >= 2);
    for record in &records {
        let metrics = record.target.metrics.as_ref().unwrap();
        let committed = metrics.growth["pg_stat_database_xact_commit"];
        // The readings are transactions, too: three each.
        assert!(committed > 8.0 && metrics.growth["pg_stat_wal_records"] > 8.0, "{metrics:#?}");
        assert!(metrics.not_told.is_empty(), "{metrics:#?}");
        let (all, own) = match record.target.work {
            Some(ServerWork::Transactions { all, own }) => (all, own),
            ref other => panic!("{other:?}"),
        };
        // The readings alone are ten transactions or more.
        assert!(all.abs_diff(own) < 5, "what reads the metrics is not another client: {all} {own}");
    }
}

#[test]
fn a_file_of_series_that_was_changed_is_found_and_one_that_is_missing_is_told() {
    let _alone = alone();
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "series");
    let sweep = "connections = [2]\nwarmup = \"100ms\"\nduration = \"2s\"\ntrials = 2";
    desk.write("s.toml", &study(&maria.url(), WORKLOAD, sweep));
    run(&desk);
    desk.good(&["report", "results/s"]);
    let page = desk.read("results/s/report.html");
    assert!(page.contains("What the servers did for each"), "the report shows it");
    let whole = desk.good(&["verify", "results/s"]).out;
    assert!(whole.contains("2 files of series in results/s are those that the records name"), "{whole}");
    let records = desk.records("results/s");
    let first = path(&desk, &records[0]);
    let text = fs::read_to_string(&first).unwrap();
    fs::write(&first, text.replacen("\"first\": ", "\"first\": 1", 1)).unwrap();
    let changed = desk.perbuck(&["verify", "results/s"]);
    let line = format!("series {}.series: its content does not match the checksum in the record", records[0].path());
    assert!(changed.code == Some(1) && changed.out.contains(&line), "{changed:#?}");
    fs::remove_file(&first).unwrap();
    let missing = desk.good(&["verify", "results/s"]).out;
    assert!(missing.contains("1 records in results/s name files of series that are not there"), "{missing}");
    // Nothing else needs it.
    desk.good(&["compare", "results/s"]);
    run(&desk);
}
