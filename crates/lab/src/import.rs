//! Logs of other programs as trials of a study: read, matched with its contenders and workloads, checked, and written as records.
//!
//! Everything is checked before the first record is written.

mod draft;
mod record;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use perbuck_core::plan::{TrialKey, fingerprint};
use perbuck_core::run_record::{Imported, RunRecord};
use perbuck_core::study::{Study, WorkloadSpec};
use perbuck_import::Run;

use crate::error::LabError;
use crate::folder::has_file;
use crate::inputs::{self, Inputs, Limit, read_up_to};
use crate::registry::Registry;
use crate::store::{STUDY_FILE, Store, StudyFiles};
use crate::stored;
pub use draft::NewStudy;
use record::record;

/// How long another perbuck that writes to the same folder is waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
/// The most trials of one point.
const TRIALS: u32 = 1000;

/// A log, and whose trials it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// Name of the contender.
    pub contender: String,
    /// Name of the workload; `None` is the one of the log's kind.
    pub workload: Option<String>,
    /// Where the log is.
    pub path: PathBuf,
}

/// What is imported.
#[derive(Debug, Clone)]
pub struct ImportRequest {
    /// The study file.
    pub study: PathBuf,
    /// The study to write there first; `None` where it exists.
    pub new: Option<NewStudy>,
    /// A price snapshot file in place of a bundled one.
    pub prices: Option<PathBuf>,
    /// The logs; those of one point become its trials in this order.
    pub logs: Vec<LogFile>,
    /// Connections of runs whose log does not say.
    pub connections: Option<u32>,
    /// Folder that holds the results of all studies.
    pub results: PathBuf,
}

/// What was imported.
#[derive(Debug)]
pub struct ImportedTrials {
    /// The results folder of the study.
    pub folder: PathBuf,
    /// The records that were written.
    pub records: Vec<RunRecord>,
}

/// A run with the log that it is from.
struct Found<'a> {
    log: &'a LogFile,
    fingerprint: String,
    run: Run,
}

impl Found<'_> {
    /// An error at the line of its result.
    fn wrong(&self, message: &str, help: impl Into<String>) -> LabError {
        LabError::usage(format!("{}:{}: {message}", self.log.path.display(), self.run.line), help)
    }
}

/// Imports logs.
///
/// # Errors
/// Every problem of the study; a log that cannot be read, or does not fit the study; trials that are there already.
pub fn import(request: &ImportRequest) -> Result<ImportedTrials, LabError> {
    let found = read_logs(&request.logs)?;
    let inputs = study(request, &found)?;
    let folder = request.results.join(&inputs.study.name);
    let is_there = has_file(&folder.join(STUDY_FILE));
    let present = if is_there { stored::records(&folder)?.0 } else { Vec::new() };
    let fingerprint = inputs.study.fingerprint();
    if let Some(stranger) = present.iter().find(|r| r.study_fingerprint != fingerprint) {
        let message = format!("{} holds trials of another study, such as {}", folder.display(), stranger.path());
        return Err(LabError::refused(message, "give the study a new `name`, or move that folder away"));
    }
    let records = records(&inputs, request.connections, &found, &present)?;
    if let Some(new) = &request.new {
        new.write(&request.study, &inputs.text)?;
    }
    let files = StudyFiles::from(&inputs);
    let store = Store::join_within(&request.results, files, &fingerprint, LOCK_TIMEOUT)?;
    // Contenders, workloads and prices may have come since.
    store.keep(files)?;
    for record in &records {
        store.write(record, None)?;
    }
    Ok(ImportedTrials { folder: store.root().to_owned(), records })
}

fn read_logs(logs: &[LogFile]) -> Result<Vec<Found<'_>>, LabError> {
    let mut found = Vec::new();
    for log in logs {
        let text = read_up_to("the log", &log.path, Limit::RECORD)?;
        let runs =
            perbuck_import::read(&text).map_err(|e| LabError::usage(format!("{}: {e}", log.path.display()), e.help.clone()))?;
        let fingerprint = fingerprint(&text);
        found.extend(runs.into_iter().map(|run| Found { log, fingerprint: fingerprint.clone(), run }));
    }
    Ok(found)
}

/// The study of the request, checked.
fn study(request: &ImportRequest, found: &[Found<'_>]) -> Result<Inputs, LabError> {
    let path = &request.study;
    let inputs = match &request.new {
        None => inputs::read((path, &inputs::Targets::new()), request.prices.as_deref(), Registry::default())?,
        Some(new) => {
            let runs: Vec<(&LogFile, &Run)> = found.iter().map(|f| (f.log, &f.run)).collect();
            inputs::read_drafted(path, new.text(path, &runs)?, request.prices.as_deref())?
        }
    };
    if !inputs.study.imported {
        let message = format!("{} is not a study of imported trials: it has no `imported = true`", path.display());
        let help = "trials that perbuck measures and imported ones do not share a study; write `imported = true` at the top of one for logs";
        return Err(LabError::usage(message, help));
    }
    Ok(inputs)
}

/// The records of all runs, in their order.
fn records(
    inputs: &Inputs,
    connections: Option<u32>,
    found: &[Found<'_>],
    present: &[RunRecord],
) -> Result<Vec<RunRecord>, LabError> {
    let study = &inputs.study;
    let mut taken: BTreeSet<TrialKey> = present.iter().map(|r| r.key.clone()).collect();
    let mut made: Vec<RunRecord> = Vec::new();
    for one in found {
        let spec = workload(study, one)?;
        contender(study, one)?;
        let connections = points(study, one, connections)?;
        let from_it = |r: &&RunRecord| {
            let is = |i: &Imported| i.log_fingerprint == one.fingerprint && i.line == one.run.line;
            r.imported.as_ref().is_some_and(is)
        };
        if let Some(twin) = present.iter().chain(&made).find(from_it) {
            let message = format!("this run is there already, as {}", twin.path());
            let help = "give each log once: a trial that counts twice makes intervals too narrow";
            return Err(LabError::refused(one.wrong(&message, "").words().0, help));
        }
        let key = |trial| TrialKey {
            contender: one.log.contender.clone(),
            workload: spec.name.clone(),
            connections,
            trial,
            ..TrialKey::default()
        };
        let Some(key) = (1..=TRIALS).map(key).find(|key| !taken.contains(key)) else {
            return Err(one.wrong(&format!("the point has {TRIALS} trials already"), "divide the study into several"));
        };
        taken.insert(key.clone());
        let position = (present.len() + made.len()) as u32;
        made.push(record(inputs, spec, one, key, position)?);
    }
    Ok(made)
}

fn contender(study: &Study, found: &Found<'_>) -> Result<(), LabError> {
    let name = &found.log.contender;
    if study.contender(name).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = study.contenders.iter().map(|c| c.name.as_str()).collect();
    let message = format!("the study has no contender `{name}`, whose log is {}", found.log.path.display());
    Err(LabError::usage(message, format!("its contenders are: {}", names.join(", "))))
}

/// The workload that a run belongs to.
fn workload<'s>(study: &'s Study, found: &Found<'_>) -> Result<&'s WorkloadSpec, LabError> {
    let kind = found.run.kind;
    let of_kind: Vec<&WorkloadSpec> = study.workloads.iter().filter(|w| w.kind.value == kind).collect();
    let program = format!("a run of {} has the kind \"{kind}\"", found.run.tool);
    match (&found.log.workload, of_kind.as_slice()) {
        (Some(name), _) => match study.workload(name) {
            Some(spec) if spec.kind.value == kind => Ok(spec),
            Some(spec) => {
                let message = format!("{program}, and workload `{name}` has the kind \"{}\"", spec.kind.value);
                Err(found.wrong(&message, "name a workload of that kind, or none"))
            }
            None => {
                let names: Vec<&str> = study.workloads.iter().map(|w| w.name.as_str()).collect();
                let help = format!("its workloads are: {}", names.join(", "));
                Err(LabError::usage(format!("the study has no workload `{name}`"), help))
            }
        },
        (None, [one]) => Ok(one),
        (None, []) => {
            let help = format!("add a `[[workload]]` with `kind = \"{kind}\"`");
            Err(found.wrong(&format!("{program}, and the study has no workload of it"), help))
        }
        (None, several) => {
            let names: Vec<&str> = several.iter().map(|w| w.name.as_str()).collect();
            let help = format!("say which: {}/{}={}", found.log.contender, names[0], found.log.path.display());
            Err(found.wrong(&format!("{program}, and the study has several workloads of it: {}", names.join(", ")), help))
        }
    }
}

/// The connections of a run, by its log or else by the caller, checked against the points of the study.
fn points(study: &Study, found: &Found<'_>, given: Option<u32>) -> Result<u32, LabError> {
    let connections = match (found.run.connections, given) {
        (Some(own), Some(given)) if own != given => {
            return Err(found
                .wrong(&format!("the log says {own} connections, and --connections says {given}"), "leave out --connections"));
        }
        (Some(own), _) => own,
        (None, Some(given)) => given,
        (None, None) => {
            let help = "say it with --connections COUNT; give logs of other counts in a command of their own";
            return Err(found.wrong(&format!("the log of {} does not say how many connections there were", found.run.tool), help));
        }
    };
    let points = &study.sweep.connections;
    if points.is_empty() || points.contains(&connections) {
        return Ok(connections);
    }
    let points: Vec<String> = points.iter().map(u32::to_string).collect();
    let message =
        format!("the run has {connections} connections, and `sweep.connections` of the study has {}", points.join(", "));
    Err(found.wrong(&message, "add the count to `sweep.connections`, or remove that key: the points are then those of the logs"))
}

/// The name of a file, as records and messages have it.
fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
