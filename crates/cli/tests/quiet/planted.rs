//! Faults that are planted on this machine and on a real server: each report says its own in the right words, and clean runs none.
//!
//! All tests of this file have the same server, so one runs at a time.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::common::maria::{Maria, study};
use crate::common::planted::{CpuLimit, Hogs, Loss, Unrest};
use crate::common::{Desk, wait_until};
use perbuck_core::compare::{Bound, BoundBy, Comparison, WorkloadResult};

const SELECTS: &str = "kind = \"sysbench\"\nscript = \"oltp_point_select\"\ntables = 1\ntable_size = 1000";
/// What a planted fault may do to a trial that refuses a comparison.
const INSISTED: [&str; 4] = ["--insist", "errors", "--insist", "client-limited"];
/// A load that leaves most of a small machine idle.
const LIGHT: &str = "connections = [4]\nrate = [100]\nwarmup = \"1s\"\nduration = \"5s\"\ntrials = 1";
/// As much as it can.
const ALL: &str = "connections = [8]\nwarmup = \"1s\"\nduration = \"5s\"\ntrials = 1";

fn maria(desk: &mut Desk, name: &str) -> Maria {
    Maria::fresh(desk, "PERBUCK_TEST_MARIADB", name)
}

/// The process of a server.
fn pid(maria: &Maria) -> u32 {
    let file = maria.sql("SELECT @@pid_file").trim().to_owned();
    fs::read_to_string(&file).unwrap().trim().parse().unwrap()
}

/// The results of a study that has run, the only one of the desk.
fn compared(desk: &Desk) -> Comparison {
    serde_json::from_str(&desk.good(&[&["compare", "results/s", "--json"][..], &INSISTED].concat()).out).unwrap()
}

/// What bound each point of the only workload.
fn bounds(of: &Comparison) -> Vec<Vec<Bound>> {
    of.workloads[0].points.iter().map(|p| p.explained.as_ref().unwrap().bounds.clone()).collect()
}

/// The text of what bound the only point, by its kind; all that was found must be of these kinds.
fn text(desk: &Desk, by: BoundBy, beside: &[BoundBy]) -> String {
    let found = bounds(&compared(desk)).remove(0);
    let others: Vec<&Bound> = found.iter().filter(|b| b.by != by && !beside.contains(&b.by) && !is_of_machine(b)).collect();
    assert!(others.is_empty(), "nothing else was planted: {found:#?}");
    let text = found.into_iter().find(|b| b.by == by).unwrap_or_else(|| panic!("not found: {by:?}")).text;
    // A report says it, too.
    desk.good(&[&["report", "results/s", "--format", "md"][..], &INSISTED].concat());
    assert!(desk.read("results/s/report.md").contains(text.split('`').next().unwrap()), "{text}");
    text
}

/// Whether a shared machine may have held the client back by itself.
fn is_of_machine(bound: &Bound) -> bool {
    matches!(bound.by, BoundBy::Client | BoundBy::Throttled) && !bound.text.contains("`cpu.max`")
}

/// Starts a run, and waits until it measures.
fn measuring(desk: &Desk) -> Child {
    let child = desk.command(&["run", "s.toml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let live = desk.path("results/s/live.jsonl");
    let in_window = |text: String| text.contains("\"start_ms\":0,") || text.contains("\"start_ms\":1000,");
    wait_until("the window is open", || fs::read_to_string(&live).is_ok_and(in_window));
    child
}

/// What bound a run under a light load while nothing else moved this machine: a run that was not clean is repeated.
fn clean_run(desk: &Desk) -> Vec<Bound> {
    let mut unclean = Vec::new();
    while unclean.len() < 12 {
        let _ = fs::remove_dir_all(desk.path("results"));
        let unrest = Unrest::during(|| drop(desk.perbuck(&["run", "s.toml"])));
        if unrest.is_none() {
            return bounds(&compared(desk)).remove(0);
        }
        unclean.push(unrest);
    }
    panic!("other programs did not leave this machine alone for one run of a few seconds: {unclean:#?}");
}

#[test]
fn ten_clean_runs_have_no_limit() {
    let mut desk = Desk::new();
    let maria = maria(&mut desk, "clean");
    let found = (1..=10).map(|n| {
        let sweep = LIGHT.replace("[100]", &format!("[{}]", 20 * n)).replace("5s", "3s");
        desk.write("s.toml", &study(&maria.url(), SELECTS, &sweep));
        clean_run(&desk)
    });
    let mut found: Vec<_> = found.collect();
    let held_back = found.iter().filter(|all| all.iter().any(is_of_machine)).count();
    found.iter_mut().for_each(|all| all.retain(|bound| !is_of_machine(bound)));
    assert!(found.iter().all(Vec::is_empty) && held_back <= 3, "{held_back} held back: {found:#?}");
    desk.good(&[&["report", "results/s", "--format", "md"][..], &INSISTED].concat());
    assert!(desk.read("results/s/report.md").contains("nothing; the server used "), "the page says so");
}

#[test]
fn a_hog_on_one_processor_of_the_client_is_named() {
    let mut desk = Desk::new();
    let maria = maria(&mut desk, "hog");
    desk.write("s.toml", &study(&maria.url(), SELECTS, LIGHT));
    let hog = |_| {
        let mut command = Command::new("taskset");
        command.args(["-c", "0", "sh", "-c", "while :; do :; done"]);
        command
    };
    let hogs = Hogs::of(1, hog);
    desk.perbuck(&["run", "s.toml"]);
    drop(hogs);
    let text = text(&desk, BoundBy::OneProcessor, &[BoundBy::Client]);
    assert!(text.starts_with("processor 0 of the client's machine is full ("), "{text}");
    assert!(text.contains("programs other than the server and perbuck had "), "{text}");
}

#[test]
fn a_limit_on_the_servers_processor_time_is_named() {
    let mut desk = Desk::new();
    let maria = maria(&mut desk, "limited");
    desk.write("s.toml", &study(&maria.url(), SELECTS, ALL));
    let limit = CpuLimit::of(pid(&maria), 20);
    desk.perbuck(&["run", "s.toml"]);
    drop(limit);
    let text = text(&desk, BoundBy::Throttled, &[]);
    assert!(text.starts_with("the CPU limit of the server (`cpu.max`) stopped it in "), "{text}");
    let seen = desk.records("results/s")[0].target.server_throttled.unwrap();
    assert!(seen > 0.5 && seen <= 1.0, "{seen}");
}

#[test]
fn a_server_that_stands_still_for_two_seconds_is_named() {
    let mut desk = Desk::new();
    let maria = maria(&mut desk, "still");
    desk.write("s.toml", &study(&maria.url(), SELECTS, &LIGHT.replace("5s", "8s")));
    let server = pid(&maria).to_string();
    let mut run = measuring(&desk);
    crate::common::planted::as_root(&format!("kill -STOP {server}; sleep 2; kill -CONT {server}"));
    run.wait().unwrap();
    let text = text(&desk, BoundBy::Pause, &[]);
    let seconds: f64 = text.strip_prefix("nothing completed for ").unwrap().strip_suffix(" s").unwrap().parse().unwrap();
    assert!((1.5..4.0).contains(&seconds), "{text}");
}

#[test]
fn a_disk_that_others_fill_is_named() {
    let mut desk = Desk::new();
    let maria = maria(&mut desk, "disk");
    let updates = SELECTS.replace("oltp_point_select", "oltp_update_index");
    desk.write("s.toml", &study(&maria.url(), &updates, LIGHT));
    desk.good(&["prepare", "s.toml"]);
    let hog = |number| {
        let mut command = Command::new("dd");
        let file = format!("of={}", desk.path(&format!("hog{number}")).display());
        command.args(["if=/dev/zero", &file, "bs=64k", "oflag=direct,dsync", "count=1000000", "seek=0", "conv=notrunc"]);
        command
    };
    let hogs = Hogs::of(12, hog);
    // A slow disk may hold up all of it for a second.
    desk.perbuck(&["run", "s.toml"]);
    drop(hogs);
    let text = text(&desk, BoundBy::Disk, &[BoundBy::Pause, BoundBy::Client, BoundBy::Processors, BoundBy::OneProcessor]);
    assert!(text.contains(" of the client's machine had work ") && text.contains(" writes a second of "), "{text}");
}

#[test]
fn a_storm_of_locks_is_named() {
    let mut desk = Desk::new();
    let maria = maria(&mut desk, "locks");
    let hot = "kind = \"sysbench\"\nscript = \"oltp_write_only\"\ntables = 1\ntable_size = 20";
    desk.write("s.toml", &study(&maria.url(), hot, &ALL.replace("[8]", "[32]")));
    desk.perbuck(&["run", "s.toml"]);
    let text = text(&desk, BoundBy::Locks, &[BoundBy::Processors, BoundBy::OneProcessor, BoundBy::Disk]);
    assert!(text.starts_with("connections waited for row locks "), "{text}");
}

#[test]
fn lost_packets_are_named() {
    let mut desk = Desk::new();
    let maria = maria(&mut desk, "loss");
    desk.write("s.toml", &study(&maria.url(), SELECTS, ALL));
    desk.good(&["prepare", "s.toml"]);
    let loss = Loss::of_one_in(40, &maria.port);
    desk.perbuck(&["run", "s.toml"]);
    drop(loss);
    let text = text(&desk, BoundBy::Network, &[]);
    assert!(text.starts_with("packet loss: the client sent "), "{text}");
}

/// The server of a contender at its best point of a workload: the share of its processors, and nanoseconds for each unit.
fn server(of: &WorkloadResult, contender: &str) -> (f64, f64) {
    let used = of.best_of(contender).unwrap().explained.as_ref().unwrap().server.unwrap();
    (used.utilisation, used.each_ns)
}

/// Two real servers, one with half of the other's processor time: the share of utilisation moves, and what a statement costs does not.
/// A costlier statement does the reverse.
#[test]
fn a_halved_limit_moves_utilisation_and_a_costlier_statement_moves_its_cost() {
    let mut desk = Desk::new();
    let whole = maria(&mut desk, "parts");
    let half = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB_KILL", "parts");
    desk.set("PERBUCK_HALF_PASSWORD", &half.password);
    desk.set("PERBUCK_M_PASSWORD", &whole.password);
    let costly = "[[workload]]\nname = \"costly\"\nkind = \"sysbench\"\nscript = \"oltp_read_only\"\ntables = 1\ntable_size = 5000\n\
                  range_size = 500\n";
    let contender = format!("[[contender]]\nname = \"half\"\ntarget = \"{}\"\n", half.url());
    let sweep = "connections = [4]\nwarmup = \"1s\"\nduration = \"6s\"\ntrials = 2";
    let cheap = SELECTS.replace("1000", "5000");
    let text = study(&whole.url(), &cheap, sweep).replacen("[[workload]]", &format!("{contender}[[workload]]"), 1);
    desk.write("s.toml", &text.replace("[sweep]", &format!("{costly}[sweep]")));
    desk.good(&["prepare", "s.toml"]);
    let limits = [CpuLimit::of(pid(&whole), 60), CpuLimit::of(pid(&half), 30)];
    desk.perbuck(&["run", "s.toml"]);
    drop(limits);
    let all = compared(&desk);
    let [cheap, costly] = &all.workloads[..] else { panic!("{all:#?}") };
    let why = cheap.contenders.iter().find(|c| c.contender == "half").unwrap().why.unwrap();
    assert!((why.processors * why.utilisation / why.each - why.ratio).abs() < 1e-12 && why.processors == 1.0, "{why:?}");
    assert!((0.4..0.6).contains(&why.utilisation) && (0.75..1.35).contains(&why.each), "{why:?}");
    let mean = |contender: &str| cheap.best_of(contender).unwrap().mean.unwrap();
    // The ratio of sums and that of means over trials of equal length differ by the edges of their windows alone.
    assert!((why.ratio / (mean("half") / mean("m")) - 1.0).abs() < 0.01, "{why:?}");
    let (before, after) = (server(cheap, "m"), server(costly, "m"));
    assert!((after.0 / before.0 - 1.0).abs() < 0.25 && after.1 > 3.0 * before.1, "{before:?}, {after:?}");
}
