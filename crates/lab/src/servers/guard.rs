//! The process that makes and holds one private server: it makes the folder, its data and the processes of the server, and removes
//! all of them when the perbuck that started it has gone.
//!
//! Its standard input is a line with what to do, which ends when that perbuck ends. Its standard output says what happens.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufRead, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use nix::sys::signal::{SigSet, Signal};
use perbuck_deploy::local::{Process, Recipe, Step};
use serde::{Deserialize, Serialize};

use super::folder::{Folder, POLL};
use super::program::{self, START_COMMAND, Terms};
use super::running::{Pause, Running};
use crate::error::{ErrorKind, LabError};

/// The first argument of a process that is a guard.
pub(super) const GUARD_COMMAND: &str = "hold-server";
/// What the programs say that make its data.
const MAKE_LOG: &str = "make.log";
/// Lines of a log that are shown.
const LAST_LINES: usize = 15;
/// Characters of such a line that are shown: some programs put a backtrace into one.
const LINE_MAX: usize = 400;

/// What the guard makes and runs. It comes as one line through its standard input, because it holds the password.
#[derive(Serialize, Deserialize)]
pub(super) struct Charge {
    /// For messages: ``contender `a` ``.
    pub(super) who: String,
    pub(super) folder: PathBuf,
    pub(super) terms: Terms,
    /// What is made and started.
    pub(super) recipe: Recipe,
    /// Taken out of everything that is told.
    pub(super) password: String,
}

/// Processes to run in place of those that run, on the same data: a further line of its standard input.
#[derive(Serialize, Deserialize)]
pub(super) struct Restart {
    /// What writes their settings.
    pub(super) steps: Vec<Step>,
    /// The processes, as in a recipe.
    pub(super) stages: Vec<Vec<Process>>,
}

/// What a guard says on its standard output, a line each.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Told {
    /// The server has been started.
    Started,
    /// A process of the server has ended by itself: its name, and how.
    Ended { process: String, how: String },
    /// There is no server, and why.
    Failed { is_of_files: bool, message: String, help: String },
}

/// Whether [`guard_if_asked`] was called, and so whether this program can be started again as a guard.
static CAN_GUARD: AtomicBool = AtomicBool::new(false);

/// Makes this program able to start private servers: perbuck starts the program itself again to hold each of them. Call it first
/// of all in `main`; where it returns a result, this process was such a guard, and `main` ends with it.
///
/// # Errors
/// Within the result: this process was asked for by a user, or could not become a program of a server.
pub fn guard_if_asked() -> Option<Result<(), LabError>> {
    CAN_GUARD.store(true, Ordering::Relaxed);
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    match words.first()?.to_str()? {
        GUARD_COMMAND => Some(run()),
        START_COMMAND => Some(Err(program::run(&words[1..]))),
        _ => None,
    }
}

/// Refuses to start servers in a program that cannot be their guard: it did not call [`guard_if_asked`].
pub(super) fn possible() -> Result<(), LabError> {
    if CAN_GUARD.load(Ordering::Relaxed) {
        return Ok(());
    }
    let message = "this program cannot hold a private server";
    Err(LabError::usage(message, "let its main begin with perbuck_lab::servers::guard_if_asked()"))
}

fn run() -> Result<(), LabError> {
    // Whoever ends perbuck by a signal to all of its processes shall not end this one before the server is gone.
    let held_off = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT].into_iter().collect::<SigSet>();
    held_off.thread_block().map_err(|e| LabError::failed(format!("cannot hold off signals: {e}"), ""))?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line).map_err(|e| e.to_string());
    let charge = read.and_then(|_| serde_json::from_str::<Charge>(&line).map_err(|e| e.to_string()));
    let charge = charge.map_err(|e| LabError::usage(format!("this command is perbuck's own: {e}"), "run a study instead"))?;
    let (gone, folder) = match begin(&charge) {
        Ok(begun) => begun,
        Err(error) => {
            tell(&failure(&error));
            return Ok(());
        }
    };
    if let Err(error) = hold(&folder, &charge, &gone) {
        tell(&failure(&error));
        // Its log can be read until then.
        while gone.recv().is_ok() {}
    }
    folder.remove().map_err(LabError::of_file("remove", &charge.folder))
}

fn begin(charge: &Charge) -> Result<(Receiver<Restart>, Folder), LabError> {
    let gone = gone().map_err(|e| LabError::failed(format!("{}: cannot start a thread: {e}", charge.who), ""))?;
    let made = Folder::make(&charge.folder, charge.recipe.quits);
    Ok((gone, made.map_err(LabError::of_file("make a folder for a server:", &charge.folder))?))
}

pub(super) fn tell(what: &Told) {
    if let Ok(text) = serde_json::to_string(what) {
        // A perbuck that has gone reads no more.
        let _ = io::stdout().write_all((text + "\n").as_bytes());
    }
}

fn failure(error: &LabError) -> Told {
    let (message, help) = error.words();
    Told::Failed { is_of_files: error.kind() == ErrorKind::Files, message: message.to_owned(), help: help.to_owned() }
}

/// Makes the server and waits until it ends, or until perbuck has gone.
fn hold(folder: &Folder, charge: &Charge, gone: &Receiver<Restart>) -> Result<(), LabError> {
    let path = folder.path();
    if let Some((user, group)) = charge.terms.user {
        let data = path.join("data");
        let made = fs::set_permissions(path, Permissions::from_mode(0o711))
            .and_then(|()| DirBuilder::new().mode(0o700).create(&data))
            .and_then(|()| chown(&data, Some(user), Some(group)));
        made.map_err(LabError::of_file("make", &data))?;
    }
    for step in &charge.recipe.steps {
        if !take(path, charge, step, gone)? {
            return Ok(());
        }
    }
    let mut running = Running { folder: path, charge, gone, processes: Vec::new() };
    if !running.start(&charge.recipe.stages)? {
        return Ok(());
    }
    tell(&Told::Started);
    loop {
        match running.pause()? {
            Pause::Goes => {}
            Pause::Gone => return Ok(()),
            Pause::Restart(restart) => {
                running.stop()?;
                for step in &restart.steps {
                    if !take(path, charge, step, gone)? {
                        return Ok(());
                    }
                }
                if !running.start(&restart.stages)? {
                    return Ok(());
                }
                tell(&Told::Started);
            }
        }
    }
}

/// Takes one step; not to its end where perbuck has gone before.
fn take(folder: &Path, charge: &Charge, step: &Step, gone: &Receiver<Restart>) -> Result<bool, LabError> {
    match step {
        Step::Write { file, text } => {
            let path = folder.join(file);
            fs::write(&path, text).map_err(LabError::of_file("write", &path))?;
        }
        Step::Run { program, arguments, input, says } => {
            let mut child = start(folder, charge, (program, arguments), (MAKE_LOG, Stdio::piped()))?;
            say(&mut child, input);
            let ended = ended(&mut child, gone).map_err(LabError::of_file("wait for a program in", folder))?;
            let Some(status) = ended else { return Ok(false) };
            let said = says.as_ref().is_none_or(|word| text_of(&folder.join(MAKE_LOG)).contains(word));
            if !(said && status.success()) {
                return Err(step_failed(folder, charge, program, status));
            }
        }
    }
    Ok(true)
}

/// Writes to the standard input of a program, and closes it.
pub(super) fn say(child: &mut Child, input: &str) {
    if let Some(mut pipe) = child.stdin.take() {
        // A program that ends early reads no more; its status says why.
        let _ = pipe.write_all(input.as_bytes());
    }
}

fn step_failed(folder: &Path, charge: &Charge, program: &Path, status: ExitStatus) -> LabError {
    let words = last_lines(&folder.join(MAKE_LOG)).replace(&charge.password, "…");
    // One that fails by its words alone ends as if it had not.
    let how = if status.success() { String::new() } else { format!(" ({status})") };
    let message = format!("{}: {} failed{how}; it said:\n{words}", charge.who, program.display());
    LabError::new(ErrorKind::Target, message, "mend the `config` of its `server`, or what the program says")
}

pub(super) fn start(
    folder: &Path,
    charge: &Charge,
    (program, arguments): (&Path, &[OsString]),
    (log, input): (&str, Stdio),
) -> Result<Child, LabError> {
    let log = File::options().append(true).create(true).mode(0o600).open(folder.join(log));
    let started = log.and_then(|log| {
        program::command(folder, &charge.terms, program, arguments)?.stdin(input).stdout(log.try_clone()?).stderr(log).spawn()
    });
    started.map_err(|e| LabError::new(ErrorKind::Target, format!("{}: cannot run {}: {e}", charge.who, program.display()), ""))
}

/// Waits for the end of a process; nothing where perbuck has gone before.
fn ended(process: &mut Child, gone: &Receiver<Restart>) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = process.try_wait()? {
            return Ok(Some(status));
        }
        if matches!(gone.recv_timeout(POLL), Err(RecvTimeoutError::Disconnected)) {
            return Ok(None);
        }
    }
}

/// The further lines of standard input. They end with it, and with the process that held its other end.
fn gone() -> io::Result<Receiver<Restart>> {
    let (tell, told) = channel();
    thread::Builder::new().name("gone".to_owned()).spawn(move || {
        // An error is an end as well, and so is a line of another program.
        for restart in io::stdin().lock().lines().map_while(Result::ok).map_while(|line| serde_json::from_str(&line).ok()) {
            if tell.send(restart).is_err() {
                return;
            }
        }
    })?;
    Ok(told)
}

pub(super) fn last_lines(log: &Path) -> String {
    let cut = |line: &str| {
        line.chars().take(LINE_MAX).collect::<String>() + if line.chars().nth(LINE_MAX).is_some() { "…" } else { "" }
    };
    telling(&text_of(log)).into_iter().map(|line| format!("    {}\n", cut(line))).collect::<String>().trim_end().to_owned()
}

fn text_of(log: &Path) -> String {
    fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The lines that say what went wrong: those that call themselves errors, or else the last ones. Installers of databases end with
/// pages of advice.
fn telling(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let marks = ["ERROR", "FATAL", "Error:"];
    let errors: Vec<&str> = lines.iter().copied().filter(|l| marks.iter().any(|m| l.contains(m))).take(LAST_LINES).collect();
    if errors.is_empty() { lines[lines.len().saturating_sub(LAST_LINES)..].to_vec() } else { errors }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_and_not_the_advice_below_them() {
        assert_eq!(telling("[Note] on\n[ERROR] no space\n\nyou can also\ntry\n"), ["[ERROR] no space"]);
        let quiet: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        assert_eq!(telling(&quiet).first(), Some(&"line 6"));
    }
}
