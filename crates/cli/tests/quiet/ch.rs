//! CH-benCHmark through the binary, on real databases: both loads at once, each alone, and queries on a standby that lags.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::maria::{Maria, study};
use crate::common::postgres::Postgres;
use crate::common::{Desk, server, wait_until};
use perbuck_core::run_record::RunRecord;
use perbuck_mysql::MysqlDialect;
use perbuck_postgres::Family;
use perbuck_workloads::ch;

/// Three workloads on one warehouse: transactions alone, with a query stream, and the queries alone.
fn three(url: &str) -> String {
    let workload = |name: &str, more: &str| format!("[[workload]]\nname = \"{name}\"\nkind = \"ch\"\nwarehouses = 1\n{more}\n");
    let all = study(url, "@", "connections = [4]\nwarmup = \"0s\"\nduration = \"3s\"\ntrials = 2");
    let (before, after) = all.split_once("[[workload]]").unwrap();
    let sweep = after.split_once("[sweep]").unwrap().1;
    let workloads = [("alone", "query_streams = 0"), ("both", ""), ("queries", "transactions = false\nconnections = [1]")];
    let workloads: String = workloads.map(|(name, more)| workload(name, more)).concat();
    format!("{before}{workloads}[sweep]{sweep}")
}

fn completed(r: &RunRecord, kind: &str) -> u64 {
    r.measured.transactions.get(kind).map_or(0, |t| t.committed)
}

fn queries(r: &RunRecord) -> u64 {
    (1..=22).map(|number| completed(r, &format!("Q{number}"))).sum()
}

/// Runs the study; the records of each workload.
fn both_loads(desk: &Desk, url: &str) -> [Vec<RunRecord>; 3] {
    desk.write("s.toml", &three(url));
    let ran = desk.good(&["run", "s.toml", "--plans"]);
    assert!(ran.err.contains("after the last trial 11 of 12 conditions hold, 1 does not apply"), "{ran:#?}");
    let records = desk.records("results/s");
    let of = |name: &str| records.iter().filter(|r| r.key.workload == name).cloned().collect::<Vec<_>>();
    let found = ["alone", "both", "queries"].map(of);
    let [alone, both, only] = &found;
    for r in alone.iter().chain(both) {
        assert!(completed(r, "new_order") > 0 && r.health.littles_law.is_some() == (r.key.workload == "alone"), "{r:#?}");
    }
    assert!(alone.iter().all(|r| queries(r) == 0 && completed(r, "marker") == 0));
    for r in both {
        // The last marker may not have been seen when the window closed.
        let [written, seen] = ["marker", "freshness"].map(|kind| completed(r, kind));
        assert!(queries(r) > 0 && seen > 0 && written.abs_diff(seen) <= 1, "{written} {seen}");
    }
    for r in &records {
        let kept = r.target.plans.as_ref().map_or(0, |plans| plans.queries.iter().filter(|q| q.error.is_none()).count());
        assert_eq!(kept, if r.key.workload == "alone" { 0 } else { 22 }, "{:#?}", r.target.plans);
    }
    for r in only {
        assert!(queries(r) > 0 && completed(r, "new_order") == 0 && r.health.longest_gap_ns == 0, "{r:#?}");
        assert_eq!(r.workload.metric.metric().name, "ch_queries");
        let per_hour = queries(r) as f64 * 3.6e12 / r.measured.window_ns as f64;
        assert!((r.metric(r.workload.metric.metric()) / per_hour - 1.0).abs() < 1e-9);
    }
    found
}

/// What the page says of the loads, as data.
fn interference(desk: &Desk) -> Vec<serde_json::Value> {
    let said: serde_json::Value = serde_json::from_str(&desk.good(&["compare", "results/s", "--json"]).out).unwrap();
    let one = said["interference"].as_array().unwrap();
    assert_eq!(one.len(), 1);
    one[0]["rows"].as_array().unwrap().clone()
}

fn ratios_are_those_of_the_means(rows: &[serde_json::Value]) {
    let mean = |row: usize, load: &str| rows[row][load]["mean"].as_f64().unwrap();
    for (load, alone) in [("load", 0), ("queries", 2)] {
        let ratio = rows[1][load]["of_alone"]["value"].as_f64().unwrap();
        assert!((ratio / (mean(1, load) / mean(alone, load)) - 1.0).abs() < 1e-9, "{rows:#?}");
        assert!(rows[alone][load]["of_alone"].is_null());
    }
    assert!(rows[0]["queries"].is_null() && rows[2]["load"].is_null());
}

#[test]
fn mariadb_runs_both_loads_and_keeps_the_conditions() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "ch");
    let [_, both, _] = both_loads(&desk, &maria.url());
    ratios_are_those_of_the_means(&interference(&desk));
    desk.good(&["report", "results/s"]);
    let page = desk.read("results/s/report.md");
    assert!(page.contains("### Interference") && page.contains("tpmC of 4 connections"), "{page}");
    // Queries beside the load are none of other clients.
    assert!(both.iter().all(|r| r.flags.iter().all(|f| f.name() != "foreign-load")), "{both:#?}");
}

/// The rows of an answer in an order that no database decides, numbers to four digits after the point.
fn rows(answer: &str) -> Vec<String> {
    let cell = |cell: &str| match cell.parse::<f64>() {
        Ok(number) => format!("{:.3}", number + 1e-9),
        Err(_) => cell.trim_end().replace("NULL", ""),
    };
    let row = |line: &str| line.split('\t').map(cell).collect::<Vec<_>>().join("\t");
    let mut rows: Vec<String> = answer.lines().map(row).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn two_databases_give_the_same_answers_on_fresh_data() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "ch_answers");
    let mut other = Desk::new();
    let postgres = Postgres::fresh(&mut other, "ch_answers");
    for (desk, url) in [(&desk, maria.url()), (&other, postgres.url())] {
        desk.write("s.toml", &study(&url, "kind = \"ch\"", "connections = [1]"));
        desk.good(&["prepare", "s.toml"]);
    }
    let texts = ch::queries(&MysqlDialect).into_iter().zip(ch::queries(&Family::Postgres));
    for (number, (here, there)) in (1..).zip(texts) {
        let answers = [rows(&maria.sql(&here)), rows(&postgres.sql(&there))];
        assert_eq!(answers[0], answers[1], "Q{number}");
        // Before the first order and the first delivery, and with an order for each customer, these have none.
        assert_eq!(answers[0].is_empty(), matches!(number, 11 | 20..=22), "Q{number}");
    }
}

/// A standby that applies commits so much later.
struct Standby {
    server: Child,
    port: String,
}

impl Standby {
    fn start(delay: &str) -> Self {
        let mut command = Command::new(server("PERBUCK_TEST_POSTGRES_STANDBY"));
        let mut server = command.arg(delay).stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { server, port: port.trim().to_owned() }
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        // On this signal PostgreSQL stops at once, with its children.
        let _ = Command::new("kill").args(["-QUIT", &self.server.id().to_string()]).status();
        let _ = self.server.wait();
    }
}

/// The standby counts its second from the commit, which lies within the transaction of the marker; a lag begins when that is over. Without a warm-up
/// both are of the same window. Of the last marker the lag was not seen any more.
fn applied_a_second_later(r: &RunRecord) {
    let [commit, lag] = ["marker", "freshness"].map(|kind| &r.measured.transactions[kind].service);
    let applied = Duration::from_nanos(lag.sum_ns / lag.count + commit.max_ns);
    assert!(applied >= Duration::from_secs(1), "applied after {applied:?}");
}

/// The command line of go-tpc finds the same. Its tables are not on the standby yet when it starts.
fn lag_of_the_command(desk: &Desk, postgres: &Postgres, standby: &Standby) {
    let at = ["-d", "postgres", "-H", "127.0.0.1", "-P", &postgres.port, "-U", "perbuck", "-D", &postgres.database];
    let at = [&["ch", "--conn-params=sslmode=disable"], &at[..]].concat();
    desk.good(&[&at[..], &["prepare", "--dropdata", "--warehouses=1"]].concat());
    let words = ["run", "--ap-port", &standby.port, "--warehouses=1", "--queries=q1", "--time=5s", "--output=json"];
    let ran = desk.good(&[&at[..], &words].concat());
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let lag_ms: Vec<f64> = json["lag_ms"].as_array().unwrap().iter().map(|ms| ms.as_f64().unwrap()).collect();
    assert_eq!(json["summary_queries"][0]["Operation"], "Q1", "{json:#}");
    let record = desk.records("state/perbuck/ch").pop().unwrap();
    applied_a_second_later(&record);
    let lag = &record.measured.transactions["freshness"].service;
    assert!(lag_ms.is_sorted() && lag_ms[2] == lag.max_ns as f64 / 1e6, "{lag:?}: {json:#}");
}

#[test]
fn the_lag_of_a_standby_is_found_and_queries_go_there() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "ch");
    desk.set("PERBUCK_CH_PASSWORD", &postgres.password);
    let standby = Standby::start("1s");
    let there = Postgres { port: standby.port.clone(), ..postgres.clone() };
    wait_until("the standby answers", || there.answers());
    assert_eq!(there.sql("SELECT pg_is_in_recovery()").trim(), "t");
    let asked =
        || there.admin_sql("SELECT xact_commit FROM pg_stat_database WHERE datname = 'ch'").trim().parse::<u64>().unwrap();
    let before = asked();
    let [_, both, only] = both_loads(&desk, &format!("{}?queries=127.0.0.1:{}", postgres.url(), standby.port));
    ratios_are_those_of_the_means(&interference(&desk));
    both.iter().for_each(applied_a_second_later);
    // The server tells its counters a while after.
    let sent: u64 = both.iter().chain(&only).map(queries).sum();
    wait_until("the standby counts its queries", || asked() - before >= sent);
    lag_of_the_command(&desk, &postgres, &standby);
    // No session goes to the other server where no workload has queries beside its load.
    desk.write("t.toml", &study(&format!("{}?queries=127.0.0.1:1", postgres.url()), "kind = \"tpcc\"", "connections = [1]"));
    let refused = desk.perbuck(&["check", "t.toml"]);
    assert!(refused.code == Some(2) && refused.err.contains("no workload has query streams beside its load"), "{refused:#?}");
}
