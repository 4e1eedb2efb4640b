//! A clock that was set between two trials is said, with the size of its step.

use crate::common::{Desk, LONG_ENOUGH, QUICK, edited};
use perbuck_core::run_record::RunRecord;

#[test]
fn a_clock_that_was_set_back_an_hour_between_trials_is_named() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&[QUICK[0], ("trials = 2", "trials = 2"), LONG_ENOUGH]));
    desk.good(&["run", "study.toml"]);
    let mut records = desk.records("results/small");
    assert!(records.iter().all(|r| r.started_boot.is_some()));
    desk.good(&["report", "results/small"]);
    assert!(!desk.read("results/small/report.md").contains("clock of the client"), "no step where none was");
    // What a clock that was set back an hour after the first trial leaves in the records.
    records.sort_by_key(|r| r.position);
    for record in &records[1..] {
        let set = RunRecord { started_unix_ms: record.started_unix_ms - 3_600_000, ..record.clone() };
        std::fs::write(desk.path("results/small").join(record.path()), set.to_json().unwrap()).unwrap();
    }
    desk.good(&["report", "results/small"]);
    let words = "the clock of the client's machine was set back by 3,600.0 s before the trial; by the times in their records";
    assert!(desk.read("results/small/report.md").contains(words), "{}", desk.read("results/small/report.md"));
    assert!(desk.good(&["compare", "results/small"]).out.contains("set back by 3,600.0 s"));
    desk.good(&["verify", "results/small"]);
}
