//! TPC-C on MariaDB with 32 terminals, once undisturbed and once with the server killed and started again half way.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::maria::{Maria, study};
use crate::common::{Desk, ended, server, wait_until};
use perbuck_core::run_record::{Flag, RunRecord};

const TPCC: &str = "kind = \"tpcc\"\nwarehouses = 2\nreset = \"never\"";
const AFTER_TRIALS: &str = "after the last trial 11 of 12 conditions hold, 1 does not apply\n";

fn holds(err: &str, line: &str) {
    assert_eq!(err.matches(line).count(), 1, "{err}");
    assert!(!err.contains("BROKEN"), "{err}");
}

#[test]
fn conditions_hold_after_load_run_and_a_killed_server() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB_KILL", "crash");
    let sweep = "connections = [32]\nwarmup = \"500ms\"\nduration = \"4s\"\ntrials = 1";
    desk.write("s.toml", &study(&maria.url(), TPCC, sweep));
    holds(&desk.good(&["prepare", "s.toml"]).err, ": 12 of 12 conditions hold\n");
    holds(&desk.good(&["run", "s.toml"]).err, AFTER_TRIALS);
    let calm = desk.records("results/s").remove(0);
    // A machine that is shared may be held back, and perbuck says so; anything else would be about the run.
    let of_the_machine = |f: &Flag| matches!(f, Flag::Throttled { .. } | Flag::ClockTrouble { .. });
    assert!(calm.flags.iter().all(of_the_machine) && calm.measured.transactions.len() == 5, "{:?}", calm.flags);
    assert!(calm.measured.transactions.values().all(|t| t.committed > 0), "{:#?}", calm.measured);

    let longer = study(&maria.url(), TPCC, &sweep.replace("\"4s\"", "\"12s\"")).replace("name = \"s\"", "name = \"crash\"");
    desk.write("crash.toml", &longer);
    let child = desk.command(&["run", "crash.toml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Killed once the load is on, whatever the machine's speed: when the server has seen the terminals.
    let before = maria.status("Com_commit");
    wait_until("the load is on", || maria.status("Com_commit") >= before + 200);
    let restart = server("PERBUCK_TEST_MARIADB_RESTART");
    assert!(Command::new(&restart).arg("kill").status().unwrap().success());
    std::thread::sleep(Duration::from_millis(1500));
    assert!(Command::new(&restart).arg("start").status().unwrap().success());
    let ended = ended(child.wait_with_output().unwrap());
    holds(&ended.err, AFTER_TRIALS);
    // The trial in which the server died is evidence and counts for nothing. The next measurement of it counts.
    assert!(ended.code == Some(0) && ended.err.contains("void, because the server went away during the trial"), "{ended:#?}");
    assert!(ended.err.contains("nothing completed for"), "{}", ended.err);
    let counts = desk.records("results/crash");
    assert!(counts.len() == 1 && counts[0].void_reason().is_none() && counts[0].health.connections_lost == 0, "{counts:#?}");
    let record = RunRecord::from_json(&desk.read("results/crash/m/w/c00032/001.1.void")).unwrap();
    desk.good(&["report", "results/crash"]);
    assert!(desk.read("results/crash/report.md").contains("1 trial: void, and in no number: the server went away"));
    desk.good(&["verify", "results/crash"]);
    assert!(record.health.longest_gap_ns >= 1_000_000_000 && !record.health.gaps.is_empty(), "{:?}", record.health);
    assert!(record.health.connections_lost >= 32 && record.health.reconnects >= 32, "{:?}", record.health);
    let lost: u64 = record.errors.iter().filter(|(_, e)| e.class == "lost").map(|(_, e)| e.count).sum();
    assert!(lost >= record.health.connections_lost, "{:?}", record.errors);
}
