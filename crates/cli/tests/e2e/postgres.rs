//! perbuck against a real PostgreSQL and beside the real sysbench.

use std::process::Stdio;

use crate::common::maria::study;
use crate::common::postgres::Postgres;
use crate::common::{Desk, server, wait_until};

const RW: &str = "kind = \"sysbench\"\nscript = \"oltp_read_write\"\ntables = 2\ntable_size = 3000";
const SHORT: &str = "connections = [4]\nwarmup = \"100ms\"\nduration = \"500ms\"\ntrials = 1";
const SCRIPTS: [&str; 4] = ["oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_write_only"];

#[test]
fn real_sysbench_runs_on_our_tables() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "ours_theirs");
    desk.write("s.toml", &study(&postgres.url(), RW, SHORT));
    desk.good(&["prepare", "s.toml"]);
    for script in SCRIPTS {
        let text =
            postgres.sysbench(&[script, "--tables=2", "--table-size=3000", "--threads=4", "--events=200", "--time=0", "run"]);
        assert!(text.contains("total number of events:              200"), "{text}");
    }
    assert_eq!(postgres.sql("SELECT COUNT(*), MIN(id), MAX(id) FROM sbtest2").trim(), "3000\t1\t3000");
    // Its cleanup knows our tables too.
    postgres.sysbench(&["oltp_read_write", "--tables=2", "cleanup"]);
    assert_eq!(postgres.sql("SELECT relname FROM pg_stat_user_tables").trim(), "perbuck_data");
}

#[test]
fn we_run_on_tables_that_real_sysbench_made() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "theirs_ours");
    postgres.sysbench(&["oltp_read_write", "--tables=2", "--table-size=3000", "prepare"]);
    for script in SCRIPTS {
        let workload = RW.replace("oltp_read_write", script);
        desk.write("s.toml", &study(&postgres.url(), &workload, SHORT).replace("name = \"s\"", &format!("name = \"{script}\"")));
        desk.good(&["run", "s.toml"]);
        let record = desk.records(&format!("results/{script}")).remove(0);
        assert_eq!((&*record.workload.data, &*record.target.driver), ("foreign", "postgres"));
        assert!(record.measured.transactions[script].committed > 20, "{record:#?}");
        assert!(record.errors.keys().all(|code| code == "sqlstate 40P01" || code == "sqlstate 23505"), "{:?}", record.errors);
    }
    // Tables of another tool with another size are refused, and left alone.
    desk.write("s.toml", &study(&postgres.url(), &RW.replace("3000", "4000"), SHORT));
    let refused = desk.perbuck(&["run", "s.toml"]);
    assert_eq!(refused.code, Some(4), "{refused:#?}");
    assert!(refused.err.contains("did not make") && refused.err.contains("sbtest1 with 3000 rows"), "{}", refused.err);
    assert_eq!(postgres.sql("SELECT COUNT(*) FROM sbtest1").trim(), "3000");
}

#[test]
fn ycsb_is_loaded_and_run_though_its_names_are_in_capitals() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "ycsb_study");
    desk.write("s.toml", &study(&postgres.url(), "kind = \"ycsb\"\nworkload = \"a\"\nrecordcount = 500", SHORT));
    desk.good(&["run", "s.toml"]);
    assert_eq!(postgres.sql("SELECT COUNT(ycsb_key) FROM usertable").trim(), "500");
}

#[test]
fn tpcc_is_loaded_run_and_consistent() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "tpcc");
    desk.write("s.toml", &study(&postgres.url(), "kind = \"tpcc\"\nwarehouses = 1", &SHORT.replace("\"500ms\"", "\"2s\"")));
    // Both check the consistency conditions, the second after the trial.
    desk.good(&["prepare", "s.toml"]);
    let ran = desk.good(&["run", "s.toml"]);
    let record = desk.records("results/s").remove(0);
    let committed: u64 = record.measured.transactions.values().map(|t| t.committed).sum();
    assert!(committed > 20, "{ran:#?}");
    assert!(record.errors.keys().all(|code| code.starts_with("sqlstate 40")), "{:?}", record.errors);
    assert!(desk.path("results/s/checked").exists(), "{ran:#?}");
    // Read by the real client: what was paid is in the warehouse and in its districts.
    let sums = "SELECT SUM(w_ytd) = (SELECT SUM(d_ytd) FROM district), SUM(w_ytd) > 300000 FROM warehouse";
    assert_eq!(postgres.sql(sums).trim(), "t\tt");
    let health = "the server is on this machine, and each of its processes counts";
    assert!(record.target.server_cpu_ns.is_some_and(|ns| ns > 100_000_000), "{health}: {:?}", record.target.server_cpu_ns);
    assert_eq!(record.target.variables["synchronous_commit"], "on");
}

/// One hot table, so that deadlocks and their rollbacks are part of what must agree: the increments that were committed are
/// the updates of k that the table holds.
#[test]
fn a_load_is_written_back_before_trials_where_the_user_may_ask_for_it() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "written_back");
    desk.write("s.toml", &study(&postgres.url(), RW, SHORT));
    let asked = || postgres.admin_sql("SELECT checkpoints_req FROM pg_stat_bgwriter").trim().parse::<u64>().unwrap();
    let denied = desk.good(&["prepare", "s.toml"]);
    assert!(denied.err.contains("CHECKPOINT, so the first trials share the server with what the load left"), "{denied:#?}");
    postgres.admin_sql("DROP TABLE sbtest1, sbtest2, perbuck_data; GRANT pg_checkpoint TO perbuck");
    let before = asked();
    let loaded = desk.good(&["prepare", "s.toml"]);
    postgres.admin_sql("REVOKE pg_checkpoint FROM perbuck");
    assert!(!loaded.err.contains("CHECKPOINT"), "{loaded:#?}");
    wait_until("the server counts a checkpoint", || asked() > before);
}

#[test]
fn errors_are_counted_and_nothing_is_committed_by_half() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "storm");
    let hot = "kind = \"sysbench\"\nscript = \"oltp_write_only\"\ntables = 1\ntable_size = 100";
    desk.write("s.toml", &study(&postgres.url(), hot, "connections = [32]\nwarmup = \"1s\"\nduration = \"3s\"\ntrials = 1"));
    desk.good(&["prepare", "s.toml"]);
    // So many failures are no fair measurement, which the exit code says; the record is kept.
    let ended = desk.perbuck(&["run", "s.toml"]);
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    let record = desk.records("results/s").remove(0);
    assert!(record.errors.contains_key("sqlstate 40P01"), "{:?}", record.errors);
    assert!(record.errors.keys().all(|code| code == "sqlstate 40P01" || code == "sqlstate 23505"), "{:?}", record.errors);
    let whole = record.statements_whole_run;
    let counters = &record.target.server_counters;
    // A transaction deletes a row and inserts it again.
    assert_eq!(postgres.sql("SELECT COUNT(*), COUNT(DISTINCT id) FROM sbtest1").trim(), "100\t100");
    // What the server counted: the start of each connection is a transaction, and so are the four statements that it prepares before
    // the start, the few questions around the load, and the readings of its metrics: three a second.
    let (commits, deadlocks) = (counters["xact_commit"] as u64, counters["deadlocks"] as u64);
    assert!(commits >= whole.commit && commits <= whole.commit + 32 * 5 + 60, "{whole:?} {counters:?}");
    assert_eq!(deadlocks, record.errors["sqlstate 40P01"].count, "{counters:?}");
    let errors: u64 = record.errors.values().map(|e| e.count).sum();
    assert_eq!(counters["xact_rollback"] as u64, errors, "{counters:?} {:?}", record.errors);
}

#[test]
fn connections_that_are_cut_are_lost_and_reopened() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "cut");
    desk.write("s.toml", &study(&postgres.url(), RW, &SHORT.replace("\"100ms\"", "\"1ms\"").replace("\"500ms\"", "\"3s\"")));
    desk.good(&["prepare", "s.toml"]);
    let mut child = desk.command(&["run", "s.toml"]).stdout(Stdio::null()).spawn().unwrap();
    let ours = "FROM pg_stat_activity WHERE datname = 'cut' AND application_name = 'perbuck' AND query LIKE '%sbtest%'";
    // One that writes has started: before, statements are prepared, and a loss ends the run. All in one session of the server: on a busy machine another program starts too late to hit the load.
    postgres.admin_sql(&format!(
        "DO $$ BEGIN FOR i IN 1..1200 LOOP PERFORM pg_stat_clear_snapshot(); IF (SELECT COUNT(*) > 3 AND COUNT(backend_xid) > 0 {ours}) THEN \
         PERFORM pg_terminate_backend(pid) FROM (SELECT pid {ours} LIMIT 2) AS two; RETURN; END IF; \
         PERFORM pg_sleep(0.05); END LOOP; RAISE EXCEPTION 'no load came'; END $$"
    ));
    assert!(child.wait().unwrap().success());
    let record = desk.records("results/s").remove(0);
    let lost: u64 =
        record.errors.iter().filter(|(code, _)| code.contains("57P01") || code.contains("closed")).map(|(_, e)| e.count).sum();
    assert_eq!(lost, 2, "{:?}", record.errors);
    assert!(record.measured.transactions["oltp_read_write"].committed > 20);
}

#[test]
fn who_is_not_let_in_is_told_why() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "refusals");
    let ask = |desk: &Desk, url: &str| {
        desk.write("s.toml", &study(url, RW, SHORT));
        desk.perbuck(&["run", "s.toml"])
    };
    let strangers = format!("{}?tls=verify-ca&ca={}", postgres.url(), server("PERBUCK_TEST_OTHER_CA"));
    for (url, password, words) in [
        (strangers, None, "certificate"),
        (postgres.url().replace("refusals", "no_such_database"), None, "CREATE DATABASE"),
        (postgres.url(), Some("sesame-wrong-4711"), "PERBUCK_M_PASSWORD"),
        (postgres.url(), Some(""), "PERBUCK_M_PASSWORD"),
    ] {
        if let Some(password) = password {
            desk.set("PERBUCK_M_PASSWORD", password);
        }
        let refused = ask(&desk, &url);
        assert_eq!(refused.code, Some(3), "{refused:#?}");
        assert!(refused.err.contains(words) && !refused.err.contains("sesame"), "{}", refused.err);
    }
    desk.set("PERBUCK_M_PASSWORD", &postgres.password);
    let missing = Desk::perbuck(&desk, &["run", "s.toml"]);
    assert_eq!(missing.code, Some(0), "{missing:#?}");
    postgres.sql("DROP TABLE sbtest2");
    desk.write("t.toml", &study(&postgres.url(), RW, SHORT).replace("name = \"s\"", "name = \"t\""));
    let vanished = desk.perbuck(&["run", "t.toml"]);
    assert_eq!(vanished.code, Some(1), "{vanished:#?}");
    assert!(vanished.err.contains("sbtest2") && vanished.err.contains("perbuck prepare"), "{}", vanished.err);
}

#[test]
fn a_target_sets_variables_of_its_sessions() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "session_settings");
    let with =
        |set: &str| study(&format!("{}{}{set}", postgres.url(), if postgres.url().contains('?') { '&' } else { '?' }), RW, SHORT);
    desk.write("s.toml", &with("set.default_transaction_read_only=on"));
    let refused = desk.perbuck(&["prepare", "s.toml"]);
    assert!(refused.code == Some(3) && refused.err.contains("read-only transaction"), "{refused:#?}");
    desk.write("s.toml", &with("set.statement_timeout=50000"));
    desk.good(&["run", "s.toml"]);
    assert_eq!(desk.records("results/s")[0].target.variables["session statement_timeout"], "50s", "as the server says it");
    let target = format!("target = \"{}\"", postgres.url());
    let choice = |choice: &str| {
        let text = study(&postgres.url(), RW, SHORT).replace("name = \"s\"", "name = \"c\"");
        text.replace(&target, &format!("{target}\ntransactions.{choice}"))
    };
    desk.write("c.toml", &choice("isolation = \"repeatable-read\""));
    desk.good(&["run", "c.toml"]);
    assert_eq!(desk.records("results/c")[0].target.variables["session default_transaction_isolation"], "repeatable read");
    desk.write("c.toml", &choice("reads = \"follower\""));
    let refused = desk.perbuck(&["check", "c.toml"]);
    assert!(refused.code == Some(2) && refused.err.contains("PostgreSQL has nothing for `transactions.reads`"), "{refused:#?}");
    desk.write("s.toml", &with("set.no_such_thing=1"));
    let refused = desk.perbuck(&["prepare", "s.toml"]);
    assert!(refused.code == Some(3) && refused.err.contains("`set.no_such_thing` of the target"), "{refused:#?}");
}
