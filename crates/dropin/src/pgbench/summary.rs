//! What pgbench prints of a run: lines of progress, and the summary at the end.

use std::collections::BTreeMap;
use std::fmt::Write;

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::{ErrorRecord, RunRecord, TransactionRecord};
use perbuck_load::error::ErrorClass;
use perbuck_load::statement_times::StepTotals;

use super::settings::Settings;

const MS: f64 = 1e6;

/// Latencies of a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Spread {
    pub(super) mean_ms: f64,
    pub(super) stddev_ms: f64,
}

impl Spread {
    pub(super) fn of(all: &Histogram) -> Self {
        let count = all.buckets().map(|(_, n)| n).sum::<u64>().max(1) as f64;
        let mean = all.sum_ns() as f64 / count;
        let squares: f64 = all.buckets().map(|(ns, n)| n as f64 * (ns as f64 - mean).powi(2)).sum();
        Self { mean_ms: mean / MS, stddev_ms: (squares / count).sqrt() / MS }
    }
}

/// A time of a run, for a line of progress.
#[derive(Debug, Clone, Default)]
pub(super) struct Passed {
    pub(super) seconds: u32,
    pub(super) transactions: u64,
    pub(super) failed: u64,
    pub(super) retries: u64,
    pub(super) latency: Histogram,
}

/// The line of such a time; `at` is when it ends, in seconds.
pub(super) fn progress(passed: &Passed, at: &str, settings: &Settings) -> String {
    let spread = Spread::of(&passed.latency);
    let tps = passed.transactions as f64 / f64::from(passed.seconds.max(1));
    let mut line = format!(
        "progress: {at} s, {tps:.1} tps, lat {:.3} ms stddev {:.3}, {} failed",
        spread.mean_ms, spread.stddev_ms, passed.failed
    );
    if settings.max_tries != 1 {
        let _ = write!(line, ", {} retries", passed.retries);
    }
    line
}

/// The errors after which pgbench ends a client: all but those after which a transaction can be tried again.
pub(super) fn aborting(errors: &BTreeMap<String, ErrorRecord>) -> impl Iterator<Item = &ErrorRecord> {
    errors.values().filter(|error| error.class != ErrorClass::Retry.word())
}

/// What a summary counts.
struct Counted {
    completed: u64,
    failed: u64,
}

impl Counted {
    /// Those of some scripts; `aborted` of them met an error that ends a client, which pgbench does not count.
    fn of<'a>(all: impl Iterator<Item = &'a TransactionRecord>, aborted: u64) -> Self {
        let mut counted = Self { completed: 0, failed: 0 };
        for one in all {
            counted.completed += one.completed();
            counted.failed += one.failed;
        }
        counted.failed = counted.failed.saturating_sub(aborted);
        counted
    }

    fn percent(&self, part: u64) -> f64 {
        part as f64 * 100.0 / (self.completed + self.failed).max(1) as f64
    }
}

/// Everything that a summary is made from.
pub(super) struct Summary<'a> {
    pub(super) settings: &'a Settings,
    pub(super) record: &'a RunRecord,
    /// The commands of each script.
    pub(super) commands: &'a [Vec<String>],
    /// What was seen of them, one script after the other.
    pub(super) steps: &'a [StepTotals],
    /// Of the tables, or as asked for.
    pub(super) scale: u32,
    /// Until the first transaction.
    pub(super) connecting_ms: f64,
}

impl Summary<'_> {
    /// The whole text.
    ///
    /// # Errors
    /// Says which histogram cannot be decoded.
    pub(super) fn text(&self) -> Result<String, String> {
        let (s, record) = (self.settings, self.record);
        let aborted = aborting(&record.errors).map(|error| error.count).sum();
        let counted = Counted::of(record.measured.transactions.values(), aborted);
        let seconds = record.measured.window_ns as f64 / 1e9;
        let mut out = self.head();
        match s.transactions {
            Some(each) => {
                let all = u64::from(each) * u64::from(s.load.connections);
                let _ = writeln!(out, "number of transactions per client: {each}");
                let _ = writeln!(out, "number of transactions actually processed: {}/{all}", counted.completed);
            }
            None => {
                let _ = writeln!(out, "duration: {} s", s.time_s.unwrap_or_default());
                let _ = writeln!(out, "number of transactions actually processed: {}", counted.completed);
            }
        }
        let _ = writeln!(out, "number of failed transactions: {} ({:.3}%)", counted.failed, counted.percent(counted.failed));
        self.failures(&counted, &mut out);
        self.late(&counted, &mut out)?;
        let spread = Spread::of(&completed(record.measured.transactions.values())?);
        let _ = writeln!(out, "latency average = {:.3} ms", spread.mean_ms);
        if s.progress_s.is_some() || s.load.rate.is_some() || s.latency_limit_ms.is_some() {
            let _ = writeln!(out, "latency stddev = {:.3} ms", spread.stddev_ms);
        }
        if s.load.rate.is_some() {
            let mut lag = Histogram::new();
            for one in record.measured.transactions.values() {
                lag.merge(&one.wait.to_histogram()?);
            }
            let _ = writeln!(
                out,
                "rate limit schedule lag: avg {:.3} (max {:.3}) ms",
                Spread::of(&lag).mean_ms,
                lag.max_ns() as f64 / MS
            );
        }
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        if s.reconnect {
            let _ = writeln!(out, "tps = {:.6} (including reconnection times)", rate(counted.completed));
        } else {
            let _ = writeln!(out, "initial connection time = {:.3} ms", self.connecting_ms);
            let _ = writeln!(out, "tps = {:.6} (without initial connection time)", rate(counted.completed));
        }
        if s.scripts.len() > 1 {
            self.scripts(&counted, seconds, &mut out)?;
        } else {
            self.commands_of(0, &mut out);
        }
        Ok(out)
    }

    fn head(&self) -> String {
        let s = self.settings;
        let kind = match s.scripts.as_slice() {
            [script] => script.title(),
            _ => "multiple scripts",
        };
        let mut out = format!(
            "transaction type: {kind}\nscaling factor: {}\nquery mode: {}\nnumber of clients: {}\nnumber of threads: {}\n",
            self.scale,
            s.protocol.word(),
            s.load.connections,
            s.threads()
        );
        if s.max_tries > 0 {
            let _ = writeln!(out, "maximum number of tries: {}", s.max_tries);
        }
        out
    }

    fn failures(&self, counted: &Counted, out: &mut String) {
        let s = self.settings;
        if s.failures_detailed && s.max_tries == 1 {
            let of = |code: &str| self.record.errors.get(code).map_or(0, |error| error.count);
            let deadlocks = of("sqlstate 40P01") + of("mysql 1213");
            let serialization = counted.failed.saturating_sub(deadlocks);
            let _ = writeln!(out, "number of serialization failures: {serialization} ({:.3}%)", counted.percent(serialization));
            let _ = writeln!(out, "number of deadlock failures: {deadlocks} ({:.3}%)", counted.percent(deadlocks));
        }
        if s.max_tries != 1 {
            let retries = self.record.measured.retries;
            // With two tries each of these transactions was tried again once.
            if s.max_tries == 2 {
                let _ = writeln!(out, "number of transactions retried: {retries} ({:.3}%)", counted.percent(retries));
            }
            let _ = writeln!(out, "total number of retries: {retries}");
        }
    }

    /// perbuck executes what is late, and skips nothing.
    fn skipped(&self) -> &'static str {
        let s = self.settings;
        if s.load.rate.is_some() && s.latency_limit_ms.is_some() { "number of transactions skipped: 0 (0.000%)\n" } else { "" }
    }

    fn late(&self, counted: &Counted, out: &mut String) -> Result<(), String> {
        let Some(limit_ms) = self.settings.latency_limit_ms else { return Ok(()) };
        out.push_str(self.skipped());
        let all = completed(self.record.measured.transactions.values())?;
        let late: u64 = all.buckets().filter(|(ns, _)| *ns as f64 > limit_ms * MS).map(|(_, n)| n).sum();
        let _ = writeln!(
            out,
            "number of transactions above the {limit_ms:.1} ms latency limit: {late}/{} ({:.3}%)",
            counted.completed,
            late as f64 * 100.0 / counted.completed.max(1) as f64
        );
        Ok(())
    }

    fn scripts(&self, counted: &Counted, seconds: f64, out: &mut String) -> Result<(), String> {
        let s = self.settings;
        let weights: u64 = s.scripts.iter().map(|script| u64::from(script.weight)).sum();
        let mut seen: Vec<&str> = Vec::new();
        for (i, script) in s.scripts.iter().enumerate() {
            let same = seen.iter().filter(|name| **name == script.name).count();
            seen.push(&script.name);
            let name = if same == 0 { script.name.clone() } else { format!("{} #{}", script.name, same + 1) };
            let Some(of) = self.record.measured.transactions.get(&name) else { continue };
            let own = Counted::of(std::iter::once(of), 0);
            let share = own.completed as f64 * 100.0 / counted.completed.max(1) as f64;
            let targets = f64::from(script.weight) * 100.0 / weights.max(1) as f64;
            let tps = if seconds > 0.0 { own.completed as f64 / seconds } else { 0.0 };
            let _ = writeln!(out, "SQL script {}: {}", i + 1, script.title());
            let _ = writeln!(out, " - weight: {} (targets {targets:.1}% of total)", script.weight);
            let _ = writeln!(out, " - {} transactions ({share:.1}% of total, tps = {tps:.6})", own.completed);
            let _ = writeln!(out, " - number of failed transactions: {} ({:.3}%)", own.failed, own.percent(own.failed));
            if !self.skipped().is_empty() {
                let _ = write!(out, " - {}", self.skipped());
            }
            let spread = Spread::of(&completed(std::iter::once(of))?);
            let _ = writeln!(out, " - latency average = {:.3} ms", spread.mean_ms);
            let _ = writeln!(out, " - latency stddev = {:.3} ms", spread.stddev_ms);
            self.commands_of(i, out);
        }
        Ok(())
    }

    /// The commands of a script with their times, if they were taken.
    fn commands_of(&self, script: usize, out: &mut String) {
        let s = self.settings;
        let Some(commands) = self.commands.get(script).filter(|_| s.by_command) else { return };
        let indent = if s.scripts.len() > 1 { " - " } else { "" };
        let what = if s.max_tries == 1 { " and failures" } else { ", failures and retries" };
        let _ = writeln!(out, "{indent}statement latencies in milliseconds{what}:");
        let before = self.commands.iter().take(script).map(Vec::len).sum();
        let none = StepTotals::default();
        let steps = self.steps.iter().skip(before).chain(std::iter::repeat(&none));
        for (command, step) in commands.iter().zip(steps) {
            let mean_ms = step.sum_ns as f64 / step.count.max(1) as f64 / MS;
            let _ = write!(out, "   {mean_ms:11.3}  {:10}", step.failures);
            if s.max_tries != 1 {
                let _ = write!(out, "  {:10}", step.retries);
            }
            let _ = writeln!(out, "  {command}");
        }
    }
}

/// Latency of what was completed: by a schedule since it was due.
fn completed<'a>(all: impl Iterator<Item = &'a TransactionRecord>) -> Result<Histogram, String> {
    let mut sum = Histogram::new();
    for one in all {
        let times = if one.response.count > 0 { &one.response } else { &one.service };
        sum.merge(&times.to_histogram()?);
    }
    Ok(sum)
}
