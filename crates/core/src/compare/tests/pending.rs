//! Which trials a study that ends by its verdicts still runs, and whether its verdicts hold when it leaves points out.

use super::*;
use crate::plan::TrialKey;
use crate::rng::OpRng;
use crate::study::Until;

/// Two contenders and a control of the baseline at three loads, under the rule of at most `most` blocks.
fn study_until(most: u32, summary: &str) -> Study {
    let text = STUDY
        .replace("baseline = \"x86\"\n", "baseline = \"x86\"\ncontrol = \"x86\"\n")
        .replace("[8, 64]\ntrials = 3", &format!("[8, 32, 64]\ntrials = {most}"))
        .replace("over = [8, 64]", summary)
        + "[decision]\nuntil = \"decided\"\n";
    let study = Study::read("s.toml", &text, &[]).unwrap();
    assert_eq!(study.decision.until, Some(Until { least: 3, most, budget: None }));
    study
}

/// A trial by its value alone.
fn trial(key: &TrialKey, value: f64) -> RunRecord {
    let mut record = record(&key.contender, key.connections, key.trial, 1);
    for transaction in record.measured.transactions.values_mut() {
        (transaction.committed, transaction.service) = ((value * 3.0) as u64, HistogramRecord::default());
    }
    record.key = key.clone();
    record
}

/// Runs what a study asks for, with these values.
fn run(study: &Study, value: &mut dyn FnMut(&TrialKey) -> f64) -> Vec<RunRecord> {
    let mut records = Vec::new();
    loop {
        let next = next_trials(study, &records, &[]);
        if next.is_empty() {
            return records;
        }
        records.extend(next.iter().map(|key| trial(key, value(key))));
    }
}

fn scatter(rng: &mut OpRng) -> f64 {
    (-2.0 * (1.0 - rng.unit_f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.unit_f64()).cos()
}

fn points(open: &Points) -> Vec<(&str, u32)> {
    open.iter().map(|(contender, _, level)| (contender.as_str(), *level)).collect()
}

#[test]
fn a_block_holds_what_is_not_decided_and_levels_that_may_be_the_peak() {
    let study = study_until(20, "over = \"peak\"");
    // Close to each other at the peak; one connection fewer has a third of its throughput on both.
    let value = |key: &TrialKey| {
        let level = match key.connections {
            8 => 30_000.0,
            32 => 99_000.0,
            _ => 100_000.0,
        };
        let against = if key.connections == 32 { -3.0 } else { 1.0 };
        let wobble = f64::from(key.trial % 3) * 300.0 * against * if key.contender == "arm" { 1.0 } else { -1.0 };
        level + wobble + f64::from(key.connections) + if key.contender == "arm" { 0.028 * level } else { 0.0 }
    };
    let records: Vec<RunRecord> = study.plan().iter().filter(|key| key.trial <= 4).map(|key| trial(key, value(key))).collect();
    assert_eq!(open_points(&study, &records, &[], 3), None, "before the first look");
    let open = open_points(&study, &records, &[], 5).unwrap();
    let expected = [("arm", 32), ("arm", 64), ("x86", 32), ("x86", 64), ("x86-control", 32), ("x86-control", 64)];
    assert_eq!(points(&open), expected);
    // The first block that is not complete comes first.
    let mut gap = records.clone();
    gap.retain(|r| (r.key.trial, r.key.contender.as_str()) != (2, "arm"));
    let next = next_trials(&study, &gap, &[]);
    assert!(next.len() == 3 && next.iter().all(|key| key.trial == 2 && key.contender == "arm"), "{next:?}");
    assert_eq!(compare(&study, &gap, &[], &[]).unwrap().planned, gap.len() + 3);
    // Under the mean of all levels none is left out.
    let mean = study_until(20, "over = [8, 32, 64]");
    assert_eq!(open_points(&mean, &records, &[], 5).map(|open| open.len()), Some(9));
}

#[test]
fn a_clear_difference_ends_a_study_at_its_first_look_and_a_control_holds_nothing_up() {
    let study = study_until(20, "over = \"peak\"");
    let mut rng = OpRng::new(Seed(1));
    let records = run(&study, &mut |key| {
        let noise = if key.contender == "x86-control" { 0.2 } else { 0.001 };
        1e6 * if key.contender == "arm" { 1.5 } else { 1.0 } * (1.0 + noise * scatter(&mut rng))
    });
    assert_eq!(records.len(), 3 * 9, "three blocks of nine points");
    let c = compare(&study, &records, &[], &[]).unwrap();
    assert_eq!((c.planned, c.found), (27, 27));
    assert_eq!(arm(&c).throughput.as_ref().unwrap().verdict, Verdict::Better);
}

#[test]
fn verdicts_hold_where_levels_are_left_out() {
    // True ratios of the peaks on the margin, and within it: levels near the peak, and one far below it.
    let study = study_until(12, "over = \"peak\"");
    for (truth, wrong_word) in [(1.03, "better"), (1.0301, "equivalent")] {
        let (mut wrong, mut trials, count) = (0, 0, 150);
        for seed in 0..count {
            let mut rng = OpRng::new(Seed(seed));
            let mut blocks: BTreeMap<u32, f64> = BTreeMap::new();
            let records = run(&study, &mut |key| {
                let curve = if key.connections == 8 {
                    0.6
                } else if key.connections == 32 {
                    0.99
                } else {
                    1.0
                };
                let block = *blocks.entry(key.trial).or_insert_with(|| 0.03 * scatter(&mut rng));
                let ratio = if key.contender == "arm" { truth } else { 1.0 };
                1e6 * curve * ratio * (1.0 + block + 0.01 * scatter(&mut rng))
            });
            trials += records.len();
            let c = compare(&study, &records, &[], &[]).unwrap();
            wrong += usize::from(arm(&c).throughput.as_ref().unwrap().verdict.word() == wrong_word);
        }
        let share = wrong as f64 / count as f64;
        assert!(share <= 0.05 && trials < 12 * 9 * count as usize * 9 / 10, "{truth}: {share}, {trials} trials");
    }
}
