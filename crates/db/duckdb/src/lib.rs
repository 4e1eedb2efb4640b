//! DuckDB, by its library, which is opened at run time: a target that needs no server, and the one with columns in place of rows.
//!
//! - perbuck is neither linked with DuckDB nor built from it. The library is that of the target's address, of the environment, or of
//!   the system's loader; see [`library`].
//! - Calls block their thread, so each session has a thread of its own ([`Driver::blocking`]). DuckDB has further threads, which work on
//!   large statements.
//! - One process opens a file, once; sessions are connections of it; see [`database`].
//! - Transactions have snapshot isolation. One that changes a row that another has changed since it began is refused at once (`Retry`):
//!   no transaction waits for a lock, so a retry comes at once, too.
//! - A statement is planned when it is prepared, and again where a parameter is of another type than it was planned for.
//! - Rows are loaded by the appender, in batches of columns.

mod calendar;
mod cells;
mod database;
mod dialect;
mod errors;
mod facts;
mod ffi;
mod insert;
mod library;
mod load;
mod plans;
mod session;
mod size;
mod target;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use perbuck_database::address::TargetProblem;
use perbuck_database::file::{self, FileCopy};
use perbuck_database::secret::Secret;
use perbuck_database::{Database, Dialect, Wishes};
use perbuck_load::driver::{CopyScope, DataSize, Driver, Means, SessionId, TargetFacts};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::preflight::HostFacts;
use perbuck_load::query::Query;

pub use dialect::DuckdbDialect;
pub use library::VARIABLE;
pub use session::DuckdbSession;
pub use target::DuckdbTarget;

/// How the name of the write-ahead log of a file ends.
const LOG: &str = ".wal";

/// The registration of DuckDB.
#[derive(Debug)]
pub struct Duckdb;

impl Database for Duckdb {
    type Target = DuckdbTarget;
    type Driver = DuckdbDriver;

    const SCHEMES: &'static [&'static str] = &["duckdb:"];
    const FORM: &'static str = "duckdb:FILE";

    fn parse(scheme: &str, rest: &str) -> Option<Result<DuckdbTarget, TargetProblem>> {
        (scheme == "duckdb").then(|| DuckdbTarget::parse(rest))
    }

    fn dialect() -> &'static dyn Dialect {
        &DuckdbDialect
    }

    fn driver(target: &DuckdbTarget, _password: &Secret, _wishes: &Wishes) -> Result<DuckdbDriver, DriverError> {
        if !library::OPENS {
            library::of(target)?;
        }
        Ok(DuckdbDriver::new(target.clone()))
    }
}

/// Opens sessions on one database file.
#[derive(Debug)]
pub struct DuckdbDriver {
    target: DuckdbTarget,
    path: Arc<Path>,
}

impl DuckdbDriver {
    /// A driver for the file of `target`, which is opened, or made, by the first session.
    pub fn new(target: DuckdbTarget) -> Self {
        let path = Arc::from(target.path.as_path());
        Self { target, path }
    }

    fn session(&self) -> Result<DuckdbSession, DriverError> {
        let library = library::of(&self.target)?;
        Ok(DuckdbSession::new(database::connect(library, &self.target)?, Arc::clone(&self.path)))
    }

    fn copy(&self) -> FileCopy<'_> {
        FileCopy { product: "DuckDB", path: &self.path, log: LOG }
    }

    /// Closes the file, by which DuckDB writes the log into it: also what a killed process left there, which is read when it is opened.
    fn close(&self) -> Result<(), DriverError> {
        drop(self.session()?);
        if database::close_idle(&self.target) {
            return Ok(());
        }
        let message = format!("DuckDB file {}: it has sessions, and cannot be copied", self.path.display());
        Err(DriverError::client(ErrorClass::Fatal, "copy", message))
    }
}

impl Drop for DuckdbDriver {
    fn drop(&mut self) {
        database::close_idle(&self.target);
    }
}

impl Driver for DuckdbDriver {
    type Session = DuckdbSession;

    // So a static program holds no code for what it refuses.
    const MEANS: Means = Means { sessions: library::OPENS, ..Means::ALL };

    fn blocking(&self) -> bool {
        true
    }

    fn close_files(&self) -> bool {
        database::close_idle(&self.target)
    }

    /// DuckDB makes one index with all its threads, and refuses two changes of one table.
    fn finish_sessions(&self) -> u32 {
        1
    }

    /// Larger than a part of the data of TPC-H, so that each has a transaction: see `part_factor` of its dialect.
    fn load_transaction_bytes(&self) -> usize {
        256 * 1024 * 1024
    }

    async fn connect(&self, _id: SessionId) -> Result<DuckdbSession, DriverError> {
        self.session()
    }

    async fn preflight(&self, _host: u32) -> Result<HostFacts, DriverError> {
        let version = format!("DuckDB {}", library::of(&self.target)?.version());
        file::preflight(&self.target.path, version, || self.session().map(drop))
    }

    async fn facts(&self) -> Result<TargetFacts, DriverError> {
        facts::facts(&mut self.session()?).await
    }

    fn copy_file(&self) -> Option<PathBuf> {
        Some(self.copy().file())
    }

    async fn save_copy(&self, _of: &CopyScope) -> Result<(), DriverError> {
        self.close()?;
        self.copy().save()
    }

    async fn restore_copy(&self, _of: &CopyScope, _notes: &[Query]) -> Result<(), DriverError> {
        self.close()?;
        self.copy().restore()
    }

    async fn drop_copy(&self) -> Result<(), DriverError> {
        self.copy().remove()
    }

    async fn data_size(&self, tables: &[String]) -> Result<DataSize, DriverError> {
        size::data_size(&mut self.session()?, tables, &self.path).await
    }

    /// None: DuckDB counts nothing that outlives a statement.
    async fn counters(&self) -> Result<BTreeMap<String, i64>, DriverError> {
        Ok(BTreeMap::new())
    }
}
