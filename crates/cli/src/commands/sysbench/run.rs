//! `run`: drives the load and prints what sysbench prints, and more.

use std::time::{SystemTime, UNIX_EPOCH};

use perbuck_core::arrivals::Arrivals;
use perbuck_core::load_model::LoadModel;
use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::{Flag, RunRecord, TransactionRecord};
use perbuck_core::study::{Metric, NO_LIMIT_NS};
use perbuck_core::units::Seed;
use perbuck_load::executor::{SecondSeen, TrialSpec};
use perbuck_load::limit::Tolerance;
use perbuck_load::stop::StopToken;
use perbuck_workloads::sysbench;

use super::log::Log;
use super::machine::{self, IntervalJson, RunJson, SummaryJson};
use super::script::Checked;
use super::settings::{Ignored, Output, Settings};
use super::study::ATTEMPTS;
use super::tally::{Checkpoint, Extras, Fairness, Summary, Tally};
use super::target::Engine;
use super::text;
use crate::commands::print;
use crate::error::{CliError, Exit};
use crate::inputs::Inputs;
use crate::stage::Stage;
use crate::trial::{Context, DRAIN_NS, Details, Failure, Task, Watch, run_watched};

const SECOND_NS: u64 = 1_000_000_000;

/// Everything about one run.
pub(super) struct Run<'a> {
    /// The values of the command line.
    pub(super) settings: &'a Settings,
    /// The script.
    pub(super) script: &'a Checked,
    /// The kind of database.
    pub(super) engine: Engine,
    /// The study of this command line with the database as its only contender.
    pub(super) inputs: &'a Inputs,
    /// The database with the script.
    pub(super) stage: &'a dyn Stage,
    /// Where lines go.
    pub(super) log: Log,
}

impl Run<'_> {
    /// Seconds to wait for the last transactions.
    fn drain_s(&self) -> u32 {
        self.settings.forced_shutdown_s.unwrap_or((DRAIN_NS / SECOND_NS) as u32)
    }

    fn spec(&self, seed: Seed) -> TrialSpec {
        let s = self.settings;
        let ns = |seconds: u32| u64::from(seconds) * SECOND_NS;
        let (warmup_ns, duration_ns) = (ns(s.warmup_s), s.time_s.map_or(NO_LIMIT_NS, ns));
        let load = match s.rate {
            Some(rate) => LoadModel::rate(rate, Arrivals::Poisson, warmup_ns + duration_ns),
            None => LoadModel::closed(),
        };
        TrialSpec {
            load,
            phases: Vec::new(),
            connections: s.threads,
            workers: s.workers,
            warmup_ns,
            duration_ns,
            max_attempts: ATTEMPTS,
            seed,
            drain_ns: ns(self.drain_s()),
            max_events: s.events,
            time_statements: s.statement_latency,
            tolerance: tolerance(self.engine, &s.ignored),
        }
    }

    /// What stands above the figures.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub(super) fn banner(&self) -> Result<(), CliError> {
        self.log.notice(&text::banner(self.settings, self.drain_s()))
    }

    /// Runs it. The record is for the caller to keep; its place in a study is yet to be found.
    ///
    /// # Errors
    /// What ended the run.
    pub(super) fn go(&self, stop: &StopToken) -> Result<Ended, Failure> {
        let s = self.settings;
        let seed = seed(s);
        let study = &self.inputs.study;
        let (host, fingerprint) = (perbuck_observe::host(), study.fingerprint());
        let key = TrialKey {
            contender: study.baseline().name.clone(),
            workload: self.script.options.script.name().to_owned(),
            connections: s.threads,
            rate_per_s: s.rate,
            trial: 1,
        };
        let task = Task {
            key: &key,
            spec: self.spec(seed),
            position: 0,
            stage: self.stage,
            parameters: self.script.plan.parameters(),
            metric: Metric::Tps,
            data: "foreign",
            // Counting the rows of a large table takes minutes, and nobody who runs sysbench waits for it.
            rows_before: None,
        };
        let mut live = Live::new(s, self.log)?;
        let context = Context { study, fingerprint: &fingerprint, host: &host };
        let (mut record, details) = run_watched(&context, task, stop, &mut live)?;
        if s.time_s.is_none() {
            // What was asked for was a number of transactions; this is how long they took.
            record.load.duration_ns = record.measured.window_ns;
        }
        let Live { checkpoint, checkpoints, intervals, shown, .. } = live;
        shown?;
        let asked_ns = s.time_s.map_or(NO_LIMIT_NS, |seconds| u64::from(seconds) * SECOND_NS);
        let limit = if record.measured.window_ns < asked_ns { "Event" } else { "Time" };
        self.log.info(&format!("{limit} limit exceeded, exiting...\nDone.\n\n"))?;
        let summary = self.summary(&record, &details, &checkpoint)?;
        let extras = extras(&record, details);
        Ok(Ended { record, summary, extras, checkpoints, intervals, seed })
    }

    /// The report at the end: of all, or of what came since the last checkpoint.
    fn summary(&self, record: &RunRecord, details: &Details, checkpoint: &Checkpoint) -> Result<Summary, CliError> {
        let defect = |e: String| CliError::new(Exit::Failed, e, "this is a defect of perbuck; please report it");
        let all = Tally::of(record).map_err(defect)?;
        let elapsed_s = record.measured.window_ns as f64 / 1e9;
        let mut summary = Summary::since(checkpoint, self.settings.threads, elapsed_s, &all);
        if let Some(open) = &record.measured.open_loop {
            summary.latency = summary.latency.with_unfinished(&open.unfinished.to_histogram().map_err(defect)?);
        }
        if self.settings.checkpoints_s.is_empty() {
            summary.fairness = Some(Fairness::of(&details.terminals));
        }
        Ok(summary)
    }

    /// Prints the figures of a run.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub(super) fn show(&self, ended: Ended, record: Option<String>) -> Result<(), CliError> {
        let (s, log) = (self.settings, self.log);
        let Ended { summary, extras, checkpoints, intervals, seed, record: run } = ended;
        let notes = sysbench::compat_notes(&self.script.options);
        match s.output {
            Output::Text => {
                if s.histogram {
                    log.notice(&text::histogram(&summary))?;
                }
                if extras.aborted > 0 {
                    if s.forced_shutdown_s.is_some() {
                        log.fatal(
                            "the time limit and the one of --forced-shutdown have passed, so the last transactions are cut off",
                        )?;
                    }
                    log.notice(&format!("\nNumber of unfinished transactions on forced shutdown: {}\n\n", extras.aborted))?;
                }
                log.notice(&text::summary(&summary, s))?;
                log.notice(&text::extras(&extras, s))?;
                log.notice(&text::notes(&notes, s.compat))?;
                extras.flags.iter().try_for_each(|flag| log.warning(flag))
            }
            Output::Csv => {
                if intervals.is_empty() {
                    let all = Tally { latency: whole(&run)?, ..summary.tally.clone() };
                    let line = machine::interval(summary.elapsed_s.round() as i64, s, summary.covers_s, &all, queue_at_end(&run));
                    print(&machine::csv_line(&line, s))?;
                }
                extras.flags.iter().try_for_each(|flag| log.warning(flag))
            }
            Output::Json => {
                let buckets = summary.latency.buckets.iter().map(|(ns, n)| (*ns as f64 / 1e6, *n)).collect();
                let json = RunJson {
                    perbuck: env!("CARGO_PKG_VERSION"),
                    compat: s.compat.word(),
                    script: self.script.options.script.name(),
                    parameters: self.script.plan.parameters(),
                    target: self.stage.address().to_owned(),
                    threads: s.threads,
                    rate: s.rate,
                    seed: seed.0,
                    summary: machine::summary(&summary, s),
                    checkpoints,
                    intervals,
                    errors_by_code: machine::errors(&extras),
                    statement_latency_ms: machine::statements(&extras, s),
                    histogram_ms: s.histogram.then_some(buckets),
                    unfinished: extras.unfinished,
                    aborted: extras.aborted,
                    flags: extras.flags,
                    notes,
                    record,
                };
                crate::commands::print_json(&json)
            }
        }
    }
}

/// A run that has ended.
pub(super) struct Ended {
    /// Its record.
    pub(super) record: RunRecord,
    summary: Summary,
    extras: Extras,
    checkpoints: Vec<SummaryJson>,
    intervals: Vec<IntervalJson>,
    seed: Seed,
}

fn whole(record: &RunRecord) -> Result<perbuck_core::histogram::Histogram, CliError> {
    record.latency().map_err(|e| CliError::new(Exit::Failed, e, "this is a defect of perbuck; please report it"))
}

fn queue_at_end(record: &RunRecord) -> Option<(u64, u64)> {
    let open = record.measured.open_loop.as_ref()?;
    Some((open.backlog_at_close, open.unfinished.count.saturating_sub(open.backlog_at_close)))
}

fn extras(record: &RunRecord, details: Details) -> Extras {
    // A handful of transactions account for little of the time of their connections, and an event that only puts a row
    // into a buffer for less: both have nothing to do with what was not counted.
    let completed: u64 = record.measured.transactions.values().map(TransactionRecord::completed).sum();
    let brief = record.measured.window_ns < SECOND_NS || record.measured.statements.total() < completed;
    let matters = |flag: &&Flag| !(brief && matches!(flag, Flag::LittlesLaw { .. }));
    Extras {
        errors: record.errors.clone(),
        statements: details.statement_latency,
        flags: record.flags.iter().filter(matters).map(Flag::text).collect(),
        aborted: record.health.aborted,
        unfinished: record.measured.open_loop.as_ref().map_or(0, |o| o.unfinished.count),
    }
}

/// The seed of the operations: the one asked for, or the time.
fn seed(settings: &Settings) -> Seed {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
    settings.seed.map_or_else(|| Seed(now()), |seed| Seed(u64::from(seed.unsigned_abs()))).derive("perbuck sysbench")
}

/// After which errors the run goes on. sysbench knows numbers of MySQL, and three states of PostgreSQL.
fn tolerance(engine: Engine, ignored: &Ignored) -> Tolerance {
    let listed = |codes: &[u16]| codes.iter().map(|n| format!("mysql {n}")).collect();
    let retries = |codes: Vec<String>, losses| Tolerance::Listed { codes, retries: true, losses };
    match (engine, ignored) {
        (Engine::Mysql | Engine::Tidb, Ignored::All) => Tolerance::Every,
        (Engine::Mysql | Engine::Tidb, Ignored::Listed(codes)) => {
            // The numbers of the client library for a connection that is gone.
            let losses = codes.iter().any(|n| matches!(n, 2006 | 2011 | 2013 | 2055));
            Tolerance::Listed { codes: listed(codes), retries: false, losses }
        }
        (Engine::Mysql | Engine::Tidb, Ignored::Default) | (Engine::Sqlite, _) => retries(Vec::new(), false),
        (Engine::Pgsql, _) => retries(vec!["sqlstate 23505".to_owned()], false),
    }
}

/// What is printed while the run goes on.
struct Live<'a> {
    settings: &'a Settings,
    log: Log,
    /// Whole seconds of the window that are over.
    seconds: u32,
    /// Since the window opened.
    all: Tally,
    /// Since the last interval line.
    interval: Tally,
    /// Seconds of the last interval line.
    since: u32,
    checkpoint: Checkpoint,
    checkpoints: Vec<SummaryJson>,
    intervals: Vec<IntervalJson>,
    /// Whether the start was told.
    said: bool,
    /// The first failure to print.
    shown: Result<(), CliError>,
}

impl<'a> Live<'a> {
    fn new(settings: &'a Settings, log: Log) -> Result<Self, CliError> {
        if settings.output == Output::Csv {
            print(&machine::csv_header(settings))?;
        }
        Ok(Self {
            settings,
            log,
            seconds: 0,
            all: Tally::default(),
            interval: Tally::default(),
            since: 0,
            checkpoint: Checkpoint::default(),
            checkpoints: Vec::new(),
            intervals: Vec::new(),
            said: false,
            shown: Ok(()),
        })
    }

    fn pass(&mut self, seen: &SecondSeen<'_>) -> Result<(), CliError> {
        self.seconds += 1;
        self.interval.add(seen);
        if !self.settings.checkpoints_s.is_empty() {
            self.all.add(seen);
        }
        let due = self.settings.report_interval_s.is_some_and(|every| self.seconds.is_multiple_of(every));
        if due {
            self.interval_line(seen)?;
        }
        if self.settings.checkpoints_s.contains(&self.seconds) {
            self.checkpoint_report()?;
        }
        Ok(())
    }

    fn interval_line(&mut self, seen: &SecondSeen<'_>) -> Result<(), CliError> {
        let s = self.settings;
        let queue = s.rate.map(|_| (seen.interval.backlog, seen.in_flight));
        let (at_s, length_s) = (i64::from(self.seconds), f64::from(self.seconds - self.since));
        let tally = std::mem::take(&mut self.interval);
        self.since = self.seconds;
        if s.output == Output::Text {
            return self.log.notice(&text::interval(at_s, s, length_s, &tally, queue));
        }
        let json = machine::interval(at_s, s, length_s, &tally, queue);
        if s.output == Output::Csv {
            print(&machine::csv_line(&json, s))?;
        }
        self.intervals.push(json);
        Ok(())
    }

    fn checkpoint_report(&mut self) -> Result<(), CliError> {
        let (s, at_s) = (self.settings, f64::from(self.seconds));
        let summary = Summary::since(&self.checkpoint, s.threads, at_s, &self.all);
        if s.output == Output::Text {
            self.log.notice(&(text::checkpoint(i64::from(self.seconds)) + &text::summary(&summary, s)))?;
        }
        self.checkpoints.push(machine::summary(&summary, s));
        self.checkpoint = Checkpoint { at_s, tally: self.all.clone() };
        Ok(())
    }
}

impl Watch for Live<'_> {
    fn opens(&mut self) {
        self.started();
    }

    fn second(&mut self, seen: &SecondSeen<'_>) {
        self.started();
        if seen.interval.start_ms >= 0 && self.shown.is_ok() {
            self.shown = self.pass(seen);
        }
    }
}

impl Live<'_> {
    /// Says once that connections are open and load is sent.
    fn started(&mut self) {
        if std::mem::replace(&mut self.said, true) {
            return;
        }
        let warmup_s = self.settings.warmup_s;
        let warming = if warmup_s > 0 { format!("Warming up for {warmup_s} seconds...\n\n") } else { String::new() };
        if self.shown.is_ok() {
            self.shown = self.log.notice(&format!("Threads started!\n\n{warming}"));
        }
    }
}
