//! What programs read: one JSON document at the end, or a line of comma-separated values per interval.

use std::collections::BTreeMap;

use perbuck_core::run_record::{ErrorRecord, HistogramRecord};
use serde::Serialize;

use super::settings::Settings;
use super::tally::{Distribution, Fairness, Summary, Tally};

/// A run as JSON. Times are seconds, latencies milliseconds, rates per second.
#[derive(Debug, Serialize)]
pub(super) struct RunJson<'a> {
    pub(super) perbuck: &'static str,
    pub(super) compat: &'static str,
    pub(super) script: &'a str,
    /// Every option of the script with its effective value.
    pub(super) parameters: BTreeMap<String, String>,
    /// The address of the database, without any credential.
    pub(super) target: &'a str,
    pub(super) threads: u32,
    /// Transactions per second offered; `null` in closed loop.
    pub(super) rate: Option<u32>,
    /// As `--rand-seed` takes it.
    pub(super) seed: i32,
    pub(super) summary: SummaryJson,
    /// Full reports at the seconds of `--report-checkpoints`; the summary then covers the time since the last one.
    pub(super) checkpoints: &'a [SummaryJson],
    pub(super) intervals: &'a [IntervalJson],
    /// Errors of the whole run.
    pub(super) errors_by_code: &'a BTreeMap<String, ErrorRecord>,
    pub(super) statement_latency_ms: BTreeMap<String, LatencyJson>,
    /// Pairs of the highest value of a bucket and its count.
    pub(super) histogram_ms: Option<Vec<(f64, u64)>>,
    /// Due and not ended when the measured time was over; in the latency by their age.
    pub(super) unfinished: u64,
    /// Not ended within the limit for the last transactions.
    pub(super) aborted: u64,
    /// What a reader of the numbers must know.
    pub(super) flags: Vec<String>,
    /// How perbuck differs from sysbench.
    pub(super) notes: Vec<String>,
    /// The record of the run.
    pub(super) record: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(super) struct SummaryJson {
    at_s: f64,
    covers_s: f64,
    transactions: u64,
    transactions_per_s: f64,
    read: u64,
    write: u64,
    other: u64,
    queries: u64,
    queries_per_s: f64,
    ignored_errors: u64,
    reconnects: u64,
    latency_ms: LatencyJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    fairness: Option<Fairness>,
}

/// Latencies in milliseconds.
#[derive(Debug, Serialize)]
pub(super) struct LatencyJson {
    count: u64,
    min: f64,
    avg: f64,
    max: f64,
    sum: f64,
    /// By percent, as typed.
    percentiles: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct IntervalJson {
    pub(super) at_s: i64,
    pub(super) transactions_per_s: f64,
    pub(super) queries_per_s: f64,
    pub(super) read_per_s: f64,
    pub(super) write_per_s: f64,
    pub(super) other_per_s: f64,
    pub(super) errors_per_s: f64,
    pub(super) reconnects_per_s: f64,
    pub(super) percentiles_ms: BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) queue_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) concurrency: Option<u64>,
}

fn latency(of: &Distribution, settings: &Settings) -> LatencyJson {
    let percentiles = settings.percentiles.iter().map(|(label, p)| (label.clone(), of.percentile_ms(*p))).collect();
    let (min, avg, max, sum) = (of.min_ms(), of.mean_ms(), of.max_ms(), of.sum_ms());
    LatencyJson { count: of.count(), min, avg, max, sum, percentiles }
}

pub(super) fn summary(summary: &Summary, settings: &Settings) -> SummaryJson {
    let tally = &summary.tally;
    SummaryJson {
        at_s: summary.elapsed_s,
        covers_s: summary.covers_s,
        transactions: tally.transactions,
        transactions_per_s: summary.per_s(tally.transactions),
        read: tally.read,
        write: tally.write,
        other: tally.other,
        queries: tally.queries(),
        queries_per_s: summary.per_s(tally.queries()),
        ignored_errors: tally.errors,
        reconnects: tally.reconnects,
        latency_ms: latency(&summary.latency, settings),
        fairness: summary.fairness,
    }
}

pub(super) fn statements(all: &BTreeMap<String, HistogramRecord>, settings: &Settings) -> BTreeMap<String, LatencyJson> {
    // A record that was made a moment ago can be read.
    let one = |times: &HistogramRecord| latency(&Distribution::of(&times.to_histogram().unwrap_or_default()), settings);
    all.iter().map(|(label, times)| (label.clone(), one(times))).collect()
}

/// An interval as JSON; also the source of a line of values.
pub(super) fn interval(at_s: i64, settings: &Settings, seconds: f64, tally: &Tally, queue: Option<(u64, u64)>) -> IntervalJson {
    let per_s = |count: u64| count as f64 / seconds;
    let at = |p: f64| tally.latency.percentile_ns(p).unwrap_or(0) as f64 / 1e6;
    IntervalJson {
        at_s,
        transactions_per_s: per_s(tally.transactions),
        queries_per_s: per_s(tally.queries()),
        read_per_s: per_s(tally.read),
        write_per_s: per_s(tally.write),
        other_per_s: per_s(tally.other),
        errors_per_s: per_s(tally.errors),
        reconnects_per_s: per_s(tally.reconnects),
        percentiles_ms: settings.percentiles.iter().map(|(label, p)| (label.clone(), at(*p))).collect(),
        queue_length: queue.map(|q| q.0),
        concurrency: queue.map(|q| q.1),
    }
}

pub(super) fn csv_header(settings: &Settings) -> String {
    let always = "time_s,threads,tps,qps,reads_per_s,writes_per_s,other_per_s,errors_per_s,reconnects_per_s";
    let percentiles: String = settings.percentiles.iter().map(|(label, _)| format!(",p{label}_ms")).collect();
    let queue = if settings.load.rate.is_some() { ",queue_length,concurrency" } else { "" };
    format!("{always}{percentiles}{queue}\n")
}

pub(super) fn csv_line(interval: &IntervalJson, settings: &Settings) -> String {
    let i = interval;
    let mut values = vec![i.at_s.to_string(), settings.load.connections.to_string()];
    let rates =
        [i.transactions_per_s, i.queries_per_s, i.read_per_s, i.write_per_s, i.other_per_s, i.errors_per_s, i.reconnects_per_s];
    values.extend(rates.iter().map(|r| format!("{r:.2}")));
    let percentile = |label: &String| i.percentiles_ms.get(label).copied().unwrap_or(0.0);
    values.extend(settings.percentiles.iter().map(|(label, _)| format!("{:.3}", percentile(label))));
    values.extend([i.queue_length, i.concurrency].iter().flatten().map(u64::to_string));
    values.join(",") + "\n"
}
