//! How fresh the data of the queries are: a marker is committed where the load works, and a query looks for it where the queries are asked. The time
//! of the transaction that looks is the lag. One marker at a time is in flight, so a long lag is measured less often, and never cut short.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use perbuck_load::connection::Connection;
use perbuck_load::driver::Session;
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::latch::{Latch, rest};
use perbuck_load::statement::Verb;

use super::data::MARKER_TABLE;
use crate::Result;

/// Between two markers.
const BETWEEN: Duration = Duration::from_millis(100);
/// Between two looks for one: how exact a lag is, beside the time of a query.
const LOOKS: Duration = Duration::from_millis(1);

/// The number of the last marker that was committed.
pub(super) type Committed = Arc<AtomicI64>;

/// What the two terminals tell each other: steps on the latch, a marker and a look in turn.
#[derive(Debug, Default)]
pub(super) struct Alternation {
    latch: Latch,
    begun: bool,
}

impl Alternation {
    pub(super) fn join(&mut self, latch: Latch) {
        self.latch = latch;
    }

    /// The end of our transaction before lets the other one start; waits until ours may.
    pub(super) async fn next(&mut self, after: u32) {
        if std::mem::replace(&mut self.begun, true) {
            self.latch.step();
        }
        self.latch.reached(after).await;
    }
}

/// Commits markers.
#[derive(Debug)]
pub(super) struct Marker {
    alternation: Alternation,
    committed: Committed,
    limit: Duration,
}

impl Marker {
    pub(super) fn new(committed: Committed, limit: Duration) -> Self {
        Self { alternation: Alternation::default(), committed, limit }
    }

    pub(super) fn join(&mut self, latch: Latch) {
        self.alternation.join(latch);
    }

    /// Takes up the numbers where an earlier trial ended.
    pub(super) async fn start<S: Session>(&self, connection: &mut Connection<S>) -> Result<()> {
        let number = seen(connection.ask(read_marker()).await?)?;
        self.committed.store(number, Ordering::Release);
        Ok(())
    }

    pub(super) async fn may_start(&mut self, sequence: u64) {
        self.alternation.next(2 * sequence as u32).await;
        rest(BETWEEN).await;
    }

    pub(super) async fn run<S: Session>(&self, connection: &mut Connection<S>) -> Result<()> {
        let number = self.committed.load(Ordering::Acquire) + 1;
        connection.run(Verb::Update, &write_marker(number), self.limit).await?;
        self.committed.store(number, Ordering::Release);
        Ok(())
    }
}

/// Looks for them.
#[derive(Debug)]
pub(super) struct Reader {
    alternation: Alternation,
    committed: Committed,
    limit: Duration,
}

impl Reader {
    pub(super) fn new(committed: Committed, limit: Duration) -> Self {
        Self { alternation: Alternation::default(), committed, limit }
    }

    pub(super) fn join(&mut self, latch: Latch) {
        self.alternation.join(latch);
    }

    pub(super) async fn may_start(&mut self, sequence: u64) {
        self.alternation.next(2 * sequence as u32 + 1).await;
    }

    pub(super) async fn run<S: Session>(&self, connection: &mut Connection<S>) -> Result<()> {
        let wanted = self.committed.load(Ordering::Acquire);
        let looks = self.limit.as_millis() / LOOKS.as_millis();
        for _ in 0..looks {
            if seen(connection.run(Verb::Select, &read_marker(), self.limit).await?)? >= wanted {
                return Ok(());
            }
            rest(LOOKS).await;
        }
        let message = format!("a committed row was not seen in {looks} looks, with a millisecond between two of them");
        Err(DriverError::client(ErrorClass::Failed, "not fresh", message))
    }
}

/// Writes a number into the one row of the marker's table.
pub fn write_marker(number: i64) -> String {
    format!("UPDATE {MARKER_TABLE} SET m_number = {number} WHERE m_id = 1")
}

/// Asks for the number in that row.
pub fn read_marker() -> String {
    format!("SELECT m_number FROM {MARKER_TABLE} WHERE m_id = 1")
}

fn seen(rows: &perbuck_load::values::Rows) -> Result<i64> {
    if rows.is_empty() {
        let message = format!("table {MARKER_TABLE} has no row; load the data again");
        return Err(DriverError::client(ErrorClass::Fatal, "marker", message));
    }
    rows.int(0, 0)
}
