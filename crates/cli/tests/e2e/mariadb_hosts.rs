//! A target of two servers, one of which is killed in the middle of a run and started again.

use std::process::{Command, Stdio};

use crate::common::maria::{Maria, study};
use crate::common::{Desk, ended, server, wait_until};

const WORKLOAD: &str = "kind = \"sysbench\"\ntable_size = 1000";
const CONNECTIONS: &str = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'two_hosts'";

/// How many connections of the run a server has.
fn connections(maria: &Maria) -> u32 {
    maria.in_database("", CONNECTIONS).trim().parse().unwrap()
}

fn settings_are_those_of_every_host(desk: &Desk, target: &str, both: [&Maria; 2]) {
    // The two hosts have different values to restore.
    both[1].sql("SET GLOBAL innodb_flushing_avg_loops = 31");
    let values = || both.map(|m| m.sql("SELECT @@GLOBAL.innodb_flushing_avg_loops").trim().to_owned());
    let before = values();
    let short = study(target, WORKLOAD, "connections = [2]\nwarmup = \"0s\"\nduration = \"1s\"\ntrials = 1");
    let settings = "server_settings = { innodb_flushing_avg_loops = 32 }\n[[workload]]";
    desk.write("both.toml", &short.replace("\"s\"", "\"both\"").replace("[[workload]]", settings));
    let ran = desk.good(&["run", "both.toml"]);
    for (maria, was) in both.iter().zip(&before) {
        let said = format!("innodb_flushing_avg_loops = 32 at {}:{}, it was {was}", maria.host, maria.port);
        assert!(ran.err.contains(&said), "{}", ran.err);
    }
    assert_eq!(values(), before);
}

#[test]
fn connections_fail_over_to_the_server_that_runs_and_return_when_their_own_is_back() {
    let mut desk = Desk::new();
    let lives = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "two_hosts");
    let dies = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB_KILL", "two_hosts");
    // One password for both, and the same tables in both.
    desk.set("PERBUCK_M_PASSWORD", "two");
    let sweep = "connections = [8]\nwarmup = \"0s\"\nduration = \"30s\"\ntrials = 1";
    for maria in [&lives, &dies] {
        maria.sql(
            "DROP USER IF EXISTS two_hosts@'%'; CREATE USER two_hosts@'%' IDENTIFIED BY 'two'; GRANT ALL ON *.* TO two_hosts@'%'",
        );
        desk.write("load.toml", &study(&maria.url().replace("root@", "two_hosts@"), WORKLOAD, sweep));
        desk.good(&["prepare", "load.toml"]);
    }
    let target = format!("mysql://two_hosts@{}:{},{}:{}/two_hosts", lives.host, lives.port, dies.host, dies.port);
    settings_are_those_of_every_host(&desk, &target, [&lives, &dies]);
    desk.write("s.toml", &study(&target, WORKLOAD, sweep));
    let child = desk.command(&["run", "s.toml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // One more on each reads its metrics.
    let half = |maria: &Maria| (4..=5).contains(&connections(maria));
    wait_until("each server has half of the connections", || half(&lives) && half(&dies));
    let before = dies.status("Com_stmt_execute");
    wait_until("the load is on", || dies.status("Com_stmt_execute") > before + 100);
    let restart = server("PERBUCK_TEST_MARIADB_RESTART");
    assert!(Command::new(&restart).arg("kill").status().unwrap().success());
    wait_until("the one that lives has all of them", || connections(&lives) >= 8);
    assert!(Command::new(&restart).arg("start").status().unwrap().success());
    wait_until("both have half of them again", || half(&lives) && half(&dies));
    let ended = ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let record = desk.records("results/s").remove(0);
    assert_eq!((record.health.connections_lost, record.health.reconnects), (4, 8), "{:?}", record.errors);
    let lost: u64 = record.errors.values().filter(|e| e.class == "lost").map(|e| e.count).sum();
    // Four statements, and at most one look at the server that was gone for each of them: failback is no error.
    assert!((4..=8).contains(&lost), "{:?}", record.errors);
    let failed: u64 = record.measured.transactions.values().map(|t| t.failed).sum();
    assert_eq!(failed, 4, "{:?}", record.errors);
}
