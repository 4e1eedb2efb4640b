//! A real Prometheus scrapes a trial while it runs, and every query of the dashboard has an answer.
//!
//! perbuck's own metrics are real here, and those of node_exporter and of mysqld_exporter beside a MariaDB. TiDB is too large for CI:
//! Prometheus only parses the queries of its row. `tidb/dashboard.rs` asks those about TiDB; no test asks those about TiKV.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::maria::{Maria, study};
use crate::common::prometheus::{Prometheus, Running, get};
use crate::common::{Desk, QUICK, edited, wait_until};
use perbuck_core::run_record::RunRecord;
use perbuck_exposition::dashboard::{Query, ROWS, Source, Stored};

const WORKLOAD: &str = "kind = \"sysbench\"\nscript = \"oltp_read_write\"\ntables = 1\ntable_size = 1000";
const SWEEP: &str = "connections = [2]\nwarmup = \"1s\"\nduration = \"30s\"\ntrials = 1";
const PRICE: &str = "[price]\nsnapshot = \"aws-2026-07\"\nregions = [\"us-east-1\"]\n";
const NODE: &str = "node = [{ role = \"mysql\", instance = \"m8g.large\" }]\n";

/// The window of rates: ten scrapes.
const WINDOW: &str = "10s";

/// A perbuck that ends with the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        // One that has ended by itself leaves nothing to kill.
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

/// `perbuck run --metrics`, and its port.
fn run_watched(desk: &Desk) -> (Ends, u16) {
    let mut command = desk.command(&["run", "s.toml", "--metrics", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines.by_ref().map(Result::unwrap).find(|line| line.contains("metrics for Prometheus")).unwrap();
    // What else it says must not fill the pipe.
    std::thread::spawn(move || lines.for_each(drop));
    (Ends(child), line.split("127.0.0.1:").nth(1).unwrap().split('/').next().unwrap().parse().unwrap())
}

/// `perbuck serve`, and its port.
fn serve(desk: &Desk) -> (Ends, u16) {
    let mut child = desk.command(&["serve", "results", "--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (Ends(child), line.split("127.0.0.1:").nth(1).unwrap().split('/').next().unwrap().parse().unwrap())
}

#[test]
fn prometheus_scrapes_a_live_trial_and_every_query_of_the_dashboard_returns_data() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "prometheus");
    let text = study(&maria.url(), WORKLOAD, SWEEP).replace("[[workload]]", &format!("{NODE}[[workload]]"));
    desk.write("s.toml", &(text.replacen("[[contender]]", &format!("notional = true\n{PRICE}[[contender]]"), 1)));
    desk.good(&["prepare", "s.toml"]);
    let login = format!("root:{}@({}:{})/", maria.password, maria.host, maria.port);
    let mysqld = Running::start(&desk, "prometheus-mysqld-exporter", &[], &[("DATA_SOURCE_NAME", &login)]);
    let node = Running::start(&desk, "prometheus-node-exporter", &[], &[]);
    let (mut run, run_port) = run_watched(&desk);
    wait_until("the run has begun", || desk.path("results/s/live.jsonl").exists());
    let (_serve, serve_port) = serve(&desk);
    let jobs = [("run", run_port), ("serve", serve_port), ("node", node.port), ("mysqld", mysqld.port)];
    let [native, classic] =
        [("native", true), ("classic", false)].map(|(name, native)| Prometheus::start(&desk, name, &jobs, native));
    every_query_returns_data(&mut run.0, &native, &classic);
    assert!(
        [&native, &classic].iter().all(|p| p.errors().iter().all(String::is_empty)),
        "{:?} {:?}",
        native.errors(),
        classic.errors()
    );
    lint(&get(run_port, "/metrics", "text/plain"));
    assert!(run.0.wait().unwrap().success());
    let record = desk.records("results/s").remove(0);
    wait_until("the end is scraped", || classic.query("perbuck_study_state{job=\"serve\",state=\"ended\"} == 1").len() == 1);
    wait_until("the end is scraped", || native.query("perbuck_study_state{job=\"serve\",state=\"ended\"} == 1").len() == 1);
    the_counters_are_those_of_the_record(&native, &classic, &record);
}

/// Asks every query until it has an answer, as long as the run goes on.
fn every_query_returns_data(run: &mut Child, native: &Prometheus, classic: &Prometheus) {
    let of =
        |wanted: fn(Source) -> bool| ROWS.iter().filter(move |r| wanted(r.source)).flat_map(|r| r.panels).flat_map(|p| p.queries);
    for query in of(|source| source == Source::TiDb) {
        assert_eq!(classic.query(&query.of_all(WINDOW)), Vec::<f64>::new(), "there is no TiDB here");
    }
    let asked = |query: &Query| match query.stored {
        Stored::Native => native.query(&query.of_all(WINDOW)),
        Stored::Classic => classic.query(&query.of_all(WINDOW)),
        // Both must have it.
        Stored::Either => Some(native.query(&query.of_all(WINDOW)))
            .filter(|v| !v.is_empty())
            .map_or_else(Vec::new, |_| classic.query(&query.of_all(WINDOW))),
    };
    let mut left: Vec<&Query> = of(|source| source != Source::TiDb).collect();
    assert!(left.len() > 30);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prometheus-disk");
    let mut file = File::create(&path).unwrap();
    while !left.is_empty() {
        // A disk that does nothing has no mean time of an operation, and the servers may be in a file system in memory.
        file.write_all(b"work for the disk\n").and_then(|()| file.sync_all()).unwrap();
        left.retain(|query| asked(query).is_empty());
        let over = run.try_wait().unwrap().is_some();
        let which: Vec<&str> = left.iter().map(|q| q.expr).collect();
        assert!(
            !over || left.is_empty(),
            "no data while the trial ran: {which:#?}; {:?} {:?}",
            native.errors(),
            classic.errors()
        );
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    std::fs::remove_file(path).unwrap();
}

/// What Prometheus's own tool says of names, units and help.
fn lint(text: &str) {
    let mut tool =
        Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    tool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let ended = tool.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}\n{text}", String::from_utf8_lossy(&ended.stderr));
}

/// Warm-up and window, as the seconds of the record have them; what ends in the drain counts nowhere.
fn the_counters_are_those_of_the_record(native: &Prometheus, classic: &Prometheus, record: &RunRecord) {
    let transactions: u64 = record.intervals.iter().map(|i| i.transactions).sum();
    assert!(transactions > 100, "{record:#?}");
    let one = |prometheus: &Prometheus, expression: &str| {
        let values = prometheus.query(expression);
        assert_eq!(values.len(), 1, "{expression}: {values:?}");
        values[0]
    };
    let serve = "{job=\"serve\",study=\"s\",contender=\"m\",workload=\"w\",connections=\"2\"}";
    for prometheus in [native, classic] {
        assert_eq!(one(prometheus, &format!("perbuck_transactions_total{serve}")), transactions as f64);
        let statements: u64 = record.intervals.iter().map(|i| i.statements).sum();
        assert_eq!(one(prometheus, &format!("perbuck_statements_total{serve}")), statements as f64);
        let errors: u64 = record.intervals.iter().map(|i| i.errors).sum();
        assert_eq!(one(prometheus, &format!("sum(perbuck_transaction_errors_total{serve})")), errors as f64);
        assert_eq!(one(prometheus, "perbuck_study_trials_done{job=\"serve\"}"), 1.0);
    }
    let latency = "perbuck_transaction_latency_seconds";
    assert_eq!(one(native, &format!("histogram_count({latency}{serve})")), transactions as f64);
    assert_eq!(one(classic, &format!("{latency}_count{serve}")), transactions as f64);
    assert_eq!(one(classic, &format!("max({latency}_bucket{serve})")), transactions as f64);
    let sum = one(classic, &format!("{latency}_sum{serve}"));
    assert_eq!(one(native, &format!("histogram_sum({latency}{serve})")), sum);
    // Warm-up and window together have the extremes of the window at least.
    let window = record.latency().unwrap();
    let longest = one(native, &format!("histogram_quantile(1, {latency}{serve})"));
    assert!(longest * 1e9 >= window.percentile_ns(100.0).unwrap() as f64, "{longest}");
    assert!(sum >= window.sum_ns() as f64 / 1e9, "{sum}");
}

#[test]
fn an_address_that_cannot_be_taken_is_refused_before_anything_is_loaded() {
    let desk = Desk::new();
    desk.write("s.toml", &edited(&QUICK));
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap();
    let refused = desk.perbuck(&["run", "s.toml", "--metrics", &taken.to_string()]);
    assert_eq!(refused.code, Some(1), "{refused:#?}");
    assert!(
        refused.err.contains(&format!("cannot listen for --metrics on {taken}")) && refused.err.contains("port 0"),
        "{}",
        refused.err
    );
    assert!(!desk.path("results").exists());
    drop(holder);
    let wrong = desk.perbuck(&["run", "s.toml", "--metrics", "9464"]);
    assert_eq!(wrong.code, Some(2), "{wrong:#?}");
    assert!(wrong.err.contains("write it as an IP address and a port"), "{}", wrong.err);
}

#[test]
fn the_dashboard_is_printed_with_every_query_of_its_description() {
    let printed: serde_json::Value = serde_json::from_str(&Desk::new().good(&["dashboard"]).out).unwrap();
    let panels = printed["panels"].as_array().unwrap().iter();
    let targets = panels.filter_map(|p| p["targets"].as_array()).flatten();
    let printed: BTreeSet<&str> = targets.map(|t| t["expr"].as_str().unwrap()).collect();
    let described: BTreeSet<&str> = ROWS.iter().flat_map(|r| r.panels).flat_map(|p| p.queries).map(|q| q.expr).collect();
    assert_eq!(printed, described);
}
