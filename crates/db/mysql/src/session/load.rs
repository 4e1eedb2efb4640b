//! What a load has beside statements: transactions of its own, and files.

use perbuck_load::driver::{BulkTable, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::values::{Params, Rows};

use super::MysqlSession;
use crate::infile::load_data;
use crate::wire::protocol::status;

impl MysqlSession {
    /// Begins a transaction where none is open; whether it did.
    pub(super) async fn begin_own(&mut self) -> Result<bool, DriverError> {
        let none_open = self.reader.status & status::IN_TRANSACTION == 0;
        if none_open {
            self.run(b"BEGIN").await?;
        }
        Ok(none_open)
    }

    /// Ends the transaction with the work that was done in it, where it is our own.
    pub(super) async fn end_own<T>(&mut self, own: bool, done: Result<T, DriverError>) -> Result<T, DriverError> {
        match &done {
            Ok(_) if own => self.commit().await?,
            // Where this fails, too, the connection is gone, and the transaction with it.
            Err(_) if own => drop(self.rollback().await),
            _ => {}
        }
        done
    }

    /// By LOAD DATA LOCAL; `None` where the server takes no local file. LOCAL turns what would be an error (a duplicate key, a
    /// value that does not fit) into a warning, and goes on without the row or with another value. So a warning is an error here.
    pub(super) async fn load_file(&mut self, table: &BulkTable, cells: &Params) -> Result<Option<u64>, DriverError> {
        let Some((done, warnings)) = load_data(&mut self.wire, table, cells).await? else { return Ok(None) };
        self.reader.status = done.status;
        if warnings == 0 {
            return Ok(Some(done.affected));
        }
        let mut rows = Rows::default();
        self.query("SHOW WARNINGS LIMIT 3", &mut rows).await?;
        let words = (0..rows.len() as usize).map(|row| rows.display(row, 2)).collect::<Result<Vec<_>, _>>()?.join("; ");
        let message = format!("the server changed or skipped {warnings} values or rows of `{}`: {words}", table.name);
        Err(DriverError::client(ErrorClass::Fatal, "load", message))
    }

    pub(super) async fn max_packet(&mut self) -> Result<usize, DriverError> {
        if let Some(known) = self.max_packet {
            return Ok(known);
        }
        let mut rows = Rows::default();
        self.query("SELECT @@max_allowed_packet", &mut rows).await?;
        let limit = usize::try_from(rows.int(0, 0)?).unwrap_or_default().max(1024);
        self.max_packet = Some(limit);
        Ok(limit)
    }
}
