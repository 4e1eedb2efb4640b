//! A run that is noisier than earlier studies of its targets is named before its last block.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, available_parallelism};

use crate::common::{Desk, LONG_ENOUGH, edited, ended, wait_until};

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

/// Takes the processors from all others until it is dropped.
struct Hog(Arc<AtomicBool>);

impl Hog {
    /// So many threads that one of another process gets a small part of a processor, however many there are.
    fn start() -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        for _ in 0..24 * available_parallelism().unwrap().get() {
            let ends = Arc::clone(&ends);
            thread::spawn(move || while !ends.load(Ordering::Relaxed) {});
        }
        Self(ends)
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_hog_of_processors_that_starts_after_the_second_block_is_named_before_the_last_one() {
    let desk = Desk::new();
    let of = |name: &str| {
        edited(&[
            ("name = \"small\"", &format!("name = \"{name}\"")),
            ("trials = 2", "trials = 6"),
            ("[1, 2]", "[1]"),
            LONG_ENOUGH,
        ])
    };
    desk.write("first.toml", &of("first"));
    desk.good(&["run", "first.toml"]);
    desk.write("second.toml", &of("second"));
    let run = desk.command(&["run", "second.toml", "--verbose"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let second_block = ["full", "off"].map(|contender| desk.path(&format!("results/second/{contender}/rw/c00001/002.json")));
    wait_until("the second block ends", || second_block.iter().all(|record| record.exists()));
    let hog = Hog::start();
    let ran = ended(run.wait_with_output().unwrap());
    drop(hog);
    let at = |part: &str| ran.err.find(part).unwrap_or_else(|| panic!("{part} is missing in {ran:#?}"));
    // The other contender waits for its disk, and not for a processor.
    let named = at("off on rw is noisier than before: its trials scatter by ");
    assert!(at("[4/12]") < named && named < at("[11/12]"), "{ran:#?}");
    assert_eq!(ran.code, Some(0), "{ran:#?}");
}
