//! One private server, as the perbuck sees it that needs it: what it is to be, and the line to its guard.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use perbuck_core::run_record::{Build, MachineSamples, Profile, TunedSetting};
use perbuck_core::study::{ServerSpec, Tuning};
use perbuck_database::secret::Secret;
use perbuck_load::stop::StopToken;

use super::folder;
use super::host::Host;
use super::line::Line;
use super::order::random_word;
use super::talk::{Ask, Order, Restart, Started, Told};
use crate::error::LabError;
use crate::process;
use crate::sampler::ServerSeen;

const PASSWORD_LENGTH: usize = 32;
const SILENT: &str = "its guard does not answer";
/// How the names of variables end that hold passwords and the like: perbuck's own, those of database clients and of clouds.
const PASSWORDS: [&str; 4] = ["PASSWORD", "_PWD", "_TOKEN", "_SECRET_ACCESS_KEY"];

/// The order for a server of these databases; of a password where it is to be started.
pub(super) fn order(who: &str, spec: &ServerSpec, host: &Host, (databases, connections): (Vec<String>, u32)) -> Order {
    let is_remote = *host != Host::Here;
    Order {
        who: who.to_owned(),
        kind: spec.kind.value.clone(),
        program: spec.program.as_ref().map(|program| program.value.clone()),
        parent: spec.folder.as_ref().map(|folder| PathBuf::from(&folder.value)),
        parts: spec.parts(),
        options: spec.options.as_ref().map(|options| options.value.clone()).unwrap_or_default(),
        config: spec.config(),
        databases,
        kept: None,
        connections,
        descriptors: (!is_remote).then(process::descriptors_at_start),
        is_remote,
        password: String::new(),
    }
}

/// A server that is being made, or runs; dropped, it ends and its folder goes.
pub(super) struct Instance {
    line: Arc<Line>,
    order: Order,
    /// What its guard told of it when it was started.
    started: Option<Started>,
}

/// Tells the CPU time of a private server.
#[derive(Clone)]
pub struct Holder(Arc<Line>);

impl Holder {
    /// Whether the server runs on another machine.
    pub(crate) fn is_remote(&self) -> bool {
        *self.0.host() != Host::Here
    }

    /// The process whose children are the server, on this machine.
    pub(crate) fn local_pid(&self) -> Option<u32> {
        (!self.is_remote()).then(|| self.0.pid())
    }

    /// Its CPU time so far, and what limits did to it, where its machine tells it.
    pub(crate) fn seen(&self) -> Option<ServerSeen> {
        match self.0.host() {
            // The process whose children are the server.
            Host::Here => {
                let pid = self.0.pid();
                let limits = perbuck_observe::limits_of_children(pid);
                Some(ServerSeen { cpu: perbuck_observe::cpu_of(pid)?, limits })
            }
            Host::There(_) => self.0.seen(),
        }
    }

    /// Sets its machine as a study asks.
    ///
    /// # Errors
    /// Why it cannot be, in words.
    pub(crate) fn tune(&self, tuning: &Tuning) -> Result<Vec<TunedSetting>, String> {
        match self.0.ask(&Ask::Tune(tuning.clone())) {
            Some(Told::Tuned(tuned)) => tuned,
            _ => Err(SILENT.to_owned()),
        }
    }

    /// Has its machine as it was; says which settings another program had changed.
    ///
    /// # Errors
    /// What is not as it was.
    pub(crate) fn untune(&self) -> Result<Vec<String>, String> {
        match self.0.ask(&Ask::Untune) {
            Some(Told::Untuned(changed)) => changed,
            _ => Err(SILENT.to_owned()),
        }
    }

    /// Has its processes profiled on their machine, where that is another one.
    pub(crate) fn profile(&self, length: Duration, opens_in: Duration) {
        // Where the line has ended, there is nothing to be read either.
        let _ = self.0.send(&Ask::Profile { length, opens_in });
    }

    /// Their profile; where the guard does not answer, it says so.
    pub(crate) fn profiled(&self) -> Profile {
        match self.0.profiled() {
            Some(profile) => *profile,
            None => Profile::not_taken(SILENT),
        }
    }

    /// Has its machine watched, where that is another one, until [`Self::watched`].
    pub(crate) fn watch(&self) {
        if self.is_remote() {
            // Where the line has ended, there is nothing to be read either.
            let _ = self.0.send(&Ask::Watch);
        }
    }

    /// What its machine did since; `None` of this machine, and where nothing is told.
    pub(crate) fn watched(&self) -> Option<MachineSamples> {
        if self.is_remote() { self.0.watched() } else { None }
    }
}

impl Instance {
    /// Has a server made and started.
    pub(super) fn start(line: Line, order: Order) -> Result<Self, LabError> {
        let failed = || LabError::of_file("read random numbers from", Path::new("/dev/urandom"));
        let password = random_word(PASSWORD_LENGTH).map_err(failed())?;
        let instance = Self { line: Arc::new(line), order: Order { password, ..order }, started: None };
        instance.send(&Ask::Start(instance.order.clone()))?;
        Ok(instance)
    }

    /// Has the server stopped and started again; the guard tells when it has.
    pub(super) fn restart(&mut self, restart: Restart) -> Result<(), LabError> {
        self.started = None;
        self.send(&Ask::Restart(restart))
    }

    fn send(&self, ask: &Ask) -> Result<(), LabError> {
        self.line.send(ask).map(drop).map_err(|_: io::Error| self.line.lost(&self.order.who))
    }

    pub(super) fn host(&self) -> &Host {
        self.line.host()
    }

    pub(super) fn password(&self) -> Secret {
        Secret::new(self.order.password.clone())
    }

    /// The next thing that its guard said by itself, if there is any.
    pub(super) fn told(&mut self) -> Option<Told> {
        let told = self.line.told();
        if let Some(Told::Started(started)) = &told {
            self.started = Some(started.clone());
        }
        told
    }

    /// Its folder, on its machine.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.started.as_ref().map(|started| started.folder.as_path())
    }

    /// Where its program comes from, where its guard told it.
    pub(super) fn build(&self) -> Build {
        self.started.as_ref().map(|started| started.build.clone()).unwrap_or_default()
    }

    pub(super) fn holder(&self) -> Holder {
        Holder(Arc::clone(&self.line))
    }

    /// What its processes are doing, and its last words.
    pub(super) fn doing(&self) -> (String, String) {
        match self.line.ask(&Ask::Doing) {
            Some(Told::Doing { doing, words }) => (doing, words),
            _ => (SILENT.to_owned(), String::new()),
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if self.line.end() {
            return;
        }
        // A guard that was killed has left the folder. What cannot be removed now is found by the next command.
        match (self.host(), &self.started) {
            (Host::Here, Some(started)) => {
                let _ = folder::clean_one(&started.folder);
            }
            (Host::Here, None) => drop(folder::clean(&super::order::parent(&self.order))),
            (host, _) => {
                let _ = clean(host, &self.order);
            }
        }
    }
}

/// Removes what killed runs left on another machine.
pub(super) fn clean(host: &Host, order: &Order) -> Result<Vec<Result<String, String>>, LabError> {
    cleaned(&Line::open(&order.who, host, order.parent.as_deref(), &StopToken::default())?, order)
}

/// The same by a line that is open.
pub(super) fn cleaned(line: &Line, order: &Order) -> Result<Vec<Result<String, String>>, LabError> {
    match line.ask(&Ask::Clean(order.clone())) {
        Some(Told::Cleaned(said)) => Ok(said),
        _ => Err(line.lost(&order.who)),
    }
}

/// Takes the passwords out of a command's environment: they are of other contenders, and a process shows its environment to every
/// program of its user. All else stays, since a library that is loaded so is part of what is measured.
pub(crate) fn without_passwords(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| PASSWORDS.iter().any(|end| name.ends_with(end))) {
            command.env_remove(name);
        }
    }
    command
}
