//! Against a real TiDB with its embedded store. `dev/tidb` builds it and runs this; CI does not, since the build takes half an hour.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::{Desk, Ended, processes_of, server, wait_until};
use perbuck_core::run_record::{Flag, RunRecord, ServerWork};
use perbuck_workloads::sysbench::SCRIPTS;

/// A TiDB of a test, in a folder of its own.
struct Tidb {
    desk: Desk,
    process: Child,
    port: u16,
    status: u16,
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn spawn(desk: &Desk, port: u16, status: u16) -> Child {
    let log = std::fs::File::options().append(true).create(true).open(desk.path("tidb.log")).unwrap();
    let (data, temp) = (desk.path("data"), desk.path("temp"));
    Command::new(server("PERBUCK_TEST_TIDB"))
        .args(["--store=unistore", "--host=127.0.0.1", "--status-host=127.0.0.1"])
        .args([format!("--path={}", data.display()), format!("-P={port}"), format!("--status={status}")])
        .args([format!("--temp-dir={}", temp.display()), format!("--socket={}", desk.path("socket").display())])
        // It writes its log of slow queries there.
        .current_dir(desk.path(""))
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap()
}

impl Tidb {
    fn start() -> Self {
        let mut desk = Desk::new();
        ["SYSBENCH", "TPCC", "YCSB", "T"].iter().for_each(|word| desk.set(&format!("PERBUCK_{word}_PASSWORD"), ""));
        let (port, status) = (free_port(), free_port());
        let process = spawn(&desk, port, status);
        let tidb = Self { desk, process, port, status };
        tidb.wait();
        tidb
    }

    fn wait(&self) {
        wait_until("TiDB takes connections", || self.client("SELECT 1").status.success());
    }

    fn client(&self, sql: &str) -> std::process::Output {
        let port = self.port.to_string();
        Command::new("mariadb")
            .args(["--no-defaults", "-h127.0.0.1", "-P", &port, "-uroot", "-N", "-B", "-e", sql, "test"])
            .output()
            .unwrap()
    }

    fn sql(&self, sql: &str) -> String {
        let output = self.client(sql);
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The sum of a metric over its labels, where one of them is as given.
    fn metric(&self, name: &str, with: &str) -> f64 {
        let url = format!("http://127.0.0.1:{}/metrics", self.status);
        let output = Command::new("curl").args(["-sS", &url]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let ours = |line: &&str| line.starts_with(name) && line[name.len()..].starts_with(['{', ' ']) && line.contains(with);
        text.lines().filter(ours).map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
    }

    fn sysbench(&self, script: &str, more: &[&str]) -> Ended {
        let port = format!("--mysql-port={}", self.port);
        let target = ["--mysql-host=127.0.0.1", &port, "--mysql-user=root", "--mysql-db=test"];
        self.desk.perbuck(&[&["sysbench", script][..], &target, more].concat())
    }

    /// Runs a study of one contender, `t`, with these lines; its records.
    fn study(&self, contender: &str, target: &str, workload: &str, sweep: &str) -> Vec<RunRecord> {
        let text = format!(
            "schema = 1\nname = \"s\"\nseed = 7\n[[contender]]\nname = \"t\"\ntarget = \"tidb://root@127.0.0.1:{}/test?tls=disabled{target}\"\n\
             {contender}\n[[workload]]\nname = \"w\"\n{workload}\n[sweep]\n{sweep}\n",
            self.port
        );
        self.desk.write("s.toml", &text);
        self.desk.good(&["run", "s.toml"]);
        self.desk.records("results/s")
    }
}

impl Drop for Tidb {
    fn drop(&mut self) {
        // One that a test killed is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const SMALL: &str = "connections = [8]\nwarmup = \"500ms\"\nduration = \"3s\"\ntrials = 1\nmax_attempts = 50";
/// Terminals that meet on ten rows.
const CONFLICTS: &str = "kind = \"sysbench\"\nscript = \"oltp_write_only\"\ntables = 1\ntable_size = 10";

#[test]
fn every_script_of_sysbench_runs() {
    let tidb = Tidb::start();
    for (script, _) in SCRIPTS {
        let bulk = script == "bulk_insert";
        let tables = if bulk { vec!["--threads=4"] } else { vec!["--threads=4", "--tables=2", "--table-size=500"] };
        let order = |order: &[&str]| tidb.sysbench(script, &[&tables[..], order].concat());
        assert_eq!(order(&["prepare"]).code, Some(0), "{script}");
        let ran = order(&["--time=2", "run"]);
        assert_eq!(ran.code, Some(0), "{script}: {ran:?}");
        assert!(
            ran.out.contains("transactions:") && !ran.out.contains("transactions:                        0 "),
            "{script}: {ran:?}"
        );
        assert_eq!(order(&["cleanup"]).code, Some(0), "{script}");
    }
}

#[test]
fn tables_have_statistics_after_a_load() {
    let tidb = Tidb::start();
    assert_eq!(tidb.sysbench("oltp_read_only", &["--tables=2", "--table-size=3000", "prepare"]).code, Some(0));
    let analysed = tidb.sql("SHOW STATS_META WHERE table_name LIKE 'sbtest_' AND row_count = 3000");
    assert_eq!(analysed.lines().count(), 2, "{analysed}");
    assert!(!tidb.sql("EXPLAIN SELECT c FROM sbtest1 WHERE k = 7").contains("pseudo"));
}

#[test]
fn tpcc_keeps_its_twelve_conditions() {
    let tidb = Tidb::start();
    let port = tidb.port.to_string();
    let target = ["-H", "127.0.0.1", "-P", &port, "-U", "root", "-D", "test", "--warehouses", "1"];
    let tpcc = |words: &[&str]| tidb.desk.good(&[&["tpcc"][..], words, &target].concat());
    tpcc(&["prepare"]);
    tpcc(&["run", "--time", "8s", "-T", "4"]);
    let checked = tpcc(&["check"]);
    assert_eq!(checked.out.matches(" holds: ").count(), 11, "3.3.2.11 is stated for fresh data: {checked:?}");
    assert!(!tidb.sql("EXPLAIN SELECT * FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1").contains("pseudo"));
}

#[test]
fn ycsb_finds_every_row_right() {
    let tidb = Tidb::start();
    let port = format!("mysql.port={}", tidb.port);
    let target = ["-p", "mysql.host=127.0.0.1", "-p", &port, "-p", "mysql.db=test", "-p", "dataintegrity=true"];
    let ycsb = |order: &str, workload: &str, more: &[&str]| {
        tidb.desk.good(&[&["ycsb", order, "mysql", "-P", workload, "--threads", "4"][..], &target, more].concat())
    };
    ycsb("load", "workloada", &[]);
    for workload in ["workloada", "workloadb", "workloadc", "workloadd", "workloade", "workloadf"] {
        let ran = ycsb("run", workload, &["-p", "operationcount=2000"]);
        assert!(!["_MISSING", "_WRONG"].iter().any(|word| ran.out.contains(word)), "{workload}: {ran:?}");
    }
}

#[test]
fn conflicts_are_counted_as_tidb_counts_them() {
    let tidb = Tidb::start();
    // Optimistic: the client sees each conflict, and retries.
    let (name, with) = ("tidb_server_execute_error_total", "type=\"kv:9007\"");
    let before = tidb.metric(name, with);
    let record = &tidb.study("", "&set.tidb_txn_mode=optimistic", CONFLICTS, SMALL)[0];
    let conflicts = record.errors.iter().filter(|(code, _)| code.ends_with("9007")).map(|(_, e)| e.count).sum::<u64>();
    assert!(conflicts > 100, "{:?}", record.errors);
    assert_eq!(conflicts as f64, tidb.metric(name, with) - before);
    assert_eq!(record.target.server_counters["server_errors_kv:9007"], conflicts as i64);
    assert_eq!(record.target.variables["session tidb_txn_mode"], "optimistic");
    // Every statement that TiDB executed was perbuck's own.
    let Some(ServerWork::Statements { all, own }) = record.target.work else { panic!("{:?}", record.target.work) };
    assert!(all == own && all > 1_000, "{all} statements, {own} of them perbuck's");
}

#[test]
fn retries_within_tidb_are_in_the_record_and_on_the_page() {
    let tidb = Tidb::start();
    let name = "tidb_session_statement_pessimistic_retry_count_sum";
    let before = tidb.metric(name, "");
    let record = &tidb.study("", "", CONFLICTS, SMALL)[0];
    let retries = record.target.server_counters["server_retries_pessimistic_lock"];
    assert!(retries > 0, "{:?}", record.target.server_counters);
    assert_eq!(retries as f64, tidb.metric(name, "") - before);
    tidb.desk.good(&["report", "results/s"]);
    let page = tidb.desk.read("results/s/report.md");
    assert!(page.contains("Retries within servers") && page.contains("pessimistic_lock"), "{page}");
}

#[test]
fn settings_of_reads_leave_perbucks_own_sessions_alone() {
    let tidb = Tidb::start();
    for target in ["&set.tidb_isolation_read_engines=tidb,tiflash", "&set.tidb_read_staleness=-5"] {
        let text = format!(
            "schema = 1\nname = \"s\"\nseed = 7\n[[contender]]\nname = \"t\"\n\
             target = \"tidb://root@127.0.0.1:{}/test?tls=disabled{target}\"\n[[workload]]\nname = \"w\"\nkind = \"sysbench\"\n\
             script = \"oltp_read_only\"\ntables = 1\ntable_size = 500\n[sweep]\n{SMALL}\n",
            tidb.port
        );
        tidb.desk.write("s.toml", &text);
        // Error 1815 before: perbuck's own table could not be read.
        tidb.desk.good(&["prepare", "s.toml"]);
        tidb.desk.good(&["prepare", "--check", "s.toml"]);
        tidb.sql("DROP TABLE sbtest1");
        tidb.sql("DROP TABLE IF EXISTS perbuck_data");
    }
}

#[test]
fn what_tidb_only_keeps_is_no_setting_of_a_record() {
    let tidb = Tidb::start();
    let contender = "server_settings = { innodb_io_capacity = 300 }";
    let record = &tidb.study(contender, "", CONFLICTS, SMALL)[0];
    let settings: Vec<_> = record.target.variables.keys().filter(|name| name.starts_with("innodb_")).collect();
    assert_eq!(settings, ["innodb_io_capacity"], "the one that the study names");
    assert_eq!(record.target.variables["settings without effect on TiDB"], "innodb_io_capacity");
    let functional = record.flags.iter().any(|flag| matches!(flag, Flag::FunctionalServer { .. }));
    assert!(functional, "{:?}", record.flags);
}

#[test]
fn a_run_survives_the_kill_and_restart_of_its_server() {
    let mut tidb = Tidb::start();
    assert_eq!(tidb.sysbench("oltp_read_write", &["--tables=1", "--table-size=500", "prepare"]).code, Some(0));
    let port = format!("--mysql-port={}", tidb.port);
    let words =
        ["sysbench", "oltp_read_write", "--mysql-host=127.0.0.1", &port, "--mysql-user=root", "--mysql-db=test", "--tables=1"];
    let more = ["--table-size=500", "--threads=4", "--time=25", "--mysql-ignore-errors=all", "run"];
    let running = tidb.desk.command(&[&words[..], &more].concat()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_secs(4));
    tidb.process.kill().unwrap();
    tidb.process.wait().unwrap();
    tidb.process = spawn(&tidb.desk, tidb.port, tidb.status);
    tidb.wait();
    let ended = common::ended(running.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let reconnects = ended.out.lines().find(|line| line.trim().starts_with("reconnects:")).unwrap();
    assert!(!reconnects.contains(" 0 "), "{reconnects}");
}

#[test]
fn a_private_server_goes_from_nothing_to_a_report() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("servers")).unwrap();
    let (folder, program) = (desk.path("servers"), server("PERBUCK_TEST_TIDB"));
    let text = format!(
        "schema = 1\nname = \"s\"\nseed = 7\n[[contender]]\nname = \"t\"\nserver = {{ kind = \"tidb\", version = \"8\", program = \"{program}\", \
         folder = \"{}\", config = {{ \"performance.max-procs\" = 2 }} }}\n[[workload]]\nname = \"w\"\nkind = \"tpcc\"\nwarehouses = 1\n\
         [sweep]\n{SMALL}\n",
        folder.display()
    );
    desk.write("s.toml", &text);
    let ran = desk.good(&["run", "s.toml"]);
    assert!(ran.err.contains("contender `t`: TiDB 8.") && ran.out.contains("for functional use alone"), "{ran:#?}");
    desk.good(&["report", "results/s"]);
    assert!(desk.read("results/s/report.md").contains("say nothing about the product"));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(processes_of(&folder), Vec::<u32>::new());
    let unknown = text.replace("performance.max-procs", "performance.max-proc").replace("name = \"s\"", "name = \"unknown\"");
    desk.write("unknown.toml", &unknown);
    let refused = desk.perbuck(&["run", "unknown.toml"]);
    assert!(refused.code != Some(0) && refused.err.contains("performance.max-proc"), "{refused:#?}");
    let other = text.replace("version = \"8\"", "version = \"7.5\"").replace("name = \"s\"", "name = \"other\"");
    desk.write("other.toml", &other);
    let refused = desk.perbuck(&["run", "other.toml"]);
    assert!(refused.code != Some(0) && refused.err.contains("the study wants version 7.5"), "{refused:#?}");
}
