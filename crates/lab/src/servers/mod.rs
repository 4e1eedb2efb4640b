//! Private servers of a study: found, started, waited for, and gone with the command that needed them, however it ends.
//!
//! Each server has a [`folder`] of its own and a [`guard`], a second process of perbuck that makes and holds the server as long as
//! the first one lives. The end of their [`line`] tells it, so that even a kill or a crash leaves nothing. The programs of a server end
//! with their guard ([`program`]). Where the guard was killed, too, the next command removes what is left. A guard runs on the server's
//! machine, and the line leads there ([`host`]).

mod agent;
mod copy;
mod find;
mod folder;
mod guard;
pub(crate) mod host;
mod instance;
mod line;
mod log;
mod machine;
mod order;
mod program;
pub(crate) mod ready;
mod running;
mod talk;

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use perbuck_core::run_record::{Cooled, Observed, Restarted};
use perbuck_core::study::{Contender, ServerSpec, Study, Tuning, WorkloadSpec};
use perbuck_database::registry::AnyTarget;
use perbuck_database::secret::Secret;
use perbuck_deploy::local::{Kind, NAME};
use perbuck_load::stop::StopToken;

use crate::error::{ErrorKind, Failure, LabError};
use crate::inputs::Inputs;
use crate::prepared;
use crate::profile;
use crate::progress::Progress;
use crate::registry::Registry;
use crate::stage::Stage;
use crate::{system, tuning};

use host::{Address, Host};
use instance::Instance;
use line::Line;
use talk::{Ask, Order, Restart, Started, Told};

pub(crate) use agent::RemoteAgent;
pub use guard::guard_if_asked;
pub use instance::Holder;
pub(crate) use instance::without_passwords;
pub(crate) use machine::Machine;
pub(crate) use order::random_word;
pub(crate) use talk::{Looked, WhileStopped};

/// Connections beyond those of the sweep: for loading, checking and looking.
const SPARE_CONNECTIONS: u32 = 100;

/// How long a host may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// The private servers of a study, by contender; none by default. Dropped, they end.
#[derive(Default)]
pub(crate) struct Servers(Vec<Option<Running>>);

struct Running {
    /// For messages: ``contender `a` ``.
    who: String,
    target: AnyTarget,
    password: Secret,
    instance: Instance,
    /// The machine that it runs on, where that is another one.
    looked: Option<Looked>,
    /// What its machine is set to while trials run.
    tuning: Option<Tuning>,
    /// The settings that it runs with.
    config: BTreeMap<String, String>,
}

impl Running {
    /// Has its server stopped and started again with its settings, and waits until it lets perbuck in.
    fn restart(&mut self, step: WhileStopped, registry: Registry, stop: &StopToken) -> Result<Started, LabError> {
        let Self { who, target, password, instance, config, .. } = self;
        instance.restart(Restart { config: config.clone(), step })?;
        let started = ready::started(who, instance, stop)?;
        ready::wait(who, instance, (&**target, password), registry, stop)?;
        Ok(started)
    }
}

impl Servers {
    /// Starts the servers that the contenders of a study ask for, one after the other, and waits until each is ready. Those of prepared data
    /// beside the results start on them.
    pub(crate) fn start(
        inputs: &Inputs,
        results: &Path,
        stop: &StopToken,
        progress: &mut dyn Progress,
    ) -> Result<Self, LabError> {
        let mut running = Vec::new();
        for contender in &inputs.study.contenders {
            let spec = contender.server.as_ref();
            running.push(spec.map(|spec| start(inputs, (contender, spec), results, stop, progress)).transpose()?);
        }
        Ok(Self(running))
    }

    /// The folder of the copy of a private server's data on this machine, which [`WhileStopped::Save`] makes.
    pub(crate) fn copy_folder(&self, contender: usize) -> Option<PathBuf> {
        let running = self.0.get(contender)?.as_ref()?;
        Some(copy::saved(running.instance.folder().filter(|_| *running.instance.host() == Host::Here)?))
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
        running.config = spec.config();
        running.restart(WhileStopped::Nothing, registry, stop)?;
        Ok(true)
    }

    /// Whether a contender has a private server.
    pub(crate) fn has(&self, contender: usize) -> bool {
        self.0.get(contender).is_some_and(Option::is_some)
    }

    /// Stops the server of a contender, does this, and starts it again.
    pub(crate) fn restart(
        &mut self,
        contender: usize,
        step: WhileStopped,
        registry: Registry,
        stop: &StopToken,
    ) -> Result<(), LabError> {
        let Some(Some(running)) = self.0.get_mut(contender) else { return Ok(()) };
        running.restart(step, registry, stop).map(drop)
    }

    /// Lets the server of a contender end and start with cold caches; `None` where perbuck holds none.
    pub(crate) fn cool(
        &mut self,
        registry: Registry,
        contender: usize,
        stop: &StopToken,
        progress: &mut dyn Progress,
    ) -> Result<Option<Cooled>, LabError> {
        let Some(Some(running)) = self.0.get_mut(contender) else { return Ok(None) };
        progress.passing(&format!("{}: starting its server again with cold caches", running.who));
        let Started { page_cache_kept, .. } = running.restart(WhileStopped::Cool, registry, stop)?;
        Ok(Some(Cooled { restarted: Restarted::Server, page_cache_kept }))
    }

    /// The address and the password of a contender's private server.
    pub(crate) fn of(&self, contender: usize) -> Option<(&AnyTarget, &Secret)> {
        self.0.get(contender)?.as_ref().map(|r| (&r.target, &r.password))
    }

    /// What came of trials on them; where they failed because a process of a server has ended, that is said.
    pub(crate) fn explain<T>(&mut self, came: Result<T, LabError>) -> Result<T, LabError> {
        let Err(error) = came else { return came };
        for running in self.0.iter_mut().flatten() {
            match running.instance.told() {
                Some(Told::Ended { process, how, words }) => {
                    let message = format!("{}: {} ended ({how}); it said:\n{words}", running.who, ready::called(&process));
                    return Err(LabError::new(ErrorKind::Target, message, "trials that were measured before are kept"));
                }
                Some(Told::Gone(how)) => {
                    return Err(LabError::new(ErrorKind::Target, format!("{}: {how}", running.who), line::GONE));
                }
                _ => {}
            }
        }
        Err(error)
    }

    /// Gives a stage of a contender what only the guard of its private server knows.
    pub(crate) fn tell(&self, contender: usize, stage: Stage) -> Stage {
        let Some(Some(running)) = self.0.get(contender) else { return stage };
        let is_here = *running.instance.host() == Host::Here;
        let (looked, program) = (running.looked.as_ref(), running.instance.build());
        let machine = looked.map(Looked::observed).unwrap_or_default();
        let server_machine = looked.map(Looked::server_machine);
        let tuning = running.tuning.clone();
        Stage { holder: Some(running.instance.holder()), local: is_here, machine, server_machine, tuning, program, ..stage }
    }
}

/// Removes what killed runs left where the servers of a study have their folders on this machine.
pub(crate) fn clean(study: &Study, progress: &mut dyn Progress) {
    let here = study.contenders.iter().filter_map(|c| c.server.as_ref()).filter(|spec| spec.host.is_none());
    let parents: BTreeSet<PathBuf> =
        here.map(|spec| spec.folder.as_ref().map_or_else(std::env::temp_dir, |f| PathBuf::from(&f.value))).collect();
    parents.iter().for_each(|parent| show(folder::clean(parent), "", progress));
}

/// Shows what was removed; `host` is what lines begin with.
fn show(cleaned: Vec<Result<String, String>>, host: &str, progress: &mut dyn Progress) {
    for said in cleaned {
        match said {
            Ok(removed) => progress.line(&format!("{host}{removed}")),
            Err(failed) => progress.alert(&format!("{host}{failed}")),
        }
    }
}

/// The version of a private server's program, and the kind of the server; empty where the program does not tell it.
pub(crate) fn version_of(contender: &Contender, spec: &ServerSpec, stop: &StopToken) -> Result<(Kind, String), LabError> {
    let (kind, looked) = (kind_of(&format!("contender `{}`", contender.name), spec)?, look(contender, spec, None, stop)?);
    Ok((kind, kind.version(&looked.version).to_owned()))
}

/// Looks at the machine of a contender's private server: at its programs, and at the version that they tell.
///
/// # Errors
/// A host that cannot be used, or cannot profile where that line of the study asks for it; a program that is missing, and another version
/// than the study wants.
pub(crate) fn look(
    contender: &Contender,
    spec: &ServerSpec,
    profiled: Option<usize>,
    stop: &StopToken,
) -> Result<Looked, LabError> {
    let (who, host) = (format!("contender `{}`", contender.name), host_of(spec)?);
    let order = instance::order(&who, spec, &host, (Vec::new(), 0));
    let looked = if host == Host::Here {
        guard::possible()?;
        order::look(&order)?
    } else {
        let line = Line::open(&who, &host, order.parent.as_deref(), stop)?;
        if let Some(at) = profiled {
            let Some(Told::Profiles(possible)) = line.ask(&Ask::CanProfile) else { return Err(line.lost(&who)) };
            possible.map_err(|why| profile::impossible(at, &format!("on the host of {who}"), &why))?;
        }
        looked(&line, &order)?
    };
    let version = kind_of(&who, spec)?.version(&looked.version);
    let tells = version.starts_with(|c: char| c.is_ascii_digit());
    if tells && !wanted(spec, version) { Err(other_version(&who, spec, &looked.program, version)) } else { Ok(looked) }
}

/// What a guard on another machine finds there.
fn looked(line: &Line, order: &Order) -> Result<Looked, LabError> {
    let (Some(Told::Looked(found)), Host::There(address)) = (line.ask(&Ask::Look(order.clone())), line.host()) else {
        return Err(line.lost(&order.who));
    };
    let found = found.map_err(Failure::error)?;
    // A firewall in between is found before anything is made.
    if let Some(Err(error)) = found.door.map(|door| TcpStream::connect_timeout(&door, CONNECT)) {
        let (who, door) = (&order.who, found.door.unwrap_or_else(|| ([0, 0, 0, 0], 0).into()));
        let message = format!("{who}: {address} let ssh in, and cannot be reached at {door}: {error}");
        let help = "open its ports 10000 to 29999; is that the address by which clients reach it?";
        return Err(LabError::new(ErrorKind::Target, message, help));
    }
    Ok(Looked { machine: Observed { source: address.to_string(), ..found.machine }, ..found })
}

/// The machine of a server. Its address was read when the study was.
fn host_of(spec: &ServerSpec) -> Result<Host, LabError> {
    let Some(host) = &spec.host else { return Ok(Host::Here) };
    Address::read(&host.value).map(Host::There).map_err(|why| LabError::usage(format!("line {}: {why}", host.line), ""))
}

fn databases(study: &Study) -> Vec<String> {
    let (own, mut seen) = (study.workloads.iter().filter_map(|w| w.database.as_deref()), BTreeSet::new());
    std::iter::once(NAME).chain(own).filter(|name| seen.insert(*name)).map(str::to_owned).collect()
}

fn start(
    inputs: &Inputs,
    (contender, spec): (&Contender, &ServerSpec),
    results: &Path,
    stop: &StopToken,
    progress: &mut dyn Progress,
) -> Result<Running, LabError> {
    let (study, registry) = (&inputs.study, inputs.registry);
    let (who, host) = (format!("contender `{}`", contender.name), host_of(spec)?);
    // They lie on this machine.
    let kept = if host == Host::Here { prepared::kept(inputs, contender, results, stop)? } else { None };
    let kind = kind_of(&who, spec)?;
    if let Some(file) = &spec.config_file {
        let of_file = file.settings.len();
        progress
            .detail(&format!("{who}: {of_file} settings of {} hold; ports, folders and users are perbuck's", file.name.value));
    }
    let order = instance::order(&who, spec, &host, (databases(study), study.most_connections() + SPARE_CONNECTIONS));
    if let Some((_, saved)) = &kept {
        progress.line(&format!("{who}: starting on the prepared data of {saved}"));
    }
    let order = Order { kept: kept.map(|(folder, _)| folder), ..order };
    let (line, looked) = opened(&host, &order, stop, progress)?;
    progress.passing(&format!("{who}: starting {kind}"));
    let mut instance = Instance::start(line, order)?;
    let (started, password) = (ready::started(&who, &mut instance, stop)?, instance.password());
    let target = registry.target(&started.target).map_err(|p| LabError::failed(p.message, p.help))?;
    let said = ready::wait(&who, &mut instance, (&*target, &password), registry, stop)?;
    let version = kind.version(&said);
    if !wanted(spec, version) {
        return Err(other_version(&who, spec, &started.program, version));
    }
    if let Some(tuning) = &contender.tuning {
        // What cannot be set is found before anything is loaded.
        let holder = instance.holder();
        let tried = holder.tune(tuning).and_then(|tuned| holder.untune().map(|_| tuned));
        progress.line(&tuning::announcement(&who, &tried.map_err(|why| tuning::refused(&who, tuning, &why))?));
    }
    let on = started.file_system.map(|f| format!(" ({f})")).unwrap_or_default();
    let on_host = if let Host::There(address) = &host { format!("{address}:") } else { String::new() };
    let folder = started.folder.display();
    progress.line(&format!("{who}: {kind} {version} runs at {target}, its data in {on_host}{folder}{on}"));
    Ok(Running { who, target, password, instance, looked, tuning: contender.tuning.clone(), config: spec.config() })
}

/// A guard on the machine of a server, and the facts of that machine if it is another one. What killed runs left there is removed.
fn opened(host: &Host, order: &Order, stop: &StopToken, progress: &mut dyn Progress) -> Result<(Line, Option<Looked>), LabError> {
    let who = &order.who;
    system::drives_load()?;
    let Host::There(address) = host else {
        guard::possible()?;
        return Ok((Line::open(who, host, None, stop)?, None));
    };
    progress.passing(&format!("{who}: connecting to {address}"));
    let line = Line::open(who, host, order.parent.as_deref(), stop)?;
    progress.passing(&format!("{who}: removing what killed runs left at {address}"));
    show(instance::cleaned(&line, order)?, &format!("{address}: "), progress);
    let looked = looked(&line, order)?;
    Ok((line, Some(looked)))
}

fn kind_of(who: &str, spec: &ServerSpec) -> Result<Kind, LabError> {
    Kind::named(&spec.kind.value).ok_or_else(|| LabError::usage(format!("{who}: no such server"), ""))
}

/// Whether a version is one that the study wants.
fn wanted(spec: &ServerSpec, version: &str) -> bool {
    spec.version.as_ref().is_none_or(|wanted| version.starts_with(&wanted.value))
}

fn other_version(who: &str, spec: &ServerSpec, program: &Path, version: &str) -> LabError {
    let (line, wanted) = spec.version.as_ref().map_or((0, ""), |v| (v.line, v.value.as_str()));
    let message = format!("{who}: line {line}: the study wants version {wanted}, and {} is {version}", program.display());
    LabError::refused(message, "install that version, or name its program with `program` in `server`")
}
