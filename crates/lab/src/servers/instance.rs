//! One private server, as the perbuck sees it that needs it: what it is to be, and its guard.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

use nix::unistd::{User, geteuid};
use perbuck_core::study::ServerSpec;
use perbuck_database::secret::Secret;
use perbuck_deploy::local::{Kind, Recipe, Wanted, is_plain};

use super::folder::{self, PREFIX};
use super::guard::{self, Charge, Restart, Told};
use super::program::Terms;
use super::running::log_of;
use crate::error::{ErrorKind, LabError};
use crate::process;

const PASSWORD_LENGTH: usize = 32;
const NAME_LENGTH: usize = 10;
const RANDOM: &str = "/dev/urandom";
/// Accounts that packages bring, for servers that refuse to run as root.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];
/// How the names of variables end that hold passwords: perbuck's own, and those of database clients.
const PASSWORDS: [&str; 2] = ["PASSWORD", "_PWD"];

pub(super) struct Order<'a> {
    pub(super) who: &'a str,
    pub(super) kind: Kind,
    pub(super) spec: &'a ServerSpec,
    pub(super) programs: &'a [PathBuf],
    pub(super) parent: &'a Path,
    pub(super) databases: Vec<String>,
    pub(super) connections: u32,
}

/// A server that is being made, or runs; dropped, it ends and its folder goes.
pub(super) struct Instance {
    folder: PathBuf,
    guard: Child,
    /// Closed, it tells the guard to end the server.
    line: Option<ChildStdin>,
    told: Receiver<Told>,
    /// The process that is started last.
    last: String,
    ports: Vec<u16>,
    password: String,
}

impl Instance {
    /// Has a server made and started; returns its address and password, too.
    pub(super) fn start(order: &Order<'_>) -> Result<(Self, String, Secret), LabError> {
        let parent = order.parent.canonicalize().map_err(LabError::of_file("make a folder for a server in", order.parent))?;
        let failed = || LabError::of_file("read random numbers from", Path::new(RANDOM));
        let folder = parent.join(format!("{PREFIX}{}", random_word(NAME_LENGTH).map_err(failed())?));
        let password = random_word(PASSWORD_LENGTH).map_err(failed())?;
        let user = user(order)?;
        let ports = free_ports(order.kind.ports(&order.spec.parts()));
        let ports = ports.map_err(|e| LabError::new(ErrorKind::Target, format!("{}: no port is free: {e}", order.who), ""))?;
        let recipe = recipe(order, (&folder, &ports), &password)?;
        let target = recipe.target.clone();
        let terms = Terms { user, quits: recipe.quits, descriptors: process::descriptors_at_start() };
        let charge = Charge { who: order.who.to_owned(), folder, terms, recipe, password: password.clone() };
        let instance = Self::spawn(&charge, ports).map_err(LabError::of_file("start a guard for", &charge.folder))?;
        Ok((instance, target, Secret::new(password)))
    }

    /// Has the server started again as this order has it, on its data; the guard tells when it has.
    pub(super) fn restart(&mut self, order: &Order<'_>) -> Result<(), LabError> {
        let mut recipe = recipe(order, (&self.folder, &self.ports), &self.password)?;
        let steps = order.kind.settings_steps(&mut recipe);
        let text = serde_json::to_string(&Restart { steps, stages: recipe.stages }).map_err(io::Error::from);
        let sent = text.and_then(|text| self.line.as_mut().map_or(Ok(()), |line| line.write_all((text + "\n").as_bytes())));
        sent.map_err(LabError::of_file("tell the guard of", &self.folder))
    }

    fn spawn(charge: &Charge, ports: Vec<u16>) -> io::Result<Self> {
        let mut guard = without_passwords(&mut Command::new(std::env::current_exe()?))
            .arg(guard::GUARD_COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Ctrl-C is for us: the server must live until the last trial is written.
            .process_group(0)
            .spawn()?;
        let (tell, told) = channel();
        let said = guard.stdout.take();
        // Without it nothing is sent to the guard, which then ends.
        thread::Builder::new().name("guard".to_owned()).spawn(move || {
            for line in said.into_iter().flat_map(|said| BufReader::new(said).lines()).map_while(Result::ok) {
                // What cannot be read is no word of a guard; the end of the words is told by the end of this thread.
                let Ok(word) = serde_json::from_str(&line) else { return };
                if tell.send(word).is_err() {
                    return;
                }
            }
        })?;
        let line = guard.stdin.take();
        let last = charge.recipe.stages.iter().flatten().last().map_or(String::new(), |process| process.name.clone());
        let password = charge.password.clone();
        let mut instance = Self { folder: charge.folder.clone(), guard, line, told, last, ports, password };
        let text = serde_json::to_string(charge)? + "\n";
        instance.line.as_mut().map_or(Ok(()), |line| line.write_all(text.as_bytes()))?;
        Ok(instance)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The next thing that its guard said, if there is any.
    pub(super) fn told(&self) -> Option<Told> {
        match self.told.try_recv() {
            Ok(told) => Some(told),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                Some(Told::Ended { process: self.last.clone(), how: "its guard was killed".to_owned() })
            }
        }
    }

    /// The process that holds the server's own.
    pub(super) fn guard(&self) -> u32 {
        self.guard.id()
    }

    /// The process that is started last.
    pub(super) fn last_process(&self) -> &str {
        &self.last
    }

    /// The last lines of a process's log, without the password: a server may quote a statement that it cannot take.
    pub(super) fn last_words(&self, process: &str, password: &Secret) -> String {
        let words = guard::last_lines(&self.folder.join(log_of(process)));
        words.replace(&*String::from_utf8_lossy(password.bytes()), "…")
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.line = None;
        // The guard kills a server that does not end, so this ends.
        let _ = self.guard.wait();
        // A guard that was killed has left it. What cannot be removed now is found by the next command.
        let _ = folder::clean_one(&self.folder);
    }
}

/// Takes the passwords out of a command's environment: they are of other contenders, and a process shows its environment to every
/// program of its user. All else stays, since a library that is loaded so is part of what is measured.
pub(super) fn without_passwords(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| PASSWORDS.iter().any(|end| name.ends_with(end))) {
            command.env_remove(name);
        }
    }
    command
}

/// The user who runs the server where perbuck's own may not.
fn user(order: &Order<'_>) -> Result<Option<(u32, u32)>, LabError> {
    if !(order.kind.refuses_root() && geteuid().is_root()) {
        return Ok(None);
    }
    let found = ACCOUNTS.iter().find_map(|name| User::from_name(name).ok().flatten());
    let Some(user) = found else {
        let message =
            format!("{}: {} refuses to run as root, and there is no user {}", order.who, order.kind, ACCOUNTS.join(" or "));
        return Err(LabError::usage(message, "run perbuck as another user"));
    };
    Ok(Some((user.uid.as_raw(), user.gid.as_raw())))
}

fn recipe(order: &Order<'_>, (folder, ports): (&Path, &[u16]), password: &str) -> Result<Recipe, LabError> {
    debug_assert!(is_plain(password));
    let parts = order.spec.parts();
    let config = order.spec.config();
    let wanted = Wanted {
        folder,
        parts: &parts,
        options: order.spec.options.as_ref().map_or("", |options| &options.value),
        ports,
        config: &config,
        databases: &order.databases,
        connections: order.connections,
        as_root: geteuid().is_root(),
    };
    let refused = |r: perbuck_deploy::local::Refused| LabError::failed(format!("{}: {}", order.who, r.message), r.help);
    order.kind.recipe(&wanted, order.programs, password).map_err(refused)
}

/// So many ports, each another one.
fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    let mut ports = BTreeSet::new();
    while ports.len() < count {
        ports.insert(free_port()?);
    }
    Ok(ports.into_iter().collect())
}

/// A free port outside the range from which systems take the ports of clients: one of those could be in use by a connection a moment
/// later.
fn free_port() -> io::Result<u16> {
    let mut last = io::Error::other("none was tried");
    for _ in 0..200 {
        let mut bytes = [0; 2];
        File::open(RANDOM)?.read_exact(&mut bytes)?;
        let port = 10_000 + u16::from_le_bytes(bytes) % 20_000;
        match TcpListener::bind(("127.0.0.1", port)) {
            Ok(_) => return Ok(port),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// Letters and digits from the system's random numbers: a name or a password, no part of any experiment.
fn random_word(length: usize) -> io::Result<String> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut bytes = vec![0; length];
    File::open(RANDOM)?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|b| char::from(LETTERS[usize::from(b % 32)])).collect())
}
