//! A study that leaves warm-up and window to pilot trials runs them once, keeps what they found, and counts none of them.

use crate::common::maria::{Maria, study};
use crate::common::{Desk, Ended, files};
use perbuck_core::run_record::RunRecord;

const POINTS: &str = "kind = \"sysbench\"\nscript = \"oltp_point_select\"\ntables = 1\ntable_size = 1000";

fn text(url: &str, pilot: &str, trials: u32) -> String {
    let sweep =
        format!("connections = [1]\nwarmup = \"auto\"\nduration = \"auto\"\npilot = \"{pilot}\"\ntrials = {trials}\nworkers = 1");
    study(url, POINTS, &sweep)
}

/// Runs the study. Where something else disturbs a pilot trial, it may refuse to find a window; then it names the way out, which is another
/// length of pilot trials. Returns that length.
fn run_until_settled(desk: &Desk, url: &str) -> (String, Ended) {
    for pilot in ["40s", "41s", "42s", "43s"] {
        desk.write("s.toml", &text(url, pilot, 1));
        let run = desk.perbuck(&["run", "s.toml"]);
        if run.code == Some(0) {
            return (pilot.to_owned(), run);
        }
        assert!(run.err.contains("did not settle within 13 s") || run.err.contains("did not settle within 14 s"), "{run:#?}");
        assert!(run.err.contains("a longer `pilot`"), "{run:#?}");
        assert!(!desk.path("results/s/m").exists(), "nothing was measured");
    }
    panic!("no pilot trial settled");
}

/// The records of pilot trials, and those that count.
fn records(desk: &Desk) -> (Vec<RunRecord>, Vec<RunRecord>) {
    let of = |folder: &str| {
        let mut paths = Vec::new();
        files(&desk.path(folder), &mut paths);
        let read = |path: &std::path::PathBuf| RunRecord::from_json(&std::fs::read_to_string(path).unwrap()).unwrap();
        paths.iter().filter(|path| path.extension().is_some_and(|e| e == "json")).map(read).collect::<Vec<_>>()
    };
    (of("results/s/pilot"), of("results/s/m"))
}

fn pilots_run_once(desk: &Desk, url: &str) {
    desk.write("s.toml", &text(url, "40s", 1));
    let check = desk.good(&["check", "s.toml"]);
    assert!(check.out.contains("pilot trials first find the lengths of w: 3 of 40 s, about 2:01 min"), "{check:#?}");
    let (pilot, run) = run_until_settled(desk, url);
    let said = format!("{}{}", run.out, run.err);
    assert!(said.contains("pilot trials first find the lengths of w"), "{said}");
    assert!(said.contains("pilot trials of 4") && said.contains("on each contender at 1 connection; "), "{said}");
    let (of_pilots, counting) = records(desk);
    assert!(of_pilots.len() >= 3 && counting.len() == 1, "{} {}", of_pilots.len(), counting.len());
    assert!(of_pilots.iter().all(|r| r.load.warmup_ns == 0 && r.load.pilots.is_none()));
    let kept = desk.read("results/s/study.toml");
    assert!(kept.contains("[[window]]\nworkload = \"w\"\nwarmup = \""), "{kept}");
    let load = counting[0].load.clone();
    for ns in [load.warmup_ns, load.duration_ns] {
        assert!(ns.is_multiple_of(5_000_000_000) && (5_000_000_000..=20_000_000_000).contains(&ns), "{load:?}");
        assert!(kept.contains(&format!("\"{}s\"", ns / 1_000_000_000)), "{kept}");
    }
    assert!(load.pilots.as_ref().is_some_and(|from| from.starts_with("3 pilot trials of 4")), "{load:?}");
    // The same command with another trial has no pilot trial again, and the same window.
    desk.write("s.toml", &text(url, &pilot, 2));
    let second = desk.good(&["run", "s.toml"]);
    assert!(!format!("{}{}", second.out, second.err).contains("pilot trials first find"), "{second:#?}");
    let (still, more) = records(desk);
    assert_eq!((still.len(), more.len()), (of_pilots.len(), 2));
    assert!(more.iter().all(|r| r.load == load && r.study_fingerprint == counting[0].study_fingerprint));
    // Reports know where it comes from, also with the study of the user, which has none.
    for study in [&["compare", "--json", "results/s"][..], &["compare", "--json", "results/s", "--study", "s.toml"]] {
        let comparison: serde_json::Value = serde_json::from_str(&desk.good(study).out).unwrap();
        assert_eq!(comparison["found"], 2, "pilot trials do not count");
    }
    desk.good(&["report", "results/s"]);
    let report = desk.read("results/s/report.md");
    assert!(
        report.contains("Pilot trials, which count for nothing else, found warm-up and window: 3 pilot trials of 4"),
        "{report}"
    );
    desk.good(&["verify", "results/s/report.html"]);
}

#[test]
fn pilot_trials_run_once_on_sqlite() {
    let desk = Desk::new();
    pilots_run_once(&desk, "sqlite:m.db");
}

#[test]
fn pilot_trials_run_once_on_mariadb() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "windows");
    let url = maria.url();
    pilots_run_once(&desk, &url);
}

#[test]
fn a_search_for_capacity_asks_for_the_lengths_that_no_pilot_trial_found() {
    let desk = Desk::new();
    desk.write("s.toml", &text("sqlite:m.db", "40s", 1));
    let refused = desk.perbuck(&["capacity", "s.toml", "--percentile", "99", "--at-most", "50ms"]);
    assert!(refused.code != Some(0) && refused.err.contains("give --warmup and --duration"), "{refused:#?}");
}
