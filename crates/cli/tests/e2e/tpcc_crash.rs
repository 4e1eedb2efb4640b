//! TPC-C while its server is killed with SIGKILL and started again three times: afterwards every condition holds that is not
//! about fresh data alone. Durability is at the servers' defaults, which the tests assert: every COMMIT waits for the disk.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::maria::{Maria, study};
use crate::common::postgres::Postgres;
use crate::common::{Desk, ended, server, wait_until};
use perbuck_core::run_record::RunRecord;

const TPCC: &str = "kind = \"tpcc\"\nwarehouses = 1\nreset = \"never\"";
/// As many transactions as three crashes leave room for, whatever the machine's speed.
const SWEEP: &str = "connections = [64]\nwarmup = \"200ms\"\nevents = 4000\ntrials = 1";

fn holds(err: &str) {
    assert_eq!(err.matches("after the last trial 11 of 12 conditions hold, 1 does not apply\n").count(), 1, "{err}");
    assert!(!err.contains(": 3.3.2."), "what holds is counted: {err}");
}

/// `orders` asks how many orders there are.
fn crashes(desk: &Desk, orders: &dyn Fn() -> u64, restart: &str) {
    desk.good(&["prepare", "s.toml"]);
    let child = desk.command(&["run", "s.toml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut before = orders();
    for crash in 1..=3 {
        wait_until(&format!("orders come in before crash {crash}"), || orders() > before + 50);
        before = orders();
        assert!(Command::new(restart).arg("kill").status().unwrap().success());
        // A fast machine has its server back in less than the second from which on a gap is listed.
        std::thread::sleep(Duration::from_millis(1200));
        assert!(Command::new(restart).arg("start").status().unwrap().success());
        assert!(orders() >= before, "orders that were committed are there after crash {crash}");
    }
    let ended = ended(child.wait_with_output().unwrap());
    // The trial that the server did not survive is evidence, and is measured again.
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.err.contains("void, because the server went away during the trial"), "{ended:#?}");
    holds(&ended.err);
    assert_eq!(desk.good(&["prepare", "--check", "--verbose", "s.toml"]).err.matches(" holds: ").count(), 11);
    let kept = ended.err.split("kept as ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
    let record = RunRecord::from_json(&desk.read(&format!("results/s/{kept}"))).unwrap();
    assert_eq!(desk.records("results/s").len(), 1);
    // All of them in the first crash, and in the others those that were back.
    assert!(record.health.connections_lost >= 66 && record.health.reconnects >= 66, "{:?}", record.health);
    assert!(!record.health.gaps.is_empty(), "{:?}", record.health);
    let new_orders = record.measured.transactions["new_order"].committed;
    assert!(new_orders > 150, "{new_orders}");
}

#[test]
fn conditions_hold_after_mariadb_was_killed_three_times() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB_KILL", "tpcc_crash");
    assert_eq!(maria.sql("SELECT @@innodb_flush_log_at_trx_commit, @@innodb_doublewrite").trim(), "1\t1");
    desk.write("s.toml", &study(&maria.url(), TPCC, SWEEP));
    let orders = || maria.sql("SELECT COUNT(*) FROM orders").trim().parse().unwrap();
    crashes(&desk, &orders, &server("PERBUCK_TEST_MARIADB_RESTART"));
}

#[test]
fn conditions_hold_after_postgres_was_killed_three_times() {
    let mut desk = Desk::new();
    let postgres = Postgres::mortal(&mut desk, "tpcc_crash");
    let settings = "SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes')";
    assert_eq!(postgres.sql(settings).trim(), "on\ton\ton");
    desk.write("s.toml", &study(&postgres.url(), TPCC, SWEEP));
    let orders = || postgres.sql("SELECT COUNT(*) FROM orders").trim().parse().unwrap();
    crashes(&desk, &orders, &server("PERBUCK_TEST_POSTGRES_RESTART"));
}
