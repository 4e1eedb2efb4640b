//! The files of a database within this process, and copies of data, which perbuck saves and restores.

use std::path::PathBuf;

use perbuck_load::driver::Driver;
use perbuck_load::error::DriverError;
use perbuck_load::preflight::HostProblem;
use perbuck_load::query::Query;
use perbuck_load::watch::Finishing;

use super::sessions::{Sessions, answer};
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
    fn copy_problems(&self) -> Result<Vec<HostProblem>, DriverError>;
    /// Saves it.
    fn save_copy(&self) -> Result<(), LabError>;
    /// Restores it; data of a server then hold what these notes write.
    fn restore_copy(&self, notes: &[Query]) -> Result<(), LabError>;
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

    fn copy_problems(&self) -> Result<Vec<HostProblem>, DriverError> {
        answer(&self.waiting, "looking whether its data can be restored", self.driver.copy_problems())
    }

    fn save_copy(&self) -> Result<(), LabError> {
        self.ask("saving a copy of its data", self.driver.save_copy())
    }

    fn restore_copy(&self, notes: &[Query]) -> Result<(), LabError> {
        self.ask("restoring its data", self.driver.restore_copy(notes))
    }

    fn drop_copy(&self) -> Result<(), LabError> {
        let _finishing = Finishing::start();
        self.ask("removing the copy of its data", self.driver.drop_copy())
    }
}
