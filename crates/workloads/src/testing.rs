//! A session on an in-memory SQLite database for the tests, which may not use the drivers. It keeps a log of what was
//! sent and can be told to fail a commit.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use perbuck_load::driver::{Access, BulkTable, Effect, Session};
use perbuck_load::error::{Cause, DriverError, ErrorClass, ErrorCode};
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::values::{Params, Rows, Value};
use rusqlite::types::{ToSqlOutput, ValueRef};

/// Runs a future that never waits.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a test future waited"),
    }
}

/// The database and what was sent to it, shared by the sessions of a test.
pub(crate) struct Database {
    pub(crate) sqlite: rusqlite::Connection,
    pub(crate) log: RefCell<Vec<String>>,
    pub(crate) fail_commit: Cell<bool>,
}

impl Database {
    pub(crate) fn new(sqlite: rusqlite::Connection) -> Rc<Self> {
        sqlite.set_prepared_statement_cache_capacity(128);
        Rc::new(Self { sqlite, log: RefCell::default(), fail_commit: Cell::new(false) })
    }

    /// The one number that a query returns.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.sqlite.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    pub(crate) fn change(&self, sql: &str) {
        assert!(self.sqlite.execute(sql, []).unwrap() > 0, "{sql}");
    }
}

pub(crate) struct SqliteSession {
    database: Rc<Database>,
    catalogue: Arc<Catalogue>,
}

impl SqliteSession {
    pub(crate) fn new(database: &Rc<Database>) -> Self {
        Self { database: Rc::clone(database), catalogue: Arc::default() }
    }

    fn run(&self, sql: &str, params: &Params, rows: &mut Rows, keep: bool) -> rusqlite::Result<Effect> {
        self.database.log.borrow_mut().push(format!("{sql} {:?}", params.iter().collect::<Vec<_>>()));
        let mut statement = self.database.sqlite.prepare_cached(sql)?;
        let width = statement.column_count();
        rows.start(keep);
        let values = rusqlite::params_from_iter(params.iter().map(Bound));
        if width == 0 {
            return statement.execute(values).map(|n| Effect::Affected(n as u64));
        }
        let mut found = statement.query(values)?;
        while let Some(row) = found.next()? {
            for column in (0..width).take_while(|_| keep) {
                match row.get_ref(column)? {
                    ValueRef::Null => rows.push_null(),
                    ValueRef::Integer(v) => rows.push_int(v),
                    ValueRef::Real(v) => rows.push_float(v),
                    ValueRef::Text(t) | ValueRef::Blob(t) => rows.push_text(t),
                }
            }
            rows.end_row();
        }
        Ok(Effect::ResultSet)
    }

    fn plain(&self, sql: &str) -> Result<(), DriverError> {
        self.run(sql, &Params::default(), &mut Rows::default(), false).map(|_| ()).map_err(error)
    }
}

struct Bound<'a>(Value<'a>);

impl rusqlite::ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Int(v) | Value::Decimal { unscaled: v, .. } => ValueRef::Integer(v),
            Value::Text(t) => ValueRef::Text(t),
        }))
    }
}

#[allow(clippy::needless_pass_by_value)] // the shape that map_err takes
fn error(error: rusqlite::Error) -> DriverError {
    if let rusqlite::Error::SqliteFailure(failure, _) = &error
        && failure.code == rusqlite::ErrorCode::ConstraintViolation
    {
        let code = ErrorCode::Number("sqlite", failure.extended_code);
        let duplicate = matches!(failure.extended_code, 1555 | 2067).then_some(Cause::DuplicateKey);
        return DriverError::new(ErrorClass::Failed, code, error.to_string()).because(duplicate);
    }
    DriverError::client(ErrorClass::Fatal, "sqlite", error.to_string())
}

impl Session for SqliteSession {
    async fn prepare(&mut self, catalogue: &Arc<Catalogue>) -> Result<(), DriverError> {
        self.catalogue = Arc::clone(catalogue);
        for statement in catalogue.statements() {
            let reads = self.database.sqlite.prepare(&statement.sql).map_err(error)?.readonly();
            assert_eq!(reads, statement.verb == Verb::Select, "{}", statement.sql);
        }
        Ok(())
    }

    async fn execute(&mut self, id: StatementId, params: &Params, rows: &mut Rows) -> Result<Effect, DriverError> {
        let statement = self.catalogue.get(id);
        self.run(&statement.sql, params, rows, statement.keep_rows).map_err(error)
    }

    async fn begin(&mut self, access: Access) -> Result<(), DriverError> {
        self.plain(if access == Access::Write { "BEGIN IMMEDIATE" } else { "BEGIN" })
    }

    async fn commit(&mut self) -> Result<(), DriverError> {
        if self.database.fail_commit.get() {
            return Err(DriverError::client(ErrorClass::Retry, "test", "told to fail"));
        }
        self.plain("COMMIT")
    }

    async fn rollback(&mut self) -> Result<bool, DriverError> {
        self.plain("ROLLBACK").map(|()| true)
    }

    async fn query(&mut self, sql: &str, rows: &mut Rows) -> Result<Effect, DriverError> {
        self.run(sql, &Params::default(), rows, true).map_err(error)
    }

    async fn insert_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        let marks = vec!["?"; table.columns.len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({marks})", table.name, table.columns.join(", "));
        let mut statement = self.database.sqlite.prepare_cached(&sql).map_err(error)?;
        let values: Vec<Value<'_>> = cells.iter().collect();
        for row in values.chunks(table.columns.len()) {
            let bound = rusqlite::params_from_iter(row.iter().map(|v| Bound(*v)));
            statement.execute(bound).map_err(error)?;
        }
        Ok((values.len() / table.columns.len()) as u64)
    }

    async fn close(self) {}
}
