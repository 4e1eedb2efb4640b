//! Answers of two contenders to the same queries.

use std::borrow::Cow;

use super::*;
use crate::workload_kind::{Kinds, WorkloadKind};

const KINDS_ANSWERED: &[Cow<'static, str>] = &[Cow::Borrowed("q1"), Cow::Borrowed("q2")];

/// Its answers are known unless its data are refreshed.
static QUERIES: WorkloadKind = WorkloadKind {
    answers: |parameters| if parameters.get("refresh").is_some_and(|v| v == "true") { &[] } else { KINDS_ANSWERED },
    ..WorkloadKind::plain("sysbench", "")
};

/// The trials of two contenders whose queries had these digests.
fn answered() -> Vec<RunRecord> {
    let mut records = records();
    for r in &mut records {
        let facts =
            BTreeMap::from([("digest_1".to_owned(), 7), ("digest_2".to_owned(), u64::from(r.key.trial)), ("rows".to_owned(), 1)]);
        let mixed = r.measured.transactions["mixed"].clone();
        for kind in ["q1", "q2", "q3"] {
            let of = TransactionRecord { committed: 2, failed: 0, facts: facts.clone(), ..mixed.clone() };
            r.measured.transactions.insert(kind.to_owned(), of);
        }
    }
    records
}

fn said(records: &[RunRecord], kinds: &Kinds) -> Vec<(String, usize, String)> {
    let study = Study::read("s.toml", STUDY, kinds).unwrap();
    let remarks = compare(&study, records, &[], &[]).unwrap().remarks;
    remarks.into_iter().filter(|r| r.text.starts_with("answers of ")).map(|r| (r.text, r.trials, r.example)).collect()
}

fn change(records: &mut [RunRecord], trial: u32, kind: &str, edit: impl Fn(&mut TransactionRecord)) {
    let of = records.iter_mut().filter(|r| r.key.contender == "x86" && r.key.connections == 8 && r.key.trial == trial);
    of.for_each(|r| edit(r.measured.transactions.get_mut(kind).unwrap()));
}

fn wrong(of: &mut TransactionRecord) {
    of.facts.insert("digest_2".to_owned(), 99);
}

#[test]
fn answers_that_differ_between_contenders_are_remarked_by_trial_and_query() {
    let (mut records, kinds) = (answered(), [&QUERIES]);
    assert_eq!(said(&records, &kinds), []);
    change(&mut records, 2, "q2", wrong);
    let text = "answers of arm and x86 to the same queries differ in trial 2: q2";
    assert_eq!(said(&records, &kinds), [(text.to_owned(), 1, "x86/small/c00008/002.json".to_owned())]);
    change(&mut records, 3, "q1", wrong);
    let text = "answers of arm and x86 to the same queries differ in trials 2, 3: q1, q2";
    assert_eq!(said(&records, &kinds), [(text.to_owned(), 2, "x86/small/c00008/002.json".to_owned())]);
    // Who does not know the kind does not know its answers.
    assert_eq!(said(&records, &[]), []);
}

#[test]
fn other_work_and_other_data_have_other_answers() {
    let edits: [fn(&mut RunRecord); 5] = [
        |r| r.trial_seed = Seed(99),
        |r| {
            r.workload.parameters.insert("refresh".to_owned(), "true".to_owned());
        },
        |r| {
            r.workload.rows_before.insert("orders".to_owned(), 1);
        },
        |r| r.load.connections += 1,
        |r| r.perbuck = "0.0.1".to_owned(),
    ];
    for edit in edits {
        let mut records = answered();
        change(&mut records, 1, "q1", wrong);
        assert_eq!(said(&records, &[&QUERIES]).len(), 1);
        records.iter_mut().filter(|r| r.key.contender == "x86").for_each(edit);
        assert_eq!(said(&records, &[&QUERIES]), []);
    }
    let mut records = answered();
    // Facts that are no digest, a kind whose answers are not known, and one with a failed query.
    change(&mut records, 1, "q1", |of| {
        of.facts.insert("rows".to_owned(), 5);
    });
    change(&mut records, 1, "q3", wrong);
    change(&mut records, 2, "q2", |of| {
        wrong(of);
        of.failed = 1;
    });
    assert_eq!(said(&records, &[&QUERIES]), []);
}
