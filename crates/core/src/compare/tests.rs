//! Known answers of the comparison: two contenders, two points, three trials, bills by hand.

use std::collections::BTreeMap;

use super::*;
use crate::bill::{
    LineGroup,
    tests::{bill_of, line},
};
use crate::histogram::Histogram;
use crate::metric::{RecordedMetric, TPS};
use crate::plan::TrialKey;
use crate::run_record::{
    Flag, HistogramRecord, HostRecord, LoadRecord, Measured, TargetRecord, TransactionRecord, WorkloadRecord,
};
use crate::stats::{self, Interval, Ratio};
use crate::study::{Decision, Rounding, Summary};
use crate::units::{MicroUsd, Seed};

mod answers;
mod builds;
mod composite;
mod deployed;
mod explain;
mod findings;
mod machines;
mod pending;
mod rates;
mod regression;
mod verdicts;

const STUDY: &str = include_str!("tests/study.toml");

/// Three seconds, so that rates such as 1000 / 3 have no finite decimals.
const WINDOW_NS: u64 = 3_000_000_000;

fn study() -> Study {
    Study::read("s.toml", STUDY, &[]).unwrap()
}

fn study_with(from: &str, to: &str) -> Study {
    assert!(STUDY.contains(from), "{from}");
    Study::read("s.toml", &STUDY.replace(from, to), &[]).unwrap()
}

/// A trial of `committed` transactions of one to three milliseconds.
pub(super) fn record(contender: &str, connections: u32, trial: u32, committed: u64) -> RunRecord {
    let mut service = Histogram::new();
    for i in 0..committed {
        service.record(1_000_000 + i * 2_000_000 / committed);
    }
    let service = HistogramRecord::from_histogram(&service);
    let transaction = TransactionRecord { committed, rolled_back: 0, failed: 1, service, ..TransactionRecord::default() };
    let load = LoadRecord { model: "closed".into(), connections, duration_ns: WINDOW_NS, ..LoadRecord::default() };
    RunRecord {
        schema: crate::run_record::RECORD_SCHEMA,
        perbuck: "0".into(),
        study: "s".into(),
        study_fingerprint: "f".into(),
        key: TrialKey { contender: contender.into(), workload: "small".into(), connections, trial, ..TrialKey::default() },
        position: 0,
        seed: Seed(7),
        trial_seed: Seed(1),
        started_unix_ms: 0,
        started_boot: None,
        load,
        workload: WorkloadRecord {
            kind: "sysbench".into(),
            parameters: BTreeMap::new(),
            data_fingerprint: "d".into(),
            data: "kept".into(),
            rows_before: BTreeMap::new(),
            rows_after: BTreeMap::new(),
            data_size: None,
            prewarm: None,
            cold: None,
            metric: RecordedMetric::Declared(TPS.clone()),
        },
        target: TargetRecord { version: "3".into(), ..TargetRecord::default() },
        host: HostRecord { cpus: 2, shared_with_server: true, ..HostRecord::default() },
        agents: Vec::new(),
        measured: Measured {
            window_ns: WINDOW_NS,
            transactions: BTreeMap::from([("mixed".to_owned(), transaction)]),
            retries: 2,
            ..Measured::default()
        },
        statements_whole_run: Default::default(),
        errors: BTreeMap::new(),
        intervals: Vec::new(),
        audit: Vec::new(),
        health: Default::default(),
        flags: Vec::new(),
        imported: None,
        rule: None,
        void: None,
    }
}

/// The trials of one point by their transactions.
fn point_of(contender: &str, connections: u32, committed: &[u64]) -> Vec<RunRecord> {
    (1..).zip(committed).map(|(trial, n)| record(contender, connections, trial, *n)).collect()
}

/// The baseline makes 1000 and 2000 transactions, the other 1200 and 2500: together 3000 against 3700. Their deviations in a block
/// differ by 0, 1 and −1 %.
fn records() -> Vec<RunRecord> {
    let points = [
        ("x86", 8, [990, 1000, 1010]),
        ("x86", 64, [1980, 2000, 2020]),
        ("arm", 8, [1188, 1212, 1200]),
        ("arm", 64, [2475, 2525, 2500]),
    ];
    points.iter().flat_map(|(contender, connections, committed)| point_of(contender, *connections, committed)).collect()
}

fn bill(contender: &str, region: &str, monthly: i64, round: Rounding) -> Bill {
    Bill { contender: contender.to_owned(), region: region.to_owned(), ..bill_of([line(LineGroup::Compute, monthly)], round) }
}

fn emulated(mut record: RunRecord) -> RunRecord {
    record.host.emulator = Some("qemu-user".into());
    record.flags.push(Flag::Emulated { emulator: "qemu-user".into() });
    record
}

fn arm(comparison: &Comparison) -> &ContenderResult {
    comparison.workloads[0].contenders.iter().find(|c| c.contender == "arm").unwrap()
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= expected.abs() * 1e-12, "{found} is not {expected}");
}

#[test]
fn ratios_come_from_unrounded_values() {
    let c = compare(&study(), &records(), &[], &[]).unwrap();
    assert_eq!((c.baseline.as_str(), c.planned, c.found), ("x86", 12, 12));
    let w = &c.workloads[0];
    let point = |name: &str, n: u32| w.points.iter().find(|c| c.contender == name && c.level == n).unwrap();
    assert_eq!(point("x86", 8).values, [330.0, 1000.0 / 3.0, 1010.0 / 3.0]);
    near(point("x86", 8).mean.unwrap(), 1000.0 / 3.0);
    assert_eq!(point("x86", 8).ratio, None);
    near(point("arm", 8).ratio.unwrap().value, 1.2);
    near(point("arm", 64).ratio.unwrap().value, 1.25);
    near(w.contenders[1].value.unwrap(), 500.0);
    near(arm(&c).value.unwrap(), 1850.0 / 3.0);
    assert_eq!(w.contenders[1].throughput, None);
    let judged = arm(&c).throughput.as_ref().unwrap();
    // 3700 / 3000: rounding either rate to whole transactions (617 / 500) would give 1.234.
    near(judged.ratio.value, 37.0 / 30.0);
    assert_eq!(judged.verdict, Verdict::Better);
    let i = judged.ratio.interval.unwrap();
    assert!(1.2 < i.low && i.low < 37.0 / 30.0 && 37.0 / 30.0 < i.high && i.high < 1.27, "{i:?}");
    assert!(judged.detectable.is_some_and(|d| d > 0.0 && d < 0.1));
    assert!(c.remarks.is_empty() && c.bills.is_empty() && arm(&c).price.is_empty());
}

#[test]
fn points_merge_histograms_and_counters() {
    let c = compare(&study(), &records(), &[], &[]).unwrap();
    let point = &c.workloads[0].points[0];
    assert_eq!((point.contender.as_str(), point.level, point.failed, point.retries), ("arm", 8, 3, 6));
    let within = |found: u64, expected: f64| assert!((found as f64 / expected - 1.0).abs() < 0.003, "{found} {expected}");
    within(point.latency.p50_ns, 2e6);
    within(point.latency.p95_ns, 2.9e6);
    within(point.latency.p99_ns, 2.98e6);
    assert_eq!(point.latency.max_ns, 1_000_000 + 1211 * 2_000_000 / 1212);
}

#[test]
fn price_performance_is_told_both_ways_with_its_interval() {
    // 33.333 333 a month is 1999.999 98 over 60 months; rounded to cents each month it would be 1999.80.
    let bills = [
        bill("x86", "r1", 50_000_000, Rounding::None),
        bill("arm", "r1", 33_333_333, Rounding::None),
        bill("x86", "r2", 50_000_000, Rounding::Monthly),
        bill("arm", "r2", 33_333_333, Rounding::Monthly),
        bill("arm", "r3", 33_333_333, Rounding::None),
    ];
    let c = compare(&study(), &records(), &bills, &[]).unwrap();
    let arm = arm(&c);
    let (value, interval) = (arm.value.unwrap(), arm.interval.unwrap());
    for (price, dollars, total) in [(&arm.price[0], 1_999.999_98, 1_999_999_980), (&arm.price[1], 1_999.8, 1_999_800_000)] {
        assert_eq!(price.total, MicroUsd(total));
        near(price.usd_per_unit.unwrap(), dollars / value);
        near(price.units_per_usd.unwrap(), value / dollars);
        let turned = price.usd_per_unit_interval.unwrap();
        near(turned.low, dollars / interval.high);
        near(turned.high, dollars / interval.low);
        assert!(turned.low < dollars / value && dollars / value < turned.high);
        let (work, money) = (arm.throughput.as_ref().unwrap().ratio, price.value_for_money.as_ref().unwrap());
        let scale = 3000.0 / dollars;
        near(money.ratio.value, 37.0 / 30.0 * scale);
        near(money.ratio.interval.unwrap().low, work.interval.unwrap().low * scale);
        near(money.ratio.interval.unwrap().high, work.interval.unwrap().high * scale);
        assert_eq!((money.ratio.log_error, money.verdict), (work.log_error, Verdict::Better));
    }
    // No bill of the baseline there: money per unit is known, a comparison is not.
    assert!(arm.price[2].usd_per_unit.is_some() && arm.price[2].value_for_money.is_none());
    let x86 = &c.workloads[0].contenders[1];
    assert!(x86.price.len() == 2 && x86.price.iter().all(|p| p.value_for_money.is_none()));
    near(x86.price[0].usd_per_unit.unwrap(), 6.0);
}

#[test]
fn more_work_can_be_worse_value() {
    let bills = [bill("x86", "r", 50_000_000, Rounding::None), bill("arm", "r", 100_000_000, Rounding::None)];
    let c = compare(&study(), &records(), &bills, &[]).unwrap();
    assert_eq!(arm(&c).throughput.as_ref().unwrap().verdict, Verdict::Better);
    assert_eq!(arm(&c).price[0].value_for_money.as_ref().unwrap().verdict, Verdict::Worse);
    // Free of charge there is a cost of zero per unit and nothing to divide by.
    let c = compare(&study(), &records(), &[bill("x86", "r", 1, Rounding::None), bill("arm", "r", 0, Rounding::None)], &[]);
    let free = arm(c.as_ref().unwrap()).price[0].clone();
    assert_eq!((free.usd_per_unit, free.units_per_usd, free.value_for_money), (Some(0.0), None, None));
}

#[test]
fn a_single_trial_decides_nothing() {
    let first: Vec<RunRecord> = records().into_iter().filter(|r| r.key.trial == 1).collect();
    let c = compare(&study(), &first, &[], &[]).unwrap();
    let judged = arm(&c).throughput.as_ref().unwrap();
    assert_eq!((judged.verdict, judged.detectable), (Verdict::Undecided { why: Why::SingleTrial }, None));
    near(judged.ratio.value, 37.0 / 30.0);
    assert_eq!((c.found, arm(&c).interval), (4, None));
}

#[test]
fn emulated_and_native_trials_are_not_mixed() {
    let mixed: Vec<RunRecord> = records().into_iter().map(|r| if r.key.contender == "arm" { emulated(r) } else { r }).collect();
    let refused = compare(&study(), &mixed, &[], &[]).unwrap_err();
    assert_eq!((refused.len(), refused[0].insist), (1, Some("emulated")));
    assert!(refused[0].reason.contains("arm/small/c00008/001.json") && refused[0].reason.contains("qemu-user"), "{refused:?}");
    assert!(compare(&study(), &mixed, &[], &["errors".into()]).is_err());
    let insisted = compare(&study(), &mixed, &[], &["emulated".into()]).unwrap();
    assert_eq!((insisted.remarks.len(), insisted.remarks[0].trials), (1, 6));
    // All alike: allowed, with the remark.
    let all: Vec<RunRecord> = records().into_iter().map(emulated).collect();
    let c = compare(&study(), &all, &[], &[]).unwrap();
    assert_eq!((c.remarks.len(), c.remarks[0].trials), (1, 12));
    assert!(c.remarks[0].text.contains("qemu-user") && c.remarks[0].example == "x86/small/c00008/001.json", "{:?}", c.remarks);
}

#[test]
fn unfair_trials_are_refused_unless_insisted_upon() {
    let mut all = records();
    all[1].flags.push(Flag::ClientLimited { why: "one worker was busy".into() });
    all[4].flags.push(Flag::ManyErrors { failed: 50, completed: 100 });
    all[5].flags.push(Flag::ManyErrors { failed: 60, completed: 100 });
    all[6].flags.push(Flag::Gap { total_ms: 1500 });
    let refused = compare(&study(), &all, &[], &[]).unwrap_err();
    assert_eq!(refused.iter().map(|r| r.insist).collect::<Vec<_>>(), [Some("client-limited"), Some("errors")]);
    let reasons = [&refused[0].reason, &refused[1].reason];
    assert!(reasons[0].contains("1 of 12") && reasons[0].contains("x86/small/c00008/002.json"), "{reasons:?}");
    assert!(reasons[1].contains("2 of 12") && reasons[1].contains("x86/small/c00064/002.json"), "{reasons:?}");
    let one = compare(&study(), &all, &[], &["errors".into()]).unwrap_err();
    assert_eq!((one.len(), one[0].insist), (1, Some("client-limited")));
    let c = compare(&study(), &all, &[], &["errors".into(), "client-limited".into()]).unwrap();
    // One remark for each sort of flag, whatever its values.
    let mut trials: Vec<usize> = c.remarks.iter().map(|r| r.trials).collect();
    trials.sort_unstable();
    assert_eq!(trials, [1, 1, 2]);
}

#[test]
fn an_incomplete_study_compares_what_is_there() {
    let bills = [bill("x86", "r", 50_000_000, Rounding::None), bill("arm", "r", 50_000_000, Rounding::None)];
    let fewer: Vec<RunRecord> = records().into_iter().filter(|r| r.key.contender == "x86" || r.key.trial < 3).collect();
    let c = compare(&study(), &fewer, &bills, &[]).unwrap();
    assert_eq!((c.planned, c.found), (12, 10));
    near(arm(&c).value.unwrap(), (1200.0 + 2500.0) / 6.0);
    // The third trials of the baseline have no counterpart: the ratio is that of the first two blocks.
    near(arm(&c).throughput.as_ref().unwrap().ratio.value, 3700.0 / 2985.0);
    assert!(c.remarks.iter().any(|r| r.text.contains("lacks another contender") && r.trials == 2), "{:?}", c.remarks);
    assert!(arm(&c).throughput.as_ref().is_some_and(|j| j.ratio.interval.is_some()));
    // A whole point missing: no summary, but the other point stands.
    let half: Vec<RunRecord> = fewer.into_iter().filter(|r| r.key.contender == "x86" || r.key.connections == 8).collect();
    let c = compare(&study(), &half, &bills, &[]).unwrap();
    let result = arm(&c);
    assert!(result.value.is_none() && result.interval.is_none() && result.throughput.is_none());
    assert!(result.price[0].usd_per_unit.is_none() && result.price[0].value_for_money.is_none());
    let points: Vec<&PointResult> = c.workloads[0].points.iter().filter(|c| c.contender == "arm").collect();
    near(points[0].ratio.unwrap().value, 1200.0 / 995.0);
    assert_eq!((points[1].mean, points[1].ratio, points[1].latency), (None, None, Latency::default()));
    let nothing = compare(&study(), &[], &[], &[]).unwrap();
    assert_eq!((nothing.found, nothing.workloads[0].points.len()), (0, 4));
}

#[test]
fn the_summary_is_the_mean_over_points_or_the_peak() {
    let mean_of_one = compare(&study_with("over = [8, 64]", "over = [8]"), &records(), &[], &[]).unwrap();
    near(arm(&mean_of_one).throughput.as_ref().unwrap().ratio.value, 1.2);
    let peak = study_with("over = [8, 64]", "over = \"peak\"");
    let c = compare(&peak, &records(), &[], &[]).unwrap();
    assert_eq!(c.workloads[0].summary, Summary::Peak);
    near(arm(&c).value.unwrap(), 2500.0 / 3.0);
    near(arm(&c).throughput.as_ref().unwrap().ratio.value, 1.25);
    // The peaks may lie at different points: 2000 of 64 connections against 2600 of 8.
    let mut other = records();
    other.retain(|r| r.key.contender != "arm" || r.key.connections != 8);
    other.extend(point_of("arm", 8, &[2574, 2600, 2626]));
    near(arm(&compare(&peak, &other, &[], &[]).unwrap()).throughput.as_ref().unwrap().ratio.value, 1.3);
}

/// The table of verdicts showed one interval for the peak, the table of throughput another for the same number.
#[test]
fn a_peak_has_the_interval_of_its_point() {
    let c = compare(&study_with("over = [8, 64]", "over = \"peak\""), &records(), &[], &[]).unwrap();
    for contender in &c.workloads[0].contenders {
        let point = c.workloads[0].points.iter().find(|p| p.contender == contender.contender && p.level == 64).unwrap();
        assert_eq!((point.mean, point.interval), (contender.value, contender.interval));
        assert!(point.interval.is_some_and(|i| i.low > 0.0));
    }
}

#[test]
fn a_broken_histogram_is_refused_by_name() {
    for breakage in ["%%%", "AAAA"] {
        let mut all = records();
        all[7].measured.transactions.get_mut("mixed").unwrap().service.hdr = breakage.into();
        let refused = compare(&study(), &all, &[], &["emulated".into(), "errors".into(), "client-limited".into()]).unwrap_err();
        assert_eq!((refused.len(), refused[0].insist), (1, None));
        assert!(refused[0].reason.starts_with("arm/small/c00008/002.json: mixed: histogram"), "{refused:?}");
    }
    let mut all = records();
    all[7].measured.transactions.get_mut("mixed").unwrap().service.count += 1;
    assert!(compare(&study(), &all, &[], &[]).unwrap_err()[0].reason.contains("but the record says 1213"));
}

#[test]
fn the_same_input_gives_the_same_answer_in_any_order() {
    let mut turned = records();
    turned.reverse();
    assert_eq!(compare(&study(), &records(), &[], &[]), compare(&study(), &turned, &[], &[]));
}
