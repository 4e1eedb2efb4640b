//! Where the records end: found before a trial, brought to one number without a gap after it.
//!
//! A trial leaves numbers out where an insert failed or was cut off, and where one of its processes was ahead of another. Where several
//! processes applied a trial they fill these numbers at its end. What remains, as after an agent that was lost and data that are
//! not loaded again, is filled at the start of the next trial: by every process for itself, since they do not know of each other. They may
//! meet at a record; a key that is there already is then no error.

use perbuck_database::dialect::Feature;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{BulkTable, Session};
use perbuck_load::error::{Cause, DriverError, ErrorClass};
use perbuck_load::query::Query;
use perbuck_load::records::Action;
use perbuck_load::share::Share;
use perbuck_load::values::Params;
use perbuck_load::workload::NewRecords;

use super::data::BATCH_BYTES;
use super::schema::{self, KEY};
use super::terminal::Shared;
use crate::Result;

/// Records beyond those of the load among which the first that is missing is sought: of 10 bytes each they would be 10 TB.
const SOUGHT: u64 = 1 << 40;
/// Records that are looked at on either side of one that is missing. Of so many in a row some are there, unless the records end: a lost
/// process leaves out one of several, and inserts in flight were given out together but do not all fail.
const LOOK: u64 = 256;
/// Attempts to insert a record that meets those of other sessions.
const ATTEMPTS: u64 = 10;

impl Shared {
    /// The number after the last record. Records that are missing below it are inserted.
    pub(super) async fn end_of_records<S: Session>(&self, connection: &mut Connection<S>) -> Result<u64> {
        let first = self.first_new;
        let missing = self.missing(connection, first).await?;
        let (mut from, mut end) = (missing, missing);
        while let Some(last) = self.last_there(connection, end).await? {
            end = last + 1;
        }
        while from > first {
            let low = from.saturating_sub(LOOK).max(first);
            if self.count(connection, low, from).await? == from - low {
                break;
            }
            from = low;
        }
        for record in from..end {
            if self.count(connection, record, record + 1).await? == 0 {
                self.insert_missing(connection, record).await?;
            }
        }
        // They belong to no transaction.
        connection.take_counts();
        Ok(end)
    }

    /// A record from `first` on that is not there, and the one before it is: the first one, if those that are there lie without a gap.
    ///
    /// # Errors
    /// `Fatal` where none of [`SOUGHT`] records is missing.
    async fn missing<S: Session>(&self, connection: &mut Connection<S>, first: u64) -> Result<u64> {
        let mut step = 1;
        // Below `low` all are there; `high` is not.
        let (mut low, mut high) = (first, first);
        while self.count(connection, high, high + 1).await? > 0 {
            if step > SOUGHT {
                let table = &self.options.table;
                let message = format!(
                    "records {first} to {high} of {table} all count as there, as far as they were looked up, so a new one has no number; \
                     does the server answer for keys that it does not have?"
                );
                return Err(DriverError::client(ErrorClass::Fatal, "records", message));
            }
            (low, high) = (high + 1, high + step);
            step *= 2;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.count(connection, middle, middle + 1).await? > 0 { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// The last that is there of the records that are looked at from `from` on.
    async fn last_there<S: Session>(&self, connection: &mut Connection<S>, from: u64) -> Result<Option<u64>> {
        let end = from + LOOK;
        if self.count(connection, from, end).await? == 0 {
            return Ok(None);
        }
        // There is one from `low` on, and none from `high` on.
        let (mut low, mut high) = (from, end);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.count(connection, middle, high).await? > 0 { low = middle } else { high = middle }
        }
        Ok(Some(low))
    }

    /// How many of the records `from` to `end` − 1 are there.
    async fn count<S: Session>(&self, connection: &mut Connection<S>, from: u64, end: u64) -> Result<u64> {
        let keys = (from..end).map(|record| self.records.keys.text(record));
        let table = &self.options.table;
        let query = match self.dialect.lacks(Feature::Sql) {
            Some(_) => Query::records(table, Action::Count, keys),
            None => {
                let keys: Vec<String> = keys.map(|key| format!("'{key}'")).collect();
                let those = if let [one] = &keys[..] { format!("= {one}") } else { format!("IN ({})", keys.join(", ")) };
                format!("SELECT COUNT(*) FROM {table} WHERE {KEY} {those}").into()
            }
        };
        Ok(connection.ask(query).await?.int(0, 0)?.max(0) as u64)
    }

    /// How this share numbered its new records.
    pub(super) fn new_records(&self, share: Share) -> NewRecords {
        let (stripe, given_out) = (self.counter.stripe(share), self.counter.given_out());
        let end = given_out.checked_sub(1).map_or(stripe.first, |last| stripe.record(last) + 1);
        NewRecords { first: stripe.first, end, acknowledged: stripe.record(self.counter.end()) }
    }

    /// Inserts the records of this share below `up_to` that were not acknowledged. What was given out may be there all the same; what was
    /// not cannot be, and goes in many rows at a time.
    pub(super) async fn fill<S: Session>(&self, connection: &mut Connection<S>, share: Share, up_to: u64) -> Result<u64> {
        let stripe = self.counter.stripe(share);
        let (end, given_out) = (stripe.below(up_to), self.counter.given_out());
        let mut rows = 0;
        for number in self.counter.end()..given_out.min(end) {
            if !self.counter.is_acknowledged(number) {
                rows += u64::from(self.insert_missing(connection, stripe.record(number)).await?);
            }
        }
        let table = BulkTable { name: self.options.table.clone(), columns: schema::columns(&self.options) };
        let (mut cells, mut key, mut next) = (Params::default(), Vec::new(), given_out);
        while next < end {
            let from = next;
            cells.clear();
            while next < end && cells.text_bytes() < BATCH_BYTES {
                self.records.row(&mut cells, &mut key, stripe.record(next));
                next += 1;
            }
            if connection.insert_rows(&table, &cells).await.is_ok() {
                rows += next - from;
                continue;
            }
            // One by one the server says which of them it does not take, and why.
            for number in from..next {
                rows += u64::from(self.insert_missing(connection, stripe.record(number)).await?);
            }
        }
        if end >= given_out {
            self.counter.complete(end);
        }
        Ok(rows)
    }

    /// Inserts a record that is missing as far as is known; whether it was.
    async fn insert_missing<S: Session>(&self, connection: &mut Connection<S>, record: u64) -> Result<bool> {
        let (mut key, mut attempt) = (Vec::new(), 1);
        loop {
            self.records.row(connection.bind(), &mut key, record);
            let error = match connection.execute(self.statements.insert).await {
                Ok(_) => return Ok(true),
                Err(error) => error,
            };
            if error.cause == Some(Cause::DuplicateKey) {
                return Ok(false);
            }
            if error.class != ErrorClass::Retry || attempt == ATTEMPTS {
                return Err(error);
            }
            connection.pause_ms(50 * attempt).await;
            attempt += 1;
        }
    }
}
