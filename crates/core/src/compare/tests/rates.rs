//! Rates and kinds of a point, by hand: what articles print beside the compared metric.

use super::*;
use crate::run_record::StatementCounts;

/// A trial with reads of one to three milliseconds and, half as many, updates that take ten times as long.
fn mixed(contender: &str, trial: u32, reads: u64) -> RunRecord {
    let mut r = record(contender, 8, trial, reads);
    let read = r.measured.transactions.values().next().unwrap().clone();
    let mut service = Histogram::new();
    (0..reads / 2).for_each(|i| service.record(10_000_000 + i * 20_000_000 / (reads / 2)));
    let update = TransactionRecord {
        committed: reads / 2,
        service: HistogramRecord::from_histogram(&service),
        ..TransactionRecord::default()
    };
    let kinds = [("read", read), ("unused", TransactionRecord::default()), ("update", update)];
    r.measured.transactions = kinds.map(|(name, t)| (name.to_owned(), t)).into();
    r.measured.statements = StatementCounts { read: reads, write: reads / 2, other: reads * 3, ..StatementCounts::default() };
    r
}

fn compared(records: &[RunRecord]) -> [PointResult; 2] {
    let found = compare(&study(), records, &[], &[]).unwrap();
    let at = |name: &str| found.workloads[0].points.iter().find(|p| p.contender == name && p.level == 8).unwrap().clone();
    [at("x86"), at("arm")]
}

fn trials(contender: &str, reads: [u64; 3]) -> Vec<RunRecord> {
    (1..).zip(reads).map(|(trial, reads)| mixed(contender, trial, reads)).collect()
}

#[test]
fn kinds_have_rates_ratios_and_merged_percentiles() {
    let [x86, arm] = compared(&[trials("x86", [300, 330, 360]), trials("arm", [600, 660, 720])].concat());
    let names = |p: &PointResult| p.kinds.iter().map(|k| k.kind.clone()).collect::<Vec<_>>();
    assert_eq!((names(&x86), names(&arm)), (vec!["read".to_owned(), "update".to_owned()], names(&x86)));
    let [read, update] = [&arm.kinds[0], &arm.kinds[1]];
    // 660 and 330 in three seconds, on average.
    assert_eq!((read.throughput.mean, update.throughput.mean), (220.0, 110.0));
    let ratio = update.throughput.ratio.unwrap();
    near(ratio.value, 2.0);
    assert!(ratio.interval.is_some() && update.throughput.interval.is_some() && x86.kinds[0].throughput.ratio.is_none());
    // 95 % of the way from 10 to 30 ms, within a bucket of the histogram.
    assert!(update.latency.p95_ns.abs_diff(29_000_000) < 100_000, "{:?}", update.latency);
    assert!(read.latency.max_ns < 3_000_000 && arm.latency.max_ns == update.latency.max_ns);
    let merged = update.latency_interval.unwrap().p95_ns;
    assert!(merged.low <= 29_000_000.0 && merged.high >= 28_900_000.0, "{merged:?}");
}

#[test]
fn rates_do_not_depend_on_the_metric_and_statements_are_split() {
    let [x86, arm] = compared(&[trials("x86", [300, 330, 360]), trials("arm", [600, 660, 720])].concat());
    let rates = arm.rates.unwrap();
    let statements = rates.statements.unwrap();
    assert_eq!((rates.transactions.mean, statements.mean), (330.0, 990.0));
    near(statements.ratio.unwrap().value, 2.0);
    let split = x86.rates.unwrap().per_transaction.unwrap();
    near(split.read, 2.0 / 3.0);
    near(split.write, 1.0 / 3.0);
    near(split.other, 2.0);
}

#[test]
fn one_kind_is_the_point_itself_and_a_log_may_count_no_statement() {
    let found = compare(&study(), &records(), &[], &[]).unwrap();
    for point in &found.workloads[0].points {
        let rates = point.rates.as_ref().unwrap();
        assert!(point.kinds.is_empty() && rates.statements.is_none() && rates.per_transaction.is_none());
        near(rates.transactions.mean, point.mean.unwrap());
    }
}
