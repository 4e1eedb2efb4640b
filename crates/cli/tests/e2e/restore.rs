//! `reset = "restore"`: data are saved once and restored before each further block, byte for byte.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::common::{Desk, LONG_ENOUGH, edited, ended, processes_of, server, signal, wait_until};

/// What a server's program does first when it starts to serve: it notes a sum over all files of its data.
const SUMS: &str = r#"#!/bin/sh
case "$*" in
*--bootstrap* | *--single* | *--version*) ;;
*) (cd data && find . -type f | LC_ALL=C sort | xargs -d '\n' md5sum | md5sum) >>SUMS_FILE ;;
esac
exec PROGRAM "$@"
"#;

/// The real program of a server.
fn program(kind: &str) -> PathBuf {
    if kind == "mariadb" {
        return "/usr/sbin/mariadbd".into();
    }
    let versions = fs::read_dir("/usr/lib/postgresql").unwrap().map(|entry| entry.unwrap().path().join("bin/postgres"));
    versions.filter(|path| path.exists()).max().unwrap()
}

/// Writes a study with one private server that notes sums of its data at each start, in order.
fn with_sums(desk: &Desk, (kind, named): (&str, &str), rest: &str) {
    fs::create_dir(desk.path("servers")).unwrap();
    let sums = desk.write("sums", "");
    fs::set_permissions(&sums, fs::Permissions::from_mode(0o666)).unwrap();
    let script = SUMS.replace("SUMS_FILE", sums.to_str().unwrap()).replace("PROGRAM", program(kind).to_str().unwrap());
    let wrapper = desk.write(named, &script);
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    desk.write(
        "s.toml",
        &format!(
            "schema = 1\nname = \"s\"\nseed = 1\n[[contender]]\nname = \"m\"\n\
             server = {{ kind = \"{kind}\", folder = \"{}\", program = \"{}\" }}\n[[workload]]\nname = \"w\"\n{rest}",
            desk.path("servers").display(),
            wrapper.display()
        ),
    );
}

fn runs_with_restores(kind: &str, named: &str) {
    let desk = Desk::new();
    let rest = "kind = \"tpcc\"\nwarehouses = 1\nreset = \"restore\"\n\
                [sweep]\nconnections = [1, 4]\nwarmup = \"100ms\"\nduration = \"1s\"\ntrials = 3\n";
    with_sums(&desk, (kind, named), rest);
    let planned = desk.good(&["plan", "s.toml"]);
    assert!(planned.out.contains("loaded once, and restored from a copy before each block"), "{planned:#?}");
    let ran = desk.good(&["run", "--verbose", "s.toml"]);
    let count = |words: &str| ran.err.matches(words).count();
    assert_eq!([count("m, w: loaded "), count("m, w: saved a copy of the data in ")], [1, 1], "{ran:#?}");
    assert_eq!(count("m, w: restored the data in "), 2, "{ran:#?}");
    assert!(ran.err.contains("after the last trial 11 of 12 conditions hold, 1 does not apply"), "{ran:#?}");
    // It starts on new data, and on those that were saved: right after, and after each restore.
    let sums = desk.read("sums");
    let [_, saved, restored @ ..] = &sums.lines().collect::<Vec<_>>()[..] else { panic!("{sums}") };
    assert!(restored.len() == 2 && restored.iter().all(|sum| sum == saved), "{sums}");
    let mut records = desk.records("results/s");
    records.sort_by_key(|record| record.position);
    let data: Vec<&str> = records.iter().map(|r| r.workload.data.as_str()).collect();
    assert_eq!(data, ["kept", "kept", "restored", "kept", "restored", "kept"]);
    let first = |trial: u32| records.iter().find(|r| r.key.trial == trial).unwrap();
    assert!((2..=3).all(|trial| first(trial).workload.rows_before == first(1).workload.rows_before));
    assert_ne!(first(1).workload.rows_after, first(1).workload.rows_before);
    assert_eq!(fs::read_dir(desk.path("servers")).unwrap().count(), 0);
    assert_eq!(processes_of(&desk.path("servers")), Vec::<u32>::new());
}

#[test]
fn mariadb_is_restored_byte_for_byte() {
    runs_with_restores("mariadb", "mariadbd");
}

#[test]
fn postgres_is_restored_byte_for_byte() {
    runs_with_restores("postgres", "postgres");
}

#[test]
fn with_a_prewarm_a_server_restarts_after_each_load() {
    for (prewarm, starts) in [("", 1), ("prewarm = \"indexes\"\n", 3)] {
        let desk = Desk::new();
        let rest = "kind = \"sysbench\"\nscript = \"oltp_insert\"\ntables = 1\ntable_size = 100\nreset = \"per-block\"\n\
                    [sweep]\nconnections = [1, 2]\nwarmup = \"100ms\"\nduration = \"1s\"\ntrials = 2\n";
        with_sums(&desk, ("mariadb", "mariadbd"), &format!("{rest}{prewarm}"));
        let ran = desk.good(&["run", "--verbose", "s.toml"]);
        assert_eq!(desk.read("sums").lines().count(), starts, "{ran:#?}");
        for told in ["m, w: started its server again, ", "m, w: prewarm of indexes: "] {
            assert_eq!(ran.err.matches(told).count(), starts - 1, "{ran:#?}");
        }
        let mut records = desk.records("results/s");
        records.sort_by_key(|record| record.position);
        assert_eq!(records.iter().map(|r| r.workload.data.as_str()).collect::<Vec<_>>(), ["kept", "kept", "reloaded", "kept"]);
    }
}

/// A study on two files, whose trials change the data.
fn on_files(edits: &[(&str, &str)]) -> String {
    edited(&[&[LONG_ENOUGH, ("table_size = 1000", "table_size = 1000\nreset = \"restore\""), ("[1, 2]", "[1]")], edits].concat())
}

fn copies(desk: &Desk) -> Vec<PathBuf> {
    let mut found = Vec::new();
    crate::common::files(&desk.path("."), &mut found);
    found.retain(|path| path.to_string_lossy().contains("perbuck-copy") || path.to_string_lossy().contains("unfinished"));
    found
}

fn data_of(desk: &Desk, contender: &str) -> Vec<String> {
    let mut records = desk.records("results");
    records.retain(|record| record.key.contender == contender);
    records.sort_by_key(|record| record.key.trial);
    records.into_iter().map(|record| record.workload.data).collect()
}

fn on_files_of(files: &[(&str, &str)]) {
    let desk = Desk::new();
    desk.write("study.toml", &on_files(&[files, &[("trials = 2", "trials = 3")]].concat()));
    let ran = desk.good(&["run", "--verbose", "study.toml"]);
    for contender in ["full", "off"] {
        assert_eq!(data_of(&desk, contender), ["kept", "restored", "restored"], "{ran:#?}");
        assert_eq!(ran.err.matches(&format!("{contender}, rw: saved a copy of the data in ")).count(), 1, "{ran:#?}");
    }
    assert_eq!(copies(&desk), Vec::<PathBuf>::new());
}

#[test]
fn files_of_sqlite_are_restored() {
    on_files_of(&[]);
}

#[test]
fn files_of_duckdb_are_restored() {
    server("PERBUCK_DUCKDB_LIBRARY");
    on_files_of(&[
        ("sqlite:full.db?synchronous=FULL", "duckdb:full.duckdb?threads=2"),
        ("sqlite:off.db?synchronous=OFF", "duckdb:off.duckdb?threads=1"),
    ]);
}

#[test]
fn a_run_that_was_killed_goes_on_with_its_copies_and_others_are_not_taken() {
    let desk = Desk::new();
    let copy = |desk: &Desk| desk.path("full.db.perbuck-copy");
    desk.write("study.toml", &on_files(&[("trials = 2", "trials = 3")]));
    let child = desk.command(&["run", "study.toml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("a trial of the second block", || desk.path("results/small/full/rw/c00001/002.json").exists());
    signal(&child, "KILL");
    assert_eq!(ended(child.wait_with_output().unwrap()).code, None, "killed");
    assert!(copy(&desk).exists());
    // As if it had been killed while it restored.
    fs::write(desk.path("full.db.perbuck-unfinished"), "half of a file").unwrap();
    let resumed = desk.good(&["run", "study.toml"]);
    assert_eq!(data_of(&desk, "full"), ["kept", "restored", "restored"], "{resumed:#?}");
    assert!(!resumed.err.contains("loaded"), "{resumed:#?}");
    assert_eq!(copies(&desk), Vec::<PathBuf>::new());

    // The copy of a study with other data.
    let other = Desk::new();
    other.write("study.toml", &on_files(&[("reset = \"restore\"", "reset = \"never\""), ("= 1000", "= 2000")]));
    other.good(&["prepare", "study.toml"]);
    let desk = Desk::new();
    desk.write("study.toml", &on_files(&[("trials = 2", "trials = 1")]));
    desk.good(&["run", "study.toml"]);
    fs::copy(other.path("full.db"), copy(&desk)).unwrap();
    desk.write("study.toml", &on_files(&[]));
    let ran = desk.good(&["run", "study.toml"]);
    assert!(ran.err.contains("full, rw: the copy holds other data, and is saved again"), "{ran:#?}");
    assert_eq!(data_of(&desk, "full"), ["kept", "reloaded"], "{ran:#?}");
    assert_eq!(copies(&desk), Vec::<PathBuf>::new());
}

#[test]
fn what_cannot_be_restored_is_refused() {
    let desk = Desk::new();
    let refused = |study: &str| {
        desk.write("study.toml", study);
        let refused = desk.perbuck(&["check", "study.toml"]);
        assert_eq!(refused.code, Some(2), "{refused:#?}");
        refused.err
    };
    let foreign = refused(&on_files(&[("sqlite:off.db?synchronous=OFF", "tidb://root@localhost/test")]));
    assert!(
        foreign.contains("workload `rw`, contender `off`: perbuck restores the data of servers that it starts itself"),
        "{foreign}"
    );
    let private = ("target = \"sqlite:off.db?synchronous=OFF\"", "server = { kind = \"tidb\" }");
    let tests_alone = refused(&on_files(&[private]));
    assert!(tests_alone.contains("this server loses its data when it is stopped, and cannot restore them"), "{tests_alone}");
    let both = "reset = \"restore\"\n[[workload]]\nname = \"inserts\"\nkind = \"sysbench\"\nscript = \"oltp_insert\"\ndatabase = \"other\"";
    let other = refused(&on_files(&[(private.0, "server = { kind = \"mariadb\" }"), ("reset = \"restore\"", both)]));
    assert!(other.contains("a copy holds the whole server, and `inserts` writes to it, too"), "{other}");
    assert!(!Path::new(&desk.path("results")).exists());
}
