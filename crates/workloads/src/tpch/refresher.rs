//! The refresh functions (2.5 to 2.7): RF1 adds new orders with their lines, RF2 removes as many old ones.

use std::time::Duration;

use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::statement::Verb;
use perbuck_load::values::Params;
use perbuck_load::workload::Facts;

use super::Scale;
use super::data::{self, refresh};
use crate::Result;

/// Orders of one transaction: the rows of an order belong together (2.6.2), and databases limit the size of a transaction.
const TOGETHER: usize = 500;

/// Runs the pairs of refresh functions of one terminal.
#[derive(Debug)]
pub(super) struct Refresher {
    scale: Scale,
    /// The update set at hand, from 1.
    set: u32,
    /// The operation at hand, and its transactions that were committed: another attempt goes on after them.
    operation: u64,
    committed: usize,
}

impl Refresher {
    pub(super) fn new(scale: Scale) -> Self {
        Self { scale, set: 1, operation: 0, committed: 0 }
    }

    /// Finds the update set that is next by the keys of the orders, and whether an earlier refresh was interrupted.
    pub(super) async fn find_set<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<()> {
        // Only keys of update sets have one of these two bits (4.2.3: sparse keys).
        let added = count(connection, "SELECT COUNT(*) FROM orders WHERE o_orderkey % 32 >= 8").await?;
        let (each, all) = (refresh::orders_per_set(self.scale), data::orders(self.scale));
        let found = count(connection, "SELECT COUNT(*) FROM orders").await?;
        if found != all || !added.is_multiple_of(each) {
            let message = format!(
                "a refresh of the data was interrupted: ORDERS has {found} rows, of which {added} are of update sets of {each}; scale {} \
                 has {all} rows",
                self.scale.factor()
            );
            return Err(unusable(&message));
        }
        self.set = (added / each) as u32 + 1;
        Ok(())
    }

    /// That the update set at hand is one that the specification has.
    fn has_set(&self) -> Result<()> {
        if self.set <= refresh::SETS {
            return Ok(());
        }
        Err(unusable(&format!("all {} update sets were applied to the data", refresh::SETS)))
    }

    /// That no update set was applied: right answers are those of fresh data.
    pub(super) fn is_fresh(&self) -> Result<()> {
        if self.set == 1 {
            return Ok(());
        }
        let times = self.set - 1;
        Err(unusable(&format!(
            "the refresh functions ran {times} times on the data, and the answers of validation hold for fresh data"
        )))
    }

    /// Leaves out so many update sets.
    pub(super) fn skip(&mut self, sets: u32) {
        self.set += sets;
    }

    /// Says which operation of its terminal comes next.
    pub(super) fn next(&mut self, operation: u64) {
        if std::mem::replace(&mut self.operation, operation) != operation {
            self.committed = 0;
        }
    }

    /// RF1.
    pub(super) async fn insert<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<Facts> {
        self.has_set()?;
        let [orders, lines] = data::refreshed_tables();
        let mut rows = refresh::inserted(self.scale, self.set).skip(self.committed * TOGETHER).peekable();
        while rows.peek().is_some() {
            connection.begin(Access::Write).await?;
            let batch: Vec<_> = rows.by_ref().take(TOGETHER).collect();
            connection.insert_rows(&orders, &joined(batch.iter().map(|new| &new.order))).await?;
            connection.insert_rows(&lines, &joined(batch.iter().map(|new| &new.lines))).await?;
            connection.commit().await?;
            self.committed += 1;
        }
        Ok([std::mem::take(&mut self.committed) as u16, 0, 0, 0])
    }

    /// RF2, of the same set; the next function belongs to the next one.
    pub(super) async fn delete<S: Session>(&mut self, connection: &mut Connection<S>, limit: Duration) -> Result<Facts> {
        self.has_set()?;
        let keys: Vec<i64> = refresh::deleted(self.scale, self.set).collect();
        let batches: Vec<_> = keys.chunks(TOGETHER).collect();
        for batch in &batches[self.committed.min(batches.len())..] {
            let list = batch.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
            connection.begin(Access::Write).await?;
            connection.run(Verb::Delete, &format!("DELETE FROM lineitem WHERE l_orderkey IN ({list})"), limit).await?;
            connection.run(Verb::Delete, &format!("DELETE FROM orders WHERE o_orderkey IN ({list})"), limit).await?;
            connection.commit().await?;
            self.committed += 1;
        }
        let commits = batches.len() as u16;
        (self.set, self.committed) = (self.set + 1, 0);
        Ok([commits, 0, 0, 0])
    }
}

/// That no trial can run on the data as they are.
fn unusable(what: &str) -> DriverError {
    let message = format!("{what}; `perbuck prepare --force STUDY` loads them again");
    DriverError::client(ErrorClass::Fatal, "refresh", message)
}

/// The cells of several rows, one after the other.
fn joined<'a>(rows: impl Iterator<Item = &'a Params>) -> Params {
    let mut all = Params::default();
    rows.for_each(|row| all.append(row));
    all
}

async fn count<S: Session>(connection: &mut Connection<S>, sql: &str) -> Result<u64> {
    Ok(connection.ask(sql).await?.int(0, 0)?.max(0) as u64)
}
