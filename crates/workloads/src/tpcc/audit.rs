//! What an auditor looks at in a finished run: the values of clause 9.2.2.5, the mix (5.2.3), the response times (5.2.5),
//! and the throughput beside what keying and thinking would allow. From recorded counters alone.

use std::collections::BTreeMap;

use perbuck_core::run_record::{AuditValue, Judgement, TransactionRecord};

use super::deck::KINDS;

/// Names of what is counted of each transaction, by kind.
pub(super) const FACTS: &[&[&str]] = &[
    &["order_lines", "remote_lines", "orders_with_remote_line"],
    &["remote", "by_last_name"],
    &["by_last_name"],
    &["skipped_districts", "deliveries_with_skip"],
];

/// New orders a minute that one warehouse can give under keying and think times.
pub const TPMC_MAX_PER_WAREHOUSE: f64 = 12.86;

/// Standard errors on either side within which chance alone leaves a value in all but 3 of 1000 runs.
const Z: f64 = 3.0;

/// Printed with every value of such a run.
pub const DISCLOSURE: &str = "not a TPC result: the transactions, data and consistency conditions of TPC-C, without its audit, its \
                              60-day space, its durability tests and its priced configuration; not comparable with published results";

/// Throughput beside what keying and thinking would allow.
#[derive(Debug, Clone, PartialEq)]
pub struct Efficiency {
    /// New orders a minute, those rolled back by design included (5.4.2).
    pub tpmc: f64,
    /// The same in percent of [`TPMC_MAX_PER_WAREHOUSE`] for each warehouse.
    pub percent: f64,
    /// What that says, in a sentence.
    pub meaning: &'static str,
}

/// All of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// The values, in the order of their clauses.
    pub values: Vec<AuditValue>,
    /// The throughput.
    pub efficiency: Efficiency,
}

/// What was run.
#[derive(Debug, Clone, Copy)]
pub struct Ran {
    /// Warehouses of the database.
    pub warehouses: u32,
    /// Whether terminals keyed and thought.
    pub waited: bool,
    /// The measured window in nanoseconds.
    pub window_ns: u64,
}

/// Looks at the transactions of a measured window.
///
/// # Errors
/// Says which histogram cannot be decoded.
pub fn audit(transactions: &BTreeMap<String, TransactionRecord>, ran: Ran) -> Result<Audit, String> {
    let none = TransactionRecord::default();
    let kind = |position: usize| transactions.get(KINDS[position]).unwrap_or(&none);
    let mut values = inputs([kind(0), kind(1), kind(2), kind(3)], ran.warehouses);
    let all: u64 = (0..KINDS.len()).map(|k| kind(k).completed()).sum();
    // 5.2.3: the rest may be new orders, so those have no minimum of their own.
    for (position, least) in [(1, 43.0), (2, 4.0), (3, 4.0), (4, 4.0)] {
        let what = format!("{} in the mix", KINDS[position]);
        values.push(share("5.2.3", what, kind(position).completed(), all, (Some(least), None)));
    }
    for (position, most_s) in [(0, 5.0), (1, 5.0), (2, 5.0), (3, 5.0), (4, 20.0)] {
        values.push(response(position, kind(position), most_s)?);
    }
    // The queued half of a delivery may take 80 s; here both halves are one, so this limit follows from the one above.
    values.push(AuditValue { what: "90th percentile of delivery, its deferred half".to_owned(), ..response(3, kind(3), 80.0)? });
    Ok(Audit { values, efficiency: efficiency(kind(0).completed(), ran) })
}

/// The values of 9.2.2.5, and of 2.7.4.2.
fn inputs([new_order, payment, order_status, delivery]: [&TransactionRecord; 4], warehouses: u32) -> Vec<AuditValue> {
    let fact = |t: &TransactionRecord, name: &str| t.facts.get(name).copied().unwrap_or(0);
    let inputs = |what: &str, part, of, least, most| share("9.2.2.5", what.to_owned(), part, of, (Some(least), Some(most)));
    // Where there is one warehouse only, nothing can be remote (2.4.1.5, 2.5.1.2).
    let elsewhere = |value: AuditValue| match warehouses {
        0 | 1 => AuditValue { judgement: Judgement::NotApplicable, ..value },
        _ => value,
    };
    let (orders, lines) = (new_order.completed(), fact(new_order, "order_lines"));
    let (payments, asked, delivered) = (payment.completed(), order_status.completed(), delivery.completed());
    let skipped = fact(delivery, "deliveries_with_skip");
    let skips = share("2.7.4.2", "deliveries that skipped a district".to_owned(), skipped, delivered, (None, Some(1.0)));
    vec![
        inputs("new orders rolled back", new_order.rolled_back, orders, 0.9, 1.1),
        line_count(lines, orders),
        elsewhere(inputs("remote order lines", fact(new_order, "remote_lines"), lines, 0.95, 1.05)),
        elsewhere(inputs("remote payments", fact(payment, "remote"), payments, 14.0, 16.0)),
        inputs("payments by last name", fact(payment, "by_last_name"), payments, 57.0, 63.0),
        inputs("order-status by last name", fact(order_status, "by_last_name"), asked, 57.0, 63.0),
        // "More than 1 %, or more than one, whichever is greater" has to be reported.
        if delivered > 0 && skipped <= 1 { AuditValue { judgement: Judgement::Holds, ..skips } } else { skips },
    ]
}

/// A share in percent. Its width is that of a binomial share: of the value found, or of the middle of the range where
/// nothing was found at all.
fn share(clause: &str, what: String, part: u64, of: u64, (least, most): (Option<f64>, Option<f64>)) -> AuditValue {
    let n = of.max(1) as f64;
    let expected = (least.or(most).unwrap_or(0.0) + most.or(least).unwrap_or(0.0)) / 200.0;
    let width = Z * (expected * (1.0 - expected) / n).sqrt() * 100.0;
    judged(clause, what, (part as f64 / n * 100.0, "%"), (least, most), width, of)
}

/// Lines are uniform from 5 to 15 (2.4.1.3): their variance is 10.
fn line_count(lines: u64, orders: u64) -> AuditValue {
    let n = orders.max(1) as f64;
    let (value, width) = (lines as f64 / n, Z * (10.0 / n).sqrt());
    judged("9.2.2.5", "lines of a new order".to_owned(), (value, "lines"), (Some(9.5), Some(10.5)), width, orders)
}

/// A value with its judgement: a value out of its range by less than `width` is not enough data.
fn judged(
    clause: &str,
    what: String,
    (value, unit): (f64, &str),
    (least, most): (Option<f64>, Option<f64>),
    width: f64,
    of: u64,
) -> AuditValue {
    let below = least.map_or(0.0, |least| least - value);
    let beyond = below.max(most.map_or(0.0, |most| value - most));
    let judgement = match () {
        () if of == 0 => Judgement::NotApplicable,
        () if beyond <= 0.0 => Judgement::Holds,
        () if beyond <= width => Judgement::NotEnoughData,
        () => Judgement::Broken,
    };
    let (clause, unit) = (clause.to_owned(), unit.to_owned());
    AuditValue { clause, what, value, unit, least, most, width, of, judgement }
}

/// The 90th percentile of what the user waits for: in open loop from the time when it was due.
fn response(position: usize, record: &TransactionRecord, most_s: f64) -> Result<AuditValue, String> {
    let stored = if record.response.is_empty() { &record.service } else { &record.response };
    let times = stored.to_histogram().map_err(|e| format!("{}: {e}", KINDS[position]))?;
    let value = times.percentile_ns(90.0).unwrap_or(0) as f64 / 1e9;
    let what = format!("90th percentile of {}", KINDS[position]);
    Ok(judged("5.2.5", what, (value, "s"), (None, Some(most_s)), 0.0, times.count()))
}

fn efficiency(new_orders: u64, ran: Ran) -> Efficiency {
    let minutes = ran.window_ns as f64 / 60e9;
    let tpmc = if minutes > 0.0 { new_orders as f64 / minutes } else { 0.0 };
    let percent = tpmc / (TPMC_MAX_PER_WAREHOUSE * f64::from(ran.warehouses.max(1))) * 100.0;
    let meaning = if ran.waited {
        "the share of what ten terminals per warehouse can ask for with keying and think times; below 100 by construction"
    } else {
        "without keying and think times nothing limits a warehouse to 12.86: above 100 it says only that terminals did not wait"
    };
    Efficiency { tpmc, percent, meaning }
}

#[cfg(test)]
mod tests;
