//! The refresh functions (2.5 to 2.7): RF1 adds new orders with their lines, RF2 removes as many old ones.

use std::time::Duration;

use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::statement::Verb;
use perbuck_load::workload::Facts;

use super::Scale;
use super::data::{self, update};
use crate::Result;

/// Orders of one transaction: the rows of an order belong together (2.6.2), and databases limit the size of a transaction.
const TOGETHER: usize = 500;

/// Runs the pairs of refresh functions of one terminal.
#[derive(Debug)]
pub(super) struct Refresher {
    scale: Scale,
    /// The update set at hand, from 1.
    set: u32,
    /// Transactions of the function at hand that were committed: another attempt goes on after them.
    committed: usize,
}

impl Refresher {
    pub(super) fn new(scale: Scale) -> Self {
        Self { scale, set: 1, committed: 0 }
    }

    /// Finds the update set that is next by the keys of the orders, and whether an earlier refresh was interrupted.
    pub(super) async fn find_set<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<()> {
        // Only keys of update sets have one of these two bits (4.2.3: sparse keys).
        let added = count(connection, "SELECT COUNT(*) FROM orders WHERE o_orderkey % 32 >= 8").await?;
        let (each, all) = (update::orders(self.scale), self.scale.times(data::ORDERS));
        let found = count(connection, "SELECT COUNT(*) FROM orders").await?;
        if found != all || !added.is_multiple_of(each) {
            let message = format!(
                "a refresh of the data was interrupted: ORDERS has {found} rows, of which {added} are of update sets of {each}; scale {} \
                 has {all} rows. Load the data again: drop the tables, or give the workload `reset = \"per-block\"` in another results folder",
                self.scale.factor()
            );
            return Err(DriverError::client(ErrorClass::Fatal, "refresh", message));
        }
        self.set = (added / each) as u32 + 1;
        Ok(())
    }

    /// Leaves out so many update sets.
    pub(super) fn skip(&mut self, sets: u32) {
        self.set += sets;
    }

    /// RF1.
    pub(super) async fn insert<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<Facts> {
        let (orders_table, lines_table) = data::refreshed_tables();
        let mut batches = update::inserted(self.scale, self.set, TOGETHER);
        let mut number = 0;
        while let Some((orders, lines)) = batches.next_batch() {
            number += 1;
            if number <= self.committed {
                continue;
            }
            connection.begin(Access::Write).await?;
            connection.insert_rows(&orders_table, orders).await?;
            connection.insert_rows(&lines_table, lines).await?;
            connection.commit().await?;
            self.committed = number;
        }
        self.committed = 0;
        Ok([number as u16, 0, 0, 0])
    }

    /// RF2, of the same set; the next function belongs to the next one.
    pub(super) async fn delete<S: Session>(&mut self, connection: &mut Connection<S>, limit: Duration) -> Result<Facts> {
        let keys = update::deleted(self.scale, self.set);
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

async fn count<S: Session>(connection: &mut Connection<S>, sql: &str) -> Result<u64> {
    Ok(connection.ask(sql).await?.int(0, 0)?.max(0) as u64)
}
