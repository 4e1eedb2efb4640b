//! One connection as the engine uses it ("Command Phase"). The hot path is [`Session::execute`]: one write, one read,
//! rows counted where they lie.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Poll, ready};
use std::time::Duration;

use perbuck_event::rarely;
use perbuck_load::driver::{Access, BulkTable, Effect, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::statement::{Catalogue, Statement, StatementId};
use perbuck_load::values::{Params, Rows};
use smallvec::SmallVec;

use crate::errors::{asks_for_text, asks_to_prepare_again};
use crate::literals::{placeholders, put_statement};
use crate::wire::Wire;
use crate::wire::answer::{Form, ResultReader};
use crate::wire::execute::{Prepared, put_execute};
use crate::wire::packets::PrepareOk;
use crate::wire::protocol::{command, status};

/// A statement of the catalogue on this connection.
enum Slot {
    /// Not used yet.
    New,
    /// Known to the server.
    Prepared(Prepared),
    /// The server would not prepare it: sent as text, with values in these places.
    Text(Vec<usize>),
}

/// How far a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    NotYet,
    Sends,
    Waits,
}

/// A connection to a MySQL-protocol server.
pub struct MysqlSession {
    pub(crate) wire: Wire,
    pub(crate) reader: ResultReader,
    catalogue: Arc<Catalogue>,
    /// The first few within the session itself, and not one line of memory further away.
    slots: SmallVec<[Slot; 4]>,
    fallbacks: Arc<AtomicU64>,
    /// Whether nothing is prepared.
    pub(crate) as_text: bool,
    /// `max_allowed_packet` of the server, once somebody needed it.
    pub(crate) max_packet: Option<usize>,
    /// Whether the server may take a local file; false once it said that it does not.
    pub(crate) takes_files: bool,
}

impl MysqlSession {
    pub(crate) async fn new(wire: Wire, reader: ResultReader, fallbacks: Arc<AtomicU64>) -> Result<Self, DriverError> {
        let catalogue = Arc::new(Catalogue::default());
        let mut session = Self {
            wire,
            reader,
            catalogue,
            slots: SmallVec::new(),
            fallbacks,
            as_text: false,
            max_packet: None,
            takes_files: true,
        };
        if session.reader.status & status::AUTOCOMMIT == 0 {
            // A server may be configured so; single statements would then never be durable.
            session.run("SET autocommit = 1").await?;
        }
        Ok(session)
    }

    /// Whether quotes are escaped by doubling only.
    pub(crate) fn no_backslash(&self) -> bool {
        self.reader.status & status::NO_BACKSLASH_ESCAPES != 0
    }

    /// Executes a text that returns no rows worth reading.
    pub(crate) async fn run(&mut self, sql: &str) -> Result<Effect, DriverError> {
        self.run_bytes(sql.as_bytes()).await
    }

    /// As [`Self::run`]; values in the text may be any bytes.
    pub(crate) async fn run_bytes(&mut self, sql: &[u8]) -> Result<Effect, DriverError> {
        self.put_query(sql)?;
        // Nobody reads its rows, so none need to outlive a poll: BEGIN and COMMIT are no larger than any statement.
        let mut asked = Asked::NotYet;
        poll_fn(|_| self.poll_ask(&mut asked, Form::Text, &mut Rows::default())).await
    }

    #[inline]
    fn put_query(&mut self, sql: &[u8]) -> Result<(), DriverError> {
        let out = self.wire.command()?;
        out.push(command::QUERY);
        out.extend_from_slice(sql);
        Ok(())
    }

    /// Sends the command that was written and reads its answer. As a rule the socket takes the command at once and one
    /// read brings the whole answer. One future with one state, since every level of futures is a detour on the way back
    /// from the event loop, through memory that the database has pushed out of the caches.
    #[inline]
    fn ask<'a>(&'a mut self, form: Form, rows: &'a mut Rows) -> impl Future<Output = Result<Effect, DriverError>> + 'a {
        let mut asked = Asked::NotYet;
        poll_fn(move |_| self.poll_ask(&mut asked, form, rows))
    }

    #[inline]
    fn poll_ask(&mut self, asked: &mut Asked, form: Form, rows: &mut Rows) -> Poll<Result<Effect, DriverError>> {
        if *asked != Asked::Waits {
            if *asked == Asked::NotYet {
                self.wire.frame_command();
                *asked = Asked::Sends;
            }
            ready!(self.wire.poll_send())?;
            *asked = Asked::Waits;
            self.reader.begin();
        }
        loop {
            ready!(self.wire.poll_receive())?;
            if let Some(effect) = self.reader.scan(&mut self.wire, form, rows) {
                return Poll::Ready(Ok(effect));
            }
            if let Some(effect) = self.reader.advance(&mut self.wire, form, rows)? {
                return Poll::Ready(Ok(effect));
            }
        }
    }

    fn unknown(&self, id: StatementId) -> DriverError {
        let message = format!("statement {} is not one of the {} of the catalogue", id.0, self.slots.len());
        DriverError::client(ErrorClass::Fatal, "catalogue", message)
    }

    /// First use of a statement on this connection.
    #[cold]
    async fn first_use(&mut self, id: StatementId) -> Result<(), DriverError> {
        if self.slots.get(usize::from(id.0)).is_none() {
            return Err(self.unknown(id));
        }
        let catalogue = Arc::clone(&self.catalogue);
        let sql = &catalogue.get(id).sql;
        let out = self.wire.command()?;
        out.push(command::STMT_PREPARE);
        out.extend_from_slice(sql.as_bytes());
        self.wire.send_command().await?;
        let slot = match self.prepared().await {
            Ok(prepared) => Slot::Prepared(prepared),
            Err(error) if asks_for_text(&error) => {
                self.fallbacks.fetch_add(1, Ordering::Relaxed);
                Slot::Text(placeholders(sql, self.no_backslash()))
            }
            Err(error) => return Err(error),
        };
        if let Some(place) = self.slots.get_mut(usize::from(id.0)) {
            *place = slot;
        }
        Ok(())
    }

    /// The answer to a prepare: the definitions of parameters and columns are of no use here, since servers send those
    /// of the columns again with every result.
    async fn prepared(&mut self) -> Result<Prepared, DriverError> {
        let packet = self.wire.packet().await?;
        let ok = match self.wire.bytes(&packet) {
            [0xff, ..] => return Err(self.wire.server_error(&packet)),
            payload => PrepareOk::parse(payload).map_err(|why| self.wire.malformed(why))?,
        };
        for count in [ok.params, ok.columns] {
            self.reader.skip_definitions(&mut self.wire, usize::from(count)).await?;
        }
        self.wire.answered();
        Ok(Prepared::new(ok))
    }

    #[cold]
    async fn execute_text(&mut self, id: StatementId, params: &Params, rows: &mut Rows) -> Result<Effect, DriverError> {
        let no_backslash = self.no_backslash();
        let catalogue = Arc::clone(&self.catalogue);
        let sql = &catalogue.get(id).sql;
        let Some(Slot::Text(places)) = self.slots.get(usize::from(id.0)) else { return Err(self.unknown(id)) };
        let out = self.wire.command()?;
        out.push(command::QUERY);
        if put_statement(out, sql, places, params.iter(), no_backslash).is_none() {
            return Err(wrong_count(places.len(), params.len()));
        }
        self.ask(Form::Text, rows).await
    }

    /// Closes the prepared statements of the catalogue before, if any: the server keeps them otherwise.
    async fn close_statements(&mut self) -> Result<(), DriverError> {
        for slot in std::mem::take(&mut self.slots) {
            if let Slot::Prepared(prepared) = slot {
                let out = self.wire.command()?;
                out.push(command::STMT_CLOSE);
                out.extend_from_slice(&prepared.id().to_le_bytes());
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
            Slot::Prepared(_) if asks_to_prepare_again(error) => *slot = Slot::New,
            Slot::Prepared(prepared) => prepared.forget_types(),
            _ => {}
        }
    }
}

fn wrong_count(expected: usize, bound: usize) -> DriverError {
    let message = format!("the statement has {expected} parameters, but {bound} values were bound");
    DriverError::client(ErrorClass::Fatal, "parameters", message)
}

/// The limit for an answer while data are made, counted and checked: an index over a billion rows takes hours.
const PATIENCE: Duration = Duration::from_secs(48 * 3600);

impl Session for MysqlSession {
    async fn prepare(&mut self, catalogue: &Arc<Catalogue>) -> Result<(), DriverError> {
        self.close_statements().await?;
        self.catalogue = Arc::clone(catalogue);
        let (as_text, no_backslash) = (self.as_text, self.no_backslash());
        let slot = |s: &Statement| if as_text { Slot::Text(placeholders(&s.sql, no_backslash)) } else { Slot::New };
        self.slots = catalogue.statements().iter().map(slot).collect();
        Ok(())
    }

    fn lift_timeout(&mut self) {
        self.wire.set_read_timeout(PATIENCE);
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
            let result = self.ask(Form::Binary, rows).await;
            if let Err(error) = &result {
                self.after_error(id, error);
            }
            result
        }
    }

    async fn begin(&mut self, _access: Access) -> Result<(), DriverError> {
        self.run_bytes(b"BEGIN").await.map(|_| ())
    }

    async fn commit(&mut self) -> Result<(), DriverError> {
        self.run_bytes(b"COMMIT").await.map(|_| ())
    }

    async fn rollback(&mut self) -> Result<bool, DriverError> {
        self.run_bytes(b"ROLLBACK").await.map(|_| true)
    }

    async fn query(&mut self, sql: &str, rows: &mut Rows) -> Result<Effect, DriverError> {
        rows.start(true);
        self.put_query(sql.as_bytes())?;
        self.ask(Form::Text, rows).await
    }

    async fn insert_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        crate::bulk::insert_rows(self, table, cells).await
    }

    async fn load_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        crate::bulk::load_rows(self, table, cells).await
    }

    async fn numbers_one_at_a_time(&mut self) -> Result<bool, DriverError> {
        crate::bulk::numbers_one_at_a_time(self).await
    }

    async fn close(mut self) {
        // The server may be gone already, and then there is nobody to take leave of.
        if let Ok(out) = self.wire.command() {
            out.push(command::QUIT);
            let _ = self.wire.send_unanswered().await;
        }
    }
}
