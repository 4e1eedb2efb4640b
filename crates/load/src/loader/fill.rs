//! The work of one loading session: parts, a transaction of some megabytes at a time, then indexes and counts.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{LoadError, Shared, count, server};
use crate::driver::{Access, Driver, Session, SessionId};
use crate::error::{DriverError, ErrorClass};
use crate::stop::StopToken;
use crate::values::{Params, Rows};
use crate::workload::{Dataset, Part, TableSpec};

/// How often one transaction is tried before the load is given up.
const ATTEMPTS: u32 = 10;
/// A transaction ends when it holds so many bytes, or with its part: a commit waits for the disk, and much larger ones
/// are refused by distributed databases.
const TRANSACTION_BYTES: usize = 4 * 1024 * 1024;
/// About what a cell that is no text takes.
const CELL_BYTES: usize = 4;

/// The batches of one part, which can be made again from the last commit on.
struct Feed<'a, T: Dataset> {
    dataset: &'a T,
    index: u32,
    part: T::Part,
    cells: Params,
    taken: u64,
    committed: u64,
}

impl<'a, T: Dataset> Feed<'a, T> {
    fn new(dataset: &'a T, index: u32, cells: Params) -> Self {
        Self { dataset, index, part: dataset.part(index), cells, taken: 0, committed: 0 }
    }

    /// The next batch: the position of its table.
    fn next(&mut self) -> Option<usize> {
        let table = self.part.next_batch(self.cells.clear());
        self.taken += u64::from(table.is_some());
        table
    }

    /// Back to the last commit.
    fn rewind(&mut self) {
        self.part = self.dataset.part(self.index);
        self.taken = 0;
        while self.taken < self.committed && self.next().is_some() {}
    }
}

/// Loads parts until none is left.
pub(super) async fn fill<D: Driver, T: Dataset>(
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
        let mut feed = Feed::new(dataset, index, cells);
        while let Some(rows) = transaction(&mut session, &mut feed, tables, stops).await? {
            shared.rows.fetch_add(rows, Ordering::Relaxed);
        }
        shared.done.fetch_add(1, Ordering::Relaxed);
        cells = feed.cells;
    }
    session.close().await;
    Ok(())
}

/// Loads the next megabytes of a part; how many rows, `None` where nothing was left of it. A deadlock or write conflict
/// keeps nothing of a transaction, so it is simply done again, a few times.
async fn transaction<S: Session, T: Dataset>(
    session: &mut S,
    feed: &mut Feed<'_, T>,
    tables: &[TableSpec],
    stops: [&StopToken; 2],
) -> Result<Option<u64>, LoadError> {
    let mut attempt = 1;
    loop {
        match one_attempt(session, feed, tables, stops).await {
            Ok(rows) => {
                feed.committed = feed.taken;
                return Ok(rows);
            }
            Err(LoadError::Server { doing, error }) if error.class == ErrorClass::Retry && attempt < ATTEMPTS => {
                session.rollback().await.map_err(server(doing))?;
                perbuck_event::sleep(Duration::from_millis(50) * attempt).await;
                feed.rewind();
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

async fn one_attempt<S: Session, T: Dataset>(
    session: &mut S,
    feed: &mut Feed<'_, T>,
    tables: &[TableSpec],
    stops: [&StopToken; 2],
) -> Result<Option<u64>, LoadError> {
    let Some(mut table) = feed.next() else { return Ok(None) };
    let (mut rows, mut bytes) = (0, 0);
    session.begin(Access::Write).await.map_err(server("beginning to load"))?;
    loop {
        if stops.iter().any(|s| s.requested()) {
            return Err(LoadError::Interrupted);
        }
        let bulk = &tables[table].bulk;
        let sent = (feed.cells.len() / bulk.columns.len()) as u64;
        let loaded = session.load_rows(bulk, &feed.cells).await.map_err(server(format!("loading {}", bulk.name)))?;
        if loaded != sent {
            return Err(LoadError::WrongCount { table: bulk.name.clone(), expected: sent, found: loaded });
        }
        (rows, bytes) = (rows + sent, bytes + feed.cells.text_bytes() + CELL_BYTES * feed.cells.len());
        if bytes >= TRANSACTION_BYTES {
            break;
        }
        match feed.next() {
            Some(next) => table = next,
            None => break,
        }
    }
    session.commit().await.map_err(server("committing a load"))?;
    Ok(Some(rows))
}

/// Makes what comes after the rows of a table (indexes), and counts it, until no table is left.
pub(super) async fn finish<D: Driver>(
    driver: &D,
    tables: &[TableSpec],
    shared: &Shared,
    id: SessionId,
    stops: [&StopToken; 2],
) -> Result<(), LoadError> {
    let mut session = driver.connect(id).await.map_err(server("connecting to finish the load"))?;
    session.be_patient();
    while let Some(table) = tables.get(shared.next_table.fetch_add(1, Ordering::Relaxed) as usize) {
        if stops.iter().any(|s| s.requested()) {
            return Err(LoadError::Interrupted);
        }
        finish_table(&mut session, table).await?;
        shared.tables_done.fetch_add(1, Ordering::Relaxed);
    }
    session.close().await;
    Ok(())
}

async fn finish_table<S: Session>(session: &mut S, table: &TableSpec) -> Result<(), LoadError> {
    let name = &table.bulk.name;
    for sql in &table.after_load {
        again(session, sql).await.map_err(server(format!("indexing table {name}")))?;
    }
    let found = count(session, name).await?;
    match table.rows.filter(|expected| *expected != found) {
        Some(expected) => Err(LoadError::WrongCount { table: name.clone(), expected, found }),
        None => Ok(()),
    }
}

/// Statements about tables may conflict with those of another session (a catalogue with one writer), and then did nothing.
pub(super) async fn again<S: Session>(session: &mut S, sql: &str) -> Result<(), DriverError> {
    let mut rows = Rows::default();
    let mut attempt = 1;
    loop {
        match session.query(sql, &mut rows).await {
            Err(error) if error.class == ErrorClass::Retry && attempt < ATTEMPTS => {
                session.rollback().await?;
                perbuck_event::sleep(Duration::from_millis(50) * attempt).await;
                attempt += 1;
            }
            done => return done.map(drop),
        }
    }
}
