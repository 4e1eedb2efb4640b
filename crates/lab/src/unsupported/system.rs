//! What Linux alone can do, on another system: nothing of it, and no server is held there.

use std::env;
use std::fs::File;
use std::path::PathBuf;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::Gid;

use crate::error::LabError;

/// The file that the program was started from; where the system does not tell, the name by which a shell finds it.
pub(crate) fn program() -> PathBuf {
    env::current_exe().unwrap_or_else(|_| PathBuf::from("perbuck"))
}

/// Refuses: this system cannot hold servers and drive load.
pub(crate) fn drives_load() -> Result<(), LabError> {
    Err(LabError::refused("perbuck drives load on Linux alone", "run it in a container or on a Linux machine"))
}

pub(crate) fn set_dumpable(_dumpable: bool) -> nix::Result<()> {
    Err(Errno::ENOSYS)
}

pub(crate) fn set_pdeathsig(_signal: Signal) -> nix::Result<()> {
    Err(Errno::ENOSYS)
}

pub(crate) fn setgroups(_groups: &[Gid]) -> nix::Result<()> {
    Err(Errno::ENOSYS)
}

pub(crate) fn syncfs(_file: File) -> nix::Result<()> {
    Err(Errno::ENOSYS)
}

pub(crate) fn ioctl_ficlone(_target: &File, _source: File) -> nix::Result<()> {
    Err(Errno::ENOSYS)
}
