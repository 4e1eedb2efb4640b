//! Does the operations, prints the figures and keeps the record.

use std::time::Instant;

use perbuck_core::arrivals::Arrivals;
use perbuck_core::load_model::LoadModel;
use perbuck_core::metric::TPS;
use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::{Flag, RunRecord};
use perbuck_core::study::NO_LIMIT_NS;
use perbuck_core::units::Seed;
use perbuck_load::limit::Tolerance;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::{RunError, TrialSpec};

use super::live::Live;
use super::report::{self, Operation};
use super::settings::{Settings, Shape};
use super::words::Order;
use perbuck_console::print;
use perbuck_console::say;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::inputs::Inputs;
use perbuck_lab::stage::Stage;
use perbuck_lab::trial::{Context, DRAIN_NS, Failure, Task, run_watched};

const SECOND_NS: u64 = 1_000_000_000;
/// YCSB tries every operation once.
pub(super) const ATTEMPTS: u32 = 1;
/// What closes the properties, and the run.
pub(super) const RULE: &str = "**********************************************\n";

/// Everything about one run.
pub(super) struct Run<'a> {
    /// The values of the command line.
    pub(super) settings: &'a Settings,
    /// The study of this command line with the database as its only contender.
    pub(super) inputs: &'a Inputs,
    /// The database with the workload.
    pub(super) stage: &'a Stage,
    /// The address as typed, without the limits of this run.
    pub(super) address: String,
}

/// A run that has ended.
pub(super) struct Ended {
    /// Its record, whose place in a study is yet to be found.
    pub(super) record: RunRecord,
    /// What was done, by operation.
    pub(super) operations: Vec<Operation>,
    /// How long it took, warm-up included.
    pub(super) took: std::time::Duration,
}

impl Run<'_> {
    fn spec(&self) -> TrialSpec {
        let s = self.settings;
        let ns = |seconds: u32| u64::from(seconds) * SECOND_NS;
        let (warmup_ns, duration_ns) = (ns(s.warmup_s), s.time_s.map_or(NO_LIMIT_NS, ns));
        let loads = s.order == Order::Load;
        TrialSpec {
            load: s
                .target
                .map_or_else(LoadModel::closed, |rate| LoadModel::rate(rate, Arrivals::Poisson, warmup_ns + duration_ns)),
            phases: Vec::new(),
            connections: s.threads,
            workers: s.workers,
            warmup_ns,
            duration_ns,
            max_attempts: ATTEMPTS,
            seed: Seed(s.seed).derive("perbuck ycsb"),
            drain_ns: DRAIN_NS,
            max_events: s.events,
            // The reads and updates within read-modify-writes are told of apart.
            time_statements: !loads && s.options.proportions[4] > 0.0,
            // A record that cannot be inserted ends a load, as in YCSB; what another connection may still insert does not.
            tolerance: if loads { Tolerance::Listed { codes: Vec::new(), retries: true, losses: true } } else { Tolerance::All },
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// What ended the run.
    pub(super) fn go(&self, stop: &StopToken) -> Result<Ended, Failure> {
        let (s, study) = (self.settings, &self.inputs.study);
        let (host, fingerprint) = (perbuck_observe::host(), study.fingerprint());
        let key = TrialKey {
            contender: study.baseline().name.clone(),
            workload: s.name.clone(),
            connections: s.threads,
            rate_per_s: s.target,
            deployment: None,
            trial: 1,
        };
        let task = Task {
            key: &key,
            spec: self.spec(),
            position: 0,
            stage: self.stage,
            parameters: s.options.parameters(),
            metric: TPS.clone(),
            data: "foreign",
            // Counting the rows of a large table takes minutes, and nobody who runs YCSB waits for it.
            rows_before: None,
        };
        let (mut live, began) = (Live::new(s, stop), Instant::now());
        let context = Context { study, fingerprint: &fingerprint, host: &host };
        let (mut record, details) = match run_watched(&context, task, stop, &mut live) {
            Ok(ran) => ran,
            Err(Failure::Run(RunError::Interrupted)) => {
                live.end()?;
                return Err(Failure::Run(RunError::Interrupted));
            }
            Err(failure) => return Err(failure),
        };
        let took = began.elapsed();
        live.end()?;
        record.target.address.clone_from(&self.address);
        if s.time_s.is_none() {
            // What was asked for was a number of operations; this is how long they took.
            record.load.duration_ns = record.measured.window_ns;
        }
        let operations = report::operations(&record, &details.statement_latency)
            .map_err(|message| LabError::new(ErrorKind::Failed, message, "this is a defect of perbuck; please report it"))?;
        Ok(Ended { record, operations, took })
    }
}

/// Prints the figures of a run: on standard output or into the file that was named, and what a reader must know of them besides
/// on standard error.
///
/// # Errors
/// When one of them cannot be written.
pub(super) fn show(settings: &Settings, ended: &Ended) -> Result<(), LabError> {
    let seconds = ended.record.measured.window_ns as f64 / 1e9;
    let figures = match settings.shape {
        Shape::GoYcsb => {
            print(&format!("{RULE}Run finished, takes {}\n", duration(ended.took)))?;
            report::go_ycsb(&report::lines(&ended.operations), seconds, settings.style)
        }
        Shape::Ycsb => report::ycsb(&ended.operations, seconds, settings),
    };
    match &settings.output_file {
        Some(path) => std::fs::write(path, figures).map_err(|e| LabError::file("write the figures to", path, &e))?,
        None => print(&figures)?,
    }
    for (code, error) in &ended.record.errors {
        say(&format!("perbuck: {} errors {code}: {}", error.count, error.example));
    }
    // A handful of operations account for little of the time of their connections. Missing and wrong rows are told of by `verdict`.
    let brief = ended.record.measured.window_ns < SECOND_NS;
    let told = |f: &&Flag| matches!(f, Flag::WrongRows { .. }) || (brief && matches!(f, Flag::LittlesLaw { .. }));
    for flag in ended.record.flags.iter().filter(|f| !told(f)) {
        say(&format!("perbuck: {}", flag.text()));
    }
    Ok(())
}

/// What is wrong with the data, if anything: what YCSB's programs let pass.
pub(super) fn verdict(settings: &Settings, operations: &[Operation]) -> Option<LabError> {
    let sum = |fact: &str| operations.iter().map(|o| o.fact(fact)).sum::<u64>();
    let (missing, wrong, duplicate) = (sum("missing"), sum("wrong"), sum("duplicate"));
    if duplicate > 0 {
        let message = format!("{duplicate} keys were there already, and their rows were left as they are");
        return Some(LabError::new(ErrorKind::Failed, message, "-p dropdata=true drops the table before the load"));
    }
    if missing + wrong == 0 {
        return None;
    }
    let message = format!("{missing} operations did not find a row that must be there, and {wrong} found wrong rows");
    if settings.options.dataintegrity {
        let help = "load the table with the same properties, dataintegrity and compat among them, before its runs";
        return Some(LabError::new(ErrorKind::Failed, message, help));
    }
    say(&format!(
        "perbuck: {message}\n    recordcount must be that of the load, and compat that of the program that loaded the table"
    ));
    None
}

/// A duration as Go prints it.
pub(super) fn duration(took: std::time::Duration) -> String {
    let seconds = took.as_secs_f64();
    match took.as_secs() {
        0 => format!("{:.6}ms", seconds * 1000.0),
        1..=59 => format!("{seconds:.9}s"),
        60..=3599 => format!("{}m{:.9}s", took.as_secs() / 60, seconds % 60.0),
        whole => format!("{}h{}m{:.9}s", whole / 3600, whole % 3600 / 60, seconds % 60.0),
    }
}
