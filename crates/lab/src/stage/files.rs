//! The files of a database within this process, and copies of data, which perbuck saves and restores.

use std::path::PathBuf;

use perbuck_load::driver::{CopyScope, Driver};
use perbuck_load::error::DriverError;
use perbuck_load::preflight::HostProblem;
use perbuck_load::query::Query;
use perbuck_load::watch::Finishing;

use super::sessions::{Sessions, answer};
use crate::data::Notes;
use crate::error::LabError;

/// The files of a database, which a server has none of, and the copy of its data, of which there is one at most.
pub trait Files {
    /// Closes them between sessions, so that the next one reads them again; whether none is open.
    fn close_files(&self) -> bool;
    /// The file that holds a copy of them, if there is one; `None` of a server.
    fn copy_file(&self) -> Option<PathBuf>;
    /// Whether a copy was saved.
    fn has_copy(&self) -> Result<bool, LabError>;
    /// What keeps copies from being saved and restored, as far as it shows before there are data.
    fn copy_problems(&self, of: &CopyScope) -> Result<Vec<HostProblem>, DriverError>;
    /// What a copy of the data of these tables holds.
    fn copy_scope(&self, tables: &[String]) -> CopyScope;
    /// Saves it. Where a restore drops the data first, that is done, too.
    fn save_copy(&self, of: &CopyScope) -> Result<(), LabError>;
    /// Whether a restore drops the data before it makes them again. The servers may be at work on them afterwards, as after a load.
    fn drops_first(&self) -> bool;
    /// Restores it; data of a server that take the place of others then hold what these notes write.
    fn restore_copy(&self, of: &CopyScope, notes: &[Query]) -> Result<(), LabError>;
    /// Removes it, if it is there.
    fn drop_copy(&self) -> Result<(), LabError>;
}

impl<D: Driver> Files for Sessions<D> {
    fn close_files(&self) -> bool {
        self.driver.close_files()
    }

    fn copy_file(&self) -> Option<PathBuf> {
        self.driver.copy_file()
    }

    fn has_copy(&self) -> Result<bool, LabError> {
        self.ask("looking for a copy of its data", self.driver.has_copy())
    }

    fn copy_problems(&self, of: &CopyScope) -> Result<Vec<HostProblem>, DriverError> {
        answer(&self.waiting, "looking whether its data can be restored", self.driver.copy_problems(of))
    }

    fn copy_scope(&self, tables: &[String]) -> CopyScope {
        self.notes.scope(tables)
    }

    fn save_copy(&self, of: &CopyScope) -> Result<(), LabError> {
        self.ask("saving a copy of its data", self.driver.save_copy(of))?;
        if self.drops_first() { self.restore_copy(of, &[]) } else { Ok(()) }
    }

    fn drops_first(&self) -> bool {
        self.driver.drops_first()
    }

    fn restore_copy(&self, of: &CopyScope, notes: &[Query]) -> Result<(), LabError> {
        const DOING: &str = "restoring its data";
        let drops = self.drops_first();
        if drops {
            self.with_session(DOING, async |s| Notes::restoring(s, false).await)?;
        }
        self.ask(DOING, self.driver.restore_copy(of, notes))?;
        if drops { self.with_session(DOING, async |s| Notes::restoring(s, true).await) } else { Ok(()) }
    }

    fn drop_copy(&self) -> Result<(), LabError> {
        let _finishing = Finishing::start();
        self.ask("removing the copy of its data", self.driver.drop_copy())
    }
}
