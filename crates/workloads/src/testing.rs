//! What the unit tests of the benchmarks share: the dialects, parameters, and terminals on an in-memory SQLite database.
//! Tests of this crate may not use the drivers.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use perbuck_core::rng::OpRng;
use perbuck_core::study::{Located, Scalar};
use perbuck_core::workload_kind::Parameters;
use perbuck_database::Dialect;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, BulkTable, Effect, Session};
use perbuck_load::error::{Cause, DriverError, ErrorClass, ErrorCode};
use perbuck_load::loader::{CheckResult, run_check};
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::values::{Params, Rows, Value};
use perbuck_load::workload::{Dataset, Done, Operation, Terminal, TerminalId, Workload};
use perbuck_mysql::MysqlDialect;
use perbuck_postgres::Family;
use perbuck_sqlite::SqliteDialect;
use rusqlite::types::ValueRef;

use crate::Benchmark;
use crate::params::ParamProblem;

pub(crate) const MYSQL: &dyn Dialect = &MysqlDialect;
pub(crate) const SQLITE: &dyn Dialect = &SqliteDialect;
pub(crate) const POSTGRES: &dyn Dialect = &Family::Postgres;
pub(crate) const COCKROACH: &dyn Dialect = &Family::Cockroach;
pub(crate) const YUGABYTE: &dyn Dialect = &Family::Yugabyte;
/// Those that speak SQL.
pub(crate) const DIALECTS: [&dyn Dialect; 5] = [MYSQL, POSTGRES, SQLITE, COCKROACH, YUGABYTE];

/// Each of ten numbers came about as often as its share of a hundred thousand draws.
pub(crate) fn near(counts: [u32; 10], share: impl Fn(usize) -> f64) {
    for (i, count) in counts.iter().enumerate() {
        let expected = share(i) * 100_000.0;
        let sigma = (expected * (1.0 - share(i))).sqrt();
        assert!((f64::from(*count) - expected).abs() < 5.0 * sigma + 1.0, "{i}: {count} for {expected}");
    }
}

/// Parameters as a study file gives them: what looks like a number or a switch is one, all else is text.
pub(crate) fn parameters(words: &[(&str, &str)]) -> Parameters {
    let scalar = |word: &str| {
        let number = || word.parse().map_or_else(|_| Scalar::Text(word.to_owned()), Scalar::Float);
        let switch = || word.parse().map_or_else(|_| number(), Scalar::Bool);
        word.parse().map_or_else(|_| switch(), Scalar::Int)
    };
    words.iter().map(|(name, word)| ((*name).to_owned(), Located { value: scalar(word), line: 1 })).collect()
}

/// The options of a benchmark, or every problem.
pub(crate) fn read<B: Benchmark>(words: &[(&str, &str)]) -> Result<B, Vec<ParamProblem>> {
    B::checked(&parameters(words))
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a test future waited"),
    }
}

/// The database and what was sent to it, shared by the sessions of a test.
pub(crate) struct Database {
    pub(crate) sqlite: rusqlite::Connection,
    /// Statements with values in place of `?`.
    pub(crate) log: RefCell<Vec<String>>,
    pub(crate) fail_commit: Cell<bool>,
    /// What the next INSERT of many rows ends with.
    pub(crate) refusal: RefCell<Option<DriverError>>,
}

impl Database {
    pub(crate) fn new(sqlite: rusqlite::Connection) -> Rc<Self> {
        sqlite.set_prepared_statement_cache_capacity(128);
        Rc::new(Self { sqlite, log: RefCell::default(), fail_commit: Cell::new(false), refusal: RefCell::default() })
    }

    pub(crate) fn empty() -> Rc<Self> {
        Self::new(rusqlite::Connection::open_in_memory().unwrap())
    }

    /// A database with the tables of a data set, and the rows of these parts.
    pub(crate) fn load(data: &impl Dataset, parts: impl Iterator<Item = u32>) -> Rc<Self> {
        let (database, tables) = (Self::empty(), data.tables());
        let mut session = SqliteSession::new(&database);
        let mut cells = Params::default();
        let run = |sql: &String| database.sqlite.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        run(&"BEGIN".to_owned());
        tables.iter().flat_map(|table| &table.create).for_each(run);
        for index in parts {
            let mut part = data.part(index);
            while let Some(table) = part.next_batch(&mut cells) {
                block_on(session.insert_rows(&tables[table].bulk, &cells)).unwrap();
            }
        }
        tables.iter().flat_map(|table| table.after_load.iter().chain(&table.statistics)).for_each(run);
        run(&"COMMIT".to_owned());
        database.log.take();
        database
    }

    /// The checks of a data set that do not hold.
    pub(crate) fn broken(self: &Rc<Self>, data: &impl Dataset) -> Vec<CheckResult> {
        let mut session = SqliteSession::new(self);
        let results = data.checks().into_iter().map(|check| block_on(run_check(&mut session, &check)).unwrap());
        let broken: Vec<CheckResult> = results.filter(|result| !result.holds()).collect();
        assert!(broken.iter().all(|result| result.violations.len() <= 5), "{broken:?}");
        broken
    }

    /// How many of the statements since the log was cleared hold some words.
    pub(crate) fn sent(&self, words: &str) -> usize {
        self.log.borrow().iter().filter(|sql| sql.contains(words)).count()
    }

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
        assert_eq!(params.len(), sql.matches('?').count(), "{sql}");
        let mut values = params.iter();
        let text = sql.split_inclusive('?').map(|piece| match piece.strip_suffix('?') {
            Some(before) => before.to_owned() + &values.next().map(display).unwrap_or_default(),
            None => piece.to_owned(),
        });
        self.database.log.borrow_mut().push(text.collect());
        let mut statement = self.database.sqlite.prepare_cached(sql)?;
        let width = statement.column_count();
        rows.start(keep);
        let values = rusqlite::params_from_iter(params.iter().map(bound));
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

fn bound(value: Value<'_>) -> rusqlite::types::Value {
    match value {
        Value::Null => rusqlite::types::Value::Null,
        Value::Int(v) | Value::Decimal { unscaled: v, .. } => v.into(),
        Value::Text(t) => String::from_utf8_lossy(t).into_owned().into(),
    }
}

fn display(value: Value<'_>) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Int(v) | Value::Decimal { unscaled: v, .. } => v.to_string(),
        Value::Text(t) => format!("'{}'", String::from_utf8_lossy(t)),
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

    async fn columns(&mut self, id: StatementId) -> Result<Option<Vec<String>>, DriverError> {
        let prepared = self.database.sqlite.prepare(&self.catalogue.get(id).sql).map_err(error)?;
        Ok(Some(prepared.column_names().map(str::to_owned).collect()))
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
        if let Some(refusal) = self.database.refusal.take() {
            return Err(refusal);
        }
        let marks = vec!["?"; table.columns.len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({marks})", table.name, table.columns.join(", "));
        let mut statement = self.database.sqlite.prepare_cached(&sql).map_err(error)?;
        let values: Vec<Value<'_>> = cells.iter().collect();
        for row in values.chunks(table.columns.len()) {
            let bound = rusqlite::params_from_iter(row.iter().copied().map(bound));
            statement.execute(bound).map_err(error)?;
        }
        let (count, first, last) = (values.len() / table.columns.len(), values[0], values[values.len() - 1]);
        self.database.log.borrow_mut().push(format!("{count} rows into {}, {} to {}", table.name, display(first), display(last)));
        Ok(count as u64)
    }

    async fn close(self) {}
}

pub(crate) struct Client<T> {
    pub(crate) database: Rc<Database>,
    pub(crate) terminal: T,
    pub(crate) connection: Connection<SqliteSession>,
    id: TerminalId,
    /// The number of its next operation.
    pub(crate) next: u64,
}

impl<T: Terminal> Client<T> {
    pub(crate) fn new(database: &Rc<Database>, workload: &impl Workload<Terminal = T>, id: TerminalId) -> Self {
        let connection = block_on(Connection::open(SqliteSession::new(database), workload.catalogue())).unwrap();
        Self { database: Rc::clone(database), terminal: workload.terminal(id), connection, id, next: 0 }
    }

    pub(crate) fn start(&mut self) -> Result<(), DriverError> {
        block_on(self.terminal.start(&mut self.connection))
    }

    pub(crate) fn kind(&mut self, sequence: u64) -> u8 {
        self.terminal.kind(&self.operation(sequence))
    }

    fn operation(&self, sequence: u64) -> Operation {
        Operation { sequence, rng: OpRng::at(self.id.seed, self.id.index.into(), sequence) }
    }

    pub(crate) fn run_next(&mut self) -> Result<Done, DriverError> {
        self.next += 1;
        self.run(self.next - 1)
    }

    pub(crate) fn run(&mut self, sequence: u64) -> Result<Done, DriverError> {
        let mut operation = self.operation(sequence);
        let kind = self.terminal.kind(&operation);
        let done = block_on(self.terminal.transaction(&mut self.connection, &mut operation));
        done.inspect(|done| assert_eq!(done.kind, kind))
    }
}

/// Pearson's chi-square of counts, and its degrees of freedom. Bins of small expectation are taken together with their
/// neighbours, so that a law that is wrong in its tail is still seen.
pub(crate) fn chi_square(counts: &[f64], expected: &[f64]) -> (f64, f64) {
    assert_eq!(counts.len(), expected.len());
    let total: (f64, f64) = (counts.iter().sum(), expected.iter().sum());
    assert!((total.0 - total.1).abs() < 1e-6 * total.0, "{total:?}");
    let (mut sum, mut bins, mut pool) = (0.0, 0.0, (0.0, 0.0));
    let mut add = |(count, want): (f64, f64)| {
        sum += (count - want).powi(2) / want;
        bins += 1.0;
    };
    for (&count, &want) in counts.iter().zip(expected) {
        pool = (pool.0 + count, pool.1 + want);
        // The approximation by chi-square demands about as many.
        if pool.1 >= 10.0 {
            add(std::mem::take(&mut pool));
        }
    }
    if pool.1 > 0.0 || pool.0 > 0.0 {
        add((pool.0, pool.1.max(1.0)));
    }
    (sum, bins - 1.0)
}
