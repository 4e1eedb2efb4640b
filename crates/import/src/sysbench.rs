//! The output of sysbench 0.4 to 1.1 with one of its database tests, and of `perbuck sysbench`, which prints the same lines.

use std::collections::BTreeMap;

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::HistogramRecord;

use crate::Unreadable;
use crate::run::{Counts, Run, Second};
use crate::words::{labelled, leading, leading_whole, number, whole};

/// The line above the counters: of 1.0 and 1.1, of 0.4 and 0.5.
const STATISTICS: [&str; 2] = ["SQL statistics:", "OLTP test statistics:"];
const OPTIONS: &str = "Running the test with following options:";
/// In the first line of `perbuck sysbench`.
const OURS: &str = "with the options and output of sysbench";
const HISTOGRAM: &str = "Latency histogram (values are in milliseconds)";
/// Times are printed with four digits.
const ROUNDED_S: f64 = 0.00005;

pub(crate) fn read(text: &str) -> Result<Vec<Run>, Unreadable> {
    let (mut runs, mut draft) = (Vec::new(), Draft::default());
    for (line, text) in (1..).zip(text.lines().map(str::trim)) {
        let ours = text.strip_prefix("perbuck ").filter(|rest| rest.contains(OURS));
        let version = ours.or(text.strip_prefix("sysbench ")).filter(|v| v.starts_with(|c: char| c.is_ascii_digit()));
        let statistics = STATISTICS.contains(&text);
        if version.is_some() || (text == OPTIONS && draft.line > 0) || (statistics && draft.statistics > 0) {
            let (version, ours) = (draft.version.clone(), draft.ours);
            runs.extend(std::mem::take(&mut draft).run()?);
            (draft.version, draft.ours) = (version, ours);
        }
        if let Some(version) = version {
            draft.ours = ours.is_some();
            draft.version = version.split([' ', ':']).next().unwrap_or_default().to_owned();
        } else if text == OPTIONS || statistics {
            draft.line = if draft.line == 0 { line } else { draft.line };
            draft.statistics = if statistics { line } else { 0 };
            draft.in_histogram = false;
        } else {
            draft.take(text);
        }
    }
    runs.extend(draft.run()?);
    Ok(runs)
}

/// What was read of a run so far.
#[derive(Default)]
struct Draft {
    version: String,
    /// Whether perbuck printed it.
    ours: bool,
    /// The first line of the run, and that of its counters; 0 before it.
    line: usize,
    statistics: usize,
    in_histogram: bool,
    values: BTreeMap<String, String>,
    histogram: Vec<(f64, u64)>,
    seconds: Vec<(u64, Second)>,
}

impl Draft {
    fn take(&mut self, text: &str) {
        if text == HISTOGRAM {
            self.in_histogram = true;
        } else if let Some(bar) = text.split_once('|').filter(|_| self.in_histogram) {
            self.histogram.extend(number(bar.0).zip(bar.1.split_whitespace().last().and_then(whole)));
        } else if text.starts_with('[') {
            self.seconds.extend(second(text));
        } else if let Some((key, value)) = labelled(text).filter(|_| self.line > 0) {
            self.values.entry(key.to_owned()).or_insert_with(|| value.to_owned());
        }
    }

    fn value(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self.values.get(*key)).map(String::as_str)
    }

    fn count(&self, keys: &[&str]) -> Option<u64> {
        self.value(keys).and_then(leading_whole)
    }

    /// A number with a fraction, such as a time in seconds or milliseconds.
    fn real(&self, keys: &[&str]) -> Option<f64> {
        self.value(keys).and_then(leading)
    }

    /// The finished run; `None` where none began.
    fn run(self) -> Result<Option<Run>, Unreadable> {
        if self.line == 0 {
            return Ok(None);
        }
        let cut = |what: &str| {
            let help = "give the whole output of one of sysbench's database tests, to the line `Threads fairness:`";
            Unreadable::new(self.line, format!("a run of sysbench begins here, and {what}"), help)
        };
        if self.statistics == 0 {
            return Err(cut("it has no `SQL statistics`: it was cut off, or is no test of a database"));
        }
        if self.value(&["Target transaction rate"]).is_some() {
            let help = "a rate says how much was offered, and not how much the database can do; import runs without --rate";
            return Err(Unreadable::new(self.line, "a run of sysbench at a fixed rate (--rate) begins here", help));
        }
        let seconds = self.real(&["total time", "time elapsed"]).ok_or_else(|| cut("it has no `total time`"))?;
        let completed = self.count(&["transactions"]).ok_or_else(|| cut("it has no count of `transactions`"))?;
        let mut run = Run { line: self.statistics, tool: "sysbench", kind: "sysbench", ..Run::default() };
        if self.ours {
            run.tool = "perbuck sysbench";
        }
        run.lasts(seconds)?;
        run.agrees("transactions", completed, self.per_second("transactions").ok_or_else(|| cut("it has no rate"))?, ROUNDED_S)?;
        run.connections = self.count(&["Number of threads"]).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
        run.warmup_ns = self.real(&["Warmup time"]).map(|s| (s.min(1e6) * 1e9) as u64);
        run.statements = match (self.count(&["read"]), self.count(&["write"]), self.count(&["other"])) {
            (Some(read), Some(write), Some(other)) => Some([read, write, other]),
            _ => None,
        };
        run.retries = self.count(&["ignored errors", "deadlocks"]).unwrap_or(0);
        if run.retries > 0 {
            run.errors.insert("ignored errors of sysbench", run.retries);
        }
        run.reconnects = self.count(&["reconnects"]);
        run.printed = self.printed();
        let latency = self.latency(completed);
        run.missing = vec!["script, tables and rows", "seed"];
        if latency.is_none() && !self.histogram.is_empty() {
            run.missing.push("a histogram of all its transactions: the printed one has another count");
        }
        run.transactions.insert("transaction".to_owned(), Counts { completed, failed: 0, latency });
        run.version = self.version;
        run.in_seconds(self.seconds);
        Ok(Some(run))
    }

    /// The rate after a counter: `transactions: 1234 (123.40 per sec.)`.
    fn per_second(&self, key: &str) -> Option<f64> {
        self.values.get(key)?.split_once('(').and_then(|(_, rate)| leading(rate))
    }

    fn printed(&self) -> Vec<(String, String)> {
        let times = self.values.iter().filter(|(key, value)| {
            matches!(key.as_str(), "min" | "avg" | "max" | "sum") || key.ends_with("percentile") && leading(value).is_some()
        });
        let unit = |value: &String| if value.ends_with("ms") { value.clone() } else { format!("{value} ms") };
        let name = |key: &String| key.split_whitespace().collect::<Vec<_>>().join(" ");
        times.map(|(key, value)| (name(key), unit(value))).collect()
    }

    /// The histogram, where it was printed and holds every transaction. Sum and maximum are printed beside it.
    fn latency(&self, completed: u64) -> Option<HistogramRecord> {
        let count = self.histogram.iter().fold(0_u64, |sum, (_, n)| sum.saturating_add(*n));
        let (max_ms, sum_ms) = (self.real(&["max"])?, self.real(&["sum"])?);
        if self.histogram.is_empty() || count != completed {
            return None;
        }
        let ns = |ms: f64| (ms * 1e6).round() as u64;
        let mut histogram = Histogram::new();
        for (ms, n) in &self.histogram {
            // The value of a bucket is its middle, which may lie above the longest.
            histogram.record_n(ns(*ms).min(ns(max_ms)), *n);
        }
        Some(HistogramRecord { hdr: histogram.to_base64(), count, sum_ns: ns(sum_ms), max_ns: ns(max_ms) })
    }
}

/// A line of `--report-interval`, with the second that it ends at. Only reports of every second become seconds.
fn second(text: &str) -> Option<(u64, Second)> {
    let (at, rest) = text.strip_prefix('[')?.split_once(']')?;
    let at = whole(at.trim().strip_suffix('s')?.trim())?;
    let after = |name: &str| rest.split_once(name).and_then(|(_, value)| leading(value.trim_start()));
    let rounded = |value: f64| value.round().clamp(0.0, 1e12) as u64;
    let reads = || Some(after("reads: ").or_else(|| after("reads/s: "))? + after("writes: ").or_else(|| after("writes/s: "))?);
    let p95_ms = after("lat (ms,95%):").or_else(|| after("response time:").filter(|_| rest.contains("ms (95%)")));
    let second = Second {
        transactions: rounded(after("tps:")?),
        statements: rounded(after("qps:").or_else(reads)?),
        errors: rounded(after("err/s").or_else(|| after("errors:")).unwrap_or(0.0)),
        p95_ns: rounded(p95_ms.unwrap_or(0.0) * 1e6),
    };
    Some((at, second))
}
