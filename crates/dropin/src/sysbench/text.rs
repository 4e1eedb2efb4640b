//! sysbench's lines, in the shape that its parsers know: labels, columns and digits.

use std::collections::BTreeMap;

use perbuck_core::run_record::{HistogramRecord, RunRecord};
use perbuck_lab::trial::Details;
use perbuck_workloads::sysbench::Compat;

use super::log::Called;
use super::machine::IntervalJson;
use super::settings::{Settings, compat_word};
use super::tally::{Summary, unfinished};
use crate::output::errors_by_code;

/// The version of sysbench whose name perbuck may go by.
pub(super) const SYSBENCH: &str = "sysbench 1.0.20";

/// What stands above everything.
pub(super) fn header(compat: Option<Compat>, called: Called) -> String {
    if called == Called::Sysbench {
        return format!("{SYSBENCH} (perbuck {})\n\n", env!("CARGO_PKG_VERSION"));
    }
    let version = match compat {
        Some(Compat::Sysbench10) => "1.0.20",
        Some(Compat::Sysbench11) => "1.1",
        // Its own draws, and the lines that most parsers know.
        None => "1.0.20, and perbuck's own draws",
    };
    format!("perbuck {} (with the options and output of sysbench {version})\n\n", env!("CARGO_PKG_VERSION"))
}

pub(super) fn banner(settings: &Settings, adds: bool) -> String {
    let mut out = "Running the test with following options:\n".to_owned();
    let mut line = |text: String| out += &(text + "\n");
    line(format!("Number of threads: {}", settings.load.connections));
    if settings.warmup_s > 0 {
        line(format!("Warmup time: {}s", settings.warmup_s));
    }
    if let Some(rate) = settings.load.rate {
        line(format!("Target transaction rate: {rate}/sec"));
    }
    if let Some(seconds) = settings.report_interval_s {
        line(format!("Report intermediate results every {seconds} second(s)"));
    }
    if !settings.checkpoints_s.is_empty() {
        let list: Vec<String> = settings.checkpoints_s.iter().map(u32::to_string).collect();
        line(format!("Report checkpoint(s) at {} seconds", list.join(", ")));
    }
    if settings.debug {
        line("Debug mode enabled.\n".to_owned());
    }
    if settings.validate {
        line("Validation checks: on.\n".to_owned());
    }
    match (settings.seed, settings.seed_drawn) {
        (seed, false) => line(format!("Initializing random number generator from seed ({seed}).\n")),
        (_, true) if !adds => line("Initializing random number generator from current time\n".to_owned()),
        (seed, true) => line(format!("Initializing random number generator from current time (seed {seed})\n")),
    }
    if let (Some(time_s), Some(_)) = (settings.time_s, settings.forced_shutdown_s) {
        line(format!("Forcing shutdown in {} seconds", u64::from(time_s) + u64::from(settings.drain_s())));
    }
    out + "\nInitializing worker threads...\n\n"
}

/// One interval line; in open loop with its second.
pub(super) fn interval(i: &IntervalJson, settings: &Settings) -> String {
    let (percent, latency_ms) = match settings.headline() {
        Some((label, _)) => (label.as_str(), i.percentiles_ms.get(label).copied().unwrap_or(0.0)),
        None => ("0", 0.0),
    };
    let (at_s, threads) = (i.at_s, settings.load.connections);
    let statements = format!("{:4.2}/{:4.2}/{:4.2}", i.read_per_s, i.write_per_s, i.other_per_s);
    let mut line = format!(
        "[ {at_s}s ] thds: {threads} tps: {:4.2} qps: {:4.2} (r/w/o: {statements}) lat (ms,{percent}%): {latency_ms:4.2} err/s: {:4.2} reconn/s: {:4.2}\n",
        i.transactions_per_s, i.queries_per_s, i.errors_per_s, i.reconnects_per_s,
    );
    if let (Some(waiting), Some(in_flight)) = (i.queue_length, i.concurrency) {
        line += &format!("[ {at_s}s ] queue length: {waiting}, concurrency: {in_flight}\n");
    }
    line
}

pub(super) fn summary(summary: &Summary, settings: &Settings) -> String {
    let tally = &summary.tally;
    let mut out = "SQL statistics:\n    queries performed:\n".to_owned();
    let mut count = |label: &str, count: u64| out += &format!("        {label:<33}{count}\n");
    count("read:", tally.read);
    count("write:", tally.write);
    count("other:", tally.other);
    count("total:", tally.queries());
    let mut rate = |label: &str, count: u64| {
        out += &format!("    {label:<37}{count:<6} ({:.2} per sec.)\n", summary.per_s(count));
    };
    rate("transactions:", tally.transactions);
    rate("queries:", tally.queries());
    rate("ignored errors:", tally.errors);
    rate("reconnects:", tally.reconnects);
    let (elapsed_s, events) = (summary.elapsed_s, tally.transactions);
    out += &match settings.compat {
        Some(Compat::Sysbench10) | None => {
            format!("\nGeneral statistics:\n    total time:                          {elapsed_s:.4}s\n")
        }
        Some(Compat::Sysbench11) => format!(
            "\nThroughput:\n    events/s (eps):                      {:.4}\n    time elapsed:                        {elapsed_s:.4}s\n",
            summary.per_s(events)
        ),
    };
    out += &format!("    total number of events:              {events}\n\n");
    out + &latency(summary, settings) + &fairness(summary)
}

fn latency(summary: &Summary, settings: &Settings) -> String {
    let latency = &summary.latency;
    let mut out = "Latency (ms):\n".to_owned();
    let mut line = |label: &str, ms: f64| {
        let label = format!("{label:>12}:");
        out += &format!("{label}{ms:>width$.2}\n", width = 53 - label.len());
    };
    line("min", latency.min_ms());
    line("avg", latency.mean_ms());
    line("max", latency.max_ms());
    for (label, percent) in &settings.percentiles {
        line(&format!("        {label:>3}th percentile"), latency.percentile_ms(*percent));
    }
    if settings.percentiles.is_empty() {
        out += "         percentile stats:               disabled\n";
    }
    out + &format!("         sum: {:39.2}\n\n", latency.sum_ms())
}

fn fairness(summary: &Summary) -> String {
    let (events, busy) = match summary.fairness {
        Some(f) => (
            format!("{:.4}/{:3.2}", f.events_avg, f.events_stddev),
            format!("{:.4}/{:3.2}", f.execution_time_avg_s, f.execution_time_stddev_s),
        ),
        // Connections are told apart over the whole run only, so there is no spread to show.
        None => {
            let threads = f64::from(summary.threads.max(1));
            let (events, busy_s) = (summary.tally.transactions as f64 / threads, summary.latency.sum_ms() / 1000.0 / threads);
            (format!("{events:.4}/n/a"), format!("{busy_s:.4}/n/a"))
        }
    };
    format!("Threads fairness:\n    events (avg/stddev):           {events}\n    execution time (avg/stddev):   {busy}\n\n")
}

/// The buckets that sysbench's histogram has: 1024 from 0.001 ms to 100 s, each a constant factor wider than the last.
const BUCKETS: f64 = 1024.0;
const LOWEST_MS: f64 = 0.001;
const HIGHEST_MS: f64 = 100_000.0;

/// The distribution of the latency, as sysbench draws it.
pub(super) fn histogram(summary: &Summary) -> String {
    let per_factor = (BUCKETS - 1.0) / (HIGHEST_MS / LOWEST_MS).ln();
    let mut counts: Vec<u64> = vec![0; BUCKETS as usize];
    for (ns, count) in &summary.latency.buckets {
        let ms = (*ns as f64 / 1e6).clamp(LOWEST_MS, HIGHEST_MS);
        let bucket = ((ms / LOWEST_MS).ln() * per_factor).round() as usize;
        counts[bucket.min(BUCKETS as usize - 1)] += count;
    }
    let mut out = "Latency histogram (values are in milliseconds)\n".to_owned();
    let Some(most) = counts.iter().copied().max().filter(|m| *m > 0) else { return out + " \n" };
    out += "       value  ------------- distribution ------------- count\n";
    for (bucket, count) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
        let ms = LOWEST_MS * (bucket as f64 / per_factor).exp();
        let stars = "*".repeat((*count as f64 * 40.0 / most as f64).round() as usize);
        out += &format!("{ms:12.3} |{stars:<40} {count}\n");
    }
    out + " \n"
}

/// What only perbuck has to say, below sysbench's report; nothing where there is nothing.
pub(super) fn extras(record: &RunRecord, details: &Details, settings: &Settings) -> String {
    let mut out = String::new();
    if !details.statement_latency.is_empty() {
        out += &statements(&details.statement_latency, settings);
    }
    if !record.errors.is_empty() {
        out += "Errors by code (of the whole run, with warm-up and last transactions):\n";
        out += &(errors_by_code(&record.errors) + "\n");
    }
    let unfinished = unfinished(record);
    if unfinished > 0 {
        let text = "still running or waiting at the end, in the latency with their age";
        out += &format!("Unfinished transactions:\n    {text}: {unfinished}\n\n");
    }
    out
}

fn statements(all: &BTreeMap<String, HistogramRecord>, settings: &Settings) -> String {
    let widest = all.keys().map(String::len).max().unwrap_or(0).max(20);
    let row = |label: &str, count: &str, avg: &str, percentiles: &[String], max: &str| {
        let percentiles: String = percentiles.iter().map(|p| format!(" {p:>10}")).collect();
        format!("    {label:<widest$} {count:>10} {avg:>10}{percentiles} {max:>10}\n")
    };
    let labels: Vec<String> = settings.percentiles.iter().map(|(label, _)| format!("p{label}")).collect();
    let mut out = "Statement latency (ms):\n".to_owned() + &row("statement", "count", "avg", &labels, "max");
    for (label, times) in all {
        // A record that was made a moment ago can be read.
        let times = times.to_histogram().unwrap_or_default();
        let ms = |ns: f64| format!("{:.3}", ns / 1e6);
        let at = |percent: f64| ms(times.percentile_ns(percent).unwrap_or(0) as f64);
        let percentiles: Vec<String> = settings.percentiles.iter().map(|(_, percent)| at(*percent)).collect();
        let (count, avg) = (times.count().to_string(), ms(times.mean_ns().unwrap_or(0.0)));
        out += &row(label, &count, &avg, &percentiles, &ms(times.max_ns() as f64));
    }
    out + "\n"
}

/// How this run differs from sysbench; empty if it does not.
pub(super) fn notes(notes: &[String], compat: Option<Compat>) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let lines: String = notes.iter().map(|note| format!("    {note}\n")).collect();
    format!("Other than {}:\n{lines}\n", compat_word(compat))
}

#[cfg(test)]
mod tests;
