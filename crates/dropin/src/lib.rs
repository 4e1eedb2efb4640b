//! What the commands that take the place of another program have in common: how they refuse, where a password comes from
//! and goes, how a command line is a study, and where its records are kept. None of it prints a figure.
//!
//! A command line goes one way: words ([`flags`] where their syntax is pflag's, else a parser of the command's own), [`secret`]
//! (takes a password off it), the values with their limits, [`target`], the work itself, [`keep`].

mod advice;
mod duration;
mod flags;
mod keep;
mod notes;
mod refused;
mod secret;
mod study;
pub mod sysbench;
mod target;
pub mod tpcc;
pub mod ycsb;

use std::time::{SystemTime, UNIX_EPOCH};

use perbuck_console::{reader_gone, say};
use perbuck_core::units::Seed;

use refused::Refused;

use perbuck_lab::error::{ErrorKind, LabError};

/// Why a command did not do its work.
pub(crate) enum End {
    /// Its words are wrong, or what they ask for cannot be.
    Refused(Refused),
    /// Anything else.
    Failed(LabError),
}

impl From<Refused> for End {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<LabError> for End {
    fn from(error: LabError) -> Self {
        Self::Failed(error)
    }
}

/// Nanoseconds of a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// A seed out of the time, for a run for which nobody gave one.
pub(crate) fn drawn_seed() -> u64 {
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
    Seed(now_ns).derive("the seed of a run").0
}

/// Whether anybody reads on: a load that runs for nobody only keeps the database busy.
///
/// # Errors
/// Standard output was closed by its reader.
pub(crate) fn heard() -> Result<(), LabError> {
    if reader_gone() {
        let message = "standard output was closed by its reader, so the run was stopped and thrown away";
        return Err(LabError::new(ErrorKind::Failed, message, "write the output to a file, or let its reader read to the end"));
    }
    Ok(())
}

/// The figures are printed, and only their record could not be kept. Whoever asked for the folder must know by the exit
/// code; a script of the other program that runs where nothing can be written goes on.
///
/// # Errors
/// The one that is given, where somebody `asked` for the folder.
pub(crate) fn unrecorded(asked: bool, error: LabError) -> Result<(), LabError> {
    if asked {
        return Err(error);
    }
    say(&format!("perbuck: no record of this run was kept: {error}\n    --results names another folder, --no-record keeps none"));
    Ok(())
}
