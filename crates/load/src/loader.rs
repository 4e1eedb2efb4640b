//! Fills tables: parts in parallel over sessions, rows counted against what the specification says, no batch lost.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::driver::{Driver, Session, SessionId};
use crate::error::{DriverError, ErrorClass};
use crate::stop::StopToken;
use crate::values::Rows;
use crate::workload::{Check, Dataset, TableSpec};

/// How often it is looked whether the threads have ended, and after how many looks progress is shown.
const LOOK: Duration = Duration::from_millis(5);
const LOOKS_PER_SHOW: u32 = 20;

pub mod csv;
mod fill;
pub mod ledger;

use fill::{Filling, again, fill, finish};
use ledger::{Ledger, PartState};

/// How far a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadProgress {
    /// Rows that are in.
    pub rows: u64,
    /// Parts finished.
    pub parts: u32,
    /// Parts in all.
    pub of: u32,
    /// Tables that have their indexes and were counted, once all parts are in.
    pub tables_finished: u32,
    /// Tables in all.
    pub tables: u32,
    /// Rows that an earlier load had brought in, which this one went on with.
    pub rows_before: u64,
    /// Parts that it had finished.
    pub parts_before: u32,
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
    /// The ledger of the load does not fit what is loaded.
    Ledger(String),
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
            Self::Ledger(e) => write!(f, "what is noted of the load in the target does not fit it: {e}"),
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
    on_loop(create(driver.as_ref(), &dataset.tables(), None, dataset.parts()))?;
    from_here(driver, dataset, None, &[], sessions, stop, progress)
}

/// The same with a ledger, by which [`resume`] can go on after a failure. The caller removes the ledger when it has noted
/// that the data are there.
///
/// # Errors
/// As [`load`].
pub fn load_on_ledger<D: Driver, T: Dataset>(
    driver: &Arc<D>,
    dataset: &Arc<T>,
    ledger: &dyn Ledger,
    sessions: u32,
    stop: &StopToken,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<(), LoadError> {
    on_loop(create(driver.as_ref(), &dataset.tables(), Some(ledger), dataset.parts()))?;
    from_here(driver, dataset, Some(ledger), &[], sessions, stop, progress)
}

/// Goes on with a load that was cut off; `states` are those of the ledger.
///
/// # Errors
/// As [`load`], and where the ledger does not fit.
pub fn resume<D: Driver, T: Dataset>(
    driver: &Arc<D>,
    dataset: &Arc<T>,
    ledger: &dyn Ledger,
    states: &[PartState],
    sessions: u32,
    stop: &StopToken,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<(), LoadError> {
    from_here(driver, dataset, Some(ledger), states, sessions, stop, progress)
}

/// Loads what the states do not have; all of it where there are none.
fn from_here<D: Driver, T: Dataset>(
    driver: &Arc<D>,
    dataset: &Arc<T>,
    ledger: Option<&dyn Ledger>,
    states: &[PartState],
    sessions: u32,
    stop: &StopToken,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<(), LoadError> {
    let tables = dataset.tables();
    let (parts, count) = (dataset.parts(), tables.len() as u32);
    let rows_before = states.iter().map(|s| s.rows).sum();
    let parts_before = states.iter().filter(|s| s.done).count() as u32;
    let shared = Shared { rows_before, parts_before, ..Shared::default() };
    let failed = StopToken::default();
    let most = sessions.min(driver.load_sessions()).clamp(1, parts.max(1));
    let filling = Filling {
        dataset: dataset.as_ref(),
        tables: &tables,
        ledger,
        states,
        shared: &shared,
        crowded: most > count,
        stops: [stop, &failed],
    };
    let mut show = || progress(shared.progress(parts, count));
    let fill = |i| on_loop(fill(driver.as_ref(), &filling, SessionId(i)));
    in_parallel(most, &failed, &mut show, &fill)?;
    let finish = |i| on_loop(finish(driver.as_ref(), &filling, SessionId(i)));
    let most = sessions.min(driver.load_sessions());
    in_parallel(most.min(driver.finish_sessions()).clamp(1, (2 * count).max(1)), &failed, &mut show, &finish)
}

/// Runs the same work on several threads; the first failure stops the others.
fn in_parallel(
    threads: u32,
    failed: &StopToken,
    show: &mut dyn FnMut(),
    work: &(dyn Fn(u32) -> Result<(), LoadError> + Sync),
) -> Result<(), LoadError> {
    thread::scope(|scope| {
        let spawn = |i| {
            scope.spawn(move || {
                let result = work(i);
                if result.is_err() {
                    failed.request();
                }
                result
            })
        };
        let threads: Vec<_> = (0..threads).map(spawn).collect();
        let mut looks = 0u32;
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(LOOK);
            looks += 1;
            if looks.is_multiple_of(LOOKS_PER_SHOW) {
                show();
            }
        }
        // What came in since the last look.
        show();
        let join = |t: thread::ScopedJoinHandle<'_, _>| {
            t.join().unwrap_or_else(|_| Err(LoadError::WorkerDied("it panicked".to_owned())))
        };
        let results: Vec<Result<(), LoadError>> = threads.into_iter().map(join).collect();
        // An interruption is what the others report when one has failed; the failure comes first.
        let worst = results.into_iter().filter_map(Result::err).min_by_key(|e| *e == LoadError::Interrupted);
        worst.map_or(Ok(()), Err)
    })
}

/// Counters of a load; touched once per transaction of megabytes.
#[derive(Default)]
struct Shared {
    next: AtomicU32,
    done: AtomicU32,
    rows: AtomicU64,
    next_job: AtomicU32,
    indexed: AtomicU32,
    verified: AtomicU32,
    rows_before: u64,
    parts_before: u32,
}

impl Shared {
    fn progress(&self, of: u32, tables: u32) -> LoadProgress {
        let now = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
        let (parts, tables_finished) = (now(&self.done), now(&self.indexed).min(now(&self.verified)));
        let &Self { rows_before, parts_before, .. } = self;
        let rows = rows_before + self.rows.load(Ordering::Relaxed);
        LoadProgress { rows, parts, of, tables_finished, tables, rows_before, parts_before }
    }
}

/// Runs a future on an event loop of its own.
///
/// # Errors
/// The future's, or that no event loop could be started.
pub fn on_loop<T>(future: impl Future<Output = Result<T, LoadError>>) -> Result<T, LoadError> {
    perbuck_event::block_on(future).unwrap_or_else(|e| Err(LoadError::Machine(format!("an event loop failed: {e}"))))
}

/// Makes the tables anew, and then the ledger: where there is one, the tables are there.
async fn create<D: Driver>(driver: &D, tables: &[TableSpec], ledger: Option<&dyn Ledger>, parts: u32) -> Result<(), LoadError> {
    let mut session = driver.connect(SessionId(0)).await.map_err(server("connecting to load data"))?;
    session.be_patient();
    if let Some(ledger) = ledger {
        again(&mut session, &ledger.drop()).await.map_err(server("noting that a load begins"))?;
    }
    for table in tables.iter().rev() {
        let sql = format!("DROP TABLE IF EXISTS {}", table.bulk.name);
        again(&mut session, &sql).await.map_err(server(format!("dropping table {}", table.bulk.name)))?;
    }
    for table in tables {
        for sql in &table.create {
            again(&mut session, sql).await.map_err(server(format!("creating table {}", table.bulk.name)))?;
        }
    }
    if let Some(ledger) = ledger {
        ledger::create(&mut session, ledger, parts).await?;
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
    /// False where it is stated for fresh data and these are not: nothing was looked at then.
    pub applies: bool,
}

impl CheckResult {
    /// Whether it holds, or need not. Nothing compared is no pass.
    pub fn holds(&self) -> bool {
        !self.applies || (self.compared > 0 && self.violations.is_empty())
    }
}

/// Makes a session ready for checks. A server that refuses a setting takes longer for the same answer, so only a lost
/// connection is an error.
///
/// # Errors
/// That the connection is gone.
pub async fn make_room<S: Session>(session: &mut S, settings: &[&str]) -> Result<(), LoadError> {
    for sql in settings {
        match session.query(sql, &mut Rows::default()).await {
            Err(error) if error.class == ErrorClass::Lost => return Err(server("preparing to check")(error)),
            _ => {}
        }
    }
    Ok(())
}

/// Runs one check.
///
/// # Errors
/// The server's answer.
pub async fn run_check<S: Session>(session: &mut S, check: &Check) -> Result<CheckResult, LoadError> {
    let doing = || server(format!("checking condition {}", check.name));
    let (name, what) = (check.name.clone(), check.what.clone());
    let mut rows = Rows::default();
    if let Some(used) = &check.unless_used {
        session.query(used, &mut rows).await.map_err(doing())?;
        if rows.int(0, 0).map_err(doing())? > 0 {
            return Ok(CheckResult { name, what, compared: 0, violations: Vec::new(), applies: false });
        }
    }
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
    Ok(CheckResult { name, what, compared, violations, applies: true })
}

#[cfg(test)]
mod tests;
