//! `oltp_insert`: one new row for each event.

use perbuck_database::Dialect;
use perbuck_load::connection::Connection;
use perbuck_load::driver::Session;
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::workload::{Operation, TerminalId};

use super::for_each_table;
use crate::Result;
use crate::sysbench::options::Options;
use crate::sysbench::random::{C_GROUPS, Ids, PAD_GROUPS, Scramble, write_groups};

/// Ids that are scattered among each other before the next as many begin. Large enough that a run inserts into pages all
/// over what it has inserted before, small enough that the ids of a column last for hundreds of runs.
const SCATTERED: u64 = 1 << 22;

/// Inserts rows whose ids the database gives, or the terminal itself.
#[derive(Debug, Clone)]
pub(super) struct Insert {
    first: StatementId,
    tables: u32,
    ks: Ids,
    numbers: Option<Numbers>,
}

impl Insert {
    pub(super) fn new(options: &Options, dialect: &'static dyn Dialect, catalogue: &mut Catalogue) -> Self {
        // Without a primary key nothing numbers the rows of SQLite.
        let numbered = !options.auto_inc || (dialect.numbered_is_key() && options.secondary);
        // Where the database gives the id it is left out: a 0 would be taken for an id under NO_AUTO_VALUE_ON_ZERO.
        let rest = if numbered { "(id, k, c, pad) VALUES (?, ?, ?, ?)" } else { "(k, c, pad) VALUES (?, ?, ?)" };
        let sql = |table| format!("INSERT INTO sbtest{table} {rest}");
        let first = for_each_table(catalogue, options.tables, "insert", Verb::Insert, sql);
        Self { first, tables: options.tables, ks: options.ids(), numbers: numbered.then(Numbers::default) }
    }

    pub(super) fn assign(&mut self, id: TerminalId) {
        if let Some(numbers) = &mut self.numbers {
            (numbers.index, numbers.of) = (u64::from(id.index), u64::from(id.of));
        }
    }

    /// Finds the largest id of all tables. All terminals find the same, because none begins before all have looked.
    pub(super) async fn start<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<()> {
        let Some(numbers) = &mut self.numbers else { return Ok(()) };
        for table in 1..=self.tables {
            numbers.taken = numbers.taken.max(largest_id(connection, table).await?);
        }
        Ok(())
    }

    pub(super) async fn transaction<S: Session>(&self, connection: &mut Connection<S>, operation: &mut Operation) -> Result<()> {
        let rng = &mut operation.rng;
        let table = rng.below(u64::from(self.tables)) as u16;
        let mut row = connection.bind();
        if let Some(numbers) = &self.numbers {
            row = row.int(numbers.id(operation.sequence)?);
        }
        row.int(self.ks.draw(rng));
        row.text_with(|out| write_groups(out, rng, C_GROUPS)).text_with(|out| write_groups(out, rng, PAD_GROUPS));
        connection.execute(StatementId(self.first.0 + table)).await?;
        Ok(())
    }
}

/// The largest id of `sbtestN`; 0 where it has no row, or none above 0.
pub(super) async fn largest_id<S: Session>(connection: &mut Connection<S>, table: u32) -> Result<i64> {
    let rows = connection.ask(format!("SELECT COALESCE(MAX(id), 0) FROM sbtest{table}")).await?;
    Ok(rows.int(0, 0)?.max(0))
}

pub(super) fn no_more_ids(taken: i64) -> DriverError {
    let message =
        format!("the ids of the tables have come to {taken}, and an INTEGER ends at {}: load the tables anew", i32::MAX);
    DriverError::client(ErrorClass::Fatal, "ids", message)
}

/// Ids above those that are taken. The terminals of a trial take turns, so that no two give the same, and no id is
/// given twice, whatever ran before.
#[derive(Debug, Clone, Default)]
struct Numbers {
    taken: i64,
    index: u64,
    of: u64,
}

impl Numbers {
    #[inline]
    fn id(&self, sequence: u64) -> Result<i64> {
        let number = sequence * self.of + self.index;
        let (window, rank) = (number / SCATTERED, number % SCATTERED);
        let id = self.taken + 1 + (window * SCATTERED + Scramble::new(SCATTERED).of(rank)) as i64;
        if id > i64::from(i32::MAX) { Err(no_more_ids(self.taken)) } else { Ok(id) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_give_every_id_above_the_taken_ones_once() {
        let mut given = vec![false; SCATTERED as usize + 12];
        for index in 0..4 {
            let numbers = Numbers { taken: 1_000, index, of: 4 };
            for sequence in 0..SCATTERED / 4 {
                let offset = (numbers.id(sequence).unwrap() - 1_001) as usize;
                assert!(!std::mem::replace(&mut given[offset], true));
            }
            // And on into the next window.
            assert!(numbers.id(SCATTERED / 4).unwrap() > 1_000 + SCATTERED as i64);
        }
        assert!(given[..SCATTERED as usize].iter().all(|g| *g) && !given[SCATTERED as usize..].iter().any(|g| *g));
    }

    #[test]
    fn ids_are_scattered_and_end_with_their_column() {
        let ids: Vec<i64> = (0..1_000).map(|s| Numbers { taken: 0, index: 0, of: 1 }.id(s).unwrap()).collect();
        let upwards = ids.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((400..600).contains(&upwards), "{upwards} of 999 go up");
        let full = Numbers { taken: i64::from(i32::MAX), index: 0, of: 1 }.id(0).unwrap_err();
        assert!(full.class == ErrorClass::Fatal && full.message.contains("2147483647"), "{full}");
    }
}
