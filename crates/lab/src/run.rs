//! A whole study: plan, prepare what is missing, run what is not on disk, check the data.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::RunRecord;
use perbuck_core::study::{Reset, Study};
use perbuck_load::stop::StopToken;

use crate::data::DataState;
use crate::error::{ErrorKind, LabError};
use crate::globals::{self, Globals};
use crate::inputs::Inputs;
use crate::live::{Display, Event, Left, Live};
use crate::prepare;
use crate::progress::{Progress, clock_text, second_text};
use crate::servers::Servers;
use crate::stage::{self, AskPassword, Stage};
use crate::store::Store;
use crate::trial::{self, Context, Task};

/// The word for data that were loaded anew before a trial.
pub const RELOADED: &str = "reloaded";

/// How often the stop token is read while a target cools down.
const COOL_DOWN_STEP: Duration = Duration::from_millis(100);

/// Which part of a study is run, and how.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The folder that holds the results of all studies.
    pub results: PathBuf,
    /// This deployment alone, for targets that the user deploys.
    pub deployment: Option<u32>,
    /// How a password is asked for that no variable and no file holds; never where it is `None`.
    pub ask_password: Option<AskPassword>,
}

/// Runs everything of a study that is not on disk yet, or of one of its deployments; returns its results folder.
///
/// # Errors
/// The first failure. Finished trials are kept.
pub fn study(inputs: &Inputs, options: &RunOptions, progress: &mut dyn Progress, stop: &StopToken) -> Result<PathBuf, LabError> {
    let deployment = options.deployment;
    deployable(&inputs.study, deployment)?;
    let fingerprint = inputs.study.fingerprint();
    let store = Store::open(&options.results, inputs, &fingerprint)?;
    let plan = inputs.study.plan();
    let wanted = |key: &TrialKey| deployment.is_none_or(|d| key.deployment() == d) && !store.has(key);
    let missing: Vec<(usize, &TrialKey)> = plan.iter().enumerate().filter(|(_, key)| wanted(key)).collect();
    if missing.is_empty() {
        let which = deployment.map_or_else(|| format!("all {} trials", plan.len()), |d| format!("all trials of deployment {d}"));
        progress.line(&format!("{which} are on disk in {}", store.root().display()));
        if store.checked() && !globals::left_behind(store.root()) {
            return Ok(store.root().to_owned());
        }
    } else if let on_disk @ 1.. = plan.iter().filter(|key| store.has(key)).count() {
        progress.line(&format!("{on_disk} of {} trials are on disk; going on with the others", plan.len()));
    }
    let host = perbuck_observe::host();
    let run = store.id()?;
    let mut live = Live::begin(store.root());
    live.say(Event::Began { trials: plan.len(), on_disk: plan.iter().filter(|key| store.has(key)).count() });
    let mut time = Left::new(trial_time(&inputs.study));
    let mut left = missing.len();
    // Where nothing is missing, the data are still to be checked.
    let mut deployments: Vec<&[(usize, &TrialKey)]> = missing.chunk_by(|a, b| a.1.deployment() == b.1.deployment()).collect();
    if deployments.is_empty() {
        deployments.push(&[]);
    }
    for missing in deployments {
        // Before the stages, so that it goes after them: each deployment has servers of its own.
        let servers = Servers::start(&inputs.study, inputs.registry, stop, progress)?;
        let stages = stage::build(inputs, &servers, options.ask_password)?;
        // Before anything is loaded: a setting that cannot be set is then found at once.
        let globals = Globals::begin(&inputs.study, &stages, store.root(), progress)?;
        let context = Context { study: &inputs.study, fingerprint: &fingerprint, host: &host };
        let display = Display { progress, live: &mut live, time: &mut time };
        let (rows, run) = (BTreeMap::new(), run.clone());
        let mut session = Session { inputs, context, stages: &stages, globals, stop, display, rows, run };
        let measured = session.measure(missing, plan.len(), &mut left, &store);
        let back = session.globals.end(session.display.progress);
        if let (Err(_), Err(second)) = (&measured, &back) {
            session.display.progress.line(&format!("perbuck: {second}"));
        }
        measured.and(back)?;
        session.check()?;
    }
    store.mark_checked()?;
    Ok(store.root().to_owned())
}

/// Refuses a study of several deployments that perbuck cannot make, and a deployment that the study does not have.
fn deployable(study: &Study, wanted: Option<u32>) -> Result<(), LabError> {
    let count = study.sweep.deployments;
    if let Some(wanted) = wanted.filter(|d| !(1..=count).contains(d)) {
        let message = format!("--deployment {wanted}: the study has deployments 1 to {count}");
        return Err(LabError::new(ErrorKind::Usage, message, "raise `sweep.deployments`, or name one of them"));
    }
    let fixed = study.contenders.iter().find(|c| c.server.is_none());
    if let Some(contender) = fixed.filter(|_| count > 1 && wanted.is_none()) {
        let message = format!(
            "`sweep.deployments` is {count}, and perbuck cannot deploy contender `{}` anew: it is no private server",
            contender.name
        );
        let help = "run one deployment at a time: perbuck run --deployment 1 STUDY, then fresh instances, then --deployment 2 …";
        return Err(LabError::new(ErrorKind::Usage, message, help));
    }
    Ok(())
}

/// A run of a study in progress.
struct Session<'a> {
    inputs: &'a Inputs,
    context: Context<'a>,
    stages: &'a [Stage],
    globals: Globals<'a>,
    stop: &'a StopToken,
    display: Display<'a>,
    /// Rows per table as last seen, by stage.
    rows: BTreeMap<usize, BTreeMap<String, u64>>,
    /// Tells this results folder from every other one, whatever the study is called.
    run: String,
}

impl<'a> Session<'a> {
    /// Position of the stage of a trial: contenders in the order of the study, workloads within.
    fn stage_of(&self, key: &TrialKey) -> Result<usize, LabError> {
        let study = &self.inputs.study;
        let contender = study.contenders.iter().position(|c| c.name == key.contender);
        let workload = study.workloads.iter().position(|w| w.name == key.workload);
        contender.zip(workload).map(|(c, w)| c * study.workloads.len() + w).ok_or_else(|| {
            LabError::new(ErrorKind::Failed, format!("the plan names {}, which the study does not", key.title()), "")
        })
    }

    /// Loads what is missing, and runs the trials.
    fn measure(&mut self, missing: &[(usize, &TrialKey)], of: usize, left: &mut usize, store: &Store) -> Result<(), LabError> {
        self.prepare(missing)?;
        for (position, key) in missing {
            let began = Instant::now();
            let record = self.trial(key, *position, of, *left)?;
            store.write(&record)?;
            self.settled(key)?;
            self.display.over(&record, &figure(record.metric(record.workload.metric.metric())), began.elapsed());
            *left -= 1;
        }
        Ok(())
    }

    /// Loads what is missing for any of the trials.
    fn prepare(&mut self, missing: &[(usize, &TrialKey)]) -> Result<(), LabError> {
        let mut needed = BTreeSet::new();
        for (_, key) in missing {
            needed.insert(self.stage_of(key)?);
        }
        for index in needed {
            self.display.live.say(Event::Doing { text: format!("looking at the data of {}", self.stages[index].title()) });
            prepare::ensure(&self.stages[index], None, self.stop, self.display.progress)?;
        }
        Ok(())
    }

    /// The block of a trial, as noted in the target.
    fn block(&self, key: &TrialKey) -> String {
        let deployment = key.deployment.map(|d| format!("{d}.")).unwrap_or_default();
        format!("{}/{deployment}{}", self.run, key.trial)
    }

    /// Notes that a trial has ended and is on disk: the data now belong to its block.
    fn settled(&self, key: &TrialKey) -> Result<(), LabError> {
        settled(&self.stages[self.stage_of(key)?], &self.block(key))
    }

    fn trial(&mut self, key: &TrialKey, position: usize, of: usize, left: usize) -> Result<RunRecord, LabError> {
        let index = self.stage_of(key)?;
        let stage = &self.stages[index];
        let block = self.block(key);
        let own_settings = &mut || self.globals.release(&key.contender);
        let data = reset(stage, &block, own_settings, self.stop, self.display.progress)?;
        if data == RELOADED {
            self.rows.remove(&index);
        }
        let rows_before = match self.rows.remove(&index) {
            Some(rows) => rows,
            None => stage.data.rows()?,
        };
        let study = &self.inputs.study;
        let plan = &self.inputs.plans[index % study.workloads.len()];
        let metric = study.metric_of(&key.workload);
        let (spec, parameters) = (trial::spec(study, key), plan.parameters());
        let task = Task { key, spec, position, stage, parameters, metric: metric.clone(), data, rows_before: Some(rows_before) };
        let head = format!("[{}/{of}] {}", position + 1, key.title());
        let Display { progress, live, time } = &mut self.display;
        if let Some(line) = self.globals.hold(&key.contender)? {
            progress.line(&line);
        }
        cool_down(study.sweep.cooldown_ns, self.stop, &mut |rest| {
            let left = clock_text(time.left(left, Duration::ZERO));
            progress.passing(&format!("{head} · cooling down for {} · {left} left", clock_text(rest)));
        })?;
        let began = Instant::now();
        progress.passing(&format!("{head} · {} left", clock_text(time.left(left, Duration::ZERO))));
        let record = trial::run(&self.context, task, self.stop, &mut |interval| {
            let left = time.left(left, began.elapsed());
            progress.passing(&format!("{head} · {} · {} left", second_text(interval), clock_text(left)));
            let second = interval.clone();
            live.say(Event::Second { trial: key.clone(), position: position + 1, left_s: left.as_secs(), second });
        })?;
        self.globals.held(&key.contender)?;
        // Nobody could count them where the server was away; then they are counted before the next trial.
        if !record.workload.rows_after.is_empty() {
            self.rows.insert(index, record.workload.rows_after.clone());
        }
        let flags: Vec<String> = record.flags.iter().map(|f| format!(" ({})", f.text())).collect();
        self.display.progress.line(&format!("{head}: {} {}{}", figure(record.metric(metric)), metric.label, flags.concat()));
        Ok(record)
    }

    /// Checks the data of every contender and workload.
    fn check(&mut self) -> Result<(), LabError> {
        self.display.live.say(Event::Doing { text: "checking the data after the last trial".to_owned() });
        for stage in self.stages {
            prepare::check(stage, self.display.progress)?;
        }
        // Somebody may have asked to stop while the checks ran; the verdicts can wait.
        if self.stop.requested() { Err(LabError::interrupted()) } else { Ok(()) }
    }
}

/// Brings the data into the state that the reset rule asks for before a trial of `block`; says what was done. Data are loaded and
/// checked under the server's own settings, which `own_settings` brings back; where they are kept, a trial is to find the server
/// as the one before left it.
///
/// # Errors
/// Data that somebody replaced, tables of another tool where the rule wants them reloaded, a failed load or check.
pub fn reset(
    stage: &Stage,
    block: &str,
    own_settings: &mut dyn FnMut() -> Result<(), LabError>,
    stop: &StopToken,
    progress: &mut dyn Progress,
) -> Result<&'static str, LabError> {
    let (fresh, foreign) = match stage.data.noted()? {
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
            return Err(LabError::new(
                ErrorKind::Refused,
                message,
                "set `reset = \"never\"` in the workload, or drop the tables yourself",
            ));
        }
        return Ok("foreign");
    }
    if !keep {
        own_settings()?;
        if matches!(stage.data.noted()?, DataState::Ours { .. }) {
            // A reload wipes out the evidence of what the last trials did to the data.
            prepare::check(stage, progress)?;
        }
        prepare::load(stage, None, stop, progress)?;
    }
    // Noted before the first transaction: a trial that is cut off leaves data that belong to no block.
    stage.data.mark(&format!("{block} running"))?;
    Ok(if keep { "kept" } else { RELOADED })
}

/// Notes that a trial of `block` has ended and is on disk: the data now belong to it.
///
/// # Errors
/// The server's answer.
pub fn settled(stage: &Stage, block: &str) -> Result<(), LabError> {
    match stage.data.noted()? {
        DataState::Foreign { .. } => Ok(()),
        _ => stage.data.mark(block),
    }
}

fn replaced(stage: &Stage) -> LabError {
    let message = format!("{}: somebody replaced or removed the data in {} meanwhile", stage.title(), stage.address());
    LabError::new(
        ErrorKind::Refused,
        message,
        "let nobody else use that database during a study, then run it again; finished trials are kept",
    )
}

fn trial_time(study: &Study) -> Duration {
    Duration::from_nanos(study.sweep.cooldown_ns + study.sweep.warmup_ns + study.sweep.duration_ns)
}

/// Leaves the target alone before a trial, so that what the last one left to do does not fall on it.
fn cool_down(ns: u64, stop: &StopToken, show: &mut dyn FnMut(Duration)) -> Result<(), LabError> {
    let (began, whole) = (Instant::now(), Duration::from_nanos(ns));
    while let Some(rest) = whole.checked_sub(began.elapsed()).filter(|rest| !rest.is_zero()) {
        if stop.requested() {
            return Err(LabError::interrupted());
        }
        show(rest);
        thread::sleep(rest.min(COOL_DOWN_STEP));
    }
    Ok(())
}

/// A rate for people: thousands separated above 1000, one decimal below.
fn figure(value: f64) -> String {
    if value >= 1000.0 { perbuck_core::units::thousands(value.round() as u64) } else { format!("{value:.1}") }
}
