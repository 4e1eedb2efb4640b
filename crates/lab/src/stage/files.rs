//! The files of a database within this process: perbuck closes them, and saves and restores copies of them.

use std::path::PathBuf;

use perbuck_load::driver::Driver;

use super::sessions::Sessions;
use crate::error::LabError;

/// The files of a database, and their copy, of which there is one at most. Of a server there are none.
pub trait Files {
    /// Closes them between sessions, so that the next one reads them again; whether none is open.
    fn close_files(&self) -> bool;
    /// The file that holds a copy of them, if there is one; `None` of a server.
    fn copy_file(&self) -> Option<PathBuf>;
    /// Whether a copy was saved.
    fn has_copy(&self) -> bool {
        self.copy_file().is_some_and(|file| file.exists())
    }
    /// Saves it.
    fn save_copy(&self) -> Result<(), LabError>;
    /// Restores it.
    fn restore_copy(&self) -> Result<(), LabError>;
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

    fn save_copy(&self) -> Result<(), LabError> {
        self.ask("saving a copy of its data", self.driver.save_copy())
    }

    fn restore_copy(&self) -> Result<(), LabError> {
        self.ask("restoring its data", self.driver.restore_copy())
    }

    fn drop_copy(&self) -> Result<(), LabError> {
        self.ask("removing the copy of its data", self.driver.drop_copy())
    }
}
