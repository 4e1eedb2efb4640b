//! One connection as the engine uses it ("Command Phase"). The hot path is [`Session::execute`]: one write, one read,
//! rows counted where they lie.

mod load;

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use perbuck_event::rarely;
use perbuck_load::driver::{Access, BulkTable, Effect, Session};
use perbuck_load::error::{Cause, DriverError};
use perbuck_load::statement::{Catalogue, Statement, StatementId};
use perbuck_load::values::{Params, Rows};
use perbuck_load::watch;
use smallvec::SmallVec;

use crate::bulk::Limits;
use crate::errors::{asks_for_text, is_stale};
use crate::facts::is_work;
use crate::literals::{placeholders, put_statement};
use crate::wire::Wire;
use crate::wire::answer::ResultReader;
use crate::wire::cells::Form;
use crate::wire::execute::{Prepared, put_execute};
use crate::wire::packets::{PrepareOk, column_name};
use crate::wire::protocol::{command, status};
use perbuck_database::bulk::{affected, insert_head, row_width};
use perbuck_net::Parsed;
use perbuck_net::sent::SessionSent;
use perbuck_net::statements::{poll_answer, unknown_statement, wrong_count};
use perbuck_net::watchdog::{LONG_READ_TIMEOUT, Watchdog};

/// A statement of the catalogue on this connection.
enum Slot {
    /// Not used yet.
    New,
    /// Known to the server.
    Prepared(Prepared),
    /// The server would not prepare it: sent as text, with values at these positions.
    Text(Vec<usize>),
}

/// A connection to a MySQL-protocol server.
pub struct MysqlSession {
    pub(crate) wire: Wire,
    pub(crate) reader: ResultReader,
    catalogue: Arc<Catalogue>,
    /// The first few within the session itself, and not one line of memory further away.
    slots: SmallVec<[Slot; 4]>,
    fallbacks: Arc<AtomicU64>,
    /// Statements of [`is_work`] that it sent.
    sent: SessionSent,
    /// Whether nothing is prepared.
    pub(crate) as_text: bool,
    /// `max_allowed_packet` of the server, once it was needed.
    max_packet: Option<usize>,
    /// Whether the server may take a local file; false once it said that it does not.
    takes_files: bool,
}

impl MysqlSession {
    pub(crate) async fn new(
        wire: Wire,
        reader: ResultReader,
        (fallbacks, sent): (Arc<AtomicU64>, SessionSent),
    ) -> Result<Self, DriverError> {
        let (catalogue, slots, as_text) = (Arc::default(), SmallVec::new(), false);
        let mut session = Self { wire, reader, catalogue, slots, fallbacks, sent, as_text, max_packet: None, takes_files: true };
        if session.reader.status & status::AUTOCOMMIT == 0 {
            // A server may be configured so; single statements would then never be durable.
            session.run(b"SET autocommit = 1").await?;
        }
        Ok(session)
    }

    /// Whether quotes are escaped by doubling only.
    pub(crate) fn no_backslash(&self) -> bool {
        self.reader.status & status::NO_BACKSLASH_ESCAPES != 0
    }

    /// Executes a text that returns no rows worth reading; values in it may be any bytes.
    async fn run(&mut self, sql: &[u8]) -> Result<Effect, DriverError> {
        self.put_query(sql)?;
        self.begin_ask();
        // Its rows need not outlive a poll: BEGIN and COMMIT are no larger than any statement.
        let mut sent = false;
        poll_fn(|_| self.poll_ask(&mut sent, Form::Text, &mut Rows::default())).await
    }

    #[inline]
    fn put_query(&mut self, sql: &[u8]) -> Result<(), DriverError> {
        let out = self.wire.command()?;
        out.push(command::QUERY);
        out.extend_from_slice(sql);
        self.sent.add(u64::from(is_work(sql)));
        Ok(())
    }

    /// Sends the command that was written and reads its answer.
    #[inline]
    fn ask<'a>(&'a mut self, form: Form, rows: &'a mut Rows) -> impl Future<Output = Result<Effect, DriverError>> + 'a {
        self.begin_ask();
        let mut sent = false;
        poll_fn(move |_| self.poll_ask(&mut sent, form, rows))
    }

    #[inline]
    fn begin_ask(&mut self) {
        self.wire.frame_command();
        self.reader.begin();
    }

    #[inline]
    fn poll_ask(&mut self, sent: &mut bool, form: Form, rows: &mut Rows) -> Poll<Result<Effect, DriverError>> {
        poll_answer(&mut self.wire, sent, |wire| self.reader.read(wire, form, rows))
    }

    /// First use of a statement on this connection.
    #[cold]
    async fn first_use(&mut self, id: StatementId) -> Result<(), DriverError> {
        if self.slots.get(usize::from(id.0)).is_none() {
            return Err(unknown_statement(id, self.slots.len()));
        }
        let catalogue = Arc::clone(&self.catalogue);
        let sql = &catalogue.get(id).sql;
        let out = self.wire.command()?;
        out.push(command::STMT_PREPARE);
        out.extend_from_slice(sql.as_bytes());
        self.wire.send_command().await?;
        let slot = match self.prepared(|_| Ok(())).await {
            Ok(prepared) => Slot::Prepared(prepared),
            Err(error) if asks_for_text(&error) => {
                self.fallbacks.fetch_add(1, Ordering::Relaxed);
                Slot::Text(placeholders(sql, self.no_backslash()))
            }
            Err(error) => return Err(error),
        };
        self.slots[usize::from(id.0)] = slot;
        Ok(())
    }

    /// The answer to a prepare. The definitions of parameters are of no use here; servers send those of the columns again with every
    /// result.
    async fn prepared(&mut self, column: impl FnMut(&[u8]) -> Parsed<()>) -> Result<Prepared, DriverError> {
        let packet = self.wire.packet().await?;
        let ok = match self.wire.bytes(&packet) {
            [0xff, ..] => return Err(self.wire.server_error(&packet)),
            payload => PrepareOk::parse(payload).map_err(|why| self.wire.malformed(why))?,
        };
        self.reader.definitions(&mut self.wire, usize::from(ok.params), |_| Ok(())).await?;
        self.reader.definitions(&mut self.wire, usize::from(ok.columns), column).await?;
        self.wire.answered();
        Ok(Prepared::new(ok))
    }

    #[cold]
    async fn execute_text(&mut self, id: StatementId, params: &Params, rows: &mut Rows) -> Result<Effect, DriverError> {
        let no_backslash = self.no_backslash();
        let catalogue = Arc::clone(&self.catalogue);
        let sql = &catalogue.get(id).sql;
        let Some(Slot::Text(positions)) = self.slots.get(usize::from(id.0)) else {
            return Err(unknown_statement(id, self.slots.len()));
        };
        let out = self.wire.command()?;
        out.push(command::QUERY);
        if put_statement(out, sql, positions, params.iter(), no_backslash).is_none() {
            return Err(wrong_count(positions.len(), params.len()));
        }
        self.sent.add(1);
        self.ask(Form::Text, rows).await
    }

    /// Closes the prepared statements of the catalogue before, if any: the server keeps them otherwise.
    async fn close_statements(&mut self) -> Result<(), DriverError> {
        for slot in std::mem::take(&mut self.slots) {
            if let Slot::Prepared(prepared) = slot {
                let out = self.wire.command()?;
                out.push(command::STMT_CLOSE);
                out.extend_from_slice(&prepared.id.to_le_bytes());
                self.wire.send_unanswered().await?;
            }
        }
        Ok(())
    }

    /// After a failed execution: what the server remembers of the statement is uncertain.
    #[cold]
    fn after_error(&mut self, id: StatementId, error: &DriverError) {
        let Some(slot) = self.slots.get_mut(usize::from(id.0)) else { return };
        match slot {
            Slot::Prepared(_) if is_stale(error) => *slot = Slot::New,
            Slot::Prepared(prepared) => prepared.forget_types(),
            _ => {}
        }
    }
}

impl Session for MysqlSession {
    async fn prepare(&mut self, catalogue: &Arc<Catalogue>) -> Result<(), DriverError> {
        self.close_statements().await?;
        self.catalogue = Arc::clone(catalogue);
        let (as_text, no_backslash) = (self.as_text, self.no_backslash());
        let slot = |s: &Statement| if as_text { Slot::Text(placeholders(&s.sql, no_backslash)) } else { Slot::New };
        self.slots = catalogue.statements().iter().map(slot).collect();
        Ok(())
    }

    async fn add_statement(&mut self, catalogue: &mut Arc<Catalogue>, statement: Statement) -> Result<(), DriverError> {
        // Without another owner it grows in place.
        *catalogue = Arc::default();
        let (as_text, no_backslash) = (self.as_text, self.no_backslash());
        self.slots.push(if as_text { Slot::Text(placeholders(&statement.sql, no_backslash)) } else { Slot::New });
        let id = Arc::make_mut(&mut self.catalogue).push(statement.verb.word(), statement);
        let prepared = if as_text { Ok(()) } else { self.first_use(id).await };
        if prepared.is_err() {
            self.slots.pop();
            Arc::make_mut(&mut self.catalogue).pop();
        }
        *catalogue = Arc::clone(&self.catalogue);
        prepared
    }

    async fn prepare_ahead(&mut self) -> Result<(), DriverError> {
        for id in 0..self.slots.len() {
            if matches!(self.slots[id], Slot::New) {
                self.first_use(StatementId(id as u16)).await?;
            }
        }
        // Thousands of connections wait for the common start, and none of them needs its receive buffer.
        self.wire.inbox.rest();
        Ok(())
    }

    async fn columns(&mut self, id: StatementId) -> Result<Option<Vec<String>>, DriverError> {
        let catalogue = Arc::clone(&self.catalogue);
        let out = self.wire.command()?;
        out.push(command::STMT_PREPARE);
        out.extend_from_slice(catalogue.get(id).sql.as_bytes());
        self.wire.send_command().await?;
        let mut names = Vec::new();
        let asked = self.prepared(|definition| column_name(definition).map(|name| names.push(name))).await;
        let asked = match asked {
            Err(error) if asks_for_text(&error) => return Ok(None),
            asked => asked?,
        };
        let out = self.wire.command()?;
        out.push(command::STMT_CLOSE);
        out.extend_from_slice(&asked.id.to_le_bytes());
        self.wire.send_unanswered().await?;
        Ok(Some(names))
    }

    fn lift_timeout(&mut self) {
        self.wire.socket.watchdog = Watchdog::new(LONG_READ_TIMEOUT);
    }

    #[expect(
        clippy::manual_async_fn,
        reason = "an async fn holds each parameter twice: as given, and as the variable it becomes"
    )]
    fn execute(
        &mut self,
        id: StatementId,
        params: &Params,
        rows: &mut Rows,
    ) -> impl Future<Output = Result<Effect, DriverError>> {
        async move {
            if !matches!(self.slots.get(usize::from(id.0)), Some(Slot::Prepared(_) | Slot::Text(_))) {
                rarely(|| self.first_use(id)).await?;
            }
            rows.start(self.catalogue.brief(id).keep_rows);
            let Some(Slot::Prepared(prepared)) = self.slots.get_mut(usize::from(id.0)) else {
                return rarely(|| self.execute_text(id, params, rows)).await;
            };
            if params.len() != prepared.params() {
                return Err(wrong_count(prepared.params(), params.len()));
            }
            put_execute(self.wire.command()?, prepared, params);
            self.sent.add(1);
            let result = self.ask(Form::Binary, rows).await;
            if let Err(error) = &result {
                self.after_error(id, error);
            }
            result
        }
    }

    async fn begin(&mut self, _access: Access) -> Result<(), DriverError> {
        self.run(b"BEGIN").await.map(|_| ())
    }

    async fn commit(&mut self) -> Result<(), DriverError> {
        self.run(b"COMMIT").await.map(|_| ())
    }

    async fn rollback(&mut self) -> Result<bool, DriverError> {
        self.run(b"ROLLBACK").await.map(|_| true)
    }

    async fn query(&mut self, sql: &str, rows: &mut Rows) -> Result<Effect, DriverError> {
        watch::asks(self.wire.address(), sql);
        rows.start(true);
        self.put_query(sql.as_bytes())?;
        self.ask(Form::Text, rows).await
    }

    async fn insert_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        let width = row_width(table, cells)?;
        if cells.is_empty() {
            return Ok(0);
        }
        let limits = Limits { packet: self.max_packet().await?, width, no_backslash: self.no_backslash() };
        let (mut sql, mut rest) = (insert_head(table, b'`'), cells.iter());
        let head_length = sql.len();
        limits.put_rows(&mut sql, &mut rest)?;
        // One statement is a transaction by itself; several are one only between BEGIN and COMMIT.
        let own_transaction = rest.len() > 0 && self.begin_own().await?;
        let inserted = async {
            let mut inserted = affected(self.run(&sql).await?);
            while rest.len() > 0 {
                sql.truncate(head_length);
                limits.put_rows(&mut sql, &mut rest)?;
                inserted += affected(self.run(&sql).await?);
            }
            Ok(inserted)
        }
        .await;
        self.end_own(own_transaction, inserted).await
    }

    async fn load_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        row_width(table, cells)?;
        if self.takes_files && !cells.is_empty() {
            // What a warning makes an error would otherwise stay half done.
            let own_transaction = self.begin_own().await?;
            let loaded = self.load_file(table, cells).await;
            match self.end_own(own_transaction, loaded).await? {
                Some(loaded) => return Ok(loaded),
                None => self.takes_files = false,
            }
        }
        self.insert_rows(table, cells).await
    }

    /// InnoDB does not know how many rows a LOAD DATA has. It holds the table's AUTO-INC lock until the end of the statement, unless
    /// `innodb_autoinc_lock_mode` is 2 ("interleaved": the default of MySQL 8, not of MariaDB). INSERT statements that name their
    /// ids do not take that lock.
    async fn numbers_one_at_a_time(&mut self) -> Result<bool, DriverError> {
        let mut rows = Rows::default();
        match self.query("SELECT @@GLOBAL.innodb_autoinc_lock_mode", &mut rows).await {
            // ER_UNKNOWN_SYSTEM_VARIABLE: no InnoDB.
            Err(error) if error.cause == Some(Cause::NoSetting) => Ok(false),
            answer => answer.and_then(|_| Ok(rows.int(0, 0)? < 2)),
        }
    }

    async fn close(mut self) {
        // The server may be gone already.
        if let Ok(out) = self.wire.command() {
            out.push(command::QUIT);
            let _ = self.wire.send_unanswered().await;
        }
    }
}
