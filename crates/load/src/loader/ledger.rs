//! The ledger of a load: a table in the target that says how far the load is. Each transaction that loads rows also changes the
//! ledger, so rows and ledger agree after a crash of the client or of the server. A resumed load continues after its last commit.
//!
//! The caller gives the statements; this module decides when they are sent.

use std::ops::Range;

use super::failure::{LoadError, execute, server};
use crate::driver::{Effect, Session};
use crate::error::DriverError;
use crate::values::Rows;

/// How many parts one statement adds to the ledger.
const PARTS_PER_STATEMENT: u32 = 1_000;

/// How far a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartState {
    /// Batches of it that are committed.
    pub batches: u64,
    /// The rows of these batches; another number means that the batches had other sizes.
    pub rows: u64,
    /// Whether the part is complete.
    pub done: bool,
}

/// The statements of a ledger: a table with one row for each part.
pub trait Ledger: Sync {
    /// Removes the table, if it exists.
    fn drop(&self) -> String;

    /// Makes the table.
    fn create(&self) -> String;

    /// Adds the rows of these parts, none of which has started.
    fn open(&self, parts: Range<u32>) -> String;

    /// Returns part, batches, rows, and 1 where it is done, of every part, in their order.
    fn read(&self) -> String;

    /// The same of one part.
    fn read_part(&self, part: u32) -> String;

    /// Changes the row of a part so that it waits for the session that has changed it and has not committed yet, and nothing else.
    fn claim(&self, part: u32) -> String;

    /// Changes the row of a part from one state to another; no row where it is not in that state.
    fn advance(&self, part: u32, from: PartState, to: PartState) -> String;

    /// Whether an error says that an index or a foreign key exists already.
    fn made_already(&self, error: &DriverError) -> bool;
}

/// Makes the ledger, with no part started. It is complete only when it has all its parts.
pub(super) async fn create<S: Session>(session: &mut S, ledger: &dyn Ledger, parts: u32) -> Result<(), DriverError> {
    execute(session, &ledger.create()).await?;
    for first in (0..parts).step_by(PARTS_PER_STATEMENT as usize) {
        execute(session, &ledger.open(first..parts.min(first.saturating_add(PARTS_PER_STATEMENT)))).await?;
    }
    Ok(())
}

/// How far all parts are. A ledger of other parts is an error.
pub async fn read<S: Session>(session: &mut S, ledger: &dyn Ledger, parts: u32) -> Result<Vec<PartState>, LoadError> {
    let mut rows = Rows::default();
    session.query(&ledger.read(), &mut rows).await.map_err(server(DOING))?;
    let states: Vec<PartState> = (0..rows.len() as usize).map(|row| state(&rows, row)).collect::<Result<_, _>>()?;
    match states.len() as u64 == u64::from(parts) {
        true => Ok(states),
        false => Err(LoadError::Ledger(format!("the ledger has {} parts, but the load makes {parts}", states.len()))),
    }
}

const DOING: &str = "reading the ledger of the load";

fn state(rows: &Rows, row: usize) -> Result<PartState, LoadError> {
    let number = |column| rows.int(row, column).map(|n| n.max(0) as u64).map_err(server(DOING));
    Ok(PartState { batches: number(1)?, rows: number(2)?, done: number(3)? > 0 })
}

/// How far a part of a resumed load is. The session that started it may have died while its COMMIT was in flight. The server
/// may still be executing that COMMIT; the row is locked until then.
pub(super) async fn claim<S: Session>(session: &mut S, ledger: &dyn Ledger, part: u32) -> Result<PartState, LoadError> {
    execute(session, &ledger.claim(part)).await.map_err(server(DOING))?;
    let mut rows = Rows::default();
    session.query(&ledger.read_part(part), &mut rows).await.map_err(server(DOING))?;
    state(&rows, 0)
}

/// Writes the progress of a part, in the transaction that loaded its rows.
pub(super) async fn advance<S: Session>(
    session: &mut S,
    ledger: &dyn Ledger,
    part: u32,
    from: PartState,
    to: PartState,
) -> Result<(), LoadError> {
    let done = session.query(&ledger.advance(part, from, to), &mut Rows::default()).await;
    match done.map_err(server("writing the ledger of the load"))? {
        Effect::Affected(1) => Ok(()),
        _ => Err(LoadError::Ledger(format!("another load changed part {part}; let only one load use that database"))),
    }
}
