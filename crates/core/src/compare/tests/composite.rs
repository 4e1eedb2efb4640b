//! A metric of two tests in one trial, by hand: values, the 1/1000 rule, and trials without a value.

use std::borrow::Cow;

use super::*;
use crate::metric::{Better, Composite, Counted, Metric, Period};

const ALONE: &[Cow<'static, str>] = &[Cow::Borrowed("a1"), Cow::Borrowed("a2")];
const TOGETHER: &[Cow<'static, str>] = &[Cow::Borrowed("t1"), Cow::Borrowed("t2")];

fn metric() -> Metric {
    let of = Composite {
        size: Cow::Borrowed("scale"),
        alone: Cow::Borrowed(ALONE),
        together: Cow::Borrowed(TOGETHER),
        elapsed: Cow::Borrowed("all"),
    };
    Metric { of: Counted::Composite(of), per: Period::Hour, better: Better::Higher, ..TPS.clone() }
}

fn kind(times_ms: &[u64], failed: u64) -> TransactionRecord {
    let mut service = Histogram::new();
    times_ms.iter().for_each(|ms| service.record(ms * 1_000_000));
    let service = HistogramRecord::from_histogram(&service);
    TransactionRecord { committed: times_ms.len() as u64, failed, service, ..TransactionRecord::default() }
}

/// Two streams at scale 2: 1 and 4 s alone, and 8 s for all of the streams, times `slower`.
fn trial(contender: &str, trial: u32, slower: u64) -> RunRecord {
    let mut r = record(contender, 8, trial, 1);
    r.load.connections = 2;
    r.workload.parameters = BTreeMap::from([("scale".to_owned(), "2".to_owned())]);
    r.workload.metric = RecordedMetric::Declared(metric());
    let kinds = [
        ("a1", kind(&[1_000 * slower], 0)),
        ("a2", kind(&[4_000 * slower], 0)),
        ("t1", kind(&[2_000, 3_000], 0)),
        ("t2", kind(&[2_000, 5_000], 0)),
        ("all", kind(&[8_000 * slower], 0)),
    ];
    r.measured.transactions = kinds.map(|(name, t)| (name.to_owned(), t)).into();
    r
}

fn values(r: &RunRecord) -> Result<(f64, f64), String> {
    let Counted::Composite(of) = metric().of else { panic!("a composite") };
    of.values(r, 3600.0).map(|found| (found.power, found.throughput))
}

#[test]
fn power_is_of_the_geometric_mean_and_throughput_of_the_whole_time() {
    let r = trial("x86", 1, 1);
    // 2 × 3600 / √(1 × 4), and 2 × 3600 × (2 streams × 2 kinds) / 8.
    let (power, throughput) = values(&r).unwrap();
    near(power, 3600.0);
    near(throughput, 3600.0);
    near(r.metric(&metric()), 3600.0);
    assert_eq!((r.counted(&metric()), r.lacks(&metric())), (4, None));
}

#[test]
fn a_time_below_a_thousandth_of_the_longest_counts_as_that() {
    let mut r = trial("x86", 1, 1);
    r.measured.transactions.insert("a1".to_owned(), kind(&[1], 0));
    // 4 s and 4 ms in place of 1 ms.
    near(values(&r).unwrap().0, 7200.0 / (4.0_f64 * 0.004).sqrt());
}

#[test]
fn a_trial_with_a_failed_or_missing_transaction_has_no_value() {
    let with = |name: &str, t: TransactionRecord| {
        let mut r = trial("x86", 1, 1);
        r.measured.transactions.insert(name.to_owned(), t);
        (values(&r).unwrap_err(), r.metric(&metric()))
    };
    assert_eq!(with("a2", kind(&[], 1)), ("a2: 1 failed".to_owned(), 0.0));
    assert_eq!(with("t2", kind(&[2_000], 0)), ("t2: 1 of 2 ended".to_owned(), 0.0));
    assert_eq!(with("all", kind(&[], 0)), ("all: 0 of 1 ended".to_owned(), 0.0));
    let mut r = trial("x86", 1, 1);
    r.workload.parameters.clear();
    assert_eq!(values(&r).unwrap_err(), "`scale` is not recorded");
}

#[test]
fn trials_without_a_value_are_in_no_mean_and_times_are_compared() {
    let mut records: Vec<RunRecord> = (1..=3).map(|n| trial("x86", n, 1)).chain((1..=3).map(|n| trial("arm", n, 2))).collect();
    records[1].measured.transactions.insert("a2".to_owned(), kind(&[], 1));
    records.extend((1..=3).flat_map(|n| {
        ["x86", "arm"].map(|name| RunRecord { key: TrialKey { connections: 64, ..trial(name, n, 1).key }, ..trial(name, n, 1) })
    }));
    let found = compare(&study(), &records, &[], &[]).unwrap();
    let at = |name: &str| found.workloads[0].points.iter().find(|p| p.contender == name && p.level == 8).unwrap();
    let [x86, arm] = ["x86", "arm"].map(at);
    assert_eq!((x86.values.len(), arm.values.len(), x86.failed), (2, 3, 1));
    near(x86.mean.unwrap(), 3600.0);
    near(arm.mean.unwrap(), 1800.0);
    let time = arm.kinds.iter().find(|k| k.kind == "a2").and_then(|k| k.seconds.as_ref()).unwrap();
    near(time.mean, 8.0);
    near(time.ratio.unwrap().value, 2.0);
    assert!(arm.explained.is_none(), "its parts would not multiply to the ratio");
}
