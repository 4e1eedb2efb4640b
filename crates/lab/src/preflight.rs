//! Whether a study can run where it wants to: asked of every server, and of this machine, before the first row is loaded.
//!
//! Everything that is wrong is reported together. A server that perbuck would start is not there yet: of it, only the program and the
//! disk are looked at. What cannot be known for certain is no problem: a wrong alarm would stop a study that could run.

mod contender;
mod disk;

use std::path::Path;
use std::time::Duration;

use perbuck_core::problem::Problem;
use perbuck_core::run_record::HostRecord;
use perbuck_core::study::{Contender, Reset};
use perbuck_database::secret::Secret;
use perbuck_deploy::local::Kind;
use perbuck_load::stop::StopToken;

use crate::distance::other_zones;
use crate::error::{ErrorKind, LabError};
use crate::inputs::Inputs;
use crate::process;
use crate::profile;
use crate::progress::Progress;
use crate::stage;
use crate::watched;

use contender::Look;
use disk::Disks;
pub(crate) use disk::{megabytes, room_at};

/// What the study will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Load what is missing and run trials.
    Run,
    /// Load what is missing, or all of it.
    Load {
        /// Whether data that are there are loaded again.
        reload: bool,
    },
    /// Look at the data that are there.
    Check,
}

/// What is to be found out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) purpose: Purpose,
    /// The most connections at the same time.
    pub(crate) connections: u32,
    /// Load threads; as many as processors if not given.
    pub(crate) threads: Option<u32>,
    /// Whether other processes open the connections; each of them looks at its own limits.
    pub(crate) apart: bool,
    /// Where the records go, if there will be some.
    pub(crate) results: Option<&'a Path>,
}

impl<'a> Request<'a> {
    /// That of the trials of a study.
    pub(crate) fn of_trials(inputs: &Inputs, results: &'a Path, apart: bool) -> Self {
        let study = &inputs.study;
        Self {
            purpose: Purpose::Run,
            connections: study.most_connections(),
            threads: study.sweep.workers,
            apart,
            results: Some(results),
        }
    }
}

/// A host that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenHost {
    /// The contender.
    pub contender: String,
    /// The host, as `host:port`, or the address of a database without hosts.
    pub host: String,
    /// Its version.
    pub version: String,
}

/// What a preflight found.
#[derive(Debug, Clone, Default)]
pub struct Preflight {
    /// The hosts that answered.
    pub hosts: Vec<SeenHost>,
    /// What is worth knowing and keeps nothing from running.
    pub notes: Vec<String>,
    problems: Vec<(Problem, ErrorKind)>,
}

impl Preflight {
    /// What keeps the study from running, with the line of its contender.
    pub fn problems(&self) -> Vec<Problem> {
        self.problems.iter().map(|(problem, _)| problem.clone()).collect()
    }

    /// Whether the study can run, as far as can be known.
    ///
    /// # Errors
    /// All problems. The kind is that of the first one.
    pub fn passed(&self) -> Result<(), LabError> {
        let Some((_, kind)) = self.problems.first() else { return Ok(()) };
        Err(LabError::problems(&self.problems()).with_kind(*kind))
    }

    fn push(&mut self, inputs: &Inputs, contender: Option<&Contender>, error: &LabError) {
        let (message, help) = error.words();
        let line = contender.map_or(0, |c| c.target.as_ref().map_or(c.line, |t| t.line));
        let problem = Problem { file: inputs.name.clone(), line, message: message.to_owned(), help: help.to_owned() };
        // Two databases on one server have one reason why it does not answer.
        if !self.problems.iter().any(|(known, _)| *known == problem) {
            self.problems.push((problem, error.kind()));
        }
    }
}

/// Looks at everything, and fails where the study cannot run.
///
/// # Errors
/// All problems, or a request to stop.
pub(crate) fn pass(
    inputs: &Inputs,
    request: Request<'_>,
    passwords: &[Secret],
    progress: &mut dyn Progress,
    stop: &StopToken,
) -> Result<(), LabError> {
    let found = look(inputs, request, passwords, progress, stop)?;
    found.passed()?;
    found.notes.iter().for_each(|note| progress.line(note));
    Ok(())
}

/// Looks at everything.
///
/// # Errors
/// A request to stop. What is wrong with a target is among the problems.
pub(crate) fn look(
    inputs: &Inputs,
    request: Request<'_>,
    passwords: &[Secret],
    progress: &mut dyn Progress,
    stop: &StopToken,
) -> Result<Preflight, LabError> {
    let (mut found, host) = (Preflight::default(), perbuck_observe::host());
    let opened_here = if request.apart { 0 } else { request.connections };
    if let Err(error) = process::enough_descriptors(&inputs.targets, opened_here, request.threads) {
        found.push(inputs, None, &error);
    }
    if request.purpose == Purpose::Run {
        profile::possible(&inputs.study, request.apart).unwrap_or_else(|error| found.push(inputs, None, &error));
    }
    found.notes.extend(other_zones(&inputs.study));
    let mut disks = Disks::default();
    for (i, contender) in inputs.study.contenders.iter().enumerate() {
        // A control is the system that it repeats.
        if contender.control_of.is_some() {
            continue;
        }
        progress.passing(&format!("{}: looking at the servers", contender.name));
        let seen = one(inputs, (i, contender), request, passwords, (&host, &mut disks), (&mut found, stop));
        match seen {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
            Err(error) => found.push(inputs, Some(contender), &error),
            Ok(()) => {}
        }
    }
    disks.problems(inputs, request).iter().for_each(|error| found.push(inputs, None, error));
    Ok(found)
}

fn one(
    inputs: &Inputs,
    (i, contender): (usize, &Contender),
    request: Request<'_>,
    passwords: &[Secret],
    (host, disks): (&HostRecord, &mut Disks),
    (found, stop): (&mut Preflight, &StopToken),
) -> Result<(), LabError> {
    let windows = inputs.study.workloads.iter().map(|w| inputs.study.sweep_of(&w.name).duration_ns);
    if let Some((spec, shortest)) = contender.prometheus.as_ref().zip(windows.min()) {
        watched::check(spec, Duration::from_nanos(shortest))?;
    }
    // Workloads of one kind share their tables, unless they have databases of their own.
    let tables = |w: usize| inputs.study.workloads.get(w).map(|spec| (&spec.kind.value, &spec.database));
    let is_first = |w: usize| (0..w).all(|before| tables(before) != tables(w));
    let bytes = |w: usize| inputs.plans.get(w).filter(|_| is_first(w)).map_or(0, |plan| plan.size().bytes);
    let mut look = Look { inputs, contender, request, host, found };
    if let Some(spec) = &contender.server {
        let looked = look.private_server(spec, stop)?;
        let all = (0..inputs.plans.len()).map(bytes).fold(0, u64::saturating_add);
        let host = spec.host.as_ref().map_or("", |host| &host.value);
        // Its copy is the only one: a restore writes into the data.
        let copied = inputs.study.workloads.iter().any(|w| w.reset == Some(Reset::Restore));
        let copies = u64::from(copied && Kind::named(&spec.kind.value).is_some_and(|kind| !kind.links_copies()));
        disks.add((&contender.name, host), &looked.parent, looked.room, (all, copies));
        return Ok(());
    }
    let (Some(Some(target)), Some(password)) = (inputs.targets.get(i), passwords.get(i)) else {
        return Err(stage::no_target(contender));
    };
    let stages = stage::stages_of(inputs, contender, (target, password), stop)?;
    for (w, stage) in stages.iter().enumerate() {
        if let Some(folder) = look.stage(stage)? {
            disks.take(&contender.name, &folder, (bytes(w), stage.copies_beside()));
        }
    }
    stages.first().into_iter().for_each(|stage| look.machine(stage));
    look.settings(stages.first())
}
