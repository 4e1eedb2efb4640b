//! Mutated files of the kinds that perbuck reads: each is read or refused with words, and none makes a reader panic. The corpus is what
//! the repository holds: its studies, its price snapshots, the example of a record. `bench/fuzz-protocol` runs it with many more cases.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use perbuck_core::run_record::RunRecord;
use perbuck_core::study::Study;
use perbuck_lab::registry::Registry;
use perbuck_prices::snapshot::Snapshot;
use proptest::prelude::*;

const STUDIES: [&str; 5] = [
    include_str!("../../../studies/demo.toml"),
    include_str!("../../../studies/ycsb-local.toml"),
    include_str!("../../../studies/mariadb-durability.toml"),
    include_str!("../../../studies/mariadb-buffer-pool.toml"),
    include_str!("../../../studies/tidb-eks-arm-today.toml"),
];
const PRICES: &str = include_str!("../../../prices/aws-2021-03.toml");
const RECORD: &str = include_str!("../../../docs/schema/run-record.example.json");
/// Numbers at the edges of what a reader may take.
const NUMBERS: [&str; 9] =
    ["0", "-1", "1e308", "18446744073709551616", "9007199254740993", "NaN", "null", "1e-400", "99999999999999999999999999"];

/// One thing that is wrong with a file. Positions are parts of 10,000 of its length.
#[derive(Debug, Clone)]
enum Change {
    Cut(usize),
    Put(usize, String),
    Drop(usize, usize),
    Double(usize, usize),
    Number(usize, usize),
    Nest(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let at = || 0usize..10_000;
    prop_oneof![
        at().prop_map(Change::Cut),
        (at(), "\\PC{0,6}|[\\[\\]{}\"=\\n.,:#-]{1,4}|\u{1b}\\[2J|\u{202e}").prop_map(|(at, text)| Change::Put(at, text)),
        (at(), 1usize..200).prop_map(|(at, length)| Change::Drop(at, length)),
        (at(), 1usize..300).prop_map(|(at, length)| Change::Double(at, length)),
        (at(), 0..NUMBERS.len()).prop_map(|(at, number)| Change::Number(at, number)),
        at().prop_map(Change::Nest),
    ]
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec(change(), 1..4)
}

fn apply(text: &str, change: &Change) -> String {
    let boundary = |at: usize| (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    let position = |part: usize| boundary(text.len() * part / 10_000);
    match change {
        Change::Cut(part) => text[..position(*part)].to_owned(),
        Change::Put(part, put) => format!("{}{put}{}", &text[..position(*part)], &text[position(*part)..]),
        Change::Drop(part, length) => format!("{}{}", &text[..position(*part)], &text[boundary(position(*part) + length)..]),
        Change::Double(part, length) => format!("{}{}", &text[..boundary(position(*part) + length)], &text[position(*part)..]),
        Change::Nest(part) => format!("{}{}{}", &text[..position(*part)], "[".repeat(2_000), &text[position(*part)..]),
        Change::Number(part, number) => {
            let is_part = |c: char| c.is_ascii_digit() || c == '.';
            let Some(start) = text[position(*part)..].find(|c: char| c.is_ascii_digit()).map(|i| i + position(*part)) else {
                return text.to_owned();
            };
            let end = text[start..].find(|c| !is_part(c)).map_or(text.len(), |i| i + start);
            format!("{}{}{}", &text[..start], NUMBERS[*number], &text[end..])
        }
    }
}

fn spoilt(text: &str, changes: &[Change]) -> String {
    changes.iter().fold(text.to_owned(), |text, change| apply(&text, change))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_study_is_read_or_refused(which in 0..STUDIES.len(), changes in changes()) {
        let text = spoilt(STUDIES[which], &changes);
        match Study::read("s.toml", &text, &Registry::default().kinds()) {
            // What was taken can be planned.
            Ok(study) => prop_assert!(study.contenders.len() < 10_000),
            Err(problems) => prop_assert!(problems.iter().all(|p| !p.message.is_empty()) && !problems.is_empty()),
        }
    }

    #[test]
    fn any_record_is_read_or_refused(changes in changes()) {
        let text = spoilt(RECORD, &changes);
        match RunRecord::from_json(&text) {
            Ok(record) => prop_assert!(record.to_json().is_ok()),
            Err(why) => prop_assert!(!why.to_string().is_empty()),
        }
    }

    #[test]
    fn any_price_snapshot_is_read_or_refused(changes in changes()) {
        if let Err(problems) = Snapshot::read("p", &spoilt(PRICES, &changes)) {
            prop_assert!(!problems.is_empty());
        }
    }
}
