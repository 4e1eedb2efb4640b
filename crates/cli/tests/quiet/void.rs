//! A trial that counts for nothing is kept as evidence, measured again, and counted in the report.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::common::maria::{Maria, study};
use crate::common::{Desk, LONG_ENOUGH, QUICK, edited, files, wait_until};
use perbuck_core::run_record::{HistogramRecord, RunRecord, VoidReason};

/// The records that were set aside, in the order of their paths.
fn void(desk: &Desk, results: &str) -> Vec<(PathBuf, RunRecord)> {
    let mut found = Vec::new();
    files(&desk.path(results), &mut found);
    found.retain(|path| path.extension().is_some_and(|e| e == "void"));
    let read = |path: PathBuf| {
        let record = RunRecord::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
        (path, record)
    };
    found.into_iter().map(read).collect()
}

/// Report and verification know the void trials, and the page holds them.
fn is_reported(desk: &Desk, results: &str, words: &str) {
    desk.good(&["report", results]);
    for file in ["report.html", "report.md"] {
        let text = desk.read(&format!("{results}/{file}"));
        assert!(text.contains(words), "{file} does not say: {words}");
    }
    let comparison: serde_json::Value = serde_json::from_str(&desk.good(&["compare", "--json", results]).out).unwrap();
    assert_eq!(comparison["planned"], comparison["found"], "void trials are no trials of the plan");
    desk.good(&["verify", results]);
    let extracted = format!("{results}-extracted");
    desk.good(&["verify", results, "--extract", &extracted]);
    desk.good(&["report", &extracted]);
    assert_eq!(desk.read(&format!("{extracted}/report.html")), desk.read(&format!("{results}/report.html")));
    let (path, record) = void(desk, results).remove(0);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace(&format!("\"seed\": {}", record.seed.0), "\"seed\": 77")).unwrap();
    let changed = desk.perbuck(&["verify", results]);
    assert!(changed.code == Some(1) && changed.out.contains(&record.path()), "{changed:#?}");
    std::fs::write(&path, text).unwrap();
}

/// What older versions left: a record of a window without a single transaction, which no comparison accepts.
#[test]
fn a_folder_with_an_empty_trial_of_an_older_version_goes_on() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&[QUICK[0], QUICK[1], LONG_ENOUGH]));
    desk.good(&["run", "study.toml"]);
    let path = desk.path("results/small/full/rw/c00001/001.json");
    let mut record = RunRecord::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for kind in record.measured.transactions.values_mut() {
        (kind.committed, kind.rolled_back, kind.service) = (0, 0, HistogramRecord::default());
    }
    std::fs::write(&path, record.to_json().unwrap()).unwrap();
    let ran = desk.good(&["run", "study.toml"]);
    assert!(ran.err.contains("001.1.void"), "{ran:#?}");
    let aside = void(&desk, "results/small");
    assert_eq!(aside.len(), 1);
    let (path, kept) = &aside[0];
    assert!(path.ends_with(kept.path()) && kept.started_unix_ms == record.started_unix_ms, "the evidence is that trial");
    assert!(matches!(kept.void.as_ref().unwrap().why, VoidReason::NothingCompleted { .. }), "{:?}", kept.void);
    assert!(desk.records("results").iter().all(|r| r.void.is_none() && r.void_reason().is_none()));
    is_reported(&desk, "results/small", "1 trial: void, and in no number: no transaction was completed");
    desk.good(&["run", "study.toml"]);
    assert_eq!(void(&desk, "results/small"), aside, "a second run does nothing");
}

/// A session that lets no other one write to the table of the study.
struct Lock(Child);

impl Lock {
    fn hold(maria: &Maria) -> Self {
        let child = Command::new("mariadb")
            .args(["--no-defaults", "-h", &maria.host, "-P", &maria.port, "-u", "root", &maria.database, "-e"])
            .arg("LOCK TABLES sbtest1 READ; SELECT SLEEP(600)")
            .env("MYSQL_PWD", &maria.password)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the table is locked", || maria.sql("SHOW OPEN TABLES WHERE In_use > 0").contains("sbtest1"));
        Self(child)
    }

    fn release(mut self, maria: &Maria) {
        let id = maria.sql("SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(600)%'");
        maria.sql(&format!("KILL {}", id.trim()));
        self.0.wait().unwrap();
    }
}

#[test]
fn a_trial_without_a_transaction_is_measured_three_times_and_never_blocks_its_folder() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "void");
    let workload = "kind = \"sysbench\"\nscript = \"oltp_write_only\"\ntable_size = 1000\nreset = \"never\"";
    let sweep = "connections = [2]\nwarmup = \"2s\"\nduration = \"1s\"\ntrials = 2";
    desk.write("s.toml", &study(&maria.url(), workload, sweep));
    desk.good(&["prepare", "s.toml"]);
    let before = maria.status("Com_commit");
    let child = desk.command(&["run", "s.toml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the warm-up is on", || maria.status("Com_commit") > before + 20);
    let lock = Lock::hold(&maria);
    // The settings and notes of the study are in other tables, so it goes on to the second and third measurement.
    let gave_up = crate::common::ended(child.wait_with_output().unwrap());
    lock.release(&maria);
    assert_eq!(gave_up.code, Some(1), "{gave_up:#?}");
    assert!(gave_up.err.contains("3 measurements of m · w · 2 connections · trial 1 are void"), "{gave_up:#?}");
    assert!(gave_up.err.contains("no transaction was completed"), "{gave_up:#?}");
    assert_eq!(void(&desk, "results/s").len(), 6, "a trial that is given up does not keep the next one from being measured");
    let nothing = desk.perbuck(&["compare", "results/s"]);
    assert!(nothing.code == Some(1) && nothing.err.contains("its 6 trials are void"), "{nothing:#?}");
    desk.good(&["run", "s.toml"]);
    assert_eq!((void(&desk, "results/s").len(), desk.records("results").len()), (6, 2));
    is_reported(&desk, "results/s", "6 trials: void, and in no number: no transaction was completed");
}
