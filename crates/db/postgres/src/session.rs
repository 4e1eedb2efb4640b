//! One connection as the engine uses it ("Extended Query"). The hot path is [`Session::execute`]: one write, one read,
//! rows counted where they lie.

use std::future::poll_fn;
use std::sync::Arc;

use perbuck_event::rarely;
use perbuck_load::batch::Batch;
use perbuck_load::driver::{Access, BulkTable, Effect, Session};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::statement::{Catalogue, Statement, StatementId};
use perbuck_load::values::{Params, Rows};
use perbuck_load::watch;

use crate::batch::Written;
use crate::bulk;
use crate::errors::{IN_FAILED_TRANSACTION, is_stale};
use crate::wire::Wire;
use crate::wire::answer::{Asked, ResultReader};
use crate::wire::execute::{Prepared, put_close, put_describe, put_execute, put_prepare, put_sync, put_unnamed};
use crate::wire::messages::{column_names, column_types, kind, parameter_types, put_message, put_text, status};
use crate::wire::placeholders::numbered;
use perbuck_database::bulk::{affected, row_width};
use perbuck_net::Malformed;
use perbuck_net::sent::SessionSent;
use perbuck_net::statements::{poll_answer, unknown_statement, wrong_count};
use perbuck_net::watchdog::{LONG_READ_TIMEOUT, Watchdog};

/// A connection to a server of PostgreSQL's protocol.
pub struct PostgresSession {
    pub(crate) wire: Wire,
    pub(crate) reader: ResultReader,
    catalogue: Arc<Catalogue>,
    /// By index in the catalogue; empty until the statement is used.
    pub(crate) slots: Vec<Option<Prepared>>,
    /// The texts of the statements, where each execution parses its own again.
    pub(crate) texts: Option<Vec<String>>,
    /// What was written of a batch.
    pub(crate) batch: Vec<Written>,
    /// What must be said before each COPY, if anything.
    pub(crate) before_copy: Option<&'static str>,
    /// Whether the server is still to be asked to look whether its client is there.
    asks_to_look: bool,
}

impl PostgresSession {
    pub(crate) fn new(wire: Wire, status: u8, sent: SessionSent) -> Self {
        let reader = ResultReader::new(status, sent);
        Self {
            wire,
            reader,
            catalogue: Arc::default(),
            slots: Vec::new(),
            texts: None,
            batch: Vec::new(),
            before_copy: None,
            asks_to_look: false,
        }
    }

    /// Appends the message Query ("Simple Query").
    #[inline]
    fn put_query(&mut self, sql: &[u8]) -> Result<&mut Vec<u8>, DriverError> {
        let out = self.wire.command()?;
        put_message(out, b'Q', |out| put_text(out, sql));
        Ok(out)
    }

    async fn run(&mut self, sql: &[u8]) -> Result<(), DriverError> {
        self.put_query(sql)?;
        ask(&mut self.wire, &mut self.reader, Asked::Text, &mut Rows::default()).await.map(|_| ())
    }

    /// Begins or ends a transaction: by a text, since what the server does for it is less than for a prepared statement.
    async fn control(&mut self, sql: &[u8]) -> Result<(), DriverError> {
        if self.texts.is_none() {
            return self.run(sql).await;
        }
        put_unnamed(self.wire.command()?, sql, &Params::default());
        ask(&mut self.wire, &mut self.reader, Asked::Unnamed, &mut Rows::default()).await.map(|_| ())
    }

    /// First use of a statement on this connection.
    #[cold]
    pub(crate) async fn first_use(&mut self, id: StatementId) -> Result<(), DriverError> {
        let index = usize::from(id.0);
        if index >= self.slots.len() {
            return Err(unknown_statement(id, self.slots.len()));
        }
        let name = name_of(index);
        let catalogue = Arc::clone(&self.catalogue);
        put_prepare(self.wire.command()?, &name, &numbered(&catalogue.get(id).sql));
        self.wire.send().await?;
        self.slots[index] = Some(self.prepared(&name).await?);
        Ok(())
    }

    /// The answer to a prepare: what was closed, what is parsed, its parameters, its columns.
    async fn prepared(&mut self, name: &str) -> Result<Prepared, DriverError> {
        let (mut params, mut columns) = (None, None);
        self.each_message(|kind, body| {
            match kind {
                kind::CLOSE_COMPLETE | kind::PARSE_COMPLETE => {}
                kind::PARAMETER_DESCRIPTION => params = Some(parameter_types(body)?),
                kind::ROW_DESCRIPTION => columns = Some(Some(column_types(body)?)),
                kind::NO_DATA => columns = Some(None),
                _ => return Err(Malformed("a prepared statement was expected")),
            }
            Ok(())
        })
        .await?;
        match (params, columns) {
            (Some(params), Some(columns)) => Ok(Prepared::new(name, &params, columns.as_deref())),
            _ => Err(self.wire.malformed(Malformed("a prepared statement was expected"))),
        }
    }

    /// Reads an answer to its end, message by message.
    async fn each_message(&mut self, mut read: impl FnMut(u8, &[u8]) -> Result<(), Malformed>) -> Result<(), DriverError> {
        let mut failed = None;
        loop {
            let message = self.wire.message().await?;
            let body = self.wire.body(&message);
            match message.kind {
                kind::READY => {
                    let ready = crate::wire::messages::ready_status(body);
                    self.reader.ready(ready.map_err(|why| self.wire.malformed(why))?);
                    self.wire.answered();
                    return failed.map_or(Ok(()), Err);
                }
                kind::ERROR => {
                    let found = self.wire.server_error(&message);
                    if found.ends_connection {
                        return Err(found.error);
                    }
                    failed.get_or_insert(found.error);
                }
                kind => read(kind, body).map_err(|why| self.wire.malformed(why))?,
            }
        }
    }

    /// Lets the server look for its client while a statement waits for a lock. Otherwise it would execute the statement, such as DROP TABLE,
    /// once the lock is free, long after the user has stopped perbuck. Servers before PostgreSQL 14 do not know the setting.
    #[cold]
    async fn ask_to_look(&mut self) -> Result<(), DriverError> {
        match self.run(b"SET client_connection_check_interval = 2000").await {
            Err(error) if error.class == ErrorClass::Lost => Err(error),
            _ => Ok(()),
        }
    }

    /// Closes the prepared statements of the catalogue before, if any: the server keeps them otherwise.
    async fn close_statements(&mut self) -> Result<(), DriverError> {
        let slots = std::mem::take(&mut self.slots);
        if slots.iter().all(Option::is_none) {
            return Ok(());
        }
        let out = self.wire.command()?;
        for (index, _) in slots.iter().enumerate().filter(|(_, slot)| slot.is_some()) {
            put_close(out, &name_of(index));
        }
        put_sync(out);
        self.wire.send().await?;
        let closed = |kind, _: &[u8]| match kind {
            kind::CLOSE_COMPLETE => Ok(()),
            _ => Err(Malformed("the end of a closed statement was expected")),
        };
        self.each_message(closed).await
    }
}

/// Sends what was written and reads its answer.
#[inline]
fn ask<'a>(
    wire: &'a mut Wire,
    reader: &'a mut ResultReader,
    asked: Asked<'a>,
    rows: &'a mut Rows,
) -> impl Future<Output = Result<Effect, DriverError>> + 'a {
    wire.ask();
    reader.begin();
    let mut sent = false;
    poll_fn(move |_| poll_answer(wire, &mut sent, |wire| reader.read(wire, asked, rows)))
}

fn name_of(index: usize) -> String {
    format!("s{index}")
}

impl Session for PostgresSession {
    async fn prepare(&mut self, catalogue: &Arc<Catalogue>) -> Result<(), DriverError> {
        self.close_statements().await?;
        self.catalogue = Arc::clone(catalogue);
        self.slots.resize_with(catalogue.statements().len(), || None);
        let texts = || catalogue.statements().iter().map(|statement| numbered(&statement.sql)).collect();
        self.texts = catalogue.parsed_each_time().then(texts);
        Ok(())
    }

    async fn add_statement(&mut self, catalogue: &mut Arc<Catalogue>, statement: Statement) -> Result<(), DriverError> {
        // Without another owner it grows in place.
        *catalogue = Arc::default();
        self.slots.push(None);
        let id = Arc::make_mut(&mut self.catalogue).push(statement.verb.word(), statement);
        let prepared = self.first_use(id).await;
        if prepared.is_err() {
            self.slots.pop();
            Arc::make_mut(&mut self.catalogue).pop();
        }
        *catalogue = Arc::clone(&self.catalogue);
        prepared
    }

    async fn prepare_ahead(&mut self) -> Result<(), DriverError> {
        for index in 0..self.slots.len() {
            if self.slots[index].is_none() {
                self.first_use(StatementId(index as u16)).await?;
            }
        }
        // Thousands of connections wait for the common start, and none of them needs its receive buffer.
        self.wire.inbox.rest();
        Ok(())
    }

    async fn columns(&mut self, id: StatementId) -> Result<Option<Vec<String>>, DriverError> {
        let index = usize::from(id.0);
        if !matches!(self.slots.get(index), Some(Some(_))) {
            self.first_use(id).await?;
        }
        put_describe(self.wire.command()?, &name_of(index));
        self.wire.send().await?;
        let mut names = Vec::new();
        self.each_message(|kind, body| {
            match kind {
                kind::PARAMETER_DESCRIPTION | kind::NO_DATA => {}
                kind::ROW_DESCRIPTION => names = column_names(body)?,
                _ => return Err(Malformed("the columns of a statement were expected")),
            }
            Ok(())
        })
        .await?;
        Ok(Some(names))
    }

    fn lift_timeout(&mut self) {
        self.wire.socket.watchdog = Watchdog::new(LONG_READ_TIMEOUT);
        // The rows of a COPY are sent at once, and are read when it has its lock.
        self.wire.socket.let_it_read_late();
        self.asks_to_look = true;
    }

    async fn execute(&mut self, id: StatementId, params: &Params, rows: &mut Rows) -> Result<Effect, DriverError> {
        let index = usize::from(id.0);
        if let Some(sql) = self.texts.as_ref().and_then(|texts| texts.get(index)) {
            rows.start(self.catalogue.brief(id).keep_rows);
            put_unnamed(self.wire.command()?, sql.as_bytes(), params);
            return ask(&mut self.wire, &mut self.reader, Asked::Unnamed, rows).await;
        }
        if !matches!(self.slots.get(index), Some(Some(_))) {
            rarely(|| self.first_use(id)).await?;
        }
        rows.start(self.catalogue.brief(id).keep_rows);
        let out = self.wire.command()?;
        let Some(Some(prepared)) = self.slots.get(index) else { return Err(wrong_count(0, params.len())) };
        if params.len() != prepared.params() {
            return Err(wrong_count(prepared.params(), params.len()));
        }
        put_execute(out, prepared, params);
        let result = ask(&mut self.wire, &mut self.reader, Asked::Prepared(prepared.columns()), rows).await;
        if let Err(error) = &result
            && is_stale(error)
        {
            self.slots[index] = None;
        }
        result
    }

    async fn batch(&mut self, step: Batch<'_>) -> Result<(), DriverError> {
        self.step_of_batch(step).await
    }

    async fn begin(&mut self, _access: Access) -> Result<(), DriverError> {
        self.control(b"BEGIN").await
    }

    async fn commit(&mut self) -> Result<(), DriverError> {
        if self.reader.status == status::FAILED {
            // The server would answer COMMIT with a rollback, and call it no error.
            self.control(b"ROLLBACK").await?;
            let message =
                "the server rolled the transaction back instead of committing it, because an earlier statement had failed"
                    .to_owned();
            return Err(DriverError::new(ErrorClass::Failed, ErrorCode::State("sqlstate", *IN_FAILED_TRANSACTION), message));
        }
        self.control(b"COMMIT").await
    }

    async fn rollback(&mut self) -> Result<bool, DriverError> {
        if self.reader.status == status::IDLE && !self.wire.is_busy() {
            return Ok(false);
        }
        self.control(b"ROLLBACK").await.map(|()| true)
    }

    async fn query(&mut self, sql: &str, rows: &mut Rows) -> Result<Effect, DriverError> {
        if self.asks_to_look && self.reader.status == status::IDLE {
            self.asks_to_look = false;
            self.ask_to_look().await?;
        }
        watch::asks(self.wire.address(), sql);
        rows.start(true);
        self.put_query(sql.as_bytes())?;
        ask(&mut self.wire, &mut self.reader, Asked::Text, rows).await
    }

    async fn insert_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        let width = row_width(table, cells)?;
        if cells.is_empty() {
            return Ok(0);
        }
        self.put_query(&bulk::insert(table, cells, width))?;
        ask(&mut self.wire, &mut self.reader, Asked::Text, &mut Rows::default()).await.map(affected)
    }

    /// By COPY: the command, the rows and their end are sent at once, and then the answer is waited for. A server that refuses the
    /// command passes over what follows it. All rows are stored, or none.
    async fn load_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        let width = row_width(table, cells)?;
        if cells.is_empty() {
            return Ok(0);
        }
        if let Some(first) = self.before_copy {
            self.query(first, &mut Rows::default()).await?;
        }
        let out = self.put_query(&bulk::copy(table))?;
        bulk::put_rows(out, cells, width);
        put_message(out, b'c', |_| {});
        ask(&mut self.wire, &mut self.reader, Asked::Copy, &mut Rows::default()).await.map(affected)
    }

    async fn close(mut self) {
        // The server may be gone already.
        if let Ok(out) = self.wire.command() {
            put_message(out, b'X', |_| {});
            let _ = self.wire.send().await;
        }
    }
}
