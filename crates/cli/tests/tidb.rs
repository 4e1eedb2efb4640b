//! Against a real TiDB with its embedded store. `dev/tidb` builds it and runs this; CI does not, since the build takes half an hour.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

#[path = "tidb/analytics.rs"]
mod analytics;
mod common;
#[path = "tidb/dashboard.rs"]
mod dashboard;
#[path = "tidb/traffic.rs"]
mod traffic;
#[path = "tidb/transactions.rs"]
mod transactions;

use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use common::tidb::{CONFLICTS, SMALL, Tidb, spawn};
use common::{Desk, processes_of, server};
use perbuck_core::run_record::Flag;
use perbuck_workloads::sysbench::SCRIPTS;

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
fn tpch_answers_are_right_with_the_tuning_of_go_tpc() {
    let tidb = Tidb::start();
    let port = tidb.port.to_string();
    let words = |words: &[&str]| {
        let target = ["-H", "127.0.0.1", "-P", &port, "-U", "root", "-D", "test", "--sf", "0.01"];
        tidb.desk.perbuck(&[&["tpch"][..], words, &target].concat())
    };
    let refused = words(&["prepare", "--tiflash-replica", "1"]);
    assert!(
        refused.code == Some(2) && refused.err.contains("--tiflash-replica is 1, and the cluster has 0 TiFlash"),
        "{refused:?}"
    );
    assert_eq!(words(&["prepare"]).code, Some(0));
    let engines = "--conn-params=tidb_isolation_read_engines='tikv,tidb'";
    let ran = words(&["run", "--check", "--count=22", engines]);
    assert!(ran.code == Some(0) && ran.out.matches("right answers 1\n").count() == 22, "{ran:?}");
    assert!(ran.err.contains("every session sets tidb_default_string_match_selectivity=0.1"), "{ran:?}");
    let record = tidb.desk.records("state/perbuck/tpch").pop().unwrap();
    assert_eq!(record.target.variables["session tidb_opt_join_reorder_threshold"], "60");
    let plain = words(&["run", "--enable-query-tuning=false", "--queries=q6", "--count=1", "--no-record"]);
    assert!(plain.code == Some(0) && !plain.err.contains("every session sets"), "{plain:?}");
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

#[test]
fn tls_is_what_the_target_asks_for() {
    let tidb = Tidb::with("[security]\nauto-tls = true\n");
    let workload = "kind = \"sysbench\"\nscript = \"oltp_point_select\"\ntables = 1\ntable_size = 100";
    let records = tidb.study("", "tls=required", workload, SMALL);
    assert!(records[0].target.variables["connection encryption"].starts_with("TLS_"), "{:?}", records[0].target.variables);
    assert!(records[0].errors.is_empty(), "{:?}", records[0].errors);
}

#[test]
fn cpu_time_is_that_of_the_process() {
    let tidb = Tidb::start();
    let records = tidb.study("", "", CONFLICTS, &SMALL.replace("trials = 1", "trials = 3"));
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", tidb.process.id())).unwrap();
    let told = tidb.metric("process_cpu_seconds_total", "");
    let ticks: Vec<f64> = stat.rsplit(')').next().unwrap().split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // utime and stime, the 14th and the 15th field; the first three are not among these numbers.
    let used = (ticks[10] + ticks[11]) / 100.0;
    assert!(told > 3.0 && (told / used - 1.0).abs() < 0.01, "{told} s told, {used} s used");
    let of_trials: i64 = records.iter().map(|r| r.target.server_counters["server_cpu_ms_tidb"]).sum();
    assert!(of_trials > 1_000 && (of_trials as f64) < told * 1e3, "{of_trials} ms of {told} s");
}

#[test]
fn an_embedded_store_saves_no_backup() {
    let tidb = Tidb::start();
    let contender = format!("backup = \"local://{}\"", tidb.desk.path("kept").display());
    tidb.desk.write("s.toml", &tidb.text(&contender, "", &format!("{CONFLICTS}\nreset = \"restore\""), SMALL));
    let refused = tidb.desk.perbuck(&["run", "s.toml"]);
    let why = "a backup of one row failed: BACKUP requires tikv store, not unistore";
    assert!(refused.code == Some(3) && refused.err.contains(why), "{refused:?}");
    assert_eq!(tidb.sql("SHOW TABLES"), "");
}
