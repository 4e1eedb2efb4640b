//! One connection to an SQLite file.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use perbuck_load::driver::{Access, BulkTable, Effect, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::statement::{Catalogue, Statement as Sql, StatementId};
use perbuck_load::values::{Params, Rows, Value};
use perbuck_load::watch;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement, TransactionBehavior};

use crate::errors::driver_error;

/// Beside the catalogue: BEGIN in two forms, COMMIT, ROLLBACK and the INSERT of the loader.
const OWN_STATEMENTS: usize = 8;

/// Instructions of SQLite's virtual machine between two looks at the clock, in a statement with a limit: a few microseconds.
const STEPS_BETWEEN_LOOKS: std::ffi::c_int = 10_000;

/// One connection. Its calls block the thread.
///
/// Statements live in rusqlite's cache, by their text: a prepared statement borrows its connection, and a session that
/// held both would refer to itself. A look-up costs about 1 µs (two hashes of the text and one small allocation, which
/// is rusqlite's) of the 17 µs that a SELECT by key takes on a file; held statements were no faster within the noise.
#[derive(Debug)]
pub struct SqliteSession {
    connection: Connection,
    catalogue: Arc<Catalogue>,
    path: Arc<Path>,
}

impl SqliteSession {
    pub(crate) fn new(connection: Connection, path: Arc<Path>) -> Self {
        Self { connection, catalogue: Arc::default(), path }
    }

    fn error(&self, error: &rusqlite::Error) -> DriverError {
        driver_error(error, &self.path)
    }

    /// A statement of our own, without parameters or rows.
    fn control(&self, sql: &str) -> Result<(), DriverError> {
        let done = self.connection.prepare_cached(sql).and_then(|mut statement| statement.raw_execute());
        done.map(drop).map_err(|e| self.error(&e))
    }
}

impl Session for SqliteSession {
    async fn prepare(&mut self, catalogue: &Arc<Catalogue>) -> Result<(), DriverError> {
        self.connection.set_prepared_statement_cache_capacity(catalogue.statements().len() + OWN_STATEMENTS);
        self.catalogue = Arc::clone(catalogue);
        Ok(())
    }

    async fn add_statement(&mut self, catalogue: &mut Arc<Catalogue>, statement: Sql) -> Result<(), DriverError> {
        self.connection.prepare_cached(&statement.sql).map(drop).map_err(|e| self.error(&e))?;
        // Without another owner it grows in place.
        *catalogue = Arc::default();
        Arc::make_mut(&mut self.catalogue).push(statement.verb.word(), statement);
        self.connection.set_prepared_statement_cache_capacity(self.catalogue.statements().len() + OWN_STATEMENTS);
        *catalogue = Arc::clone(&self.catalogue);
        Ok(())
    }

    async fn execute(&mut self, id: StatementId, params: &Params, rows: &mut Rows) -> Result<Effect, DriverError> {
        let statement = self.catalogue.get(id);
        rows.start(statement.keep_rows);
        let done = self.connection.prepare_cached(&statement.sql).and_then(|mut prepared| {
            bind(&mut prepared, params)?;
            run(&self.connection, &mut prepared, rows)
        });
        done.map_err(|e| self.error(&e))
    }

    async fn columns(&mut self, id: StatementId) -> Result<Option<Vec<String>>, DriverError> {
        let prepared = self.connection.prepare_cached(&self.catalogue.get(id).sql).map_err(|e| self.error(&e))?;
        Ok(Some(prepared.column_names().map(str::to_owned).collect()))
    }

    async fn begin(&mut self, access: Access) -> Result<(), DriverError> {
        // A transaction that reads first and then wants to write would fail with BUSY_SNAPSHOT, or deadlock without WAL.
        self.control(match access {
            Access::Write => "BEGIN IMMEDIATE",
            Access::Read => "BEGIN",
        })
    }

    async fn commit(&mut self) -> Result<(), DriverError> {
        self.control("COMMIT")
    }

    async fn rollback(&mut self) -> Result<bool, DriverError> {
        // Some errors (a full disk) end the transaction by themselves.
        if self.connection.is_autocommit() { Ok(false) } else { self.control("ROLLBACK").map(|()| true) }
    }

    async fn query(&mut self, sql: &str, rows: &mut Rows) -> Result<Effect, DriverError> {
        watch::asks(self.path.display(), sql);
        rows.start(true);
        let done = self.connection.prepare(sql).and_then(|mut prepared| run(&self.connection, &mut prepared, rows));
        done.map_err(|e| self.error(&e))
    }

    async fn query_within(&mut self, sql: &str, limit: Duration, rows: &mut Rows) -> Result<Effect, DriverError> {
        let end = Instant::now() + limit;
        let handled = self.connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || Instant::now() >= end));
        handled.map_err(|e| self.error(&e))?;
        let done = self.query(sql, rows).await;
        self.connection.progress_handler(0, None::<fn() -> bool>).map_err(|e| self.error(&e))?;
        done
    }

    async fn insert_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        let width = table.columns.len();
        if width == 0 || !cells.len().is_multiple_of(width) {
            let message = format!("{} values do not fill rows of {width} columns for table {}", cells.len(), table.name);
            return Err(DriverError::client(ErrorClass::Fatal, "shape", message));
        }
        let path = Arc::clone(&self.path);
        insert(&mut self.connection, table, cells).map_err(|e| driver_error(&e, &path))
    }

    async fn close(self) {
        // What fails here is the checkpoint of the WAL; the next connection repeats it.
        drop(self.connection.close());
    }
}

fn bind(statement: &mut Statement<'_>, params: &Params) -> rusqlite::Result<()> {
    // SQLite takes what is not bound for NULL.
    if statement.parameter_count() != params.len() {
        return Err(rusqlite::Error::InvalidParameterCount(params.len(), statement.parameter_count()));
    }
    bind_all(statement, params.iter())
}

#[inline]
fn bind_all<'a>(statement: &mut Statement<'_>, values: impl Iterator<Item = Value<'a>>) -> rusqlite::Result<()> {
    for (index, value) in values.enumerate() {
        let value = match value {
            Value::Null => ValueRef::Null,
            Value::Int(v) | Value::Decimal { unscaled: v, .. } => ValueRef::Integer(v),
            Value::Text(bytes) => ValueRef::Text(bytes),
        };
        statement.raw_bind_parameter(index + 1, ToSqlOutput::Borrowed(value))?;
    }
    Ok(())
}

/// Runs a bound statement to its end: every row is fetched, whether its cells are kept or not.
fn run(connection: &Connection, statement: &mut Statement<'_>, rows: &mut Rows) -> rusqlite::Result<Effect> {
    let columns = statement.column_count();
    if columns == 0 {
        let before = connection.total_changes();
        let changed = statement.raw_execute()? as u64;
        // For a CREATE or PRAGMA the library repeats the count of the last INSERT, UPDATE or DELETE.
        return Ok(Effect::Affected(if connection.total_changes() == before { 0 } else { changed }));
    }
    let keep = rows.keeps();
    let mut found = statement.raw_query();
    while let Some(row) = found.next()? {
        if keep {
            for column in 0..columns {
                match row.get_ref(column)? {
                    ValueRef::Null => rows.push_null(),
                    ValueRef::Integer(v) => rows.push_int(v),
                    ValueRef::Real(v) => rows.push_float(v),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => rows.push_text(bytes),
                }
            }
        }
        rows.end_row();
    }
    Ok(Effect::ResultSet)
}

/// All rows in one transaction, or in a savepoint of the one that is open; it is rolled back when it is dropped before
/// its commit.
fn insert(connection: &mut Connection, table: &BulkTable, cells: &Params) -> rusqlite::Result<u64> {
    if connection.is_autocommit() {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let count = insert_all(&transaction, table, cells)?;
        transaction.commit()?;
        return Ok(count);
    }
    let savepoint = connection.savepoint()?;
    let count = insert_all(&savepoint, table, cells)?;
    savepoint.commit()?;
    Ok(count)
}

fn insert_all(connection: &Connection, table: &BulkTable, cells: &Params) -> rusqlite::Result<u64> {
    let width = table.columns.len();
    let markers = vec!["?"; width].join(", ");
    let sql = format!("INSERT INTO {} ({}) VALUES ({markers})", table.name, table.columns.join(", "));
    let count = cells.len() / width;
    let mut statement = connection.prepare_cached(&sql)?;
    let mut values = cells.iter();
    for _ in 0..count {
        bind_all(&mut statement, values.by_ref().take(width))?;
        statement.raw_execute()?;
    }
    Ok(count as u64)
}
