//! A benchmark that perbuck does not have, from one folder and one line, runs a whole study.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod toy;

use std::path::{Path, PathBuf};

use perbuck_lab::databases::AllDatabases;
use perbuck_lab::progress::Quiet;
use perbuck_lab::registry::Registry;
use perbuck_lab::run::RunOptions;
use perbuck_lab::{Lab, LabOptions};
use perbuck_load::stop::StopToken;
use perbuck_report::text::Screen;
use perbuck_report::{html, text};
use perbuck_workloads::Workloads;

/// The one line.
type Benchmarks = (toy::Toy, Workloads);

fn study(folder: &Path, workload: &str) -> PathBuf {
    let text = format!(
        "schema = 1\nname = \"toys\"\n[[contender]]\nname = \"a\"\ntarget = \"sqlite:{0}/a.db\"\n\
         [[contender]]\nname = \"b\"\ntarget = \"sqlite:{0}/b.db\"\n[[workload]]\nname = \"reads\"\nkind = \"toy\"\n{workload}\n\
         [sweep]\nconnections = [1]\nwarmup = \"0s\"\nduration = \"1s\"\ntrials = 2\n",
        folder.display()
    );
    let path = folder.join("study.toml");
    std::fs::write(&path, text).unwrap();
    path
}

fn open(folder: &Path, workload: &str) -> Result<Lab, String> {
    let run = RunOptions { results: folder.join("results"), ..RunOptions::default() };
    let options = LabOptions { run, registry: Registry::of::<AllDatabases, Benchmarks>(), ..LabOptions::default() };
    Lab::open(&study(folder, workload), options).map_err(|e| format!("{e:?}"))
}

#[test]
fn its_metric_is_in_records_comparison_and_report() {
    let folder = tempfile::tempdir().unwrap();
    let lab = open(folder.path(), "rows = 20\ngood_share = 0.25").unwrap();
    let results = lab.run(&mut Quiet, &StopToken::default()).unwrap();
    let compared = &results.comparison.workloads[0];
    assert_eq!((compared.metric.name.as_ref(), results.used().len()), ("good_per_minute", 4));
    for record in results.used() {
        let kinds = &record.measured.transactions;
        let (good, bad) = (kinds["good"].completed() as f64, kinds["bad"].completed() as f64);
        assert!((0.15..0.35).contains(&(good / (good + bad))), "{good} of {}", good + bad);
        let expected = good * 60.0 / (record.measured.window_ns as f64 / 1e9);
        assert_eq!(record.metric(record.workload.metric.metric()), expected);
        assert_eq!(record.workload.parameters["good_share"], "0.25");
    }
    let report = results.report().unwrap();
    let page = html::render(&report);
    for said in ["good reads per minute (good/min)", "reads is a toy."] {
        assert!(page.contains(said), "{said}");
    }
    // A file that the page links to tells what a value is made of.
    let model = serde_json::to_string(&report).unwrap();
    assert!(model.contains("\"60 × "), "{model}");
    assert!(text::verdicts(&results.study, &results.comparison, Screen::default()).contains("good/min"));
}

#[test]
fn its_parameters_and_metrics_are_checked_like_those_of_others() {
    let folder = tempfile::tempdir().unwrap();
    for (workload, expected) in [
        ("good_share = 1.5", "`good_share` is 1.5, not a number from 0 to 1"),
        ("rowz = 1", "did you mean `rows`?"),
        ("metric = \"tpmc\"", "workload `reads` has no new-order transactions, so it has no tpmC"),
        (
            "metric = \"best\"",
            "use one of \\\"tps\\\", \\\"qps\\\", \\\"good_per_minute\\\", \\\"rows\\\", \\\"tpmc\\\", \\\"qphh\\\", \\\"qph_read\\\", \\\"queries\\\", \\\"ch_queries\\\", \\\"relative\\\"",
        ),
        (
            "metric = \"relative\"",
            "use \\\"tps\\\", \\\"qps\\\", \\\"good_per_minute\\\", \\\"rows\\\", \\\"tpmc\\\", \\\"qphh\\\", \\\"qph_read\\\", \\\"queries\\\" or \\\"ch_queries\\\"",
        ),
    ] {
        let problem = open(folder.path(), workload).err().unwrap();
        assert!(problem.contains(expected), "{workload}: {problem}");
    }
    let unknown = Lab::open(&study(folder.path(), ""), LabOptions::default()).err().unwrap();
    assert!(format!("{unknown:?}").contains("there is no workload kind"), "{unknown:?}");
}
