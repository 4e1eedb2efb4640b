//! A study that was broken off goes on where it was: nothing is lost, doubled or measured again.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::SystemTime;

use crate::common::{Desk, edited, ended, files, nothing_half_written, signal, wait_until};
use perbuck_core::metric::TPS;
use perbuck_core::run_record::RunRecord;

/// Every record file with what tells whether it was touched.
type Seen = BTreeMap<PathBuf, (Vec<u8>, SystemTime)>;

fn seen(desk: &Desk) -> Seen {
    let mut found = Vec::new();
    let root = desk.path("results/small");
    if root.exists() {
        files(&root, &mut found);
    }
    found.retain(|p| p.extension().is_some_and(|e| e == "json"));
    let look = |p: PathBuf| {
        let state = (std::fs::read(&p).unwrap(), p.metadata().unwrap().modified().unwrap());
        (p, state)
    };
    found.into_iter().map(look).collect()
}

fn start(desk: &Desk, arguments: &[&str]) -> Child {
    desk.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The records of a study are exactly those of its plan, each in its own place of the order.
fn is_the_plan(desk: &Desk, records: &[RunRecord]) {
    let study = perbuck_core::study::Study::read(
        "study.toml",
        &desk.read("study.toml"),
        &perbuck_lab::registry::Registry::default().kinds(),
    )
    .unwrap();
    let plan = study.plan();
    assert_eq!(records.len(), plan.len(), "none lost, none doubled");
    for record in records {
        assert_eq!(plan[record.position as usize], record.key);
    }
}

/// What `compare` and `report` say is what the records hold.
fn is_reported(desk: &Desk, records: &[RunRecord]) {
    let comparison: serde_json::Value = serde_json::from_str(&desk.good(&["compare", "--json", "results/small"]).out).unwrap();
    assert_eq!((&comparison["planned"], &comparison["found"]), (&records.len().into(), &records.len().into()));
    for point in comparison["workloads"][0]["points"].as_array().unwrap() {
        let mine = |r: &&RunRecord| r.key.contender == point["contender"] && r.key.connections == point["level"];
        let computed: Vec<f64> = records.iter().filter(mine).map(|r| r.metric(&TPS)).collect();
        let said: Vec<f64> = point["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        assert_eq!(said, computed, "{point}");
    }
    desk.good(&["report", "results/small"]);
    assert!(desk.read("results/small/report.html").contains("</html>"));
    assert!(desk.read("results/small/report.md").contains("full"));
}

/// A start that is killed while the folder is made leaves files under the names that the next one writes.
#[test]
fn a_start_that_was_killed_does_not_stop_the_next_one() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&[("trials = 2", "trials = 1")]));
    for name in ["fingerprint", "study.toml"] {
        desk.write(&format!("results/small/{name}.partial"), "half");
    }
    desk.good(&["run", "study.toml"]);
    nothing_half_written(&desk.path("results"));
}

#[test]
fn a_killed_study_goes_on_and_touches_no_finished_trial() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&[("trials = 2", "trials = 3")]));
    let mut child = start(&desk, &["run", "study.toml"]);
    wait_until("two trials are on disk", || seen(&desk).len() >= 2);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let before = seen(&desk);
    assert!((2..12).contains(&before.len()), "killed in the middle: {}", before.len());
    // What a power cut in the middle of a write leaves.
    let torn = desk.write("results/small/full/rw/c00001/009.json.partial", "{ \"schema\": 1, \"perb");

    let ran = desk.good(&["run", "study.toml"]);
    let words = format!("{} of 12 trials are on disk; going on with the others", before.len());
    assert!(ran.err.contains(&words), "{ran:#?}");
    let after = seen(&desk);
    assert!(
        before.iter().all(|(path, state)| after.get(path) == Some(state)),
        "finished trials are the same bytes of the same time"
    );
    assert!(!torn.exists(), "the torn file is swept");
    nothing_half_written(&desk.path("results"));
    let records = desk.records("results");
    is_the_plan(&desk, &records);
    is_reported(&desk, &records);

    let rerun = desk.good(&["run", "study.toml"]);
    assert!(rerun.err.contains("all 12 trials are on disk"), "{rerun:#?}");
    assert_eq!(seen(&desk).keys().count(), 12);
    assert!(seen(&desk).iter().all(|(path, state)| after[path] == *state));
}

#[test]
fn an_interruption_throws_the_broken_trial_away_and_says_so() {
    for name in ["INT", "TERM"] {
        let desk = Desk::new();
        desk.write("study.toml", &edited(&[("\"200ms\"", "\"2s\""), ("[1, 2]", "[2]"), ("trials = 2", "trials = 1")]));
        let child = start(&desk, &["run", "study.toml"]);
        wait_until("the first trial is on disk", || seen(&desk).len() == 1);
        signal(&child, name);
        let ended = ended(child.wait_with_output().unwrap());
        assert_eq!(ended.code, Some(130), "{ended:#?}");
        assert!(ended.err.contains("interrupted; finished trials are kept"), "{ended:#?}");
        assert!(ended.err.contains("help: run the same command again to go on"), "{ended:#?}");
        let before = seen(&desk);
        assert_eq!(before.len(), 1, "the broken trial has no record");
        nothing_half_written(&desk.path("results"));
        desk.good(&["run", "study.toml"]);
        is_the_plan(&desk, &desk.records("results"));
        let after = seen(&desk);
        assert!(before.iter().all(|(path, state)| after.get(path) == Some(state)), "the finished trial is untouched");
    }
}

/// A load that takes a while, for something to happen in the middle of it.
fn slow_load() -> String {
    edited(&[("table_size = 1000", "tables = 8\ntable_size = 20000"), ("trials = 2", "trials = 1"), ("[1, 2]", "[1]")])
}

/// How far the load of the first contender is: the last word that perbuck noted, and rows of the first table.
fn loading(desk: &Desk) -> Option<(String, i64)> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let database = rusqlite::Connection::open_with_flags(desk.path("full.db"), flags).ok()?;
    let word = database.query_row("SELECT used_by FROM perbuck_data", [], |row| row.get(0)).ok()?;
    let rows = database.query_row("SELECT COUNT(*) FROM sbtest1", [], |row| row.get(0)).ok()?;
    Some((word, rows))
}

fn breaks_off_the_load(desk: &Desk, name: &str) -> std::process::ExitStatus {
    let mut child = start(desk, &["prepare", "study.toml"]);
    wait_until("the load is under way", || loading(desk).is_some_and(|(_, rows)| rows > 0));
    signal(&child, name);
    let status = child.wait().unwrap();
    assert_eq!(loading(desk).unwrap().0, "loading", "broken off in the middle");
    status
}

#[test]
fn a_load_that_was_broken_off_starts_over() {
    for (name, code, killed) in [("KILL", None, Some(9)), ("INT", Some(130), None)] {
        let desk = Desk::new();
        desk.write("study.toml", &slow_load());
        let status = breaks_off_the_load(&desk, name);
        assert_eq!((status.code(), status.signal()), (code, killed));
        let ran = desk.good(&["run", "study.toml"]);
        assert!(ran.err.contains("full, rw: loaded 160,000 rows"), "{ran:#?}");
        assert!(ran.err.contains("full, rw: 16 of 16 conditions hold"), "{ran:#?}");
        let checked = desk.good(&["prepare", "--check", "--verbose", "study.toml"]);
        assert!(checked.err.contains("sbtest8 has 20000 rows (20,000 compared)"), "{checked:#?}");
        for record in desk.records("results") {
            let counts: Vec<u64> = record.workload.rows_before.values().copied().collect();
            assert_eq!(counts, [20_000; 8], "{}", record.key.path());
        }
    }
}

/// A study that ends with its verdicts: without its durable commits one of the two is several times as fast.
fn until_decided(edits: &[(&str, &str)]) -> String {
    let rule = ("trials = 2\n", "trials = 30\n[decision]\nuntil = \"decided\"\n");
    edited(
        &[&[("[1, 2]", "[1]"), rule, ("table_size = 1000", "table_size = 1000\nscript = \"oltp_update_index\"")], edits].concat(),
    )
}

fn compared(desk: &Desk) -> perbuck_core::compare::Comparison {
    serde_json::from_str(&desk.good(&["compare", "--json", "results/small"]).out).unwrap()
}

#[test]
fn a_study_ends_when_its_verdicts_are_there_and_keeps_its_rule() {
    let desk = Desk::new();
    desk.write("study.toml", &until_decided(&[]));
    assert!(desk.good(&["plan", "study.toml"]).out.contains("at most 60 trials"));
    // Killed after the first look, it goes on as it would have.
    let mut child = start(&desk, &["run", "study.toml"]);
    wait_until("five trials are on disk", || seen(&desk).len() >= 5);
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = desk.good(&["run", "study.toml"]);
    assert!(ran.err.contains("no verdict is waited for any more"), "{ran:#?}");
    let records = desk.records("results");
    assert!((6..60).contains(&records.len()) && records.len().is_multiple_of(2), "{}", records.len());
    let c = compared(&desk);
    let looks = c.looks.as_ref().unwrap();
    assert_eq!((c.planned, c.found, looks.rules.len()), (records.len(), records.len(), 1));
    // Thirty looks at most: 99.4 % each.
    assert!((looks.confidence - 0.994).abs() < 0.001 && c.decision.confidence == 0.95, "{looks:?}");
    let rival = &c.workloads[0].contenders[1];
    let judged = rival.price[0].value_for_money.as_ref().unwrap();
    assert_eq!(judged.verdict.word(), "better");
    let half = perbuck_core::stats::student_quantile(looks.confidence, judged.ratio.freedom) * judged.ratio.log_error;
    assert!((judged.ratio.interval.unwrap().low / (judged.ratio.value * (-half).exp()) - 1.0).abs() < 1e-12);
    let rerun = desk.good(&["run", "study.toml"]);
    assert!(
        rerun.err.contains("the verdicts are there, or cannot be expected") && desk.records("results").len() == records.len(),
        "{rerun:#?}"
    );
    desk.good(&["report", "results/small"]);
    assert!(desk.read("results/small/report.md").contains("all looks together have 95 %"));
    desk.good(&["verify", "results/small/report.html"]);
    // The rule is that of the first trial.
    desk.write("study.toml", &until_decided(&[("until = \"decided\"", "until = \"decided\"\nmargin = 0.05\nleast = 4")]));
    let refused = desk.perbuck(&["run", "study.toml"]);
    let says = "decision.margin: 0.03 → 0.05; decision.until: decided, least 3 → decided, least 4";
    assert!(refused.code == Some(4) && refused.err.contains(says), "{refused:#?}");
    // A report by another rule is another look.
    let other = desk.good(&["compare", "--study", "study.toml", "results/small"]);
    assert!(other.out.contains("the rule of the verdicts was changed after results could be seen"), "{other:#?}");
}

#[test]
fn a_budget_ends_a_run_between_blocks_and_the_next_run_goes_on() {
    let desk = Desk::new();
    desk.write("study.toml", &until_decided(&[("until = \"decided\"", "until = \"decided\"\nleast = 20\nbudget = \"2s\"")]));
    let ran = desk.good(&["run", "study.toml"]);
    assert!(ran.err.contains("would use more than the budget of 0:02 min; the same command goes on"), "{ran:#?}");
    let before = desk.records("results").len();
    assert!(before < 40 && before.is_multiple_of(2), "{before}");
    // Before its first look a study has no verdict.
    let missing = 20 - before / 2;
    let words = format!("{missing} planned trial{} missing", if missing == 1 { " is" } else { "s are" });
    assert!(desk.good(&["compare", "results/small"]).out.replace('\n', " ").contains(&words), "{words}");
    desk.good(&["run", "study.toml"]);
    assert!(desk.records("results").len() > before);
}

#[test]
fn trials_that_are_added_after_verdicts_were_there_are_told_and_cost_confidence() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&[("[1, 2]", "[1]")]));
    desk.good(&["run", "study.toml"]);
    assert_eq!(compared(&desk).looks, None);
    desk.write("study.toml", &edited(&[("[1, 2]", "[1]"), ("trials = 2", "trials = 4")]));
    let ran = desk.good(&["run", "study.toml"]);
    let told = "the number of trials was changed after results could be seen: 2, then 4";
    assert!(ran.out.replace('\n', " ").replace("  ", " ").contains(told), "{ran:#?}");
    let looks = compared(&desk).looks.unwrap();
    assert!(looks.rules.len() == 2 && (looks.confidence - 0.975).abs() < 1e-12, "{looks:?}");
}
