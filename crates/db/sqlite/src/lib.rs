//! SQLite, linked into perbuck: the target that needs no server.
//!
//! - Calls block their thread, so each session has a thread of its own ([`Driver::blocking`]).
//! - There is one writer at a time. A transaction that writes begins with BEGIN IMMEDIATE and waits there; one
//!   that only reads begins with BEGIN and, in WAL mode, never waits.
//! - Waiting is SQLite's own: with `busy_timeout` it sleeps between tries, 1 ms at first and 100 ms in the
//!   end, and sleepers do not queue. Under contention latencies show these steps; that is what an application sees.
//!   When the time is up the transaction may be tried again (`Retry`).
//! - There are no decimals: `Value::Decimal` is stored as its unscaled integer.
//! - An UPDATE counts the rows that it finds, where MySQL counts those that it changes.

mod dialect;
mod errors;
mod plans;
mod session;
mod settings;
mod size;
mod target;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use perbuck_database::address::TargetProblem;
use perbuck_database::file::{self, FileCopy};
use perbuck_database::secret::Secret;
use perbuck_database::{Database, Dialect, Wishes};
use perbuck_load::driver::{CopyScope, DataSize, Driver, SessionId, TargetFacts};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::preflight::HostFacts;
use perbuck_load::query::Query;
use rusqlite::Connection;

use errors::driver_error;

pub use dialect::SqliteDialect;
pub use session::SqliteSession;
pub use target::SqliteTarget;

/// How the name of the write-ahead log of a file ends.
const LOG: &str = "-wal";

/// The registration of SQLite.
#[derive(Debug)]
pub struct Sqlite;

impl Database for Sqlite {
    type Target = SqliteTarget;
    type Driver = SqliteDriver;

    const SCHEMES: &'static [&'static str] = &["sqlite:"];
    const FORM: &'static str = "sqlite:FILE";

    fn parse(scheme: &str, rest: &str) -> Option<Result<SqliteTarget, TargetProblem>> {
        (scheme == "sqlite").then(|| SqliteTarget::parse(rest))
    }

    fn dialect() -> &'static dyn Dialect {
        &SqliteDialect
    }

    fn driver(target: &SqliteTarget, _password: &Secret, _wishes: &Wishes) -> Result<SqliteDriver, DriverError> {
        SqliteDriver::new(target.clone())
    }
}

/// Opens sessions on one database file.
#[derive(Debug)]
pub struct SqliteDriver {
    target: SqliteTarget,
    path: Arc<Path>,
    /// Held while a connection is set up: the first one switches the file's journal mode, which no other may use
    /// meanwhile, and for which SQLite does not always wait.
    setup: Mutex<()>,
}

impl SqliteDriver {
    /// A driver for the file of `target`, which is made on the first connection if there is none.
    ///
    /// # Errors
    /// `Fatal` for a setting that SQLite does not know, and for a database in memory, which sessions cannot share.
    pub fn new(target: SqliteTarget) -> Result<Self, DriverError> {
        settings::check(&target)?;
        let path = Arc::from(target.path.as_path());
        Ok(Self { target, path, setup: Mutex::new(()) })
    }

    fn open(&self) -> Result<Connection, DriverError> {
        let _alone = self.setup.lock().unwrap_or_else(PoisonError::into_inner);
        settings::open(&self.target).map_err(|mut error| {
            // No transaction has begun that could be retried: another program holds the file for now.
            if error.class == ErrorClass::Retry {
                error.class = ErrorClass::Lost;
            }
            error
        })
    }

    fn copy(&self) -> FileCopy<'_> {
        FileCopy { product: "SQLite", path: &self.path, log: LOG }
    }

    /// Writes the log into the file.
    fn close(&self) -> Result<(), DriverError> {
        let written = self.open()?.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        written.map_err(|error| driver_error(&error, &self.path))
    }
}

impl Driver for SqliteDriver {
    type Session = SqliteSession;

    fn blocking(&self) -> bool {
        true
    }

    fn load_sessions(&self) -> u32 {
        1
    }

    async fn connect(&self, _id: SessionId) -> Result<SqliteSession, DriverError> {
        Ok(SqliteSession::new(self.open()?, Arc::clone(&self.path)))
    }

    async fn preflight(&self, _host: u32) -> Result<HostFacts, DriverError> {
        file::preflight(&self.path, format!("SQLite {}", rusqlite::version()), || {
            settings::facts(&self.open()?).map_err(|e| driver_error(&e, &self.path)).map(drop)
        })
    }

    async fn facts(&self) -> Result<TargetFacts, DriverError> {
        let connection = self.open()?;
        settings::facts(&connection).map_err(|e| driver_error(&e, &self.path))
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
        let connection = self.open()?;
        size::data_size(&connection, tables, &self.path).map_err(|e| driver_error(&e, &self.path))
    }

    /// None: the library counts nothing that outlives a connection.
    async fn counters(&self) -> Result<BTreeMap<String, i64>, DriverError> {
        Ok(BTreeMap::new())
    }
}
