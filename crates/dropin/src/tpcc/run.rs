//! `run`: drives the load and prints what go-tpc prints, and more.

use perbuck_core::histogram::Histogram;
use perbuck_core::load_model::LoadModel;
use perbuck_core::metric::TPS;
use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::{Flag, HistogramRecord, RunRecord};
use perbuck_core::study::NO_LIMIT_NS;
use perbuck_load::limit::Tolerance;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::{RunError, TrialSpec};
use perbuck_workloads::tpcc::audit::{Ran, audit};
use perbuck_workloads::tpcc::{TPMC, compat_notes};

use super::lines::{self, Row, Span, Wait};
use super::live::{Live, Shown};
use super::machine::{self, RunJson};
use super::plan::Checked;
use super::report::{self, Extras};
use super::settings::{Output, Settings};
use super::tables::KIND;
use crate::SECOND_NS;
use perbuck_console::{print, print_json};
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::inputs::Inputs;
use perbuck_lab::stage::Stage;
use perbuck_lab::trial::{Context, DRAIN_NS, Details, Failure, Task, run_watched};

/// Everything about one run.
pub(super) struct Run<'a> {
    /// The values of the command line.
    pub(super) settings: &'a Settings,
    /// The workload.
    pub(super) checked: &'a Checked,
    /// The study of this command line with the database as its only contender.
    pub(super) inputs: &'a Inputs,
    /// The database with the workload.
    pub(super) stage: &'a Stage,
    /// The address as typed, without the limits of this run.
    pub(super) address: String,
}

/// What ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Its time, or its number of transactions, or somebody where it had neither.
    Whole,
    /// Somebody, before that.
    Early,
}

/// A run that has ended.
pub(super) struct Ended {
    /// Its record.
    pub(super) record: RunRecord,
    /// What ended it.
    pub(super) ending: Ending,
    rows: Vec<Row>,
    waits: Vec<Wait>,
    intervals: Vec<Shown>,
    extras: Extras,
}

impl Run<'_> {
    fn spec(&self) -> TrialSpec {
        let s = self.settings;
        TrialSpec {
            load: LoadModel::closed(),
            phases: Vec::new(),
            connections: s.threads,
            workers: s.workers,
            warmup_ns: s.warmup_ns,
            duration_ns: s.time_ns.unwrap_or(NO_LIMIT_NS),
            max_attempts: s.attempts(),
            seed: s.trial_seed(),
            drain_ns: DRAIN_NS,
            max_events: s.count,
            time_statements: false,
            tolerance: tolerance(s),
        }
    }

    /// Runs it. The record is for the caller to keep; its place in a study is yet to be found.
    ///
    /// # Errors
    /// What ended the run without a result.
    pub(super) fn go(&self, stop: &StopToken) -> Result<Ended, Failure> {
        let s = self.settings;
        let study = &self.inputs.study;
        let (host, fingerprint) = (perbuck_observe::host(), study.fingerprint());
        let (contender, workload) = (study.baseline().name.clone(), KIND.to_owned());
        let key = TrialKey { contender, workload, connections: s.threads, rate_per_s: None, deployment: None, trial: 1 };
        let task = Task {
            key: &key,
            spec: self.spec(),
            position: 0,
            stage: self.stage,
            parameters: self.checked.plan.parameters(),
            metric: TPMC.clone(),
            data: "foreign",
            // Counting the rows of a large table takes minutes, and nobody who runs go-tpc waits for it.
            rows_before: None,
        };
        let mut live = Live::new(s, stop);
        let context = Context { study, fingerprint: &fingerprint, host: &host };
        let (mut record, details) = match run_watched(&context, task, stop, &mut live) {
            Ok(ran) => ran,
            Err(Failure::Run(RunError::Interrupted)) => {
                return Err(live.end().map_or_else(Failure::Other, |_| Failure::Run(RunError::Interrupted)));
            }
            Err(failure) => return Err(failure),
        };
        record.target.address.clone_from(&self.address);
        if s.time_ns.is_none() {
            // What was asked for was a number of transactions, or no end at all; this is how long it took.
            record.load.duration_ns = record.measured.window_ns;
        }
        let intervals = live.end()?;
        let limited = s.time_ns.is_some() || s.count.is_some();
        let ending = if stop.requested() && limited { Ending::Early } else { Ending::Whole };
        let rows = rows(&record, &details).map_err(defect)?;
        let waits = lines::waits(details.pauses.iter().map(|(name, pauses)| (name.as_str(), *pauses)));
        let extras = self.extras(&record).map_err(defect)?;
        Ok(Ended { record, ending, rows, waits, intervals, extras })
    }

    fn extras(&self, record: &RunRecord) -> Result<Extras, String> {
        let options = &self.checked.options;
        let ran = Ran { warehouses: options.warehouses, waited: options.wait, window_ns: record.measured.window_ns };
        Ok(Extras {
            audit: audit(&record.measured.transactions, ran)?,
            errors: record.errors.clone(),
            retries: record.measured.retries,
            flags: record.flags.iter().map(flag_text).collect(),
            notes: compat_notes(options),
            seed: self.settings.seed,
        })
    }

    /// Prints the figures of a run; go-tpc's own lines come last.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub(super) fn show(&self, ended: &Ended, record: Option<String>) -> Result<(), LabError> {
        let (output, run) = (self.settings.output, &ended.record);
        let (tpmc, tpm_total) = (run.metric(&TPMC), run.metric(&TPS) * 60.0);
        let efficiency = &ended.extras.audit.efficiency;
        if output == Output::Json {
            return print_json(&self.json(ended, record));
        }
        print(&report::text(&ended.extras))?;
        print("Finished\n")?;
        print(&lines::block(Span::Summary, &ended.rows, output))?;
        print(&lines::wait_block(Span::Summary, &ended.waits, output))?;
        print(&lines::closing(tpmc, tpm_total, efficiency.percent, output))
    }

    fn json(&self, ended: &Ended, record: Option<String>) -> RunJson {
        let (run, extras) = (&ended.record, &ended.extras);
        RunJson {
            perbuck: env!("CARGO_PKG_VERSION"),
            parameters: run.workload.parameters.clone(),
            target: self.address.clone(),
            threads: self.settings.threads,
            seed: self.settings.seed,
            warmup_s: run.load.warmup_ns as f64 / 1e9,
            measured_s: run.measured.window_ns as f64 / 1e9,
            current: ended.intervals.iter().map(Into::into).collect(),
            summary: ended.rows.iter().map(Into::into).collect(),
            waits_s: machine::waits(&ended.waits),
            tpmc: run.metric(&TPMC),
            tpm_total: run.metric(&TPS) * 60.0,
            efficiency: extras.audit.efficiency.percent,
            efficiency_meaning: extras.audit.efficiency.meaning,
            audit: extras.audit.figures.iter().map(Into::into).collect(),
            disclosure: extras.audit.disclosure,
            retries: extras.retries,
            errors_by_code: machine::errors(&extras.errors),
            aborted: run.health.aborted,
            flags: extras.flags.clone(),
            notes: extras.notes,
            interrupted: ended.ending == Ending::Early,
            record,
        }
    }
}

fn defect(message: String) -> LabError {
    LabError::new(ErrorKind::Failed, message, "this is a defect of perbuck; please report it")
}

/// The summary by kind.
fn rows(record: &RunRecord, details: &Details) -> Result<Vec<Row>, String> {
    let mut kinds = Vec::new();
    for (name, transactions) in &record.measured.transactions {
        let failed = details.failed_latency.get(name).map(HistogramRecord::to_histogram).transpose();
        let failed = failed.map_err(|e| format!("{name}: {e}"))?.unwrap_or_else(Histogram::new);
        kinds.push((name.as_str(), transactions.service.to_histogram().map_err(|e| format!("{name}: {e}"))?, failed));
    }
    let seconds = record.measured.window_ns as f64 / 1e9;
    Ok(lines::rows(kinds.iter().map(|(name, completed, failed)| (*name, completed, failed)), seconds))
}

/// A remark in the words of this command.
fn flag_text(flag: &Flag) -> String {
    let Flag::Aborted { count } = flag else { return flag.text() };
    let seconds = DRAIN_NS / SECOND_NS;
    format!("{count} transactions had not ended {seconds} s after the end of the run and are in no figure")
}

/// After which errors the run goes on. By the specification a transaction that the server asks to send again is sent again;
/// go-tpc's worker ends by it, too.
fn tolerance(settings: &Settings) -> Tolerance {
    if settings.ignore_error {
        return Tolerance::Every;
    }
    Tolerance::Listed { codes: Vec::new(), retries: !settings.go_tpc, losses: false }
}
