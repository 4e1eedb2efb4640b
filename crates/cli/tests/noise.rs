//! A run that is noisier than earlier studies of its targets is named before its last block.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use common::{Desk, edited};

#[test]
fn a_run_that_is_noisier_than_its_history_is_named_before_its_last_block() {
    let desk = Desk::new();
    let short = |name: &str, trials: &str| {
        edited(&[("name = \"small\"", &format!("name = \"{name}\"")), ("trials = 2", trials), ("[1, 2]", "[1]")])
    };
    desk.write("first.toml", &short("first", "trials = 6"));
    let first = desk.good(&["run", "first.toml"]);
    assert!(!first.err.contains("noisier"), "without a history nothing is noisier: {first:#?}");
    // As if these targets had always done a thousand transactions a second, within a tenth of a per mille.
    for mut record in desk.records("results/first") {
        let per_second = 1_000.0 + 0.1 * f64::from(record.key.trial % 2);
        let metric = record.workload.metric.metric().clone();
        record.measured.window_ns = (record.counted(&metric) as f64 / per_second * 1e9) as u64;
        desk.write(&format!("results/first/{}", record.key.path()), &record.to_json().unwrap());
    }
    desk.write("second.toml", &short("second", "trials = 4"));
    let second = desk.good(&["run", "second.toml", "--verbose"]);
    let at = |part: &str| second.err.find(part).unwrap_or_else(|| panic!("{part} is missing in {second:#?}"));
    assert!(at("trials of earlier studies of these targets scatter by 0.0 %") < at("[1/8]"));
    for contender in ["full", "off"] {
        assert!(at(&format!("{contender} on rw is noisier than before: its trials scatter by ")) < at("[8/8]"));
    }
    // A study of other targets has no history here.
    desk.write("third.toml", &short("third", "trials = 2").replace("full.db", "third.db").replace("off.db", "other.db"));
    let third = desk.good(&["run", "third.toml", "--verbose"]);
    assert!(!third.err.contains("noisier") && !third.err.contains("of earlier studies"), "{third:#?}");
}
