//! Studies with private servers are killed at random moments; after the next command nothing is left of them.
//!
//! `dev/server-kills [KILLS [SEED]]` does it as often as you like.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by it, and a long campaign shows how far it is")]

mod common;

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::{Desk, children, processes_of, wait_until};

fn kinds() -> String {
    std::env::var("PERBUCK_KILLED_KINDS").unwrap_or_else(|_| "mariadb postgres".to_owned())
}

/// PD, TiKV and TiDB, as `cluster` names them, on a small machine.
const CLUSTER: &str = "kind = \"tidb\", tikv = 1, config.tikv = { \"storage.block-cache.capacity\" = \"512MB\", \
    \"storage.reserve-space\" = \"0MB\", \"rocksdb.max-open-files\" = 2000, \"raftdb.max-open-files\" = 1000 }";

/// A study of both kinds of servers that Debian brings, or of those that `PERBUCK_KILLED_KINDS` names, with their folders in `servers`
/// of the desk.
fn study(desk: &Desk) -> String {
    let parent = desk.path("servers");
    fs::create_dir_all(&parent).unwrap();
    let one = |name: &str| {
        let own = if name == "cluster" { CLUSTER.to_owned() } else { format!("kind = \"{name}\"") };
        format!("[[contender]]\nname = \"{name}\"\nserver = {{ {own}, folder = \"{}\" }}\n", parent.display())
    };
    let contenders: String = kinds().split(' ').map(one).collect();
    format!(
        "schema = 1\nname = \"s\"\nseed = 1\n{contenders}[[workload]]\nname = \"w\"\nkind = \"sysbench\"\nscript = \"oltp_point_select\"\n\
         tables = 1\ntable_size = 100\n[sweep]\nconnections = [2]\nwarmup = \"100ms\"\nduration = \"500ms\"\ntrials = 2\n"
    )
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

/// The next number below a bound, from a seed.
fn draw(seed: &mut u64, bound: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % bound
}

fn kill(pids: &[u32]) {
    let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
    // One that has ended meanwhile is no failure.
    Command::new("kill").arg("-KILL").args(&pids).stderr(Stdio::null()).status().unwrap();
}

/// Ports of the servers that a command said that it started.
fn ports(said: &str) -> Vec<u16> {
    said.split("@127.0.0.1:").skip(1).filter_map(|rest| rest.split('/').next()?.parse().ok()).collect()
}

fn nothing_is_left(servers: &Path, ports: &[u16], of: &str, said: &str) {
    // A process that was killed takes a moment to go.
    wait_until(&format!("the processes are gone, {of}"), || processes_of(servers).is_empty());
    // A guard that was not killed may still be deleting what it held.
    wait_until(&format!("the folders are gone, {of}; the next command said: {said}"), || {
        fs::read_dir(servers).unwrap().next().is_none()
    });
    let open: Vec<_> = ports.iter().filter(|port| TcpStream::connect(("127.0.0.1", **port)).is_ok()).collect();
    assert!(open.is_empty(), "{of}: ports in use: {open:?}");
}

#[test]
fn after_a_kill_at_any_moment_the_next_command_leaves_nothing() {
    let (kills, mut seed) = (number("PERBUCK_TEST_KILLS", 3), number("PERBUCK_TEST_SEED", 20));
    // A cluster takes longer until it runs.
    let within_ms = if kinds().contains("cluster") { 40_000 } else { 4_500 };
    let desk = Desk::new();
    desk.write("s.toml", &study(&desk));
    let servers = desk.path("servers");
    for n in 1..=kills {
        let said = fs::File::create(desk.path("said")).unwrap();
        let results = format!("results-{n}");
        let command = ["run", "s.toml", "--results", &results];
        let mut run = desk.command(&command).stdout(Stdio::null()).stderr(said).spawn().unwrap();
        let (after_ms, who) = (draw(&mut seed, within_ms), draw(&mut seed, 4));
        sleep(Duration::from_millis(after_ms));
        let (own, guards) = (run.id(), children(run.id()));
        let (victims, name) = match who {
            0 => (vec![own], "perbuck"),
            1 => ([vec![own], guards].concat(), "perbuck and its guards"),
            2 => ([guards, vec![own]].concat(), "its guards and perbuck"),
            _ => ([vec![own], guards, processes_of(&servers)].concat(), "every process"),
        };
        let of = format!("kill {n} of {kills} ({name} after {after_ms} ms)");
        let mut before = processes_of(&servers).len();
        kill(&victims);
        run.wait().unwrap();
        before = before.max(victims.len());
        let next = desk.good(&command);
        nothing_is_left(&servers, &ports(&(desk.read("said") + &next.err)), &of, &next.err);
        assert_eq!(desk.records(&results).len(), 2 * kinds().split(' ').count(), "{of}");
        let removed = next.err.matches("which a killed run left").count();
        println!("{of}: {before} processes, {removed} folders removed by the next command, nothing left");
    }
}
