//! Records of schema 1, written by perbuck before metrics were declared: read, kept as they are, and compared as they were.
//!
//! `schema_1/comparison.json` is what that perbuck printed for these records. They lack what no comparison looks at.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use perbuck_core::compare::{Comparison, compare};
use perbuck_core::run_record::RunRecord;
use perbuck_lab::stored::read_study;
use perbuck_workloads::tpcc::TPMC;
use serde_json::Value;

const STUDY: &str = include_str!("schema_1/study.toml");
const RECORDS: &str = include_str!("schema_1/records.jsonl");
const COMPARISON: &str = include_str!("schema_1/comparison.json");

fn records() -> Vec<RunRecord> {
    RECORDS.lines().map(|line| RunRecord::from_json(line).unwrap()).collect()
}

/// Whether two values are the same; the last digits of logarithms differ between processors.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => a == b,
    }
}

#[test]
fn they_are_read_and_written_as_they_were() {
    for (line, record) in RECORDS.lines().zip(records()) {
        let written: Value = serde_json::from_str(&record.to_json().unwrap()).unwrap();
        assert!(same(&written, &serde_json::from_str(line).unwrap()), "{}", record.key.path());
    }
    let metrics: Vec<String> = records().iter().map(|r| r.workload.metric.metric().name.to_string()).collect();
    assert_eq!(metrics[..6], ["tps", "tps", "tpmc", "tpmc", "tps", "tps"]);
    assert_eq!(records()[2].workload.metric.metric(), &TPMC, "the word means what the room declares today");
}

#[test]
fn their_comparison_is_the_one_that_was_printed() {
    let made = compare(&read_study(STUDY).unwrap(), &records(), &[], &[]).unwrap();
    let printed = serde_json::from_str(COMPARISON).unwrap();
    let (printed, made) = Comparison::comparable(printed, serde_json::to_value(&made).unwrap());
    for (made, printed) in made["workloads"].as_array().unwrap().iter().zip(printed["workloads"].as_array().unwrap()) {
        assert!(same(made, printed), "{made}\nwas\n{printed}");
    }
    assert!(same(&made, &printed), "{made}\nwas\n{printed}");
}

#[test]
fn a_metric_that_is_named_later_is_made_of_the_same_counters() {
    let text = STUDY.replace("over = \"peak\"", "over = \"peak\"\nmetric = \"qps\"");
    let made = compare(&read_study(&text).unwrap(), &records(), &[], &[]).unwrap();
    assert!(made.workloads.iter().all(|w| w.metric.name == "qps" && w.contenders[0].value.unwrap() > 0.0));
}
