//! The data that a copy holds.

use crate::error::{DriverError, ErrorClass};
use crate::query::Query;

/// The table beside the data in which a driver notes a copy of them that lies elsewhere. A load drops it: it makes other data.
pub const COPY_NOTE: &str = "perbuck_copy";

/// The data that a copy holds, for databases that copy tables: one that copies a whole database, or its file, needs none of it.
#[derive(Debug, Clone, Default)]
pub struct CopyScope {
    /// The tables.
    pub tables: Vec<String>,
    /// Rows of further tables that tell of these data: a table, and the condition of its rows.
    pub rows: Vec<(String, String)>,
    /// What notes in these rows that the data are a mix of those of before and those that were saved.
    pub mixed: Vec<Query>,
}

pub(crate) fn no_copies() -> DriverError {
    DriverError::client(ErrorClass::Fatal, "copy", "perbuck saves no copies of its data".to_owned())
}
