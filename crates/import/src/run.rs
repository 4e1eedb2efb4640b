//! One run as a log tells it.

use std::collections::BTreeMap;

use perbuck_core::metric::Metric;
use perbuck_core::run_record::HistogramRecord;

use crate::Unreadable;

/// How far counter, time and printed rate may be apart. Printed digits are rounded; more than this is another run's.
const AGREES: f64 = 0.01;
/// The longest run that is believed: a year.
const LONGEST_S: f64 = 366.0 * 86_400.0;

/// One run of a load generator.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    /// The line of its result, from 1.
    pub line: usize,
    /// The program.
    pub tool: &'static str,
    /// Its version; empty where the log does not say.
    pub version: String,
    /// The kind of workload, in the words of a study.
    pub kind: &'static str,
    /// The metric of that kind, where perbuck has no such workload.
    pub metric: Option<&'static Metric>,
    /// Connections; `None` where the log does not say.
    pub connections: Option<u32>,
    /// Warm-up in nanoseconds; `None` where the log does not say.
    pub warmup_ns: Option<u64>,
    /// The measured time in nanoseconds, above 0.
    pub window_ns: u64,
    /// By kind of transaction.
    pub transactions: BTreeMap<String, Counts>,
    /// Statements that read, write, and do something else; `None` where the log does not say.
    pub statements: Option<[u64; 3]>,
    /// Attempts beyond the first.
    pub retries: u64,
    /// Connections opened again; `None` where the log does not say.
    pub reconnects: Option<u64>,
    /// Errors by what the log calls them.
    pub errors: BTreeMap<&'static str, u64>,
    /// The seconds of the window, where the log has every one of them.
    pub seconds: Vec<Second>,
    /// What the log says of the workload.
    pub parameters: BTreeMap<&'static str, String>,
    /// The version of the server; empty where the log does not say.
    pub server: String,
    /// When it started, milliseconds since 1970 UTC; `None` where the log does not say.
    pub started_unix_ms: Option<u64>,
    /// Numbers that a record has no place for, as they were printed: name and text.
    pub printed: Vec<(String, String)>,
    /// What else the log does not say, in words.
    pub missing: Vec<&'static str>,
}

/// Transactions of one kind.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counts {
    /// Completed.
    pub completed: u64,
    /// Failed.
    pub failed: u64,
    /// Their times; `None` where the log has no histogram.
    pub latency: Option<HistogramRecord>,
}

/// One second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Second {
    /// Transactions completed in it.
    pub transactions: u64,
    /// Statements.
    pub statements: u64,
    /// Errors.
    pub errors: u64,
    /// 95th percentile in nanoseconds; 0 where the log does not say.
    pub p95_ns: u64,
}

impl Run {
    /// Completed transactions of all kinds.
    pub fn completed(&self) -> u64 {
        self.transactions.values().fold(0, |sum, counts| sum.saturating_add(counts.completed))
    }

    /// What the log does not say, in words.
    pub fn not_known(&self) -> Vec<&'static str> {
        let has_histogram = self.transactions.values().any(|counts| counts.latency.is_some());
        let gaps = [
            (self.warmup_ns.is_none(), "warm-up"),
            (self.started_unix_ms.is_none(), "date"),
            (self.server.is_empty(), "server version"),
            (true, "server settings"),
            (true, "machines"),
            (true, "data checks"),
            (!has_histogram, "latency histogram"),
            (self.seconds.is_empty(), "seconds"),
        ];
        gaps.into_iter().filter(|(missing, _)| *missing).map(|(_, what)| what).chain(self.missing.iter().copied()).collect()
    }

    /// Takes the measured time.
    pub(crate) fn lasts(&mut self, seconds: f64) -> Result<(), Unreadable> {
        if !(seconds > 0.0 && seconds <= LONGEST_S) {
            return Err(Unreadable::new(
                self.line,
                format!("the run took {seconds} s"),
                "a run takes above 0 s and up to a year",
            ));
        }
        self.window_ns = (seconds * 1e9).round() as u64;
        Ok(())
    }

    /// Checks a printed rate against its counter and the measured time, which were printed with an error of so many seconds at most.
    pub(crate) fn agrees(&self, what: &str, count: u64, printed_per_s: f64, error_s: f64) -> Result<(), Unreadable> {
        let seconds = self.window_ns as f64 / 1e9;
        let own = count as f64 / seconds;
        // A rate is printed with two digits, and a few counts more or less do not matter.
        let allowed = own * (AGREES + error_s / seconds) + 0.01 + 2.0 / seconds;
        if (own - printed_per_s).abs() <= allowed {
            return Ok(());
        }
        let message = format!("{count} {what} in {seconds} s are {own:.2} per second, and the log prints {printed_per_s:.2}");
        Err(Unreadable::new(self.line, message, "check that the log is whole, and that no lines of another run are in it"))
    }

    /// Keeps the seconds if they are those of the whole window.
    pub(crate) fn in_seconds(&mut self, seconds: Vec<(u64, Second)>) {
        let whole = self.window_ns / 1_000_000_000;
        let each = seconds.iter().zip(1..).all(|((at, _), position)| *at == position);
        // The last second is often printed together with the result, or not at all.
        if each && !seconds.is_empty() && seconds.len() as u64 + 1 >= whole {
            self.seconds = seconds.into_iter().take(whole as usize).map(|(_, second)| second).collect();
        }
    }
}
