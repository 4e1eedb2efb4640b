//! What follows from an interval, and how many more trials would decide.

use super::*;
use crate::metric::{Better, Metric};
use crate::study::{StoppingRule, Until};

#[test]
fn verdicts_at_the_edges_of_the_margin() {
    let rule = Decision { confidence: 0.95, margin: 0.25, until: None, slo: None };
    let verdict = |low: f64, high: f64| {
        let interval = Some(Interval { low, high });
        judge(&Ratio { value: (low * high).sqrt(), interval, log_error: 0.01, freedom: 4.0 }, &rule, 3)
    };
    // Both edges, 0.8 and 1.25, still belong to "equivalent".
    assert_eq!(verdict(0.8, 1.25), Verdict::Equivalent);
    assert_eq!(verdict(1.25f64.next_up(), 1.4), Verdict::Better);
    assert_eq!(verdict(0.7, 0.8f64.next_down()), Verdict::Worse);
    for (low, high) in [(1.25, 1.4), (0.7, 0.8), (0.8f64.next_down(), 1.0), (1.0, 1.25f64.next_up()), (0.5, 2.0)] {
        assert!(matches!(verdict(low, high), Verdict::Undecided { .. }), "{low} {high}");
    }
    let on_the_edge = Ratio { value: 1.25, interval: Some(Interval { low: 1.2, high: 1.3 }), log_error: 0.01, freedom: 4.0 };
    assert_eq!(judge(&on_the_edge, &rule, 100), Verdict::Undecided { why: Why::OnTheEdge });
    // A study that ends by its verdicts gives up earlier, and not before the fifth block.
    let until = |most| Decision { until: Some(Until { least: 3, most, budget: None }), ..rule.clone() };
    assert_eq!(judge(&on_the_edge, &until(12), 10), Verdict::Undecided { why: Why::Hopeless { most: 12 } });
    assert!(matches!(judge(&on_the_edge, &until(12), 4), Verdict::Undecided { why: Why::MoreTrials { .. } }));
    assert!(matches!(judge(&on_the_edge, &until(900), 10), Verdict::Undecided { why: Why::MoreTrials { .. } }));
    let single = Ratio { value: 2.0, interval: None, log_error: 0.0, freedom: 0.0 };
    assert_eq!(judge(&single, &rule, 1), Verdict::Undecided { why: Why::SingleTrial });
}

/// `n` (a multiple of four) blocks of both contenders whose means are 1000 and 1050, whose unbiased deviation is 5 %, and whose
/// deviations have nothing to do with each other.
fn noisy(n: u32) -> Vec<RunRecord> {
    let off = 0.05 * (f64::from(n - 1) / f64::from(n)).sqrt();
    let mut all = Vec::new();
    for connections in [8, 64] {
        for (contender, mean) in [("x86", 10_000.0), ("arm", 10_500.0)] {
            let period = if contender == "x86" { 1 } else { 2 };
            let up = |i: u32| (i / period).is_multiple_of(2);
            let values: Vec<u64> = (0..n).map(|i| (mean * if up(i) { 1.0 + off } else { 1.0 - off }) as u64).collect();
            all.extend(point_of(contender, connections, &values));
        }
    }
    all
}

#[test]
fn the_trials_that_are_asked_for_do_decide() {
    let verdict = |n: u32| arm(&compare(&study(), &noisy(n), &[], &[]).unwrap()).throughput.as_ref().unwrap().verdict;
    let Verdict::Undecided { why: Why::MoreTrials { more } } = verdict(4) else { panic!("{:?}", verdict(4)) };
    assert!(more > 8, "{more}");
    assert_eq!(verdict((4 + more).next_multiple_of(4)), Verdict::Better);
}

#[test]
fn the_number_of_further_trials_is_the_smallest_with_that_chance() {
    let rule = Decision { confidence: 0.95, margin: 0.03, until: None, slo: None };
    for (value, n) in [(1.06, 3), (1.0, 5), (0.9, 3), (1.04, 10)] {
        let (log_error, freedom) = (0.06 / f64::from(n).sqrt(), f64::from(n - 1));
        let half = stats::student_quantile(0.95, freedom) * log_error;
        let interval = Some(Interval { low: value * (-half).exp(), high: value * half.exp() });
        let ratio = Ratio { value, interval, log_error, freedom };
        let Verdict::Undecided { why: Why::MoreTrials { more } } = judge(&ratio, &rule, n as usize) else { panic!("{value}") };
        // The longer study has half the error level.
        let extended = stats::Extended { ratio: &ratio, units: n as usize, confidence: 0.975, margin: 0.03 };
        assert!(extended.chance(more) >= 0.8 && extended.chance(more - 1) < 0.81, "{value} {more}");
    }
}

/// Trials of the plans that were in force, at as many blocks as each had.
fn extended(plans: &[u32]) -> (Study, Vec<RunRecord>) {
    let mut study = study();
    let mut records = noisy(20);
    for record in &mut records {
        let plan = plans.iter().find(|plan| record.key.trial <= **plan).copied();
        record.rule = plan.map(|trials| StoppingRule { confidence: 0.95, margin: 0.03, trials, deployments: 1, least: None });
    }
    study.sweep.trials = *plans.last().unwrap();
    records.retain(|r| r.key.trial <= study.sweep.trials);
    (study, records)
}

#[test]
fn each_extension_halves_the_error_level_and_is_told() {
    for (plans, confidence) in [(vec![20], 0.95), (vec![8, 20], 0.975), (vec![4, 8, 12], 0.9875), (vec![1, 20], 0.95)] {
        let (study, records) = extended(&plans);
        let c = compare(&study, &records, &[], &[]).unwrap();
        near(c.confidence(), confidence);
        let told = c.looks.as_ref().map_or(1, |looks| looks.rules.len());
        assert_eq!(told, if confidence > 0.95 { plans.len() } else { 1 }, "{plans:?}");
        let found = &arm(&c).throughput.as_ref().unwrap().ratio;
        let half = stats::student_quantile(confidence, found.freedom) * found.log_error;
        near(found.interval.unwrap().high, found.value * half.exp());
    }
    // A plan that was changed before it had its trials gave no verdict; a margin that was changed after them is another look.
    let (mut study, mut records) = extended(&[8, 20]);
    records.retain(|r| r.key.trial != 8);
    assert_eq!(compare(&study, &records, &[], &[]).unwrap().looks, None);
    (study, records) = extended(&[20]);
    study.decision.margin = 0.05;
    assert_eq!(compare(&study, &records, &[], &[]).unwrap().looks.unwrap().rules.len(), 2);
}

#[test]
fn before_the_planned_trials_there_is_no_verdict() {
    let (mut study, records) = extended(&[20]);
    study.sweep.trials = 24;
    let verdict = |study: &Study| arm(&compare(study, &records, &[], &[]).unwrap()).throughput.as_ref().unwrap().verdict;
    assert_eq!(verdict(&study), Verdict::Undecided { why: Why::Unfinished { missing: 4 } });
    study.decision.until = Some(Until { least: 3, most: 24, budget: None });
    assert!(!matches!(verdict(&study), Verdict::Undecided { why: Why::Unfinished { .. } }));
}

#[test]
fn of_a_metric_whose_low_values_are_good_the_lower_one_is_better_and_has_no_price() {
    let lost = Metric { name: "lost".into(), better: Better::Lower, ..TPS.clone() };
    let mut records = records();
    records.iter_mut().for_each(|r| r.workload.metric = RecordedMetric::Declared(lost.clone()));
    let study = study_with("metric = \"tps\"\nover = [8, 64]", "over = \"peak\"");
    let bills = [bill("arm", "r", 1, Rounding::None), bill("x86", "r", 1, Rounding::None)];
    let c = compare(&study, &records, &bills, &[]).unwrap();
    let judged = arm(&c).throughput.as_ref().unwrap();
    // The best points are those of 8 connections.
    near(judged.ratio.value, 1.2);
    assert_eq!(judged.verdict, Verdict::Worse);
    assert_eq!(c.workloads[0].points[0].judgement.as_ref().unwrap().verdict, Verdict::Worse);
    let price = &arm(&c).price[0];
    assert_eq!((price.usd_per_unit, &price.value_for_money, &price.models), (None, &None, &None));
    // Its declaration stands beside its name, and is read from there.
    let said = serde_json::to_value(&c.workloads[0]).unwrap();
    assert_eq!((&said["metric"], &said["metric_declared"]["better"]), (&"lost".into(), &"lower".into()));
    assert_eq!(serde_json::from_value::<WorkloadResult>(said).unwrap(), c.workloads[0]);
}
