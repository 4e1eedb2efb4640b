//! Copies of the data of a database that perbuck itself can save and restore.

use perbuck_load::driver::Driver;

use super::sessions::Sessions;
use crate::error::LabError;

/// The copy of a database, of which there is one at most.
pub trait Copies {
    /// Whether it was saved.
    fn has_copy(&self) -> bool;
    /// Saves it.
    fn save_copy(&self) -> Result<(), LabError>;
    /// Restores it.
    fn restore_copy(&self) -> Result<(), LabError>;
    /// Removes it, if it is there.
    fn drop_copy(&self) -> Result<(), LabError>;
}

impl<D: Driver> Copies for Sessions<D> {
    fn has_copy(&self) -> bool {
        self.driver.has_copy()
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
