//! Private servers of a study: found, started, waited for, and gone with the command that needed them, however it ends.
//!
//! Each server has a [`folder`] of its own and a [`guard`], a second process of perbuck that makes and holds the server as long as
//! the first one lives. The end of their pipe tells it, so that even a kill or a crash leaves nothing. The programs of a server end
//! with their guard ([`program`]). Where the guard was killed, too, the next command removes what is left.

mod find;
mod folder;
mod guard;
mod installed;
mod instance;
mod program;
pub(crate) mod ready;
mod running;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use perbuck_core::study::{Contender, ServerSpec, Study, WorkloadSpec};
use perbuck_database::registry::AnyTarget;
use perbuck_database::secret::Secret;
use perbuck_deploy::local::{Kind, NAME};
use perbuck_load::stop::StopToken;

use crate::error::{ErrorKind, LabError};
use crate::progress::Progress;
use crate::registry::Registry;

use guard::Told;
use instance::Instance;

pub use guard::guard_if_asked;
pub(crate) use installed::installed;

/// Connections beyond those of the sweep: for loading, checking and looking.
const SPARE_CONNECTIONS: u32 = 100;

/// The private servers of a study, by contender; none by default. Dropped, they end.
#[derive(Default)]
pub(crate) struct Servers(Vec<Option<Running>>);

struct Running {
    /// For messages: ``contender `a` ``.
    who: String,
    target: AnyTarget,
    password: Secret,
    instance: Instance,
    programs: Vec<PathBuf>,
    /// The settings that it runs with.
    config: BTreeMap<String, String>,
}

impl Servers {
    /// Starts the servers that the contenders of a study ask for, one after the other, and waits until each is ready.
    pub(crate) fn start(
        study: &Study,
        registry: Registry,
        stop: &StopToken,
        progress: &mut dyn Progress,
    ) -> Result<Self, LabError> {
        if study.contenders.iter().any(|c| c.server.is_some()) {
            guard::possible()?;
        }
        let mut running = Vec::new();
        for contender in &study.contenders {
            let spec = contender.server.as_ref();
            running.push(spec.map(|spec| start(study, contender, spec, registry, stop, progress)).transpose()?);
        }
        Ok(Self(running))
    }

    /// Lets the server of a contender run with the settings that it has at the levels of a workload, on the data that it has; whether it
    /// was started again.
    pub(crate) fn put(
        &mut self,
        (study, registry): (&Study, Registry),
        (contender, workload): (usize, &WorkloadSpec),
        stop: &StopToken,
        progress: &mut dyn Progress,
    ) -> Result<bool, LabError> {
        let Some(Some(running)) = self.0.get_mut(contender) else { return Ok(false) };
        let at = study.contender_at(&study.contenders[contender], workload);
        let Some(spec) = at.server.as_ref().filter(|spec| spec.config() != running.config) else { return Ok(false) };
        progress.passing(&format!(
            "{}: starting its server again with the settings of {}",
            running.who,
            study.server_state(workload)
        ));
        let (who, programs, parent) = (running.who.clone(), running.programs.clone(), parent(spec));
        running.instance.restart(&order(study, (&who, spec), &programs, &parent)?)?;
        running.config = spec.config();
        ready::wait(&who, &running.instance, (&*running.target, &running.password), registry, stop)?;
        Ok(true)
    }

    /// The address and the password of a contender's private server.
    pub(crate) fn of(&self, contender: usize) -> Option<(&AnyTarget, &Secret)> {
        self.0.get(contender)?.as_ref().map(|r| (&r.target, &r.password))
    }

    /// What came of trials on them; where they failed because a process of a server has ended, that is said.
    pub(crate) fn explain<T>(&self, came: Result<T, LabError>) -> Result<T, LabError> {
        let Err(error) = came else { return came };
        for running in self.0.iter().flatten() {
            if let Some(Told::Ended { process, how }) = running.instance.told() {
                let words = running.instance.last_words(&process, &running.password);
                let message = format!("{}: {} ended ({how}); it said:\n{words}", running.who, ready::called(&process));
                return Err(LabError::new(ErrorKind::Target, message, "trials that were measured before are kept"));
            }
        }
        Err(error)
    }

    /// The process whose children are a contender's private server.
    pub(crate) fn holder(&self, contender: usize) -> Option<u32> {
        self.0.get(contender)?.as_ref().map(|r| r.instance.guard())
    }
}

/// Removes what killed runs left where the servers of a study have their folders.
pub(crate) fn clean(study: &Study, progress: &mut dyn Progress) {
    let parents: BTreeSet<PathBuf> = study.contenders.iter().filter_map(|c| c.server.as_ref().map(parent)).collect();
    parents.iter().for_each(|parent| folder::clean(parent, progress));
}

/// Where a server has its folder.
pub(crate) fn parent(spec: &ServerSpec) -> PathBuf {
    spec.folder.as_ref().map_or_else(std::env::temp_dir, |f| PathBuf::from(&f.value))
}

fn databases(study: &Study) -> Vec<String> {
    let (own, mut seen) = (study.workloads.iter().filter_map(|w| w.database.as_deref()), BTreeSet::new());
    std::iter::once(NAME).chain(own).filter(|name| seen.insert(*name)).map(str::to_owned).collect()
}

fn start(
    study: &Study,
    contender: &Contender,
    spec: &ServerSpec,
    registry: Registry,
    stop: &StopToken,
    progress: &mut dyn Progress,
) -> Result<Running, LabError> {
    let who = format!("contender `{}`", contender.name);
    let kind = kind_of(&who, spec)?;
    let programs = find::all(&who, (kind, &spec.parts()), spec.program.as_ref().map(|p| p.value.as_str()))?;
    let parent = parent(spec);
    let order = order(study, (&who, spec), &programs, &parent)?;
    if let Some(file) = &spec.config_file {
        let of_file = file.settings.len();
        progress
            .detail(&format!("{who}: {of_file} settings of {} hold; ports, folders and users are perbuck's", file.name.value));
    }
    progress.passing(&format!("{who}: starting {kind}"));
    let (instance, target, password) = Instance::start(&order)?;
    let target = registry.target(&target).map_err(|p| LabError::failed(p.message, p.help))?;
    let said = ready::wait(&who, &instance, (&*target, &password), registry, stop)?;
    let version = kind.version(&said);
    if !installed::wanted(spec, version) {
        return Err(other_version(&who, spec, &programs[0], version));
    }
    let on = perbuck_observe::file_system(instance.folder()).map(|f| format!(" ({f})")).unwrap_or_default();
    progress.line(&format!("{who}: {kind} {version} runs at {target}, its data in {}{on}", instance.folder().display()));
    Ok(Running { who, target, password, instance, programs, config: spec.config() })
}

fn kind_of(who: &str, spec: &ServerSpec) -> Result<Kind, LabError> {
    Kind::named(&spec.kind.value).ok_or_else(|| LabError::usage(format!("{who}: no such server"), ""))
}

fn order<'a>(
    study: &Study,
    (who, spec): (&'a str, &'a ServerSpec),
    programs: &'a [PathBuf],
    parent: &'a Path,
) -> Result<instance::Order<'a>, LabError> {
    let connections = study.most_connections() + SPARE_CONNECTIONS;
    Ok(instance::Order { who, kind: kind_of(who, spec)?, spec, programs, parent, databases: databases(study), connections })
}

fn other_version(who: &str, spec: &ServerSpec, program: &Path, version: &str) -> LabError {
    let (line, wanted) = spec.version.as_ref().map_or((0, ""), |v| (v.line, v.value.as_str()));
    let message = format!("{who}: line {line}: the study wants version {wanted}, and {} is {version}", program.display());
    LabError::refused(message, "install that version, or name its program with `program` in `server`")
}
