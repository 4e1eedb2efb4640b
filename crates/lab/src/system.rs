//! What Linux alone can do.

use std::path::PathBuf;

pub(crate) use nix::sys::prctl::{set_dumpable, set_pdeathsig};
pub(crate) use nix::unistd::{setgroups, syncfs};
pub(crate) use rustix::fs::ioctl_ficlone;

use crate::error::LabError;

/// The program that runs, also where its file was replaced since.
pub(crate) fn program() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

/// Whether this system can hold servers, drive load and be examined.
///
/// # Errors
/// None here.
pub(crate) fn drives_load() -> Result<(), LabError> {
    Ok(())
}
