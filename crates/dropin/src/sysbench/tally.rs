//! What was counted in a time, and what is to be said of it: nothing here prints.

use std::collections::BTreeMap;

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::{RunRecord, TransactionRecord};
use perbuck_load::observer::SecondSeen;
use perbuck_load::totals::TerminalTotals;
use serde::Serialize;

/// Nanoseconds of a millisecond, the unit of all latencies shown.
const MS: f64 = 1e6;

/// Counters of a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    /// Transactions completed.
    pub(super) transactions: u64,
    /// Statements that returned a result set.
    pub(super) read: u64,
    /// Statements that changed rows.
    pub(super) write: u64,
    /// All other statements.
    pub(super) other: u64,
    /// Transactions that were tried again or given up.
    pub(super) errors: u64,
    /// Connections opened again.
    pub(super) reconnects: u64,
    /// Latency of the completed ones; in open loop since they were due.
    pub(super) latency: Histogram,
}

/// Connections lost in a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Trouble {
    /// Errors that were the loss of a connection, or a failed reconnect.
    pub(super) losses: u64,
    pub(super) reconnects: u64,
}

impl Tally {
    /// Adds a second. Percentiles of a time come from the sum of its histograms and are never averaged.
    pub(super) fn add(&mut self, seen: &SecondSeen<'_>) {
        self.transactions += seen.interval.transactions;
        self.read += seen.second.counts.read;
        self.write += seen.second.counts.write;
        self.other += seen.second.counts.other;
        self.errors += seen.interval.errors.saturating_sub(seen.second.losses);
        self.reconnects += seen.second.reconnects;
        self.latency.merge(&seen.second.latency);
    }

    /// The whole measured window of a record, in which connections were lost so often. The record has them of the whole run
    /// only, warm-up and last transactions included.
    pub(super) fn of(record: &RunRecord, trouble: Trouble) -> Result<Self, String> {
        let measured = &record.measured;
        // Errors are kept by second and, over the whole run, by code: those of the warm-up are not of the window. Lost
        // connections are counted apart, as reconnects.
        let errors: u64 = record.intervals.iter().filter(|i| i.start_ms >= 0).map(|i| i.errors).sum();
        let errors = errors.saturating_sub(trouble.losses);
        Ok(Self {
            transactions: measured.transactions.values().map(TransactionRecord::completed).sum(),
            read: measured.statements.read,
            write: measured.statements.write,
            other: measured.statements.other,
            errors,
            reconnects: trouble.reconnects,
            latency: completed(record)?,
        })
    }

    pub(super) fn queries(&self) -> u64 {
        self.read + self.write + self.other
    }
}

/// Latency of what was completed: in open loop since it was due.
fn completed(record: &RunRecord) -> Result<Histogram, String> {
    if record.measured.open_loop.is_none() {
        return record.latency();
    }
    let mut all = Histogram::new();
    for (kind, t) in &record.measured.transactions {
        all.merge(&t.response.to_histogram().map_err(|e| format!("{kind}: {e}"))?);
    }
    Ok(all)
}

/// Latencies as the report shows them.
#[derive(Debug, Clone, Default)]
pub(super) struct Distribution {
    /// Pairs of the highest value of a bucket, in nanoseconds, and its count; ascending.
    pub(super) buckets: Vec<(u64, u64)>,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Distribution {
    pub(super) fn of(all: &Histogram) -> Self {
        Self::since(all, &Histogram::new())
    }

    /// What a histogram holds beyond an earlier state of it.
    pub(super) fn since(all: &Histogram, earlier: &Histogram) -> Self {
        let before: BTreeMap<u64, u64> = earlier.buckets().collect();
        let rest = all.buckets().map(|(ns, n)| (ns, n.saturating_sub(before.get(&ns).copied().unwrap_or(0))));
        let buckets: Vec<(u64, u64)> = rest.filter(|(_, n)| *n > 0).collect();
        // The exact maximum may belong to the earlier state.
        let max_ns = buckets.last().map_or(0, |(ns, _)| *ns).min(all.max_ns());
        let sum_ns = all.sum_ns().saturating_sub(earlier.sum_ns());
        let mut found = Self { buckets, sum_ns, min_ns: 0, max_ns };
        // The upper end of its bucket may lie above the longest, and above the mean of all.
        let shortest_ns = found.buckets.first().map_or(0, |(ns, _)| (*ns).min(max_ns));
        found.min_ns = shortest_ns.min((found.mean_ms() * MS).round() as u64);
        found
    }

    /// The same with transactions that had not ended, counted by their age. The shortest stays that of what was completed:
    /// an age is a lower bound, which says nothing of the shortest.
    pub(super) fn with_unfinished(self, ages: &Histogram) -> Self {
        let mut counts: BTreeMap<u64, u64> = self.buckets.into_iter().collect();
        ages.buckets().for_each(|(ns, n)| *counts.entry(ns).or_default() += n);
        let (sum_ns, max_ns) = (self.sum_ns + ages.sum_ns(), self.max_ns.max(ages.max_ns()));
        Self { buckets: counts.into_iter().collect(), sum_ns, max_ns, ..self }
    }

    pub(super) fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, n)| n).sum()
    }

    pub(super) fn sum_ms(&self) -> f64 {
        self.sum_ns as f64 / MS
    }

    /// The longest in milliseconds; 0 where there is none.
    pub(super) fn max_ms(&self) -> f64 {
        self.max_ns as f64 / MS
    }

    /// Their mean in milliseconds; 0 where there is none.
    pub(super) fn mean_ms(&self) -> f64 {
        self.sum_ms() / self.count().max(1) as f64
    }

    /// The shortest in milliseconds, to three digits; 0 where there is none.
    pub(super) fn min_ms(&self) -> f64 {
        self.min_ns as f64 / MS
    }

    /// The value at or below which `percent` of them lie, in milliseconds; 0 where there is none.
    pub(super) fn percentile_ms(&self, percent: f64) -> f64 {
        let exact = percent / 100.0 * self.count() as f64;
        // The product may come out a hair too large (99.9 % of 1000), which must not be rounded up to the next one.
        let rank = ((exact - exact * 1e-12).ceil() as u64).max(1);
        let mut seen = 0;
        let reached = self.buckets.iter().find(|(_, n)| {
            seen += n;
            seen >= rank
        });
        reached.map_or(0.0, |(ns, _)| (*ns).min(self.max_ns) as f64 / MS)
    }
}

/// How evenly the connections shared the work: means and standard deviations over them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Fairness {
    pub(super) events_avg: f64,
    pub(super) events_stddev: f64,
    pub(super) execution_time_avg_s: f64,
    pub(super) execution_time_stddev_s: f64,
}

impl Fairness {
    /// Of these connections; at least one.
    pub(super) fn of(terminals: &[TerminalTotals]) -> Self {
        let spread = |value: fn(&TerminalTotals) -> f64| {
            let count = terminals.len().max(1) as f64;
            let mean = terminals.iter().map(value).sum::<f64>() / count;
            let variance = terminals.iter().map(|t| (value(t) - mean).powi(2)).sum::<f64>() / count;
            (mean, variance.sqrt())
        };
        let (events_avg, events_stddev) = spread(|t| t.transactions as f64);
        let (execution_time_avg_s, execution_time_stddev_s) = spread(|t| t.busy_ns as f64 / 1e9);
        Self { events_avg, events_stddev, execution_time_avg_s, execution_time_stddev_s }
    }
}

/// A full report: at the end of a run, or at a checkpoint.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    /// Connections.
    pub(super) threads: u32,
    /// Seconds since the window opened.
    pub(super) elapsed_s: f64,
    /// Seconds that the counters cover: since the last checkpoint, if there was one.
    pub(super) covers_s: f64,
    pub(super) tally: Tally,
    pub(super) latency: Distribution,
    /// Over the whole run; not known at a checkpoint, nor after one.
    pub(super) fairness: Option<Fairness>,
}

/// What was counted at the last checkpoint.
#[derive(Debug, Clone, Default)]
pub(super) struct Checkpoint {
    /// When, in seconds since the window opened.
    pub(super) at_s: f64,
    /// All that was counted until then.
    pub(super) tally: Tally,
}

impl Summary {
    /// What was counted since a checkpoint, out of all that was counted.
    pub(super) fn since(checkpoint: &Checkpoint, threads: u32, elapsed_s: f64, all: &Tally) -> Self {
        let before = &checkpoint.tally;
        let tally = Tally {
            transactions: all.transactions.saturating_sub(before.transactions),
            read: all.read.saturating_sub(before.read),
            write: all.write.saturating_sub(before.write),
            other: all.other.saturating_sub(before.other),
            errors: all.errors.saturating_sub(before.errors),
            reconnects: all.reconnects.saturating_sub(before.reconnects),
            latency: Histogram::new(),
        };
        let latency = Distribution::since(&all.latency, &before.latency);
        Self { threads, elapsed_s, covers_s: elapsed_s - checkpoint.at_s, tally, latency, fairness: None }
    }

    pub(super) fn per_s(&self, count: u64) -> f64 {
        if self.covers_s > 0.0 { count as f64 / self.covers_s } else { 0.0 }
    }
}

/// Open loop: how many were due and had not ended when the window closed; their latency is counted by their age.
pub(super) fn unfinished(record: &RunRecord) -> u64 {
    record.measured.open_loop.as_ref().map_or(0, |open| open.unfinished.count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::histogram;

    #[test]
    #[expect(clippy::float_cmp, reason = "nothing is computed of nothing")]
    fn a_distribution_is_that_of_its_values() {
        let d = Distribution::of(&histogram((1..=1000).map(|i| i * 1_000_000)));
        assert_eq!(d.count(), 1000);
        for (percent, ms) in [(1.0, 10.0), (50.0, 500.0), (95.0, 950.0), (99.9, 999.0), (100.0, 1000.0)] {
            assert!((d.percentile_ms(percent) - ms).abs() <= ms * 0.001, "{percent}: {}", d.percentile_ms(percent));
        }
        assert!((d.min_ms() - 1.0).abs() < 0.001 && (d.max_ms() - 1000.0).abs() < 1e-9);
        assert!((d.mean_ms() - 500.5).abs() < 1e-9 && (d.sum_ms() - 500_500.0).abs() < 1e-6);
        let none = Distribution::of(&Histogram::new());
        let all = [none.min_ms(), none.mean_ms(), none.max_ms(), none.percentile_ms(95.0), none.sum_ms()];
        assert_eq!(all, [0.0; 5]);
    }

    #[test]
    fn a_single_value_is_its_own_minimum_mean_percentile_and_maximum() {
        let d = Distribution::of(&histogram([1_234_567]));
        let all = [d.min_ms(), d.mean_ms(), d.percentile_ms(95.0), d.max_ms()];
        assert!(all.iter().all(|ms| (ms - 1.234_567).abs() < 1e-9), "{all:?}");
    }

    #[test]
    fn what_came_after_a_checkpoint_is_all_but_what_came_before() {
        let (early, late) = ([5_000_000u64, 90_000_000], [7_000_000u64, 8_000_000]);
        let tally = |latency: Histogram, n| Tally { transactions: n, read: 2 * n, errors: 1, latency, ..Tally::default() };
        let checkpoint = Checkpoint { at_s: 2.0, tally: tally(histogram(early), 2) };
        let all = tally(histogram(early.into_iter().chain(late)), 4);
        let summary = Summary::since(&checkpoint, 8, 5.0, &all);
        assert_eq!((summary.tally.transactions, summary.tally.read, summary.tally.errors), (2, 4, 0));
        assert!((summary.covers_s - 3.0).abs() < 1e-9 && (summary.latency.sum_ms() - 15.0).abs() < 1e-9);
        assert_eq!(summary.latency.count(), 2);
        // The longest of all came before; to three digits the longest since is 8 ms.
        assert!((summary.latency.max_ms() - 8.0).abs() < 0.01, "{}", summary.latency.max_ms());
    }

    #[test]
    fn what_had_not_ended_counts_by_its_age_but_for_the_shortest() {
        let d = Distribution::of(&histogram([5_000_000, 7_000_000])).with_unfinished(&histogram([1_000, 90_000_000]));
        assert_eq!(d.count(), 4);
        assert!((d.min_ms() - 5.0).abs() < 0.01 && (d.max_ms() - 90.0).abs() < 1e-9, "{} {}", d.min_ms(), d.max_ms());
        assert!((d.percentile_ms(99.0) - 90.0).abs() < 1e-9 && (d.sum_ms() - 102.001).abs() < 1e-6, "{}", d.sum_ms());
    }

    #[test]
    fn fairness_is_the_spread_over_connections() {
        let terminal = |transactions, busy_ns| TerminalTotals { transactions, busy_ns, last_ended_ns: 0 };
        let fair = Fairness::of(&[terminal(10, 1_000_000_000), terminal(20, 3_000_000_000)]);
        let [events_avg, events_stddev, execution_time_avg_s, execution_time_stddev_s] = [15.0, 5.0, 2.0, 1.0];
        assert_eq!(fair, Fairness { events_avg, events_stddev, execution_time_avg_s, execution_time_stddev_s });
    }
}
