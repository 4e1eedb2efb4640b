//! The tools that make clusters: found in PATH, asked for their version, run with what they say shown.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use perbuck_load::stop::StopToken;

use crate::error::{ErrorKind, LabError};
use crate::progress::Progress;

/// A cluster is there within a quarter of an hour as a rule; a tool that takes longer than this is ended.
const LIMIT: Duration = Duration::from_secs(3600);
/// Lines of a tool that a failure repeats.
const LAST_LINES: usize = 8;
const POLL: Duration = Duration::from_millis(200);
/// How long a tool has to end by itself when perbuck is stopped.
const GRACE: Duration = Duration::from_secs(10);

/// A tool.
pub(super) struct Tool {
    name: &'static str,
    path: PathBuf,
}

impl Tool {
    /// Finds a tool and makes sure that it answers with a version of at least this one.
    ///
    /// # Errors
    /// It is not in PATH, or is too old.
    pub(super) fn find(name: &'static str, version: &[&str], least: (u32, u32)) -> Result<Self, LabError> {
        let all = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::split_paths(&all).map(|folder| folder.join(name)).find(|path| path.is_file());
        let Some(path) = path else {
            let message = format!("no {name} was found in PATH, and it makes the cluster");
            return Err(LabError::new(ErrorKind::Usage, message, format!("install {name} {}.{} or later", least.0, least.1)));
        };
        let tool = Self { name, path };
        let mut command = tool.command(version);
        let said = command.output().map_err(|e| tool.failed(&e.to_string()))?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        match number(&text) {
            Some(found) if found >= least => Ok(tool),
            Some((major, minor)) => {
                let message = format!("{name} is {major}.{minor}, and perbuck needs {}.{}", least.0, least.1);
                Err(LabError::new(ErrorKind::Usage, message, format!("install a newer {name}")))
            }
            None => Err(tool.failed(&format!("it says no version: {}", text.trim()))),
        }
    }

    fn failed(&self, why: &str) -> LabError {
        let message = format!("{} ({}) cannot be used: {why}", self.name, self.path.display());
        LabError::new(ErrorKind::Failed, message, format!("run `{} version` yourself, and see what it says", self.name))
    }

    fn command(&self, words: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(words).stdin(Stdio::null());
        // Passwords and tokens of perbuck are none of its business.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PERBUCK_")) {
            command.env_remove(name);
        }
        command
    }

    /// Runs it, and returns what it wrote to standard output.
    ///
    /// # Errors
    /// It fails, with its last lines; a request to stop, which it is given, too.
    pub(super) fn run(
        &self,
        words: &[impl AsRef<OsStr>],
        kubeconfig: Option<&Path>,
        progress: &mut dyn Progress,
        stop: &StopToken,
    ) -> Result<String, LabError> {
        let mut command = self.command(words);
        command.envs(kubeconfig.map(|path| ("KUBECONFIG", path)));
        // Its own group, so that all of it is ended, and a signal from the terminal reaches perbuck alone.
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| self.failed(&e.to_string()))?;
        let (sender, lines) = channel();
        let output = child.stdout.take().map(|out| thread::spawn(move || read_all(out)));
        let reader = child.stderr.take().map(|err| thread::spawn(move || send_lines(err, &sender)));
        let last = self.watched(&mut child, &lines, progress, stop)?;
        let output = output.and_then(|thread| thread.join().ok()).unwrap_or_default();
        drop(reader.map(thread::JoinHandle::join));
        let status = child.wait().map_err(|e| self.failed(&e.to_string()))?;
        if status.success() {
            return Ok(output);
        }
        let words: Vec<String> = words.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect();
        let message = format!("`{} {}` failed ({status}); it said:\n{}", self.name, words.join(" "), last.join("\n"));
        Err(LabError::new(ErrorKind::Failed, message, "correct that, and give the same command again; what was made is kept"))
    }

    /// Shows what it says until it has ended; returns its last lines.
    fn watched(
        &self,
        child: &mut Child,
        lines: &Receiver<String>,
        progress: &mut dyn Progress,
        stop: &StopToken,
    ) -> Result<Vec<String>, LabError> {
        let (since, mut last) = (Instant::now(), Vec::new());
        loop {
            match lines.recv_timeout(POLL) {
                Ok(line) => {
                    progress.passing(&format!("{}: {line}", self.name));
                    last.push(line);
                    if last.len() > LAST_LINES {
                        last.remove(0);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(last),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let late = since.elapsed() > LIMIT;
            if late || stop.requested() {
                end(child);
                let message = format!("{} was still running after {} minutes", self.name, LIMIT.as_secs() / 60);
                let late_error = LabError::new(ErrorKind::Failed, message, "look at the cluster in the cloud's console");
                return Err(if late { late_error } else { LabError::interrupted() });
            }
        }
    }
}

/// Asks a child to end, and ends it.
fn end(child: &mut Child) {
    let since = Instant::now();
    if let Ok(pid) = i32::try_from(child.id()) {
        // One that is gone already needs no signal.
        let _ = killpg(Pid::from_raw(pid), Signal::SIGTERM);
    }
    while since.elapsed() < GRACE {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        thread::sleep(POLL);
    }
    if let Ok(pid) = i32::try_from(child.id()) {
        let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    }
    let _ = child.wait();
}

fn read_all(mut from: impl Read) -> String {
    let mut bytes = Vec::new();
    // What was read before a failure is still what it wrote.
    let _ = from.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn send_lines(from: impl Read, to: &Sender<String>) {
    for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
        if to.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
            return;
        }
    }
}

/// The first version in a text: `0.210.0`, `Google Cloud SDK 530.0.0`.
fn number(text: &str) -> Option<(u32, u32)> {
    text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
        let mut parts = word.split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_tools_say() {
        assert_eq!(number("0.210.0\n"), Some((0, 210)));
        assert_eq!(number("{\"version\":\"0.210.0-dev\"}"), Some((0, 210)));
        assert_eq!(number("Google Cloud SDK 530.0.0\nbeta 2025.07.11"), Some((530, 0)));
        assert_eq!(number("unknown"), None);
    }
}
