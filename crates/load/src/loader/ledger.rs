//! How far a load is, noted in the target itself: each transaction that loads rows also notes that it did, so that rows and
//! note are there together or not at all. A load that was cut off, at whichever end, then goes on after its last commit.
//!
//! The statements come from outside; here is when they are sent.

use std::ops::Range;

use super::failure::{LoadError, execute, server};
use crate::driver::{Effect, Session};
use crate::error::DriverError;
use crate::values::Rows;

/// How many parts are noted by one statement.
const PARTS_PER_STATEMENT: u32 = 1_000;

/// How far a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartState {
    /// Batches of it that are in.
    pub batches: u64,
    /// The rows of these batches; another number says that the batches were cut otherwise.
    pub rows: u64,
    /// Whether that is all of it.
    pub done: bool,
}

/// The statements of a ledger: a table with one row for each part.
pub trait Ledger: Sync {
    /// Removes the table, if it is there.
    fn drop(&self) -> String;

    /// Makes the table.
    fn create(&self) -> String;

    /// Adds the rows of these parts, none of which has begun.
    fn open(&self, parts: Range<u32>) -> String;

    /// Returns part, batches, rows, and 1 where it is done, of every part, in their order.
    fn read(&self) -> String;

    /// The same of one part.
    fn read_part(&self, part: u32) -> String;

    /// Changes the row of a part so that it waits for the session that has changed it and has not committed yet, and nothing else.
    fn claim(&self, part: u32) -> String;

    /// Changes the row of a part from one state to another; no row where it is not in that state.
    fn advance(&self, part: u32, from: PartState, to: PartState) -> String;

    /// Whether an error says that an index or a reference to be made is there already.
    fn made_already(&self, error: &DriverError) -> bool;
}

/// Makes the ledger, with no part begun. Whole only when it has all its parts.
pub(super) async fn create<S: Session>(session: &mut S, ledger: &dyn Ledger, parts: u32) -> Result<(), DriverError> {
    execute(session, &ledger.create()).await?;
    for first in (0..parts).step_by(PARTS_PER_STATEMENT as usize) {
        execute(session, &ledger.open(first..parts.min(first.saturating_add(PARTS_PER_STATEMENT)))).await?;
    }
    Ok(())
}

/// How far all parts are.
///
/// # Errors
/// The server's answer, or a ledger of other parts.
pub async fn read<S: Session>(session: &mut S, ledger: &dyn Ledger, parts: u32) -> Result<Vec<PartState>, LoadError> {
    let mut rows = Rows::default();
    session.query(&ledger.read(), &mut rows).await.map_err(server(DOING))?;
    let states: Vec<PartState> = (0..rows.len() as usize).map(|row| state(&rows, row)).collect::<Result<_, _>>()?;
    match states.len() as u64 == u64::from(parts) {
        true => Ok(states),
        false => Err(LoadError::Ledger(format!("{} parts are noted, not {parts}", states.len()))),
    }
}

const DOING: &str = "reading how far the load is";

fn state(rows: &Rows, row: usize) -> Result<PartState, LoadError> {
    let number = |column| rows.int(row, column).map(|n| n.max(0) as u64).map_err(server(DOING));
    Ok(PartState { batches: number(1)?, rows: number(2)?, done: number(3)? > 0 })
}

/// How far a part of a resumed load is. The session that began it may have died with its COMMIT on the way, which the server
/// may still be at: its row is locked until then.
pub(super) async fn claim<S: Session>(session: &mut S, ledger: &dyn Ledger, part: u32) -> Result<PartState, LoadError> {
    execute(session, &ledger.claim(part)).await.map_err(server(DOING))?;
    let mut rows = Rows::default();
    session.query(&ledger.read_part(part), &mut rows).await.map_err(server(DOING))?;
    state(&rows, 0)
}

/// Notes how far a part is, within the transaction that brought it there.
pub(super) async fn advance<S: Session>(
    session: &mut S,
    ledger: &dyn Ledger,
    part: u32,
    from: PartState,
    to: PartState,
) -> Result<(), LoadError> {
    let done = session.query(&ledger.advance(part, from, to), &mut Rows::default()).await;
    match done.map_err(server("noting how far the load is"))? {
        Effect::Affected(1) => Ok(()),
        _ => Err(LoadError::Ledger(format!("part {part} is not where this load left it, so another load is at work there"))),
    }
}
