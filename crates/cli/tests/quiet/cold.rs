//! Trials whose caches are cold: private servers restart before each, and a database within perbuck opens its file again.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::common::{Desk, Ended, server};
use perbuck_core::run_record::Restarted;

/// Where a server of perbuck's has its number, below the folder of all: MariaDB and PostgreSQL.
const PID_FILES: [&str; 2] = ["server.pid", "data/postmaster.pid"];

fn study(contenders: &str, sweep: &str) -> String {
    format!(
        "schema = 1\nname = \"s\"\n{contenders}[[workload]]\nname = \"w\"\nkind = \"tpch\"\nscale = 0.01\nrefresh = false\n\
         [sweep]\nstreams = [1]\ntrials = 2\n{sweep}"
    )
}

/// Runs a study of private servers, and counts the processes that each kind of server was meanwhile.
fn watched(desk: &Desk, study: &str) -> (Ended, [usize; 2]) {
    let said = fs::File::create(desk.path("said")).unwrap();
    let mut run = desk.command(&["run", study]).stdout(Stdio::null()).stderr(said).spawn().unwrap();
    let mut seen: [BTreeSet<u32>; 2] = Default::default();
    let status = loop {
        for folder in fs::read_dir(desk.path("servers")).unwrap().flatten() {
            for (seen, file) in seen.iter_mut().zip(PID_FILES) {
                // A file that goes, or is being written, is read again.
                let text = fs::read_to_string(folder.path().join(file)).unwrap_or_default();
                seen.extend(text.split_once('\n').and_then(|(first, _)| first.parse::<u32>().ok()));
            }
        }
        if let Some(status) = run.try_wait().unwrap() {
            break status;
        }
        thread::sleep(Duration::from_millis(10));
    };
    (Ended { code: status.code(), out: String::new(), err: desk.read("said") }, seen.map(|pids| pids.len()))
}

/// Whether this test may drop the page cache of the machine.
fn may_drop() -> bool {
    OpenOptions::new().write(true).open("/proc/sys/vm/drop_caches").is_ok()
}

#[test]
fn a_private_server_is_another_process_in_each_trial_and_reads_its_data_from_disk() {
    let desk = Desk::new();
    let folder = desk.path("servers");
    fs::create_dir(&folder).unwrap();
    let one = |name: &str, kind: &str, config: &str| {
        let folder = folder.display();
        format!(
            "[[contender]]\nname = \"{name}\"\nserver = {{ folder = \"{folder}\", kind = \"{kind}\", config = {{ {config} }} }}\n"
        )
    };
    let contenders =
        one("a", "mariadb", "innodb_buffer_pool_size = \"256M\"") + &one("b", "postgres", "shared_buffers = \"256MB\"");
    desk.write("s.toml", &study(&contenders, "caches = \"cold\"\n"));
    let (ran, servers) = watched(&desk, "s.toml");
    assert!(ran.code == Some(0) && ran.err.contains("a, w: before each trial cold: server restarted"), "{ran:#?}");
    assert_eq!(servers, [3, 3], "the first for the load, then one for each trial");
    let records = desk.records("results/s");
    assert_eq!(records.len(), 4);
    for r in &records {
        let cold = r.workload.cold.as_ref().unwrap();
        assert_eq!((cold.restarted, cold.page_cache_kept.is_none()), (Restarted::Server, may_drop()), "{cold:?}");
        // The data are about 20 MB: pages of 16 and of 8 kB.
        assert!(r.target.server_counters["server_pages_read"] > 500, "{:?}", r.target.server_counters);
    }
    desk.good(&["report", "results/s"]);
    let page = desk.read("results/s/report.md");
    assert!(page.contains("Caches: cold: server restarted") && page.contains("Caches are made cold"), "{page}");
    // Both databases gave the same answers.
    assert!(!page.contains("answers of "), "{page}");
    desk.good(&["verify", "results/s"]);

    // Without it one server runs all trials, and has the data in memory.
    desk.write("k.toml", &study(&contenders, "").replace("name = \"s\"", "name = \"k\""));
    let (ran, servers) = watched(&desk, "k.toml");
    assert_eq!((ran.code, servers), (Some(0), [1, 1]), "{ran:#?}");
    let records = desk.records("results/k");
    let second = records.iter().find(|r| r.key.contender == "a" && r.key.trial == 2).unwrap();
    assert!(second.workload.cold.is_none() && second.target.server_counters["server_pages_read"] < 50, "{:?}", second.target);
    desk.good(&["report", "results/k"]);
    let page = desk.read("results/k/report.md");
    assert!(page.contains("Caches: kept: no server was restarted, no cache dropped."), "{page}");

    // Trials of both sorts are never in one folder.
    desk.write("s.toml", &study(&contenders, ""));
    let refused = desk.perbuck(&["run", "s.toml"]);
    assert!(refused.code == Some(4) && refused.err.contains("workload w.caches: cold → none"), "{refused:#?}");
}

#[test]
fn a_database_within_perbuck_reopens_its_file() {
    server("PERBUCK_DUCKDB_LIBRARY");
    let desk = Desk::new();
    let targets = [("a", "sqlite:a.db"), ("b", "duckdb:b.duckdb")];
    let contenders: String =
        targets.iter().map(|(name, target)| format!("[[contender]]\nname = \"{name}\"\ntarget = \"{target}\"\n")).collect();
    desk.write("s.toml", &study(&contenders, "caches = \"cold\"\n"));
    let ran = desk.good(&["run", "s.toml"]);
    let dropped = if may_drop() { ", page cache dropped" } else { "; the page cache could not be dropped (perbuck is not root)" };
    assert!(ran.err.contains(&format!("b, w: before each trial cold: file opened again{dropped}")), "{ran:#?}");
    let records = desk.records("results/s");
    assert_eq!(records.len(), 4);
    assert!(records.iter().all(|r| r.workload.cold.as_ref().unwrap().restarted == Restarted::File));
}

#[test]
fn a_server_that_perbuck_does_not_hold_is_refused() {
    let desk = Desk::new();
    for (contender, said) in [
        ("target = \"mysql://u@127.0.0.1:1/x\"", "perbuck did not start this server and cannot restart it"),
        ("server = { kind = \"tidb\" }", "this server would lose its data when it is restarted"),
    ] {
        desk.write("s.toml", &study(&format!("[[contender]]\nname = \"a\"\n{contender}\n"), "caches = \"cold\"\n"));
        let refused = desk.perbuck(&["check", "s.toml"]);
        assert!(refused.code == Some(2) && refused.err.contains(&format!("s.toml:5: contender `a`: {said}")), "{refused:#?}");
        assert!(refused.err.contains("leave `caches` out"), "{refused:#?}");
    }
}
