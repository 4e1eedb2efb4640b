//! Loads that were cut off: how far they are, how they end, and what to say of one that fails.

use perbuck_load::driver::Driver;
use perbuck_load::error::Cause;
use perbuck_load::loader;
use perbuck_load::loader::ledger::{Ledger, PartState};
use perbuck_load::workload::TableSpec;

use super::Server;
use super::sessions::Sessions;
use crate::data::{FRESH, LoadLedger};
use crate::error::LabError;

/// The way out of a load that was cut off.
pub const GOES_ON: &str = "what was committed is kept: run the same command again, and the load goes on from there";

impl<D: Driver> Sessions<D> {
    /// How far the parts of a load of these tables are that was cut off, if it can go on.
    pub(super) fn part_states(&self, tables: &[TableSpec], parts: u32) -> Result<Option<Vec<PartState>>, LabError> {
        self.with_session("looking at an unfinished load", async |s| self.notes.unfinished(s, tables, parts).await)
    }

    /// Notes that the data are there, and then removes the ledger. In the other order, a run that is cut off in between would
    /// have to load again.
    pub(super) fn loaded(&self, ledger: &LoadLedger) -> Result<(), LabError> {
        self.mark("noting the load", FRESH)?;
        self.execute("removing the ledger of the load", &ledger.drop())
    }

    /// The failure of a load, and how to go on.
    pub(super) fn cut_off(&self, error: &loader::LoadError) -> LabError {
        let failure = self.failed(error);
        match error {
            // What perbuck itself asks the server to raise, of data that going on does not mend.
            loader::LoadError::Server { error, .. } if error.cause != Some(Cause::Raised) => failure.or_help(GOES_ON),
            _ => failure.or_reload(),
        }
    }
}
