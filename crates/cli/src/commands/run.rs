//! `perbuck run STUDY`: plan, prepare what is missing, run what is not on disk, check, compare.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::RunRecord;
use perbuck_core::study::{Reset, Study};
use perbuck_load::stop::StopToken;

use crate::args::{BasisArguments, RunArguments};
use crate::commands::{TRIAL_STOPS, print, print_json, stop_on_signal};
use crate::commands::{ceiling, prepare};
use crate::data::DataState;
use crate::error::{CliError, Exit};
use crate::inputs::{self, Inputs};
use crate::progress::{Progress, clock_text, second_text};
use crate::results;
use crate::stage::{self, Stage};
use crate::store::Store;
use crate::trial::{self, Context, Task};

/// The word for data that were loaded anew before a trial.
pub(crate) const RELOADED: &str = "reloaded";

/// Runs a study.
pub(crate) fn run(arguments: &RunArguments) -> Result<(), CliError> {
    let inputs = inputs::read(&arguments.study.path, arguments.study.prices.as_deref())?;
    let stop = stop_on_signal(TRIAL_STOPS)?;
    if arguments.driver.is_some() {
        return ceiling::run(&inputs, &stop);
    }
    let root = study(&inputs, &arguments.results, arguments.password.ask_password, &stop)?;
    let basis = BasisArguments { study: None, prices: None, insist: Vec::new() };
    let results = results::read(&root, &basis)?;
    if arguments.json {
        return print_json(&results.comparison);
    }
    print(&perbuck_report::text::verdicts(&results.study, &results.comparison))?;
    print(&format!("\nWrite the report with: perbuck report {}\n", root.display()))
}

/// Runs everything of a study that is not on disk yet; returns its results folder.
///
/// # Errors
/// The first failure. Finished trials are kept.
pub(crate) fn study(
    inputs: &Inputs,
    results: &std::path::Path,
    ask_password: bool,
    stop: &StopToken,
) -> Result<PathBuf, CliError> {
    let fingerprint = inputs.study.fingerprint();
    let store = Store::open(results, inputs, &fingerprint)?;
    let plan = inputs.study.plan();
    let missing: Vec<(usize, &TrialKey)> = plan.iter().enumerate().filter(|(_, key)| !store.has(key)).collect();
    let mut progress = Progress::new();
    if missing.is_empty() {
        progress.line(&format!("all {} trials are on disk in {}", plan.len(), store.root().display()));
        if store.checked() {
            return Ok(store.root().to_owned());
        }
    } else if missing.len() < plan.len() {
        progress.line(&format!("{} of {} trials are on disk; going on with the others", plan.len() - missing.len(), plan.len()));
    }
    let stages = stage::build(inputs, ask_password)?;
    let host = perbuck_observe::host();
    let context = Context { study: &inputs.study, fingerprint: &fingerprint, host: &host };
    let run = store.id()?;
    let mut session = Session { inputs, context, stages: &stages, stop, progress, rows: BTreeMap::new(), run };
    session.prepare(&missing)?;
    for (done, (position, key)) in missing.iter().enumerate() {
        let record = session.trial(key, *position, plan.len(), missing.len() - done)?;
        store.write(&record)?;
        session.settled(key)?;
    }
    session.check()?;
    store.mark_checked()?;
    Ok(store.root().to_owned())
}

/// A run of a study in progress.
struct Session<'a> {
    inputs: &'a Inputs,
    context: Context<'a>,
    stages: &'a [Box<dyn Stage>],
    stop: &'a StopToken,
    progress: Progress,
    /// Rows per table as last seen, by stage.
    rows: BTreeMap<usize, BTreeMap<String, u64>>,
    /// Tells this results folder from every other one, whatever the study is called.
    run: String,
}

impl<'a> Session<'a> {
    /// Position of the stage of a trial: contenders in the order of the study, workloads within.
    fn stage_of(&self, key: &TrialKey) -> Result<usize, CliError> {
        let study = &self.inputs.study;
        let contender = study.contenders.iter().position(|c| c.name == key.contender);
        let workload = study.workloads.iter().position(|w| w.name == key.workload);
        contender
            .zip(workload)
            .map(|(c, w)| c * study.workloads.len() + w)
            .ok_or_else(|| CliError::new(Exit::Failed, format!("the plan names {}, which the study does not", key.title()), ""))
    }

    /// Loads what is missing for any of the trials.
    fn prepare(&mut self, missing: &[(usize, &TrialKey)]) -> Result<(), CliError> {
        let mut needed = BTreeSet::new();
        for (_, key) in missing {
            needed.insert(self.stage_of(key)?);
        }
        for index in needed {
            prepare::ensure(self.stages[index].as_ref(), None, self.stop, &mut self.progress)?;
        }
        Ok(())
    }

    /// The block of a trial, as noted in the target.
    fn block(&self, key: &TrialKey) -> String {
        format!("{}/{}", self.run, key.trial)
    }

    /// Notes that a trial has ended and is on disk: the data now belong to its block.
    fn settled(&self, key: &TrialKey) -> Result<(), CliError> {
        settled(self.stages[self.stage_of(key)?].as_ref(), &self.block(key))
    }

    fn trial(&mut self, key: &TrialKey, position: usize, of: usize, left: usize) -> Result<RunRecord, CliError> {
        let index = self.stage_of(key)?;
        let stage = self.stages[index].as_ref();
        let data = reset(stage, &self.block(key), self.stop, &mut self.progress)?;
        if data == RELOADED {
            self.rows.remove(&index);
        }
        let rows_before = match self.rows.remove(&index) {
            Some(rows) => rows,
            None => stage.rows()?,
        };
        let study = &self.inputs.study;
        let plan = &self.inputs.plans[index % study.workloads.len()];
        let metric = study.workload(&key.workload).and_then(|w| w.metric).unwrap_or_else(|| plan.default_metric());
        let (spec, parameters) = (trial::spec(study, key), plan.parameters());
        let task = Task { key, spec, position, stage, parameters, metric, data, rows_before: Some(rows_before) };
        let left = clock_text(trial_time(study) * left as u32);
        let head = format!("[{}/{of}] {}", position + 1, key.title());
        let progress = &mut self.progress;
        progress.passing(&format!("{head} · {left} left"));
        let record = trial::run(&self.context, task, self.stop, &mut |interval| {
            progress.passing(&format!("{head} · {} · {left} left", second_text(interval)));
        })?;
        // Nobody could count them where the server was away; then they are counted before the next trial.
        if !record.workload.rows_after.is_empty() {
            self.rows.insert(index, record.workload.rows_after.clone());
        }
        let flags: Vec<String> = record.flags.iter().map(|f| format!(" ({})", f.text())).collect();
        self.progress.line(&format!("{head}: {} {}{}", figure(record.metric(metric)), metric.label(), flags.concat()));
        Ok(record)
    }

    /// Checks the data of every contender and workload.
    fn check(&mut self) -> Result<(), CliError> {
        for stage in self.stages {
            prepare::check(stage.as_ref(), &mut self.progress)?;
        }
        // Somebody may have asked to stop while the checks ran; the verdicts can wait.
        if self.stop.requested() { Err(CliError::interrupted()) } else { Ok(()) }
    }
}

/// Brings the data into the state that the reset rule asks for before a trial of `block`; says what was done.
///
/// # Errors
/// Data that somebody replaced, tables of another tool where the rule wants them reloaded, a failed load or check.
pub(crate) fn reset(stage: &dyn Stage, block: &str, stop: &StopToken, progress: &mut Progress) -> Result<&'static str, CliError> {
    let (fresh, foreign) = match stage.noted()? {
        DataState::Ours { fingerprint, .. } if fingerprint != stage.fingerprint() => return Err(replaced(stage)),
        DataState::Absent | DataState::Unfinished if stage.reset() == Reset::Never => return Err(replaced(stage)),
        DataState::Ours { used_by, .. } => {
            (used_by == crate::data::FRESH || (stage.reset() == Reset::PerBlock && used_by == block), false)
        }
        DataState::Foreign { .. } => (false, true),
        DataState::Absent | DataState::Unfinished => (false, false),
    };
    let keep = match stage.reset() {
        Reset::Never => true,
        Reset::PerBlock | Reset::PerTrial => fresh,
    };
    if foreign {
        if !keep {
            let message = format!(
                "{}: the study resets its data, but these tables were made by another tool and are not dropped",
                stage.title()
            );
            return Err(CliError::new(
                Exit::Refused,
                message,
                "set `reset = \"never\"` in the workload, or drop the tables yourself",
            ));
        }
        return Ok("foreign");
    }
    if !keep {
        if matches!(stage.noted()?, DataState::Ours { .. }) {
            // A reload wipes out the evidence of what the last trials did to the data.
            prepare::check(stage, progress)?;
        }
        prepare::load(stage, None, stop, progress)?;
    }
    // Noted before the first transaction: a trial that is cut off leaves data that belong to no block.
    stage.mark(&format!("{block} running"))?;
    Ok(if keep { "kept" } else { RELOADED })
}

/// Notes that a trial of `block` has ended and is on disk: the data now belong to it.
///
/// # Errors
/// The server's answer.
pub(crate) fn settled(stage: &dyn Stage, block: &str) -> Result<(), CliError> {
    match stage.noted()? {
        DataState::Foreign { .. } => Ok(()),
        _ => stage.mark(block),
    }
}

fn replaced(stage: &dyn Stage) -> CliError {
    let message = format!("{}: somebody replaced or removed the data in {} meanwhile", stage.title(), stage.address());
    CliError::new(
        Exit::Refused,
        message,
        "let nobody else use that database during a study, then run it again; finished trials are kept",
    )
}

fn trial_time(study: &Study) -> Duration {
    Duration::from_nanos(study.sweep.warmup_ns + study.sweep.duration_ns)
}

/// A rate for people: thousands separated above 1000, one decimal below.
fn figure(value: f64) -> String {
    if value >= 1000.0 { perbuck_core::units::thousands(value.round() as u64) } else { format!("{value:.1}") }
}
