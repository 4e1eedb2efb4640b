//! Agents that cannot take part: each is named, with what it lacks, and a target refuses them as it refuses one machine.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::agents::{Running, addresses, agents};
use crate::common::maria::{Maria, study};
use crate::common::{Desk, ended, wait_until};

const READ_WRITE: &str = "kind = \"sysbench\"\nscript = \"oltp_read_write\"\ntables = 2\ntable_size = 1000";

fn sweep(connections: u32, trials: u32) -> String {
    format!("connections = [{connections}]\nwarmup = \"100ms\"\nduration = \"2s\"\ntrials = {trials}")
}

/// An agent by a command before its program.
fn started_by(desk: &Desk, shell: &str, program: &str) -> Running {
    let mut agent = Command::new("sh");
    agent.args(["-c", shell, program, "agent", "--listen", "127.0.0.1:0", "--token-file", "token"]).current_dir(desk.path("."));
    Running::of(agent)
}

#[test]
fn an_agent_that_may_open_too_few_files_is_named_before_the_load() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "fleet_files");
    desk.write("s.toml", &study(&maria.url(), READ_WRITE, &sweep(120, 1)));
    let one = agents(&desk, 1).remove(0);
    let few = started_by(&desk, "ulimit -n 70; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_perbuck"));
    let both = format!("{},{}", one.1, few.1);
    let refused = desk.perbuck(&["run", "s.toml", "--agents", &both, "--token-file", "token"]);
    let message = format!("agent {}: 60 connections need ", few.1);
    assert!(refused.code == Some(2) && refused.err.contains(&message), "{refused:#?}");
    assert!(refused.err.contains("this process may have 70") && refused.err.contains("ulimit -Hn"), "{refused:#?}");
    assert_eq!(maria.sql("SHOW TABLES LIKE 'sbtest%'"), "", "nothing is loaded");
}

/// The same program with a byte after its end runs as before, and is another build.
#[test]
fn an_agent_of_another_build_is_refused_with_both_hashes() {
    let desk = Desk::new();
    desk.write("s.toml", &study("mysql://root@127.0.0.1:1/none", READ_WRITE, &sweep(8, 1)));
    let same = agents(&desk, 1).remove(0);
    let copy = desk.path("copy");
    std::fs::copy(env!("CARGO_BIN_EXE_perbuck"), &copy).unwrap();
    std::fs::OpenOptions::new().append(true).open(&copy).unwrap().write_all(b"x").unwrap();
    let other = started_by(&desk, "exec \"$0\" \"$@\"", copy.to_str().unwrap());
    let both = format!("{},{}", same.1, other.1);
    let refused = desk.perbuck(&["fleet", "check", "s.toml", "--agents", &both, "--token-file", "token"]);
    let said = format!("agent {}: it is another build of perbuck", other.1);
    assert!(refused.code == Some(3) && refused.err.contains(&said), "{refused:#?}");
    assert!(refused.err.contains("SHA-256") && refused.err.contains("copy the program of this machine"), "{refused:#?}");
}

/// The limit of a user sinks after the first trial began: the second one cannot open its connections.
#[test]
fn a_server_that_refuses_an_agent_ends_as_one_that_refuses_one_machine() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "fleet_few");
    let running = agents(&desk, 2);
    let both = addresses(&running);
    let by_agents = ["--agents", both.as_str(), "--token-file", "token"];
    for more in [&[][..], &by_agents] {
        maria.sql(&format!("CREATE OR REPLACE USER few IDENTIFIED BY '{}'", maria.password));
        maria.sql("GRANT ALL ON fleet_few.* TO few");
        desk.write("s.toml", &study(&maria.url().replace("root@", "few@"), READ_WRITE, &sweep(8, 2)));
        let mut command = desk.command(&[&["run", "s.toml"], more].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("a second of the first trial is over", || {
            std::fs::read_to_string(desk.path("results/s/live.jsonl")).is_ok_and(|text| text.contains("\"second\""))
        });
        maria.sql("ALTER USER few WITH MAX_USER_CONNECTIONS 4");
        let done = ended(child.wait_with_output().unwrap());
        assert!(done.code == Some(3) && done.err.contains("max_user_connections"), "{more:?}: {done:#?}");
        assert!(done.err.contains("agent ") != more.is_empty(), "{done:#?}");
        assert_eq!(done.err.matches("cannot open a connection").count(), 1, "{done:#?}");
        std::fs::remove_dir_all(desk.path("results")).unwrap();
    }
}
