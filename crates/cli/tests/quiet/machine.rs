//! What the machine limits, and what other programs do to the results folder while a study runs.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::{Desk, Ended, LONG_ENOUGH, QUICK, edited, ended, nothing_half_written, signal, wait_until};

/// The record of the first trial.
const RECORD: &str = "full/rw/c00001/001.json";

/// Runs a study under limits of the shell.
fn limited(desk: &Desk, limit: &str) -> Ended {
    let script = format!("{limit}; exec '{}' run study.toml", env!("CARGO_BIN_EXE_perbuck"));
    ended(Command::new("bash").args(["-c", &script]).current_dir(desk.path(".")).output().unwrap())
}

fn fails(ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, Some(code), "{ended:#?}");
    words.iter().for_each(|w| assert!(ended.err.contains(w), "{w}: {}", ended.err));
}

#[test]
fn a_need_for_descriptors_above_the_limit_is_said_before_anything_is_loaded() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&[("[1, 2]", "[300]"), QUICK[1], QUICK[2]]));
    let words = ["300 connections need 1,540 file descriptors, and this process may have 150", "help: raise the hard limit"];
    fails(&limited(&desk, "ulimit -n 150"), 2, &words);
    assert!(!desk.path("full.db").exists() && desk.records("results").is_empty());
    // A command in place of sysbench says the same.
    let words = "--db-driver=sqlite --sqlite-db=x.db --tables=1 --table-size=100";
    let sysbench = format!("exec '{}' sysbench oltp_read_only {words} --time=1", env!("CARGO_BIN_EXE_perbuck"));
    let script = format!("({sysbench} prepare) && ulimit -n 150 && {sysbench} --threads=300 run");
    let run = ended(Command::new("bash").args(["-c", &script]).current_dir(desk.path(".")).output().unwrap());
    assert!((run.out + &run.err).contains("300 connections need 1,540 file descriptors"));
}

#[test]
fn the_soft_limit_of_descriptors_is_no_limit() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&[("[1, 2]", "[30]"), QUICK[1], LONG_ENOUGH]));
    let run = limited(&desk, "ulimit -Sn 60");
    assert_eq!((run.code, desk.records("results").len()), (Some(0), 2), "{run:#?}");
}

#[test]
fn names_of_perbucks_own_files_are_refused() {
    let desk = Desk::new();
    for name in ["study.toml", "fingerprint", "id", "figures", "report.html", "live.jsonl.partial"] {
        desk.write("study.toml", &edited(&[("name = \"off\"", &format!("name = \"{name}\""))]));
        let refused = desk.perbuck(&["check", "study.toml"]);
        fails(
            &refused,
            2,
            &[&format!("contender `{name}` has the name of a file or folder that perbuck makes itself"), "study.toml:"],
        );
    }
    for name in ["sysbench", "tpcc", "tpch", "ch", "ycsb"] {
        desk.write("study.toml", &edited(&[("name = \"small\"", &format!("name = \"{name}\""))]));
        fails(&desk.perbuck(&["run", "study.toml"]), 2, &["study.toml:2: the study", "perbuck makes itself"]);
    }
    assert!(!desk.path("results").exists());
}

/// Starts a study of many trials and waits for the first record.
fn run_of_many(desk: &Desk) -> Child {
    desk.write("study.toml", &edited(&[("trials = 2", "trials = 40"), QUICK[0]]));
    let mut child = desk.command(&["run", "study.toml"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("there is a record", || {
        assert!(child.try_wait().unwrap().is_none());
        desk.path("results/small").join(RECORD).exists()
    });
    child
}

/// Before, the run went on in a folder of half a study.
#[test]
fn a_results_folder_that_is_moved_or_replaced_ends_the_run() {
    let desk = Desk::new();
    let (folder, moved) = (desk.path("results/small"), desk.path("moved"));
    let child = run_of_many(&desk);
    fs::rename(&folder, &moved).unwrap();
    let run = ended(child.wait_with_output().unwrap());
    fails(&run, 5, &["results/small was moved or removed while the study ran: it is not there now", "help: move it back"]);
    assert!(!folder.exists(), "nothing is written beside it");

    fs::remove_dir_all(&moved).unwrap();
    let child = run_of_many(&desk);
    // It must not see the moment between the two.
    signal(&child, "STOP");
    fs::rename(&folder, &moved).unwrap();
    let copied = Command::new("cp").arg("-r").args([&moved, &folder]).status().unwrap();
    assert!(copied.success());
    signal(&child, "CONT");
    let run = ended(child.wait_with_output().unwrap());
    fails(&run, 5, &["results/small was moved or removed while the study ran: another one stands in its place now"]);
    nothing_half_written(&folder);
    // What it says to do goes on.
    fs::remove_dir_all(&folder).unwrap();
    fs::rename(&moved, &folder).unwrap();
    desk.write("study.toml", &edited(&[("trials = 2", "trials = 1"), QUICK[0]]));
    desk.good(&["run", "study.toml"]);
}

#[test]
fn trials_that_ran_after_later_blocks_are_said() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&[QUICK[0], QUICK[2]]));
    desk.good(&["run", "study.toml"]);
    let report = || {
        desk.good(&["report", "results/small"]);
        desk.read("results/small/report.md")
    };
    assert!(!report().contains("after a trial of a later block"));
    fs::remove_file(desk.path("results/small").join(RECORD)).unwrap();
    desk.good(&["run", "study.toml"]);
    let said = report();
    assert!(said.contains("after a trial of a later block") && said.contains(RECORD), "{said}");
    desk.good(&["verify", "results/small/report.html"]);
}

/// The path in what strace says of a descriptor, as in `fsync(5</folder>)`.
fn path_of(call: &str) -> Option<&str> {
    Some(call.split_once('<')?.1.split_once('>')?.0)
}

/// A power cut must not undo a name that the run has gone on from.
#[test]
fn every_new_name_in_a_results_folder_is_synced() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&QUICK));
    let calls = "trace=rename,renameat,renameat2,link,linkat,mkdir,mkdirat,fsync";
    let traced = Command::new("strace")
        .args(["-f", "-y", "-s", "4096", "-e", calls, "-o", "calls", env!("CARGO_BIN_EXE_perbuck"), "run", "study.toml"])
        .current_dir(desk.path("."))
        .output()
        .unwrap();
    assert!(traced.status.success(), "{traced:?}");
    let calls = desk.read("calls");
    let calls: Vec<&str> = calls.lines().filter(|line| line.ends_with("= 0")).collect();
    let mut names = 0;
    for (n, call) in calls.iter().enumerate() {
        let made = ["rename", "link", "mkdir"].iter().any(|name| call.contains(&format!(" {name}")));
        // The new name is the last text of the call, relative to the folder in which perbuck runs.
        let Some(name) = call.rsplit('"').nth(1).filter(|name| made && name.starts_with("results")) else { continue };
        names += 1;
        let folder = desk.path(name).parent().unwrap().to_owned();
        let synced = calls[n..].iter().any(|c| c.contains(" fsync(") && path_of(c).is_some_and(|at| Path::new(at) == folder));
        assert!(synced, "{name} was not synced in {}: {call}", folder.display());
    }
    assert!(names > 10, "{names} names were made");
}
