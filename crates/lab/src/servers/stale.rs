//! Servers and folders that a killed perbuck and its killed guard left.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

use super::guard;
use super::instance::{OWNER_LOCK, PREFIX};
use crate::progress::Progress;

/// Ends servers and deletes folders in `parent` whose processes are gone.
pub(super) fn clean(parent: &Path, progress: &mut dyn Progress) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let folder = entry.path();
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.metadata().is_ok_and(|m| m.is_dir() && m.uid() == geteuid().as_raw());
        if !ours || held(&folder.join(OWNER_LOCK)) || held(&folder.join(guard::LOCK)) {
            continue;
        }
        end_server(&folder);
        match fs::remove_dir_all(&folder) {
            Ok(()) => progress.line(&format!("removed {}, which a killed run left", folder.display())),
            Err(e) => progress.line(&format!("cannot remove {}, which a killed run left: {e}", folder.display())),
        }
    }
}

/// Whether a process holds a lock. One that is not there yet belongs to a folder that is being made.
fn held(lock: &Path) -> bool {
    match File::open(lock) {
        Ok(file) => file.try_lock_shared().is_err(),
        Err(_) => lock.ends_with(OWNER_LOCK),
    }
}

/// Kills the server of a folder, if its process still is what it was: its arguments name the folder.
fn end_server(folder: &Path) {
    let number = fs::read_to_string(folder.join(guard::PID)).ok().and_then(|text| text.trim().parse::<i32>().ok());
    let Some(pid) = number.filter(|n| *n > 1) else { return };
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let name = folder.as_os_str().as_encoded_bytes();
    if words.windows(name.len()).any(|w| w == name) {
        // It may be gone by now, which is what is wanted.
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}
