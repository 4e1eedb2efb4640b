//! The process that holds one private server: it ends the server and deletes its folder when the perbuck that started it
//! has gone.

use std::fs::{self, File};
use std::io::{self, BufRead};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::environment::without_passwords;
use crate::error::LabError;

/// The first argument of a process that is a guard; the folder of the server is the second.
pub(super) const GUARD_COMMAND: &str = "hold-server";
/// Held by the guard as long as it lives.
pub(super) const LOCK: &str = "guard.lock";
/// The number of the server's process.
pub(super) const PID: &str = "pid";
/// How the server ended, if it did so by itself.
pub(super) const ENDED: &str = "ended";
/// What the server says.
pub(super) const LOG: &str = "log";

const POLL: Duration = Duration::from_millis(50);
/// How long a server may take to end before it is killed.
const END_TIMEOUT: Duration = Duration::from_secs(20);

/// What the guard runs; it comes as one line through its standard input, which holds no secret.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Charge {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    /// User and group to run as, where they are not those of perbuck.
    pub(super) user: Option<(u32, u32)>,
    /// Whether it is asked by SIGQUIT before it is killed.
    pub(super) quits: bool,
}

/// A command that runs as another user, if one is given.
pub(super) fn command(program: &Path, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    without_passwords(&mut command);
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command
}

/// Whether [`guard_if_asked`] was called, and so whether this program can be started again as a guard.
static CAN_GUARD: AtomicBool = AtomicBool::new(false);

/// Makes this program able to start private servers: perbuck starts the program itself again to hold each of them. Call it first
/// of all in `main`; where it returns a result, this process was such a guard, and `main` ends with it.
///
/// # Errors
/// Within the result: a folder that another guard holds, a server that cannot be started.
pub fn guard_if_asked() -> Option<Result<(), LabError>> {
    CAN_GUARD.store(true, Ordering::Relaxed);
    let mut words = std::env::args_os().skip(1);
    let asked = words.next()? == GUARD_COMMAND;
    let folder = words.next().filter(|_| asked)?;
    words.next().is_none().then(|| run(Path::new(&folder)))
}

/// Refuses to start servers in a program that cannot be their guard: it did not call [`guard_if_asked`].
pub(super) fn possible() -> Result<(), LabError> {
    if CAN_GUARD.load(Ordering::Relaxed) {
        return Ok(());
    }
    let message = "this program cannot hold a private server";
    Err(LabError::usage(message, "let its main begin with perbuck_lab::servers::guard_if_asked()"))
}

/// Runs the guard of the server in `folder` to its end.
fn run(folder: &Path) -> Result<(), LabError> {
    let failed = |doing| LabError::of_file(doing, folder);
    let lock = File::create(folder.join(LOCK)).map_err(failed("lock"))?;
    lock.try_lock().map_err(|e| LabError::refused(format!("{}: {e}", folder.display()), ""))?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(failed("read what to run in"))?;
    let charge: Charge = serde_json::from_str(&line)
        .map_err(|e| LabError::usage(format!("this command is perbuck's own: {e}"), "run a study instead"))?;
    let gone = gone();
    let ended = hold(folder, &charge, &gone);
    fs::remove_dir_all(folder).map_err(failed("remove"))?;
    ended.map_err(failed("run a server in"))
}

fn hold(folder: &Path, charge: &Charge, gone: &Receiver<()>) -> io::Result<()> {
    let log = File::options().append(true).create(true).open(folder.join(LOG))?;
    let mut server = command(&charge.program, charge.user)
        .args(&charge.arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .inspect_err(|e| {
            // The process that waits for the server reads it; where even that fails, it waits until its timeout.
            let _ = fs::write(folder.join(ENDED), format!("{}: {e}", charge.program.display()));
            let _ = gone.recv();
        })?;
    fs::write(folder.join(PID), server.id().to_string())?;
    loop {
        if let Some(status) = server.try_wait()? {
            fs::write(folder.join(ENDED), status.to_string())?;
            let _ = gone.recv();
            return Ok(());
        }
        if gone.recv_timeout(POLL) != Err(RecvTimeoutError::Timeout) {
            return end(&mut server, charge.quits);
        }
    }
}

/// Tells when standard input has ended, and with it the process that held its other end.
fn gone() -> Receiver<()> {
    let (tell, told) = channel();
    thread::spawn(move || {
        // An error is an end as well.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = tell.send(());
    });
    told
}

fn end(server: &mut Child, quits: bool) -> io::Result<()> {
    if quits {
        if let Ok(pid) = i32::try_from(server.id()) {
            // It may be gone already, and then the wait below knows.
            let _ = kill(Pid::from_raw(pid), Signal::SIGQUIT);
        }
        let began = Instant::now();
        while began.elapsed() < END_TIMEOUT {
            if server.try_wait()?.is_some() {
                return Ok(());
            }
            thread::sleep(POLL);
        }
    }
    server.kill()?;
    server.wait().map(drop)
}
