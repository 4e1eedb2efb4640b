//! Batches of statements ("Pipelining"): messages without a Sync after each, in one buffer that is sent at the end. Answers are read while it
//! is sent, since a server that cannot send its own stops reading.

use std::future::poll_fn;
use std::task::{Poll, ready};

use perbuck_load::batch::Batch;
use perbuck_load::driver::Effect;
use perbuck_load::error::DriverError;
use perbuck_load::statement::StatementId;
use perbuck_load::values::{Params, Rows};
use perbuck_net::Malformed;
use perbuck_net::statements::{unknown_statement, wrong_count};

use crate::errors::is_stale;
use crate::session::PostgresSession;
use crate::wire::answer::{Asked, ResultReader};
use crate::wire::execute::{Prepared, drop_sync, put_execute, put_sync, put_unnamed};
use crate::wire::messages::{Message, kind, ready_status, status};
use crate::wire::{Wire, is_aside};

/// What was written for a batch, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    Statement(StatementId),
    Sync,
}

impl PostgresSession {
    pub(crate) async fn step_of_batch(&mut self, step: Batch<'_>) -> Result<(), DriverError> {
        match step {
            Batch::Open(statements) => self.open_batch(statements).await,
            Batch::Add(id, params) => self.add_to_batch(id, params),
            Batch::Point => {
                self.put_point();
                Ok(())
            }
            Batch::End(rows, answered) => self.end_batch(rows, answered).await,
        }
    }

    async fn open_batch(&mut self, statements: &[StatementId]) -> Result<(), DriverError> {
        if self.texts.is_none() {
            for id in statements {
                if !matches!(self.slots.get(usize::from(id.0)), Some(Some(_))) {
                    self.first_use(*id).await?;
                }
            }
        }
        self.batch.clear();
        self.wire.command().map(drop)
    }

    fn add_to_batch(&mut self, id: StatementId, params: &Params) -> Result<(), DriverError> {
        let (index, out) = (usize::from(id.0), &mut self.wire.out);
        if let Some(sql) = self.texts.as_ref().and_then(|texts| texts.get(index)) {
            put_unnamed(out, sql.as_bytes(), params);
        } else {
            let prepared = self.slots.get(index).and_then(Option::as_ref);
            let prepared = prepared.ok_or_else(|| unknown_statement(id, self.slots.len()))?;
            if params.len() != prepared.params() {
                return Err(wrong_count(prepared.params(), params.len()));
            }
            put_execute(out, prepared, params);
        }
        drop_sync(out);
        self.batch.push(Written::Statement(id));
        Ok(())
    }

    fn put_point(&mut self) {
        put_sync(&mut self.wire.out);
        self.batch.push(Written::Sync);
    }

    async fn end_batch(
        &mut self,
        rows: &mut Rows,
        answered: &mut dyn FnMut(StatementId, Option<Effect>),
    ) -> Result<(), DriverError> {
        self.put_point();
        rows.start(false);
        let unnamed = self.texts.is_some();
        let Self { wire, reader, slots, batch, .. } = self;
        wire.ask();
        reader.begin();
        let mut answers = Answers { written: batch, slots, unnamed, at: 0, ended: 0, goes_on: false, failed: false, error: None };
        let mut sent = false;
        poll_fn(|_| {
            loop {
                if !sent && let Poll::Ready(taken) = wire.poll_send() {
                    taken?;
                    sent = true;
                }
                ready!(wire.poll_receive())?;
                if answers.read(wire, reader, rows, answered)? {
                    return Poll::Ready(answers.error.take().map_or(Ok(()), Err));
                }
            }
        })
        .await
    }
}

/// The answers to a batch.
struct Answers<'a> {
    written: &'a [Written],
    slots: &'a mut [Option<Prepared>],
    /// Whether statements are parsed each time.
    unnamed: bool,
    /// The position of what is answered next.
    at: usize,
    /// Transactions that COMMIT and ROLLBACK ended since the last Sync.
    ended: u64,
    /// Whether there was a statement after them.
    goes_on: bool,
    /// Whether a statement failed since the last Sync: the server passes over all before the next one.
    failed: bool,
    /// The first error.
    error: Option<DriverError>,
}

impl Answers<'_> {
    /// Reads what has arrived; whether that is all.
    fn read(
        &mut self,
        wire: &mut Wire,
        reader: &mut ResultReader,
        rows: &mut Rows,
        answered: &mut dyn FnMut(StatementId, Option<Effect>),
    ) -> Result<bool, DriverError> {
        while let Some(message) = wire.take()? {
            match message.kind {
                kind::READY => {
                    self.synced(wire, reader, &message)?;
                    if self.at == self.written.len() {
                        wire.answered();
                        return Ok(true);
                    }
                }
                kind::ERROR => self.failed(wire, &message, answered)?,
                kind if is_aside(kind) => {}
                _ => self.part(wire, reader, &message, (rows, answered))?,
            }
        }
        Ok(false)
    }

    /// A Sync is answered.
    fn synced(&mut self, wire: &Wire, reader: &mut ResultReader, message: &Message) -> Result<(), DriverError> {
        if self.failed {
            let rest = self.written.get(self.at..).unwrap_or_default();
            self.at += rest.iter().take_while(|written| **written != Written::Sync).count();
        }
        if self.written.get(self.at) != Some(&Written::Sync) {
            return Err(wire.malformed(Malformed("a batch ended before its statements")));
        }
        let status = ready_status(wire.body(message)).map_err(|why| wire.malformed(why))?;
        reader.ready_after(status, self.ended + u64::from(self.goes_on && status == status::IDLE));
        self.at += 1;
        (self.ended, self.goes_on, self.failed) = (0, false, false);
        reader.begin();
        Ok(())
    }

    /// A statement, or what commits its implicit transaction, has failed.
    #[cold]
    fn failed(
        &mut self,
        wire: &mut Wire,
        message: &Message,
        answered: &mut dyn FnMut(StatementId, Option<Effect>),
    ) -> Result<(), DriverError> {
        let found = wire.server_error(message);
        if found.ends_connection {
            return Err(found.error);
        }
        (self.failed, self.goes_on) = (true, true);
        if let Some(Written::Statement(id)) = self.written.get(self.at) {
            if is_stale(&found.error)
                && let Some(slot) = self.slots.get_mut(usize::from(id.0))
            {
                *slot = None;
            }
            if self.error.is_none() {
                answered(*id, None);
            }
        }
        self.error.get_or_insert(found.error);
        Ok(())
    }

    /// A message of a statement that has not failed.
    fn part(
        &mut self,
        wire: &mut Wire,
        reader: &mut ResultReader,
        message: &Message,
        (rows, answered): (&mut Rows, &mut dyn FnMut(StatementId, Option<Effect>)),
    ) -> Result<(), DriverError> {
        let Some(Written::Statement(id)) = self.written.get(self.at).filter(|_| !self.failed) else {
            return Err(wire.malformed(Malformed("an answer belongs to no statement of the batch")));
        };
        let prepared = self.slots.get(usize::from(id.0)).and_then(Option::as_ref);
        let asked = if self.unnamed { Asked::Unnamed } else { Asked::Prepared(prepared.and_then(Prepared::columns)) };
        let ends_transaction =
            message.kind == kind::COMMAND_COMPLETE && matches!(wire.body(message), b"COMMIT\0" | b"ROLLBACK\0");
        let Some(effect) = reader.part_of_batch(wire, message, asked, rows)? else { return Ok(()) };
        self.ended += u64::from(ends_transaction);
        self.goes_on = !ends_transaction;
        self.at += 1;
        answered(*id, Some(effect));
        Ok(())
    }
}
