//! What the commands that take the place of another program have in common: how they refuse, where a password comes from
//! and goes, how a command line is a study, and where its records are kept. None of it prints a figure.
//!
//! A command line goes one way: words ([`flags`] where their syntax is pflag's, else a parser of the command's own), [`secret`]
//! (takes a password off it), the values with their limits, [`target`], the work itself, [`keep`].

pub(super) mod advice;
pub(super) mod duration;
pub(super) mod flags;
pub(super) mod keep;
pub(super) mod notes;
pub(super) mod refused;
pub(super) mod secret;
pub(super) mod study;
pub(super) mod target;

use std::time::{SystemTime, UNIX_EPOCH};

use perbuck_core::units::Seed;

use refused::Refused;

use super::reader_gone;
use crate::error::{CliError, Exit};
use crate::progress::say;

/// Why a command did not do its work.
pub(super) enum End {
    /// Its words are wrong, or what they ask for cannot be.
    Refused(Refused),
    /// Anything else.
    Failed(CliError),
}

impl From<Refused> for End {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<CliError> for End {
    fn from(error: CliError) -> Self {
        Self::Failed(error)
    }
}

/// Nanoseconds of a second.
pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// A seed out of the time, for a run for which nobody gave one.
pub(super) fn drawn_seed() -> u64 {
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
    Seed(now_ns).derive("the seed of a run").0
}

/// Whether anybody reads on: a load that runs for nobody only keeps the database busy.
///
/// # Errors
/// Standard output was closed by its reader.
pub(super) fn heard() -> Result<(), CliError> {
    if reader_gone() {
        let message = "standard output was closed by its reader, so the run was stopped and thrown away";
        return Err(CliError::new(Exit::Failed, message, "write the output to a file, or let its reader read to the end"));
    }
    Ok(())
}

/// The figures are printed, and only their record could not be kept. Whoever asked for the folder must know by the exit
/// code; a script of the other program that runs where nothing can be written goes on.
///
/// # Errors
/// The one that is given, where somebody `asked` for the folder.
pub(super) fn unrecorded(asked: bool, error: CliError) -> Result<(), CliError> {
    if asked {
        return Err(error);
    }
    say(&format!("perbuck: no record of this run was kept: {error}\n    --results names another folder, --no-record keeps none"));
    Ok(())
}
