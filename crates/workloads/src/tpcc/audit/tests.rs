use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::HistogramRecord;

use super::*;

/// A record of `committed` transactions that all took `seconds`.
fn record(committed: u64, rolled_back: u64, seconds: f64, facts: &[(&str, u64)]) -> TransactionRecord {
    let mut times = Histogram::new();
    for _ in 0..committed + rolled_back {
        times.record((seconds * 1e9) as u64);
    }
    let facts = facts.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    TransactionRecord { committed, rolled_back, service: HistogramRecord::from_histogram(&times), facts, ..Default::default() }
}

fn run(scale: u64) -> BTreeMap<String, TransactionRecord> {
    let n = 10 * scale;
    let lines = [("order_lines", 100 * n), ("remote_lines", n), ("orders_with_remote_line", n)];
    [
        ("new_order", record(10 * n - n / 10, n / 10, 0.1, &lines)),
        ("payment", record(10 * n, 0, 0.1, &[("remote", 10 * n * 15 / 100), ("by_last_name", 6 * n)])),
        ("order_status", record(n, 0, 0.1, &[("by_last_name", n * 6 / 10)])),
        ("delivery", record(n, 0, 6.0, &[("skipped_districts", 0), ("deliveries_with_skip", 0)])),
        ("stock_level", record(n, 0, 6.0, &[])),
    ]
    .map(|(name, record)| (name.to_owned(), record))
    .into()
}

const MINUTE: Ran = Ran { warehouses: 10, waited: false, window_ns: 60_000_000_000 };

fn find<'a>(audit: &'a Audit, what: &str) -> &'a AuditValue {
    audit.values.iter().find(|f| f.what == what).unwrap_or_else(|| panic!("{what}: {:?}", audit.values))
}

#[test]
fn a_run_by_the_rules_holds_everywhere_but_where_it_is_slow() {
    let audit = audit(&run(100), MINUTE).unwrap();
    let not: Vec<&str> = audit.values.iter().filter(|f| f.judgement != Judgement::Holds).map(|f| f.what.as_str()).collect();
    // All deliveries took six seconds: too long for the interactive limit, and fine for the deferred half.
    assert_eq!(not, ["90th percentile of delivery"]);
    assert_eq!(audit.values.len(), 7 + 4 + 6);
    let lines = find(&audit, "lines of a new order");
    assert_eq!((lines.value, lines.of, lines.unit.as_str()), (10.0, 10_000, "lines"));
    assert!((audit.efficiency.tpmc - 10_000.0).abs() < 1e-9);
    assert!((audit.efficiency.percent - 10_000.0 / 128.6 * 100.0).abs() < 1e-9);
    assert!(audit.efficiency.meaning.starts_with("without keying") && DISCLOSURE.starts_with("not a TPC result"));
}

#[test]
fn nothing_is_remote_where_there_is_one_warehouse() {
    let mut transactions = run(100);
    transactions.get_mut("payment").unwrap().facts.insert("remote".to_owned(), 0);
    let judged = |warehouses| {
        let audit = audit(&transactions, Ran { warehouses, ..MINUTE }).unwrap();
        ["remote order lines", "remote payments", "payments by last name"].map(|what| find(&audit, what).judgement)
    };
    assert_eq!(judged(1), [Judgement::NotApplicable, Judgement::NotApplicable, Judgement::Holds]);
    assert_eq!(judged(2), [Judgement::Holds, Judgement::Broken, Judgement::Holds]);
}

#[test]
fn facts_have_names_for_what_the_values_ask() {
    let named: Vec<&str> = FACTS.iter().flat_map(|names| names.iter().copied()).collect();
    for record in run(1).values() {
        assert!(record.facts.keys().all(|name| named.contains(&name.as_str())), "{record:?}");
    }
}

#[test]
fn a_short_run_is_told_from_a_wrong_one() {
    let rollbacks = |rolled_back: u64, orders: u64| {
        let mut all = run(1);
        all.insert("new_order".to_owned(), record(orders - rolled_back, rolled_back, 0.1, &[]));
        let audit = audit(&all, MINUTE).unwrap();
        find(&audit, "new orders rolled back").judgement
    };
    assert_eq!(rollbacks(10, 1_000), Judgement::Holds);
    // Two of a hundred, where one is expected, happen all the time; two of a hundred in 100,000 do not.
    assert_eq!(rollbacks(2, 100), Judgement::NotEnoughData);
    assert_eq!(rollbacks(2_000, 100_000), Judgement::Broken);
    assert_eq!(rollbacks(0, 100), Judgement::NotEnoughData, "none at all is judged by what was expected");
    assert_eq!(rollbacks(0, 100_000), Judgement::Broken);
    assert_eq!(rollbacks(0, 0), Judgement::NotApplicable);
}

#[test]
fn skipped_deliveries_may_be_one_in_a_hundred_or_one() {
    let skips = |skipped: u64, deliveries: u64| {
        let mut all = run(1);
        all.insert("delivery".to_owned(), record(deliveries, 0, 0.1, &[("deliveries_with_skip", skipped)]));
        find(&audit(&all, MINUTE).unwrap(), "deliveries that skipped a district").judgement
    };
    assert_eq!(skips(1, 20), Judgement::Holds, "one is always allowed");
    assert_eq!(skips(1_000, 100_000), Judgement::Holds);
    assert_eq!(skips(2_000, 100_000), Judgement::Broken);
    assert_eq!(skips(0, 0), Judgement::NotApplicable);
}

#[test]
fn a_mix_of_too_few_payments_is_broken() {
    let mut all = run(100);
    all.insert("payment".to_owned(), record(8_000, 0, 0.1, &[("remote", 1_200), ("by_last_name", 4_800)]));
    let audit = audit(&all, Ran { waited: true, ..MINUTE }).unwrap();
    assert_eq!(find(&audit, "payment in the mix").judgement, Judgement::Broken);
    assert_eq!(find(&audit, "delivery in the mix").judgement, Judgement::Holds);
    assert!(audit.efficiency.meaning.contains("by construction"));
}
