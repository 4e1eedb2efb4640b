//! Inserts of several agents into one table of a real server: no record twice, none left out, none read before it is there.

use std::process::Stdio;

use crate::common::agents::{Running, addresses, agents};
use crate::common::maria::{Maria, study};
use crate::common::{Desk, Ended, wait_until};
use perbuck_core::run_record::RunRecord;

/// Runs the study on the agents.
fn run(desk: &Desk, agents: &[Running]) -> Ended {
    desk.good(&["run", "s.toml", "--agents", &addresses(agents), "--token-file", "token"])
}

/// Nothing failed, and no read missed a row or found a wrong one.
fn nothing_was_wrong(record: &RunRecord) {
    assert!(record.errors.is_empty(), "{:?}", record.errors);
    for (kind, transactions) in &record.measured.transactions {
        let fact = |name| transactions.facts.get(name).copied().unwrap_or_default();
        assert_eq!((transactions.failed, fact("missing"), fact("wrong")), (0, 0, 0), "{kind}");
    }
    assert!(!record.flags.iter().any(|flag| flag.name() == "foreign-load"), "{:?}", record.flags);
}

/// Rows, and the number of the first and the last record, whose keys end with it.
fn records(maria: &Maria) -> [u64; 3] {
    let number = "CAST(SUBSTRING(YCSB_KEY, 5) AS UNSIGNED)";
    let row = maria.sql(&format!("SELECT COUNT(DISTINCT {number}), MIN({number}), MAX({number}) FROM usertable"));
    let numbers: Vec<u64> = row.split_whitespace().map(|n| n.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

fn ycsb(name: &str, sweep: &str, maria: &Maria) -> String {
    let workload = format!(
        "kind = \"ycsb\"\nworkload = \"{name}\"\nrecordcount = 2000\ninsertproportion = 0.3\ninsertorder = \"ordered\"\n\
         dataintegrity = true\nreset = \"never\""
    );
    study(&maria.url(), &workload, sweep).replace("name = \"s\"", &format!("name = \"{name}\""))
}

#[test]
fn agents_insert_each_record_once_and_leave_none_out() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "fleet_ycsb");
    let agents = agents(&desk, 4);
    // Two agents have three connections, two have two: the one half is ahead of the other.
    let closed = "connections = [10]\nwarmup = \"200ms\"\nduration = \"1s\"\ntrials = 2";
    for (name, what) in [("d", "READ"), ("e", "SCAN")] {
        desk.write("s.toml", &ycsb(name, closed, &maria));
        maria.in_database("", "DROP DATABASE fleet_ycsb; CREATE DATABASE fleet_ycsb");
        run(&desk, &agents);
        let trials = desk.records(&format!("results/{name}"));
        assert_eq!(trials.len(), 2);
        let mut rows = 2000;
        for record in &trials {
            nothing_was_wrong(record);
            let before = record.workload.rows_before["usertable"];
            let (after, inserted) = (record.workload.rows_after["usertable"], record.statements_whole_run.insert);
            assert!(record.measured.transactions[what].committed > 0 && inserted > 100, "{name}: {record:?}");
            // What was filled in is there, and counts in no trial.
            assert_eq!(before, rows, "{name}");
            assert!(after > before + inserted && after < before + 3 * inserted, "{name}: {before} {inserted} {after}");
            assert_eq!(record.target.server_counters["Com_insert"] as u64, inserted, "{name}");
            rows = after;
        }
        assert_eq!(records(&maria), [rows, 0, rows - 1], "{name}");
    }
}

#[test]
fn what_a_lost_agent_left_out_is_there_after_the_next_trial() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "fleet_lost");
    let mut agents = agents(&desk, 4);
    desk.write("s.toml", &ycsb("d", "connections = [8]\nwarmup = \"100ms\"\nduration = \"4s\"\ntrials = 1", &maria));
    desk.good(&["prepare", "s.toml"]);
    let mut command = desk.command(&["run", "s.toml", "--agents", &addresses(&agents), "--token-file", "token"]);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the trial inserts", || records(&maria)[0] > 2100);
    agents[2].0.kill().unwrap();
    let ended = crate::common::ended(running.wait_with_output().unwrap());
    assert!(ended.code == Some(0) && ended.err.contains("void, and measured again"), "{ended:#?}");
    assert!(ended.err.contains("going on with 3 of 4 agents"), "{ended:#?}");
    let trials = desk.records("results/d");
    let record = trials.last().unwrap();
    // The data were kept: a quarter of the numbers was missing from the moment on at which the agent was lost.
    assert_eq!((record.agents.len(), record.workload.data.as_str()), (3, "kept"));
    nothing_was_wrong(record);
    let rows = record.workload.rows_after["usertable"];
    assert_eq!(records(&maria), [rows, 0, rows - 1]);
}

#[test]
fn agents_number_the_rows_of_oltp_insert_apart() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "fleet_insert");
    let agents = agents(&desk, 4);
    let workload =
        "kind = \"sysbench\"\nscript = \"oltp_insert\"\ntables = 2\ntable_size = 1000\nauto_inc = false\nreset = \"never\"";
    let sweep = "connections = [10]\nwarmup = \"200ms\"\nduration = \"1s\"\ntrials = 2";
    desk.write("s.toml", &study(&maria.url(), workload, sweep));
    run(&desk, &agents);
    let rows = |record: &RunRecord, after: bool| -> u64 {
        if after { record.workload.rows_after.values().sum() } else { record.workload.rows_before.values().sum() }
    };
    for record in desk.records("results/s") {
        nothing_was_wrong(&record);
        let inserted = record.statements_whole_run.insert;
        assert!(inserted > 100 && rows(&record, true) == rows(&record, false) + inserted, "{record:?}");
    }
}
