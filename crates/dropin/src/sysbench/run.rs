//! `run`: drives the load and prints what sysbench prints, and more.

use perbuck_core::arrivals::Arrivals;
use perbuck_core::load_model::LoadModel;
use perbuck_core::metric::TPS;
use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::{Flag, RunRecord, TransactionRecord};
use perbuck_core::study::NO_LIMIT_NS;
use perbuck_core::units::Seed;
use perbuck_load::limit::Tolerance;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::{RunError, TrialSpec};
use perbuck_workloads::sysbench;

use super::live::{Live, Shown};
use super::log::Log;
use super::machine::{self, IntervalJson, RunJson, SummaryJson};
use super::script::Checked;
use super::settings::{Ignored, Output, Settings};
use super::study::ATTEMPTS;
use super::tally::{Checkpoint, Extras, Fairness, Summary, Tally, Trouble};
use super::target::Engine;
use super::text;
use perbuck_console::print;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::inputs::Inputs;
use perbuck_lab::stage::Stage;
use perbuck_lab::trial::{Context, DRAIN_NS, Details, Failure, Task, run_watched};

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
    pub(super) stage: &'a Stage,
    /// The address as typed, without the limits of this run.
    pub(super) address: String,
    /// Where lines go.
    pub(super) log: Log,
}

impl Run<'_> {
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
            drain_ns: ns(drain_s(s)),
            max_events: s.events,
            time_statements: s.statement_latency,
            tolerance: tolerance(self.engine, &s.ignored),
        }
    }

    /// What stands above the figures.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub(super) fn banner(&self) -> Result<(), LabError> {
        self.log.notice(&text::banner(self.settings, drain_s(self.settings)))
    }

    /// Runs it. The record is for the caller to keep; its place in a study is yet to be found.
    ///
    /// # Errors
    /// What ended the run.
    pub(super) fn go(&self, stop: &StopToken) -> Result<Ended, Failure> {
        let s = self.settings;
        // A seed of the time is drawn with the settings, so that it can be given again.
        let seed = Seed(u64::from(s.seed.unsigned_abs())).derive("perbuck sysbench");
        let study = &self.inputs.study;
        let (host, fingerprint) = (perbuck_observe::host(), study.fingerprint());
        let key = TrialKey {
            contender: study.baseline().name.clone(),
            workload: self.script.options.script.name().to_owned(),
            connections: s.threads,
            rate_per_s: s.rate,
            deployment: None,
            trial: 1,
        };
        let task = Task {
            key: &key,
            spec: self.spec(seed),
            position: 0,
            stage: self.stage,
            parameters: self.script.plan.parameters(),
            metric: TPS.clone(),
            data: "foreign",
            // Counting the rows of a large table takes minutes, and nobody who runs sysbench waits for it.
            rows_before: None,
        };
        let mut live = Live::new(s, self.log, stop)?;
        let context = Context { study, fingerprint: &fingerprint, host: &host };
        let (mut record, details) = match run_watched(&context, task, stop, &mut live) {
            Ok(ran) => ran,
            Err(Failure::Run(RunError::Interrupted)) => {
                return Err(live.unheard().map_or(Failure::Run(RunError::Interrupted), Failure::Other));
            }
            Err(failure) => return Err(failure),
        };
        record.target.address.clone_from(&self.address);
        if s.time_s.is_none() {
            // What was asked for was a number of transactions; this is how long they took.
            record.load.duration_ns = record.measured.window_ns;
        }
        let shown = live.end()?;
        let asked_ns = s.time_s.map_or(NO_LIMIT_NS, |seconds| u64::from(seconds) * SECOND_NS);
        let limit = if record.measured.window_ns < asked_ns { "Event" } else { "Time" };
        self.log.info(&format!("{limit} limit exceeded, exiting...\nDone.\n\n"))?;
        let trouble = trouble(&record, &shown, record.measured.window_ns < asked_ns);
        let whole = Tally::of(&record, trouble).map_err(defect)?;
        let summary = self.summary(&record, &details, &shown.checkpoint, &whole)?;
        let extras = extras(&record, details, s);
        let Shown { checkpoints, intervals, .. } = shown;
        Ok(Ended { record, whole, summary, extras, checkpoints, intervals })
    }

    /// The report at the end: of all, or of what came since the last checkpoint.
    fn summary(&self, record: &RunRecord, details: &Details, since: &Checkpoint, all: &Tally) -> Result<Summary, LabError> {
        let elapsed_s = record.measured.window_ns as f64 / 1e9;
        let mut summary = Summary::since(since, self.settings.threads, elapsed_s, all);
        if let Some(open) = &record.measured.open_loop {
            summary.latency = summary.latency.with_unfinished(&open.unfinished.to_histogram().map_err(defect)?);
        }
        if since.at_s <= 0.0 {
            summary.fairness = Some(Fairness::of(&details.terminals));
        }
        Ok(summary)
    }

    /// Prints the figures of a run.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub(super) fn show(&self, ended: Ended, record: Option<String>) -> Result<(), LabError> {
        let (s, log) = (self.settings, self.log);
        let Ended { whole, summary, extras, checkpoints, intervals, record: run } = ended;
        let notes = sysbench::compat_notes(&self.script.options, self.engine.dialect());
        match s.output {
            Output::Text => {
                if s.histogram {
                    log.notice(&text::histogram(&summary))?;
                }
                if extras.aborted > 0 && s.forced_shutdown_s.is_some() {
                    log.fatal(
                        "the time limit and the one of --forced-shutdown have passed, so the last transactions are cut off",
                    )?;
                    log.notice(&format!("\nNumber of unfinished transactions on forced shutdown: {}\n\n", extras.aborted))?;
                }
                log.notice(&text::summary(&summary, s))?;
                log.notice(&text::extras(&extras, s))?;
                log.notice(&text::notes(&notes, s.compat))?;
                extras.flags.iter().try_for_each(|flag| log.warning(flag))
            }
            Output::Csv => {
                if intervals.is_empty() {
                    // One line for the run is of all of it, checkpoints or not.
                    let all = Tally { latency: run.latency().map_err(defect)?, ..whole };
                    let elapsed_s = summary.elapsed_s;
                    let line = machine::interval(elapsed_s.round() as i64, s, elapsed_s, &all, queue_at_end(&run));
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
                    target: self.address.clone(),
                    threads: s.threads,
                    rate: s.rate,
                    seed: s.seed,
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
                perbuck_console::print_json(&json)
            }
        }
    }
}

/// A run that has ended.
pub(super) struct Ended {
    /// Its record.
    pub(super) record: RunRecord,
    whole: Tally,
    summary: Summary,
    extras: Extras,
    checkpoints: Vec<SummaryJson>,
    intervals: Vec<IntervalJson>,
}

fn defect(message: String) -> LabError {
    LabError::new(ErrorKind::Failed, message, "this is a defect of perbuck; please report it")
}

/// Seconds to wait for the last transactions.
pub(super) fn drain_s(settings: &Settings) -> u32 {
    settings.forced_shutdown_s.unwrap_or((DRAIN_NS / SECOND_NS) as u32)
}

/// Lost connections of the window. The last second of a run that ended before its time is never shown, but there nothing
/// is waited for behind it either, so it is what the whole run had beyond the warm-up.
fn trouble(record: &RunRecord, shown: &Shown, early: bool) -> Trouble {
    if !early {
        return shown.within;
    }
    let losses: u64 = record.errors.values().filter(|e| e.class == "lost").map(|e| e.count).sum();
    Trouble {
        losses: losses.saturating_sub(shown.before.losses),
        reconnects: record.health.reconnects.saturating_sub(shown.before.reconnects),
    }
}

fn queue_at_end(record: &RunRecord) -> Option<(u64, u64)> {
    let open = record.measured.open_loop.as_ref()?;
    Some((open.backlog_at_close, open.unfinished.count.saturating_sub(open.backlog_at_close)))
}

fn extras(record: &RunRecord, details: Details, settings: &Settings) -> Extras {
    // A handful of transactions account for little of the time of their connections, and an event that only puts a row
    // into a buffer for less: both have nothing to do with what was not counted.
    let completed: u64 = record.measured.transactions.values().map(TransactionRecord::completed).sum();
    let brief = record.measured.window_ns < SECOND_NS || record.measured.statements.total() < completed;
    let matters = |flag: &&Flag| !(brief && matches!(flag, Flag::LittlesLaw { .. }));
    Extras {
        errors: record.errors.clone(),
        statements: details.statement_latency,
        flags: record.flags.iter().filter(matters).map(|flag| flag_text(flag, settings)).collect(),
        aborted: record.health.aborted,
        unfinished: record.measured.open_loop.as_ref().map_or(0, |o| o.unfinished.count),
    }
}

/// A remark in the words of this command.
fn flag_text(flag: &Flag, settings: &Settings) -> String {
    let Flag::Aborted { count } = flag else { return flag.text() };
    let where_ = if settings.rate.is_some() { "count in the latency by their age alone" } else { "are in no figure" };
    format!("{count} transactions had not ended {} s after the end of the run and {where_}", drain_s(settings))
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
        (Engine::Pgsql | Engine::Cockroach | Engine::Yugabyte, _) => retries(vec!["sqlstate 23505".to_owned()], false),
    }
}
