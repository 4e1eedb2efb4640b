//! Fills tables: parts in parallel over sessions, rows counted against what the specification says, no batch lost.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::driver::{BulkTable, Driver, Session, SessionId};
use crate::error::{DriverError, ErrorClass};
use crate::stop::StopToken;
use crate::values::{Params, Rows};
use crate::workload::{Check, Dataset, Part, TableSpec};

/// How often one batch is sent before the load is given up.
const INSERT_ATTEMPTS: u32 = 10;

/// How far a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadProgress {
    /// Rows inserted.
    pub rows: u64,
    /// Parts finished.
    pub parts: u32,
    /// Parts in all.
    pub of: u32,
}

/// Why a load failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// The server's answer, and what was being done.
    Server {
        /// What was being done.
        doing: String,
        /// The answer.
        error: DriverError,
    },
    /// The server holds another number of rows than was sent.
    WrongCount {
        /// Which table.
        table: String,
        /// Rows that should be there.
        expected: u64,
        /// Rows that are there.
        found: u64,
    },
    /// A loading thread panicked.
    WorkerDied(String),
    /// The machine gives no more file descriptors.
    Machine(String),
    /// Somebody asked to stop.
    Interrupted,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server { doing, error } => write!(f, "{doing}: {error}"),
            Self::WrongCount { table, expected, found } => {
                write!(f, "table {table} holds {found} rows after the load, not {expected}")
            }
            Self::WorkerDied(e) => write!(f, "a loading thread died, which is a defect of perbuck: {e}"),
            Self::Machine(e) => f.write_str(e),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for LoadError {}

fn server(doing: impl Into<String>) -> impl FnOnce(DriverError) -> LoadError {
    let doing = doing.into();
    move |error| LoadError::Server { doing, error }
}

/// Drops the tables of a data set, makes them anew, fills and verifies them.
///
/// # Errors
/// The first failure; the tables are then incomplete, and the caller must not call them ready.
pub fn load<D: Driver, T: Dataset>(
    driver: &Arc<D>,
    dataset: &Arc<T>,
    sessions: u32,
    stop: &StopToken,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<(), LoadError> {
    let tables = dataset.tables();
    on_loop(create(driver.as_ref(), &tables))?;
    let sessions = sessions.min(driver.load_sessions()).clamp(1, dataset.parts().max(1));
    let shared = Arc::new(Shared { next: AtomicU32::new(0), done: AtomicU32::new(0), rows: AtomicU64::new(0) });
    let failed = StopToken::default();
    thread::scope(|scope| {
        let spawn = |i| {
            let (driver, dataset, tables, shared, failed) =
                (driver.clone(), dataset.clone(), tables.clone(), shared.clone(), failed.clone());
            scope.spawn(move || {
                let result = on_loop(fill(driver.as_ref(), dataset.as_ref(), &tables, &shared, SessionId(i), [stop, &failed]));
                if result.is_err() {
                    failed.request();
                }
                result
            })
        };
        let threads: Vec<_> = (0..sessions).map(spawn).collect();
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(Duration::from_millis(50));
            progress(shared.progress(dataset.parts()));
        }
        // What came in since the last look.
        progress(shared.progress(dataset.parts()));
        let join = |t: thread::ScopedJoinHandle<'_, _>| {
            t.join().unwrap_or_else(|_| Err(LoadError::WorkerDied("it panicked".to_owned())))
        };
        let results: Vec<Result<(), LoadError>> = threads.into_iter().map(join).collect();
        // An interruption is what the others report when one has failed; the failure comes first.
        let worst = results.into_iter().filter_map(Result::err).min_by_key(|e| *e == LoadError::Interrupted);
        worst.map_or(Ok(()), Err)
    })?;
    on_loop(finish(driver.as_ref(), &tables))
}

/// Counters of a load; touched once per batch of hundreds of kilobytes.
struct Shared {
    next: AtomicU32,
    done: AtomicU32,
    rows: AtomicU64,
}

impl Shared {
    fn progress(&self, of: u32) -> LoadProgress {
        LoadProgress { rows: self.rows.load(Ordering::Relaxed), parts: self.done.load(Ordering::Relaxed), of }
    }
}

/// Runs a future on an event loop of its own.
///
/// # Errors
/// The future's, or that no event loop could be started.
pub fn on_loop<T>(future: impl Future<Output = Result<T, LoadError>>) -> Result<T, LoadError> {
    perbuck_event::block_on(future).unwrap_or_else(|e| Err(LoadError::Machine(format!("an event loop failed: {e}"))))
}

async fn create<D: Driver>(driver: &D, tables: &[TableSpec]) -> Result<(), LoadError> {
    let mut session = driver.connect(SessionId(0)).await.map_err(server("connecting to load data"))?;
    session.be_patient();
    let mut rows = Rows::default();
    for table in tables.iter().rev() {
        let sql = format!("DROP TABLE IF EXISTS {}", table.bulk.name);
        session.query(&sql, &mut rows).await.map_err(server(format!("dropping table {}", table.bulk.name)))?;
    }
    for table in tables {
        for sql in &table.create {
            session.query(sql, &mut rows).await.map_err(server(format!("creating table {}", table.bulk.name)))?;
        }
    }
    session.close().await;
    Ok(())
}

async fn fill<D: Driver, T: Dataset>(
    driver: &D,
    dataset: &T,
    tables: &[TableSpec],
    shared: &Shared,
    id: SessionId,
    stops: [&StopToken; 2],
) -> Result<(), LoadError> {
    let mut session = driver.connect(id).await.map_err(server("connecting to load data"))?;
    session.be_patient();
    let mut cells = Params::default();
    loop {
        let index = shared.next.fetch_add(1, Ordering::Relaxed);
        if index >= dataset.parts() {
            break;
        }
        let mut part = dataset.part(index);
        while let Some(table) = part.next_batch(cells.clear()) {
            if stops.iter().any(|s| s.requested()) {
                return Err(LoadError::Interrupted);
            }
            let bulk = &tables[table].bulk;
            let sent = (cells.len() / bulk.columns.len()) as u64;
            let inserted = insert(&mut session, bulk, &cells).await?;
            if inserted != sent {
                return Err(LoadError::WrongCount { table: bulk.name.clone(), expected: sent, found: inserted });
            }
            shared.rows.fetch_add(sent, Ordering::Relaxed);
        }
        shared.done.fetch_add(1, Ordering::Relaxed);
    }
    session.close().await;
    Ok(())
}

/// Inserts a batch. A deadlock or write conflict keeps no row of it, so it is simply sent again, a few times.
async fn insert<S: Session>(session: &mut S, bulk: &BulkTable, cells: &Params) -> Result<u64, LoadError> {
    let doing = || server(format!("inserting into {}", bulk.name));
    let mut attempt = 1;
    loop {
        match session.insert_rows(bulk, cells).await {
            Err(error) if error.class == ErrorClass::Retry && attempt < INSERT_ATTEMPTS => {
                session.rollback().await.map_err(doing())?;
                perbuck_event::sleep(Duration::from_millis(50) * attempt).await;
                attempt += 1;
            }
            result => return result.map_err(doing()),
        }
    }
}

async fn finish<D: Driver>(driver: &D, tables: &[TableSpec]) -> Result<(), LoadError> {
    let mut session = driver.connect(SessionId(0)).await.map_err(server("connecting to finish the load"))?;
    session.be_patient();
    let mut rows = Rows::default();
    for table in tables {
        for sql in &table.after_load {
            session.query(sql, &mut rows).await.map_err(server(format!("indexing table {}", table.bulk.name)))?;
        }
        let found = count(&mut session, &table.bulk.name).await?;
        if let Some(expected) = table.rows.filter(|r| *r != found) {
            return Err(LoadError::WrongCount { table: table.bulk.name.clone(), expected, found });
        }
    }
    session.close().await;
    Ok(())
}

/// The rows of a table.
///
/// # Errors
/// The server's answer.
pub async fn count<S: Session>(session: &mut S, table: &str) -> Result<u64, LoadError> {
    let mut rows = Rows::default();
    let doing = || server(format!("counting the rows of {table}"));
    session.query(&format!("SELECT COUNT(*) FROM {table}"), &mut rows).await.map_err(doing())?;
    Ok(rows.int(0, 0).map_err(doing())?.max(0) as u64)
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    /// Its name.
    pub name: String,
    /// What must hold.
    pub what: String,
    /// How many things were compared.
    pub compared: u64,
    /// The first offending rows, as `column value, …`.
    pub violations: Vec<String>,
}

impl CheckResult {
    /// Whether it holds. Nothing compared is no pass.
    pub fn holds(&self) -> bool {
        self.compared > 0 && self.violations.is_empty()
    }
}

/// Runs one check.
///
/// # Errors
/// The server's answer.
pub async fn run_check<S: Session>(session: &mut S, check: &Check) -> Result<CheckResult, LoadError> {
    let doing = || server(format!("checking condition {}", check.name));
    let mut rows = Rows::default();
    session.query(&check.compared, &mut rows).await.map_err(doing())?;
    let compared = rows.int(0, 0).map_err(doing())?.max(0) as u64;
    session.query(&check.violations, &mut rows).await.map_err(doing())?;
    let mut violations = Vec::new();
    for row in 0..rows.len() as usize {
        let mut cells = Vec::new();
        for (i, column) in check.columns.iter().enumerate() {
            cells.push(format!("{column} {}", rows.display(row, i).map_err(doing())?));
        }
        violations.push(cells.join(", "));
    }
    Ok(CheckResult { name: check.name.clone(), what: check.what.clone(), compared, violations })
}
