//! The work of one loading session: parts, a transaction of some megabytes at a time, then indexes and counts.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::failure::{ATTEMPTS, LoadError, execute, retry, roll_back, server};
use super::ledger::{self, Ledger, PartState};
use super::progress::Shared;
use crate::driver::{Access, Driver, Session, SessionId};
use crate::error::ErrorClass;
use crate::stop::StopToken;
use crate::values::Params;
use crate::watch;
use crate::workload::{Dataset, Part, TableSpec};

/// The approximate size of a value that is not text.
const CELL_BYTES: usize = 4;

/// What all sessions of a load share.
pub(super) struct Filling<'a> {
    pub(super) dataset: &'a dyn Dataset,
    pub(super) tables: &'a [TableSpec],
    pub(super) ledger: Option<&'a dyn Ledger>,
    /// What an earlier load committed; empty for a load from the start.
    pub(super) states: &'a [PartState],
    pub(super) shared: &'a Shared,
    /// Bytes of values after which a transaction ends; it also ends with its part.
    pub(super) transaction_bytes: usize,
    /// Whether several sessions load one table at the same time.
    pub(super) crowded: bool,
    pub(super) stops: [&'a StopToken; 2],
}

impl Filling<'_> {
    fn stopped(&self) -> bool {
        self.stops.iter().any(|s| s.requested())
    }
}

/// The batches of one part, which can be made again from the last commit on.
struct Feed<'a> {
    filling: &'a Filling<'a>,
    index: u32,
    part: Box<dyn Part>,
    cells: Params,
    /// Whether tables that the server numbers are filled by INSERT.
    insert_numbered: bool,
    /// How far it was generated.
    taken: PartState,
    /// How far it is committed.
    committed: PartState,
}

impl<'a> Feed<'a> {
    /// The part from `committed` on.
    fn new(
        filling: &'a Filling<'a>,
        index: u32,
        (cells, insert_numbered): (Params, bool),
        committed: PartState,
    ) -> Result<Self, LoadError> {
        let part = filling.dataset.part(index);
        let mut feed = Self { filling, index, part, cells, insert_numbered, taken: PartState::default(), committed };
        feed.skip_committed()?;
        Ok(feed)
    }

    /// The next batch: the position of its table.
    fn next(&mut self) -> Option<usize> {
        let table = self.part.next_batch(self.cells.clear())?;
        self.taken.batches += 1;
        self.taken.rows += self.rows_of(table);
        Some(table)
    }

    /// The rows of the batch that was made last.
    fn rows_of(&self, table: usize) -> u64 {
        (self.cells.len() / self.filling.tables[table].bulk.columns.len()) as u64
    }

    /// Back to the last commit.
    fn rewind(&mut self) -> Result<(), LoadError> {
        self.part = self.filling.dataset.part(self.index);
        self.taken = PartState::default();
        self.skip_committed()
    }

    fn skip_committed(&mut self) -> Result<(), LoadError> {
        while self.taken.batches < self.committed.batches && self.next().is_some() {}
        if (self.taken.batches, self.taken.rows) == (self.committed.batches, self.committed.rows) {
            return Ok(());
        }
        // Another version of perbuck had batches of other sizes.
        let (index, PartState { batches, rows, .. }) = (self.index, self.committed);
        let made = self.taken.rows;
        Err(LoadError::Ledger(format!(
            "the ledger has {rows} rows of part {index} after {batches} batches, but the load makes {made}"
        )))
    }
}

/// Loads parts until none is left.
pub(super) async fn fill<D: Driver>(driver: &D, filling: &Filling<'_>, id: SessionId) -> Result<(), LoadError> {
    let shared = filling.shared;
    let mut session = driver.connect(id).await.map_err(server("connecting to load data"))?;
    session.lift_timeout();
    let mut cells = Params::default();
    let insert_numbered = filling.crowded
        && filling.tables.iter().any(|t| t.numbered)
        && session.numbers_one_at_a_time().await.map_err(server("asking for the numbering of tables"))?;
    loop {
        let index = shared.next.fetch_add(1, Ordering::Relaxed);
        if index >= filling.dataset.parts() {
            break;
        }
        let committed = match (filling.ledger, filling.states.get(index as usize)) {
            (Some(ledger), Some(state)) if !state.done => ledger::claim(&mut session, ledger, index).await?,
            (_, state) => state.copied().unwrap_or_default(),
        };
        if !committed.done {
            let mut feed = Feed::new(filling, index, (cells, insert_numbered), committed)?;
            while let Some(rows) = transaction(&mut session, &mut feed).await? {
                shared.rows.fetch_add(rows, Ordering::Relaxed);
            }
            cells = feed.cells;
        }
        shared.done.fetch_add(1, Ordering::Relaxed);
    }
    session.close().await;
    Ok(())
}

/// Loads the next megabytes of a part; how many rows, `None` where nothing was left of it. A deadlock or write conflict
/// rolls the whole transaction back, so it is executed again, a few times.
async fn transaction<S: Session>(session: &mut S, feed: &mut Feed<'_>) -> Result<Option<u64>, LoadError> {
    let mut attempt = 1;
    loop {
        match one_attempt(session, feed).await {
            Ok(rows) => {
                feed.committed = feed.taken;
                return Ok(rows);
            }
            Err(LoadError::Server { doing, error }) if error.class == ErrorClass::Retry && attempt < ATTEMPTS => {
                roll_back(session, attempt).await.map_err(server(doing))?;
                feed.rewind()?;
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

async fn one_attempt<S: Session>(session: &mut S, feed: &mut Feed<'_>) -> Result<Option<u64>, LoadError> {
    let Some(mut table) = feed.next() else {
        feed.taken.done = true;
        // The last transaction was full before it knew that it was the last.
        if let (Some(ledger), false) = (feed.filling.ledger, feed.committed.done) {
            ledger::advance(session, ledger, feed.index, feed.committed, feed.taken).await?;
        }
        return Ok(None);
    };
    let mut bytes = 0;
    session.begin(Access::Write).await.map_err(server("starting a batch of the load"))?;
    loop {
        if feed.filling.stopped() {
            return Err(LoadError::Interrupted);
        }
        let (bulk, sent) = (&feed.filling.tables[table].bulk, feed.rows_of(table));
        watch::asks("the server", &bulk.name);
        let loaded = if feed.insert_numbered && feed.filling.tables[table].numbered {
            session.insert_rows(bulk, &feed.cells).await
        } else {
            session.load_rows(bulk, &feed.cells).await
        };
        let loaded = loaded.map_err(server(format!("loading {}", bulk.name)))?;
        if loaded != sent {
            return Err(LoadError::WrongCount { table: bulk.name.clone(), expected: sent, found: loaded });
        }
        bytes += feed.cells.text_bytes() + CELL_BYTES * feed.cells.len();
        if bytes >= feed.filling.transaction_bytes {
            break;
        }
        match feed.next() {
            Some(next) => table = next,
            None => {
                feed.taken.done = true;
                break;
            }
        }
    }
    if let Some(ledger) = feed.filling.ledger {
        ledger::advance(session, ledger, feed.index, feed.committed, feed.taken).await?;
    }
    watch::asks("the server", "COMMIT");
    session.commit().await.map_err(server("committing a load"))?;
    Ok(Some(feed.taken.rows - feed.committed.rows))
}

/// Makes what comes after the rows of every table (indexes), and counts their rows, until nothing of it is left. A table is
/// read to count it while its index, or that of another, is made: the one reads, and the other sorts.
pub(super) async fn finish<D: Driver>(driver: &D, filling: &Filling<'_>, id: SessionId) -> Result<(), LoadError> {
    let (shared, tables) = (filling.shared, filling.tables);
    let mut session = driver.connect(id).await.map_err(server("connecting to finish the load"))?;
    session.lift_timeout();
    loop {
        let job = shared.next_job.fetch_add(1, Ordering::Relaxed) as usize;
        if filling.stopped() {
            return Err(LoadError::Interrupted);
        }
        if let Some(table) = tables.get(job) {
            // A resumed load may find an index that the earlier load made.
            let resumed = filling.ledger.filter(|_| !filling.states.is_empty());
            index(&mut session, table, resumed).await?;
            analyse(&mut session, table, shared).await?;
            shared.indexed.fetch_add(1, Ordering::Relaxed);
        } else if let Some(table) = tables.get(job - tables.len()) {
            verify(&mut session, table).await?;
            shared.verified.fetch_add(1, Ordering::Relaxed);
        } else {
            break;
        }
    }
    session.close().await;
    Ok(())
}

async fn index<S: Session>(session: &mut S, table: &TableSpec, resumed: Option<&dyn Ledger>) -> Result<(), LoadError> {
    for sql in &table.after_load {
        match execute(session, sql).await {
            Err(error) if resumed.is_some_and(|ledger| ledger.made_already(&error)) => {}
            done => done.map_err(server(format!("indexing table {}", table.bulk.name)))?,
        }
    }
    Ok(())
}

async fn analyse<S: Session>(session: &mut S, table: &TableSpec, shared: &Shared) -> Result<(), LoadError> {
    let Some(sql) = &table.statistics else { return Ok(()) };
    let began = Instant::now();
    execute(session, sql).await.map_err(server(format!("gathering the statistics of {}", table.bulk.name)))?;
    shared.statistics_ms.fetch_add(began.elapsed().as_millis() as u64, Ordering::Relaxed);
    Ok(())
}

async fn verify<S: Session>(session: &mut S, table: &TableSpec) -> Result<(), LoadError> {
    let name = &table.bulk.name;
    // The index that is made of it meanwhile may change the catalogue.
    let counted = retry(session, async |session| session.count_rows(name).await).await;
    let found = counted.map_err(server(format!("counting the rows of {name}")))?;
    match table.rows.filter(|expected| *expected != found) {
        Some(expected) => Err(LoadError::WrongCount { table: name.clone(), expected, found }),
        None => Ok(()),
    }
}
