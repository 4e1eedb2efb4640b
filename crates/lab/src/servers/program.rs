//! A program of a private server, started so that it ends with its guard, even where the guard is killed.
//!
//! perbuck is started once more, and becomes the program: what a process can ask for only on its own behalf, it asks for there.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Gid, Uid, getppid, setgid, setuid};
use serde::{Deserialize, Serialize};

use super::folder::VARIABLE;
use crate::error::{ErrorKind, LabError};
use crate::process;
use crate::system::{set_pdeathsig, setgroups};

/// The first argument of a process that becomes such a program.
pub(super) const START_COMMAND: &str = "start-server-program";

/// How a program of a server runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Terms {
    /// User and group to run as, where they are not those of perbuck.
    pub(super) user: Option<(u32, u32)>,
    /// Whether SIGQUIT ends it, rather than SIGKILL.
    pub(super) quits: bool,
    /// The limit of file descriptors that perbuck had when it was started: a server's settings can depend on it.
    pub(super) descriptors: u64,
}

/// The second argument.
#[derive(Serialize, Deserialize)]
struct Start {
    guard: i32,
    terms: Terms,
}

/// The command that starts a program in the folder of its server. Call it on the thread that lives as long as the program shall.
pub(super) fn command(folder: &Path, terms: &Terms, program: &Path, arguments: &[OsString]) -> io::Result<Command> {
    let start = Start { guard: nix::unistd::getpid().as_raw(), terms: terms.clone() };
    let mut command = Command::new(own()?);
    command.arg(START_COMMAND).arg(serde_json::to_string(&start)?).arg(program).args(arguments);
    command.current_dir(folder).env(VARIABLE, folder);
    Ok(command)
}

/// This program, also where its file is gone: a host's is deleted as soon as it runs.
pub(super) fn own() -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    Ok(if own.exists() { own } else { PathBuf::from("/proc/self/exe") })
}

/// Becomes the program; returns only where that fails.
pub(super) fn run(words: &[OsString]) -> LabError {
    let start = words.first().and_then(|text| serde_json::from_str::<Start>(text.to_str()?).ok());
    let (Some(start), Some(program)) = (start, words.get(1)) else {
        return LabError::usage("this command is perbuck's own", "run a study instead");
    };
    let failed = |e: io::Error| LabError::new(ErrorKind::Target, format!("cannot run {}: {e}", program.display()), "");
    if let Err(errno) = prepare(&start) {
        return failed(errno.into());
    }
    failed(Command::new(program).args(&words[2..]).exec())
}

fn prepare(start: &Start) -> nix::Result<()> {
    if let Some((user, group)) = start.terms.user {
        setgroups(&[Gid::from_raw(group)])?;
        setgid(Gid::from_raw(group))?;
        setuid(Uid::from_raw(user))?;
    }
    // After the change of user, which would undo it.
    set_pdeathsig(if start.terms.quits { Signal::SIGQUIT } else { Signal::SIGKILL })?;
    if getppid().as_raw() != start.guard {
        // The guard has gone before it could be told.
        return Err(nix::Error::ESRCH);
    }
    process::set_descriptors(start.terms.descriptors)?;
    // The guard holds signals off, which would hold for this program, too.
    SigSet::all().thread_unblock()
}
