//! `bulk_insert`: each terminal appends rows to a table of its own and sends them many at a time.

use perbuck_load::connection::Connection;
use perbuck_load::driver::{BulkTable, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::values::Params;
use perbuck_load::workload::TerminalId;

use super::insert::{largest_id, no_more_ids};
use crate::Result;
use crate::sysbench::data::bulk_table;
use crate::sysbench::options::Options;

/// Bytes of the INSERT that sysbench puts together; ours are sent at the same rows.
const STATEMENT_BYTES: usize = 512 * 1024;

/// A table, and the rows for it that have not been sent.
#[derive(Debug, Clone)]
pub(super) struct Bulk {
    tables: u32,
    /// From 1.
    number: u32,
    table: BulkTable,
    cells: Params,
    /// What the rows would take as text of an INSERT.
    text_bytes: usize,
    /// The id of the last row appended, here or before this run.
    last_id: i64,
}

impl Bulk {
    pub(super) fn new(options: &Options) -> Self {
        let (number, table) = (1, bulk_table(1));
        Self { tables: options.threads, number, table, cells: Params::default(), text_bytes: 0, last_id: 0 }
    }

    pub(super) fn assign(&mut self, id: TerminalId) {
        self.number = id.index + 1;
        self.table = bulk_table(self.number);
    }

    pub(super) async fn start<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<()> {
        if self.number > self.tables {
            let message = format!(
                "bulk_insert fills one table for each connection; there are {} tables, and this is connection {}: set `threads` \
                 to the number of connections",
                self.tables, self.number
            );
            return Err(DriverError::client(ErrorClass::Fatal, "tables", message));
        }
        self.last_id = largest_id(connection, self.number).await?;
        Ok(())
    }

    /// Appends a row; sends those before it where it would not fit. How many rows the server acknowledged.
    pub(super) async fn transaction<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<u16> {
        let id = self.last_id + 1;
        if id > i64::from(i32::MAX) {
            return Err(no_more_ids(self.last_id));
        }
        // Both columns are the id, between brackets, after a comma.
        let row_bytes = 2 * (id.ilog10() as usize + 1) + "(,)".len() + usize::from(!self.cells.is_empty());
        let head_bytes = "INSERT INTO  VALUES".len() + self.table.name.len();
        let mut sent = 0;
        if head_bytes + self.text_bytes + row_bytes + 1 > STATEMENT_BYTES {
            // In a box: within, it would make the terminal of every script a third larger, and that is waits for memory.
            sent = Box::pin(self.send(connection)).await?;
            // The comma goes with the rows that are sent.
            self.text_bytes = row_bytes - 1;
        } else {
            self.text_bytes += row_bytes;
        }
        self.cells.int(id).int(id);
        self.last_id = id;
        // Half a MiB has fewer rows than 2¹⁶.
        Ok(u16::try_from(sent).unwrap_or(u16::MAX))
    }

    /// Sends what is there, and says how many rows that was. On an error the rows stay, to be sent again; but where the database refuses them they would be
    /// refused at every retry, so that ends the run.
    pub(super) async fn send<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<u64> {
        if self.cells.is_empty() {
            return Ok(0);
        }
        let sent = (self.cells.len() / self.table.columns.len()) as u64;
        match connection.insert_rows(&self.table, &self.cells).await {
            Ok(inserted) if inserted == sent => {}
            Ok(inserted) => {
                let message = format!("{sent} rows were sent to {}, and {inserted} were inserted", self.table.name);
                return Err(DriverError::client(ErrorClass::Fatal, "rows", message));
            }
            Err(error) if error.class == ErrorClass::Failed => return Err(error.with_class(ErrorClass::Fatal)),
            Err(error) => return Err(error),
        }
        self.cells.clear();
        self.text_bytes = 0;
        Ok(sent)
    }
}
