//! What is printed of a run: sysbench's lines while it goes on and at its end, or what programs read.

use perbuck_core::run_record::{Flag, RunRecord, TransactionRecord};
use perbuck_core::study::NO_LIMIT_NS;
use perbuck_core::units::thousands;
use perbuck_database::Dialect;
use perbuck_lab::error::LabError;
use perbuck_lab::trial::Details;
use perbuck_load::observer::SecondSeen;
use perbuck_lua::Report;
use perbuck_workloads::sysbench;

use super::log::Log;
use super::machine::{self, IntervalJson, RunJson, SummaryJson};
use super::settings::{Output, Settings, compat_word};
use super::subject::Subject;
use super::tally::{Checkpoint, Distribution, Fairness, Summary, Tally, Trouble, unfinished};
use super::text;
use crate::load::SECOND_NS;
use crate::output::Streams;
use crate::run::{Ended, Printer, defect};
use crate::study::Workload;

/// The printer of a run.
pub(super) struct Lines<'a> {
    settings: &'a Settings,
    workload: &'a Workload,
    subject: Subject<'a>,
    dialect: &'static dyn Dialect,
    log: Log,
    seen: Seen,
}

#[derive(Default)]
struct Seen {
    /// Whole seconds of the window that are over.
    seconds: u32,
    /// Since the window opened.
    all: Tally,
    /// Since the last interval line.
    interval: Tally,
    /// Seconds of the last interval line.
    since: u32,
    /// What was counted at the last checkpoint.
    checkpoint: Checkpoint,
    checkpoints: Vec<SummaryJson>,
    intervals: Vec<IntervalJson>,
    /// Whether the start was told.
    said: bool,
    /// Lost connections before the window opened.
    before: Trouble,
    /// In the seconds of the window that were shown.
    within: Trouble,
}

impl<'a> Lines<'a> {
    pub(super) fn new(
        settings: &'a Settings,
        workload: &'a Workload,
        subject: Subject<'a>,
        dialect: &'static dyn Dialect,
        log: Log,
    ) -> Self {
        Self { settings, workload, subject, dialect, log, seen: Seen::default() }
    }

    fn interval_line(&mut self, seen: &SecondSeen<'_>, out: &mut dyn Streams) -> Result<(), LabError> {
        let s = self.settings;
        let queue = s.load.rate.map(|_| (seen.interval.backlog, seen.in_flight));
        let (at_s, length_s) = (i64::from(self.seen.seconds), f64::from(self.seen.seconds - self.seen.since));
        let tally = std::mem::take(&mut self.seen.interval);
        self.seen.since = self.seen.seconds;
        let report = || {
            let latency_ms = Distribution::of(&tally.latency).percentile_ms(percent(s));
            report(&tally, (length_s, f64::from(self.seen.seconds)), s.load.connections, latency_ms)
        };
        if self.subject.reports("report_intermediate", report)? {
            return Ok(());
        }
        let json = machine::interval(at_s, s, length_s, &tally, queue);
        match s.output {
            Output::Text => return self.log.notice(&text::interval(&json, s), out),
            Output::Csv => out.print(&machine::csv_line(&json, s))?,
            Output::Json => {}
        }
        self.seen.intervals.push(json);
        Ok(())
    }

    fn checkpoint_report(&mut self, out: &mut dyn Streams) -> Result<(), LabError> {
        let (s, at_s) = (self.settings, f64::from(self.seen.seconds));
        let summary = Summary::since(&self.seen.checkpoint, s.load.connections, at_s, &self.seen.all);
        if s.output == Output::Text {
            let report = text::summary(&summary, s);
            self.log.notice(&format!("[ {}s ] Checkpoint report:\n{report}", self.seen.seconds), out)?;
        }
        self.seen.checkpoints.push(machine::summary(&summary, s));
        self.seen.checkpoint = Checkpoint { at_s, tally: self.seen.all.clone() };
        Ok(())
    }

    /// The report at the end: of all, or of what came since the last checkpoint.
    fn summary(&self, record: &RunRecord, details: &Details, all: &Tally) -> Result<Summary, LabError> {
        let elapsed_s = record.measured.window_ns as f64 / 1e9;
        let mut summary = Summary::since(&self.seen.checkpoint, self.settings.load.connections, elapsed_s, all);
        if let Some(open) = &record.measured.open_loop {
            summary.latency = summary.latency.with_unfinished(&open.unfinished.to_histogram().map_err(defect)?);
        }
        if self.seen.checkpoint.at_s <= 0.0 {
            summary.fairness = Some(Fairness::of(&details.terminals));
        }
        Ok(summary)
    }

    /// Lost connections of the window. The last second of a run that ended before its time is never shown, but there nothing
    /// is waited for after it either, so it is what the whole run had beyond the warm-up.
    fn trouble(&self, record: &RunRecord, early: bool) -> Trouble {
        if !early {
            return self.seen.within;
        }
        let losses: u64 = record.errors.values().filter(|e| e.class == "lost").map(|e| e.count).sum();
        Trouble {
            losses: losses.saturating_sub(self.seen.before.losses),
            reconnects: record.health.reconnects.saturating_sub(self.seen.before.reconnects),
        }
    }

    fn end_text(&self, summary: &Summary, ended: &Ended, notes: &[String], out: &mut dyn Streams) -> Result<(), LabError> {
        let (s, log, run) = (self.settings, self.log, &ended.record);
        if s.histogram {
            log.notice(&text::histogram(summary), out)?;
        }
        if run.health.aborted > 0 && s.forced_shutdown_s.is_some() {
            let message = "the time limit and the one of --forced-shutdown have passed, so the last transactions are cut off";
            log.fatal(message, out)?;
            let count = run.health.aborted;
            log.notice(&format!("\nNumber of unfinished transactions on forced shutdown: {count}\n\n"), out)?;
        }
        log.notice(&text::summary(summary, s), out)?;
        if log.adds() {
            log.notice(&text::extras(run, &ended.details, s), out)?;
            log.notice(&text::notes(notes, s.compat), out)?;
            flags(run, s).iter().try_for_each(|flag| log.warning(flag, out))?;
        }
        Ok(())
    }
}

impl Printer for Lines<'_> {
    /// Says once that connections are open and load is sent.
    fn starts(&mut self, out: &mut dyn Streams) -> Result<(), LabError> {
        if std::mem::replace(&mut self.seen.said, true) {
            return Ok(());
        }
        let warmup_s = self.settings.warmup_s;
        let warming = if warmup_s > 0 { format!("Warming up for {warmup_s} seconds...\n\n") } else { String::new() };
        self.log.notice(&format!("Threads started!\n\n{warming}"), out)
    }

    fn second(&mut self, seen: &SecondSeen<'_>, out: &mut dyn Streams) -> Result<(), LabError> {
        self.starts(out)?;
        let measured = seen.interval.start_ms >= 0;
        let trouble = if measured { &mut self.seen.within } else { &mut self.seen.before };
        trouble.losses += seen.second.losses;
        trouble.reconnects += seen.second.reconnects;
        if !measured {
            return Ok(());
        }
        self.seen.seconds += 1;
        self.seen.interval.add(seen);
        if !self.settings.checkpoints_s.is_empty() {
            self.seen.all.add(seen);
        }
        if self.settings.report_interval_s.is_some_and(|every| self.seen.seconds.is_multiple_of(every)) {
            self.interval_line(seen, out)?;
        }
        if self.settings.checkpoints_s.contains(&self.seen.seconds) {
            self.checkpoint_report(out)?;
        }
        Ok(())
    }

    fn end(&self, ended: &Ended, record: Option<&str>, out: &mut dyn Streams) -> Result<(), LabError> {
        let (s, log, run) = (self.settings, self.log, &ended.record);
        let asked_ns = s.time_s.map_or(NO_LIMIT_NS, |seconds| u64::from(seconds) * SECOND_NS);
        let early = run.measured.window_ns < asked_ns;
        let limit = if early { "Event" } else { "Time" };
        log.info(&format!("{limit} limit exceeded, exiting...\nDone.\n\n"), out)?;
        let whole = Tally::of(run, self.trouble(run, early)).map_err(defect)?;
        let summary = self.summary(run, &ended.details, &whole)?;
        let notes = self.subject.notes(self.dialect);
        if self.subject.appends() {
            let rows = run.counted(&sysbench::ROWS_PER_SECOND);
            let (rate, events) = (run.metric(&sysbench::ROWS_PER_SECOND), thousands(whole.transactions));
            out.say(&format!(
                "perbuck: {events} events appended a row to a buffer; the server acknowledged {} rows in this time, {rate:.0} a second",
                thousands(rows)
            ));
        }
        let report = || {
            let latency_ms = summary.latency.percentile_ms(percent(s));
            report(&summary.tally, (summary.covers_s, summary.elapsed_s), 0, latency_ms)
        };
        if self.subject.reports("report_cumulative", report)? {
            return Ok(());
        }
        match s.output {
            Output::Text => self.end_text(&summary, ended, &notes, out),
            Output::Csv => {
                if self.seen.intervals.is_empty() {
                    // One line for the run is of all of it, checkpoints or not.
                    let all = Tally { latency: run.latency().map_err(defect)?, ..whole };
                    let elapsed_s = summary.elapsed_s;
                    let line = machine::interval(elapsed_s.round() as i64, s, elapsed_s, &all, queue_at_end(run));
                    out.print(&machine::csv_line(&line, s))?;
                }
                flags(run, s).iter().try_for_each(|flag| log.warning(flag, out))
            }
            Output::Json => {
                let buckets = summary.latency.buckets.iter().map(|(ns, n)| (*ns as f64 / 1e6, *n)).collect();
                let json = RunJson {
                    perbuck: env!("CARGO_PKG_VERSION"),
                    compat: compat_word(s.compat),
                    script: self.subject.name(),
                    parameters: self.workload.plan.parameters(),
                    target: &run.target.address,
                    threads: s.load.connections,
                    rate: s.load.rate,
                    seed: s.seed,
                    summary: machine::summary(&summary, s),
                    checkpoints: &self.seen.checkpoints,
                    intervals: &self.seen.intervals,
                    errors_by_code: &run.errors,
                    statement_latency_ms: machine::statements(&ended.details.statement_latency, s),
                    histogram_ms: s.histogram.then_some(buckets),
                    unfinished: unfinished(run),
                    aborted: run.health.aborted,
                    flags: flags(run, s),
                    notes,
                    record,
                };
                out.print(&perbuck_console::json_text(&json)?)
            }
        }
    }
}

/// The percentile that a hook is told.
fn percent(settings: &Settings) -> f64 {
    settings.headline().map_or(0.0, |(_, percent)| *percent)
}

/// The numbers of a time for a hook: seconds that it covers, and since the start.
fn report(tally: &Tally, (interval_s, total_s): (f64, f64), threads: u32, latency_ms: f64) -> Report {
    Report {
        interval_s: interval_s.max(f64::MIN_POSITIVE),
        total_s,
        threads,
        events: tally.transactions,
        queries: [tally.read, tally.write, tally.other],
        latency_s: latency_ms / 1e3,
        errors: tally.errors,
        reconnects: tally.reconnects,
    }
}

fn queue_at_end(record: &RunRecord) -> Option<(u64, u64)> {
    let open = record.measured.open_loop.as_ref()?;
    Some((open.backlog_at_close, open.unfinished.count.saturating_sub(open.backlog_at_close)))
}

/// What a reader of the numbers must know.
fn flags(record: &RunRecord, settings: &Settings) -> Vec<String> {
    // A handful of transactions account for little of the time of their connections, and an event that only puts a row
    // into a buffer for less: both have nothing to do with what was not counted.
    let completed: u64 = record.measured.transactions.values().map(TransactionRecord::completed).sum();
    let brief = record.measured.window_ns < SECOND_NS || record.measured.statements.total() < completed;
    let matters = |flag: &&Flag| !(brief && matches!(flag, Flag::LittlesLaw { .. }));
    record.flags.iter().filter(matters).map(|flag| flag_text(flag, settings)).collect()
}

/// A remark in the words of this command.
fn flag_text(flag: &Flag, settings: &Settings) -> String {
    let Flag::Aborted { count } = flag else { return flag.text() };
    let where_ =
        if settings.load.rate.is_some() { "they count in the latency only, with their age" } else { "they count in no number" };
    format!("{count} transactions were still in flight {} s after the end of the run; {where_}", settings.drain_s())
}
