//! The end of a deployment that no user and no perbuck ends: a process of its own waits, and takes the clusters down.
//!
//! It survives the perbuck that started it, and no restart of this machine.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use perbuck_load::stop::StopToken;

use super::state::{self, State};
use super::up::pause_for;
use super::{Deployment, now_unix_s};
use crate::error::{ErrorKind, LabError};
use crate::folder;
use crate::inputs::Inputs;
use crate::progress::Progress;
use crate::system::program;

/// What the process says.
pub(crate) const LOG_FILE: &str = "deployment-expiry.log";
/// How often it looks.
const POLL: Duration = Duration::from_secs(2);
/// How often the end is tried, and how long after one another: a network or a login may be away for a while.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_secs(60);

impl Deployment<'_> {
    /// Starts the process that takes the deployment down when it has expired.
    pub(super) fn watch_expiry(&self) -> Result<(), LabError> {
        let log = self.root.join(LOG_FILE);
        let file: File = folder::create(&log).map_err(LabError::of_file("write", &log))?;
        let both = file.try_clone().map_err(|e| LabError::file("write", &log, &e))?;
        let results = self.root.parent().unwrap_or(Path::new("."));
        let mut command = Command::new(program());
        command.args(["--quiet", "deploy", "down", "--when-expired", "--results"]).arg(results).arg(&self.inputs.name);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PERBUCK_")) {
            command.env_remove(name);
        }
        // A signal to this process's group, such as Ctrl-C, is none of its own.
        command.process_group(0).stdin(Stdio::null()).stdout(file).stderr(both);
        command.spawn().map(drop).map_err(|e| LabError::failed(format!("cannot start what ends the deployment: {e}"), ""))
    }
}

/// Takes down a deployment that has expired, and tries so for a while; false where it was ended, or given another end, before.
///
/// # Errors
/// The last failure; a request to stop.
pub fn end_expired(inputs: &Inputs, results: &Path, progress: &mut dyn Progress, stop: &StopToken) -> Result<bool, LabError> {
    let mut tries = 1;
    while expired(inputs, results, stop)? {
        match Deployment::open(inputs, results)?.down(progress, stop) {
            Err(error) if tries < TRIES && error.kind() != ErrorKind::Interrupted => {
                progress.alert(&format!("{error}; tried again in {} s", BETWEEN_TRIES.as_secs()));
                pause_for(BETWEEN_TRIES, stop)?;
                tries += 1;
            }
            done => return done.map(|()| true),
        }
    }
    Ok(false)
}

/// Waits until the deployment of a study has expired and no perbuck holds it; false where it was ended, or has another end by then.
///
/// # Errors
/// A state that cannot be read; a request to stop.
fn expired(inputs: &Inputs, results: &Path, stop: &StopToken) -> Result<bool, LabError> {
    let root = results.join(&inputs.study.name);
    let Some(first) = State::read(&root)? else { return Ok(false) };
    loop {
        let now = State::read(&root)?;
        let Some(now) = now.filter(|now| now.id == first.id && now.expires_unix_s == first.expires_unix_s) else {
            return Ok(false);
        };
        let due = now.expires_unix_s.is_some_and(|at| at <= now_unix_s());
        // A perbuck that holds the lock may be about to bring it up, or uses it.
        if (due || !now.is_up())
            && let Ok(_lock) = state::lock(&root)
        {
            let is_up = State::read(&root)?.is_some_and(|now| now.is_up());
            if due || !is_up {
                return Ok(is_up);
            }
        }
        pause_for(POLL, stop)?;
    }
}
