//! Runs of the drop-in commands whose load agents apply, on a real MariaDB: the lines of the other program, and the server's counters.

use std::process::Stdio;

use crate::common::agents::{Running, addresses, agents};
use crate::common::maria::Maria;
use crate::common::{Desk, Ended, ended, signal, wait_until};
use perbuck_core::run_record::RunRecord;

/// A desk, a database for the command of this variable, and two agents.
fn start(variable: &str, name: &str) -> (Desk, Maria, Vec<Running>) {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", name);
    desk.set(variable, &maria.password);
    let running = agents(&desk, 2);
    (desk, maria, running)
}

fn good(done: Ended) -> Ended {
    assert_eq!(done.code, Some(0), "{done:#?}");
    done
}

fn refused(done: &Ended, code: i32, words: &[&str]) {
    let said = format!("{}{}", done.out, done.err);
    assert!(done.code == Some(code) && words.iter().all(|word| said.contains(word)), "{words:?}: {done:#?}");
}

/// What the sessions of both agents sent is what the server counted, but for so many questions before the start.
fn counts_of_the_server(desk: &Desk, results: &str, counters: &[&str], before: i64) -> RunRecord {
    let study = std::fs::read_dir(desk.path(results)).unwrap().next().unwrap().unwrap().file_name();
    let record = desk.records(&format!("{results}/{}", study.to_str().unwrap())).pop().unwrap();
    assert_eq!(record.agents.iter().map(|a| a.connections).collect::<Vec<_>>(), [2, 2]);
    let (sent, counted) = (record.statements_whole_run, &record.target.server_counters);
    for counter in counters {
        let sent = match *counter {
            "Com_select" => sent.select,
            "Com_insert" => sent.insert,
            "Com_update" => sent.update,
            _ => sent.delete,
        };
        let more = if *counter == "Com_select" { before } else { 0 };
        assert_eq!(counted.get(*counter), Some(&(sent as i64 + more)), "{counter} of {counted:?}");
    }
    record
}

#[test]
fn sysbench_with_two_agents_prints_its_lines_and_counts_what_the_server_counts() {
    let (desk, maria, running) = start("PERBUCK_SYSBENCH_PASSWORD", "fleet_sysbench");
    let (host, port, db) = (
        format!("--mysql-host={}", maria.host),
        format!("--mysql-port={}", maria.port),
        format!("--mysql-db={}", maria.database),
    );
    let line = ["sysbench", "oltp_read_write", "--mysql-user=root", &host, &port, &db, "--tables=2", "--table-size=1000"];
    let by = |agents: &str, more: &[&str]| {
        let agents = format!("--agents={agents}");
        desk.perbuck(&[&line[..], &[&agents, "--token-file=token"], more].concat())
    };
    let both = addresses(&running);
    good(desk.perbuck(&[&line[..], &["prepare"]].concat()));
    let ran = good(by(&both, &["--threads=4", "--time=2", "--report-interval=1", "run"]));
    for line in ["[ 1s ] thds: 4 tps: ", "    transactions: ", "    execution time (avg/stddev): "] {
        assert!(ran.out.contains(line), "{line}: {ran:#?}");
    }
    assert!(!ran.out.contains("agent 127") && ran.err.contains(&format!("perbuck: agent {}: ", running[1].1)), "{ran:#?}");
    let all = ["Com_select", "Com_insert", "Com_update", "Com_delete"];
    let record = counts_of_the_server(&desk, "state/perbuck/sysbench", &all, 0);
    let committed = record.measured.transactions["oltp_read_write"].committed;
    assert!(ran.out.contains(&format!("transactions:                        {committed} ")), "{committed}: {}", ran.out);
    // Events are divided, and no more of them happen.
    let counted = good(by(&both, &["--threads=4", "--time=0", "--events=101", "--output=json", "--results=counted", "run"]));
    let json: serde_json::Value = serde_json::from_str(&counted.out).unwrap();
    assert_eq!(json["summary"]["transactions"].as_u64(), Some(101), "{counted:#?}");
    refused(&by(&both, &["--threads=1", "run"]), 1, &["1 threads cannot be divided among 2 agents", "name fewer agents"]);
    refused(&by(&both, &["prepare"]), 1, &["--agents: prepare is done by this machine alone", "leave --agents out of prepare"]);
    refused(&by("127.0.0.1:1", &["run"]), 1, &["agent 127.0.0.1:1: it cannot be reached", "perbuck agent"]);
    let file = by(&both, &["--threads=2", "--db-driver=sqlite", "--sqlite-db=a.db", "run"]);
    refused(&file, 1, &["sqlite:a.db", "agents cannot reach"]);
    let silent = desk.perbuck(&[&line[..], &[&format!("--agents={both}"), "run"]].concat());
    refused(&silent, 1, &["need a token", "perbuck fleet token"]);
}

#[test]
fn tpcc_with_two_agents_ends_by_its_time_or_by_ctrl_c_with_its_summary() {
    let (desk, maria, running) = start("PERBUCK_TPCC_PASSWORD", "fleet_tpcc");
    let line = ["tpcc", "-H", &maria.host, "-P", &maria.port, "-U", "root", "-D", &maria.database, "--warehouses", "1"];
    let both = addresses(&running);
    let by = ["run", "-T", "4", "--agents", &both, "--token-file", "token"];
    good(desk.perbuck(&[&line[..], &["prepare", "--no-check"]].concat()));
    let ran = good(desk.perbuck(&[&line[..], &by, &["--time", "2s"]].concat()));
    assert!(
        ran.out.contains("[Summary] NEW_ORDER - ") && ran.out.contains("tpmC: ") && !ran.out.contains("agent 127"),
        "{ran:#?}"
    );
    counts_of_the_server(&desk, "state/perbuck/tpcc", &["Com_insert", "Com_update", "Com_delete"], 0);
    // Without a time the user ends it, and sees what was measured.
    let mut command = desk.command(&[&line[..], &by, &["--interval", "1s", "--no-record"]].concat());
    let log = std::fs::File::create(desk.path("log")).unwrap();
    let child = command.stdout(log).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("a second is over", || desk.read("log").contains("[Current] NEW_ORDER"));
    signal(&child, "INT");
    let stopped = ended(child.wait_with_output().unwrap());
    assert!(stopped.code == Some(0) && desk.read("log").contains("[Summary] NEW_ORDER - "), "{stopped:#?} {}", desk.read("log"));
    refused(&desk.perbuck(&[&line[..], &["check", "--agents", &both]].concat()), 2, &["unknown flag: --agents", "run"]);
    // The data hold what two agents wrote.
    good(desk.perbuck(&[&line[..], &["check"]].concat()));
}

#[test]
fn tpch_with_two_agents_starts_each_thread_with_another_query() {
    let (desk, maria, running) = start("PERBUCK_TPCH_PASSWORD", "fleet_tpch");
    let line = ["tpch", "-H", &maria.host, "-P", &maria.port, "-U", "root", "-D", &maria.database, "--sf", "0.01"];
    let both = addresses(&running);
    good(desk.perbuck(&[&line[..], &["prepare"]].concat()));
    let by =
        ["run", "-T", "4", "--agents", &both, "--token-file", "token", "--queries", "q6,q1,q14,q4", "--check", "--count", "4"];
    let ran = good(desk.perbuck(&[&line[..], &by].concat()));
    assert_eq!(ran.out.matches("right answers 1\n").count(), 4, "{ran:#?}");
    maria.sql("UPDATE lineitem SET l_discount = 0 WHERE l_orderkey % 2 = 0");
    refused(&desk.perbuck(&[&line[..], &by].concat()), 1, &["[Summary] Q6_ERR: ", "answers were wrong"]);
}

#[test]
fn ycsb_with_two_agents_inserts_no_record_twice() {
    let (desk, maria, running) = start("PERBUCK_YCSB_PASSWORD", "fleet_ycsb_command");
    let (host, port) = (format!("mysql.host={}", maria.host), format!("mysql.port={}", maria.port));
    let database = format!("mysql.db={}", maria.database);
    let both = addresses(&running);
    let ycsb = |order: &str, more: &[&str]| {
        let line =
            ["ycsb", order, "mysql", "-P", "workloadd", "-p", &host, "-p", &port, "-p", &database, "-p", "recordcount=500"];
        desk.perbuck(&[&line[..], more].concat())
    };
    good(ycsb("load", &["--no-record"]));
    let by = ["--agents", &both, "--token-file", "token", "--threads", "4"];
    let ran = good(ycsb("run", &[&by[..], &["-p", "operationcount=4000"]].concat()));
    assert!(ran.out.contains("INSERT - Takes(s): ") && !ran.out.contains("agent 127"), "{ran:#?}");
    // Each agent asks where the records begin and end.
    let record = counts_of_the_server(&desk, "state/perbuck/ycsb", &["Com_select", "Com_insert"], 4);
    assert_eq!(record.measured.transactions.values().map(|t| t.committed).sum::<u64>(), 4000);
    let rows: u64 = maria.sql("SELECT COUNT(*) FROM usertable").trim().parse().unwrap();
    // After the run each agent fills in what the other one was ahead.
    assert!(rows >= 500 + record.statements_whole_run.insert, "{rows}");
    refused(&ycsb("load", &by), 1, &["--agents: load is done by this machine alone"]);
}
