//! A session with its buffers and counters: what terminals work with.

mod others;

use std::sync::Arc;
use std::time::Duration;

use perbuck_core::run_record::StatementCounts;

use crate::batch::{Batch, Member};
use crate::driver::{Access, BulkTable, Effect, Session};
use crate::error::{DriverError, ErrorClass};
use crate::query::Query;
use crate::statement::{Catalogue, Statement, StatementId, Verb};
use crate::statement_times::{Other, StatementTimes};
use crate::values::{Params, Rows};

pub(crate) use others::{OneSession, Opening};
use others::{Others, closed, open};

/// How much longer than its limit a statement is waited for that the server should have ended.
const GRACE: Duration = Duration::from_secs(30);

/// Statements of one transaction; see [`StatementCounts`] for the fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the fields of `StatementCounts`, half as wide")]
pub struct Counts {
    pub read: u32,
    pub write: u32,
    pub other: u32,
    pub select: u32,
    pub insert: u32,
    pub update: u32,
    pub delete: u32,
    pub begin: u32,
    pub commit: u32,
    pub rollback: u32,
    /// How often the workload has opened a session again; no statement.
    pub reconnects: u32,
}

impl Counts {
    /// sysbench's classes: a result set is a read, a changed row a write, anything else "other".
    #[inline]
    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::ResultSet => self.read += 1,
            Effect::Affected(0) => self.other += 1,
            Effect::Affected(_) => self.write += 1,
        }
    }

    /// Counted when sent: a server counts a statement that fails, too (Com_update of a deadlock victim).
    #[inline]
    fn sent(&mut self, verb: Verb) {
        match verb {
            Verb::Select => self.select += 1,
            Verb::Insert => self.insert += 1,
            Verb::Update => self.update += 1,
            Verb::Delete => self.delete += 1,
            Verb::Other => {}
        }
    }

    /// All statements.
    #[inline]
    pub fn total(&self) -> u64 {
        u64::from(self.read) + u64::from(self.write) + u64::from(self.other)
    }

    /// Adds them to a sum.
    #[inline]
    pub fn add_to(&self, sum: &mut StatementCounts) {
        sum.read += u64::from(self.read);
        sum.write += u64::from(self.write);
        sum.other += u64::from(self.other);
        sum.select += u64::from(self.select);
        sum.insert += u64::from(self.insert);
        sum.update += u64::from(self.update);
        sum.delete += u64::from(self.delete);
        sum.begin += u64::from(self.begin);
        sum.commit += u64::from(self.commit);
        sum.rollback += u64::from(self.rollback);
    }
}

/// One connection of a worker. Every statement passes through here and is counted. An error is the server's answer, or the loss
/// of the connection.
pub struct Connection<S> {
    own: OneSession<S>,
    /// Those beside it, and how they are opened.
    others: Others<S>,
    params: Params,
    counts: Counts,
    times: Option<StatementTimes>,
    /// The step of the workload that runs, where times are taken.
    step: u32,
}

impl<S: Session> Connection<S> {
    /// Registers the catalogue with the session, and executes the settings that the catalogue has for it. It opens no others.
    pub async fn open(session: S, catalogue: Arc<Catalogue>) -> Result<Self, DriverError> {
        Ok(Self::of(OneSession::open(session, catalogue).await?, Others::none()))
    }

    fn of(own: OneSession<S>, others: Others<S>) -> Self {
        Self { own, others, params: Params::default(), counts: Counts::default(), times: None, step: 0 }
    }

    /// Prepares all statements of the catalogue. Where one fails, its first use meets the error again, which is counted and named there.
    ///
    /// # Errors
    /// The loss of the connection.
    pub(crate) async fn prepare_ahead(&mut self) -> Result<(), DriverError> {
        match self.own.session()?.prepare_ahead().await {
            Err(error) if error.class == ErrorClass::Lost => Err(error),
            _ => Ok(()),
        }
    }

    /// From now on the time of every statement is written down.
    pub(crate) fn time_statements(&mut self, times: Option<StatementTimes>) {
        self.times = times;
    }

    #[inline]
    fn clock_ns(&self) -> i64 {
        self.times.as_ref().map_or(0, StatementTimes::now_ns)
    }

    #[inline]
    fn timed(&self, other: Other, sent_ns: i64) {
        if let Some(times) = &self.times {
            times.other_ended(other, sent_ns);
        }
    }

    /// A step of the workload begins, where times are taken: when, for [`Self::step_ended`].
    #[inline]
    pub fn step_begins(&mut self, step: u32) -> i64 {
        self.times.as_ref().map_or(0, |times| {
            self.step = step;
            times.now_ns()
        })
    }

    /// The step that began then has ended.
    #[inline]
    pub fn step_ended(&self, began_ns: i64) {
        if let Some(times) = &self.times {
            times.step_ended(self.step, began_ns);
        }
    }

    /// Its step has met an error that may be retried; whether it is.
    pub(crate) fn step_failed(&self, retried: bool) {
        if let Some(times) = &self.times {
            times.step_failed(self.step, retried);
        }
    }

    /// The parameters of the next statement, emptied.
    #[inline]
    pub fn bind(&mut self) -> &mut Params {
        self.params.clear()
    }

    /// Executes with the parameters bound before.
    #[inline]
    pub async fn execute(&mut self, id: StatementId) -> Result<Effect, DriverError> {
        self.own.last = Some(id);
        let brief = self.own.catalogue.brief(id);
        let sent_ns = self.clock_ns();
        let OneSession { session, rows, .. } = &mut self.own;
        let session = open(session)?;
        self.counts.sent(brief.verb);
        // As of BEGIN and COMMIT, the time of one that failed is none of its kind.
        let effect = session.execute(id, &self.params, rows).await?;
        if let Some(times) = &self.times {
            times.ended(brief.label, sent_ns);
        }
        self.counts.effect(effect);
        Ok(effect)
    }

    /// Adds a statement that is known only now to those of this connection, and prepares it; see [`Session::add_statement`]. After an error
    /// the statements are those of before.
    pub async fn add_statement(&mut self, statement: Statement) -> Result<StatementId, DriverError> {
        let id = StatementId(self.own.catalogue.statements().len() as u16);
        if id.0 == u16::MAX {
            let message = format!("one connection prepares at most {} statements", u16::MAX);
            return Err(DriverError::client(ErrorClass::Fatal, "statement", message));
        }
        let OneSession { session, catalogue, .. } = &mut self.own;
        open(session)?.add_statement(catalogue, statement).await.map(|()| id)
    }

    /// How many statements it has.
    pub fn statements(&self) -> usize {
        self.own.catalogue.statements().len()
    }

    /// Executes one statement of a script, given as text; its rows are kept.
    pub async fn text(&mut self, verb: Verb, sql: &str) -> Result<Effect, DriverError> {
        self.own.last = None;
        let sent_ns = self.clock_ns();
        let OneSession { session, rows, .. } = &mut self.own;
        let session = open(session)?;
        self.counts.sent(verb);
        let effect = session.query(sql, rows).await?;
        self.timed(Other::Text, sent_ns);
        self.counts.effect(effect);
        Ok(effect)
    }

    /// Executes a statement whose text is not known before the trial, such as a query with values in its text; its rows are kept. The
    /// database ends it after `limit`; a server that does not answer long after is lost.
    pub async fn run(&mut self, verb: Verb, sql: &str, limit: Duration) -> Result<&Rows, DriverError> {
        self.counts.sent(verb);
        let sent_ns = self.clock_ns();
        let wait = limit + GRACE;
        let OneSession { session, rows, .. } = &mut self.own;
        let asked = open(session)?.query_within(sql, limit, rows);
        let effect = perbuck_event::timeout_at(perbuck_event::now() + wait, asked).await;
        let effect = effect.unwrap_or_else(|_| {
            let message = format!("the server did not answer within {} s", wait.as_secs());
            Err(DriverError::client(ErrorClass::Lost, "no answer", message))
        })?;
        self.timed(Other::Text, sent_ns);
        self.counts.effect(effect);
        Ok(&self.own.rows)
    }

    /// The names of the columns of a statement's result, which the server is asked for: see [`Session::columns`].
    ///
    /// # Errors
    /// That the statement cannot be prepared.
    pub async fn columns(&mut self, id: StatementId) -> Result<Option<Vec<String>>, DriverError> {
        self.own.session()?.columns(id).await
    }

    /// Inserts rows, given cell by cell, by INSERT statements of many rows; counts as one INSERT. After an error no row is kept.
    pub async fn insert_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        self.counts.insert += 1;
        let sent_ns = self.clock_ns();
        let inserted = self.own.session()?.insert_rows(table, cells).await?;
        self.timed(Other::InsertRows, sent_ns);
        self.counts.write += 1;
        Ok(inserted)
    }

    /// Asks a query outside the catalogue. It is no statement of the workload, so it is not counted.
    pub async fn ask(&mut self, query: impl Into<Query>) -> Result<&Rows, DriverError> {
        let OneSession { session, rows, .. } = &mut self.own;
        query.into().ask(open(session)?, rows).await?;
        Ok(&self.own.rows)
    }

    /// Lifts the timeout of answers, where [`Self::run`] has a limit of its own.
    pub fn lift_timeout(&mut self) {
        self.own.lift_timeout();
        self.others.lift_timeout();
    }

    /// The rows of the last statement.
    #[inline]
    pub fn rows(&self) -> &Rows {
        &self.own.rows
    }

    /// Begins a transaction.
    pub async fn begin(&mut self, access: Access) -> Result<(), DriverError> {
        self.own.last = None;
        let sent_ns = self.clock_ns();
        let session = self.own.session()?;
        self.counts.begin += 1;
        session.begin(access).await?;
        self.timed(Other::Begin, sent_ns);
        self.counts.other += 1;
        Ok(())
    }

    /// Commits.
    pub async fn commit(&mut self) -> Result<(), DriverError> {
        self.own.last = None;
        let sent_ns = self.clock_ns();
        let session = self.own.session()?;
        self.counts.commit += 1;
        session.commit().await?;
        self.timed(Other::Commit, sent_ns);
        self.counts.other += 1;
        Ok(())
    }

    /// Rolls back.
    pub async fn rollback(&mut self) -> Result<(), DriverError> {
        let sent_ns = self.clock_ns();
        let rolled_back = match &mut self.own.session {
            Some(session) => session.rollback().await,
            None => Ok(false),
        };
        // Where nothing was open nothing was sent; what failed had been.
        let sent = *rolled_back.as_ref().unwrap_or(&true);
        self.counts.rollback += u32::from(sent);
        rolled_back?;
        if sent {
            self.counts.other += 1;
            self.timed(Other::Rollback, sent_ns);
        }
        Ok(())
    }

    /// Opens a batch of some of these statements: what [`Self::add_to_batch`] adds is sent by [`Self::end_batch`].
    pub async fn open_batch(&mut self, statements: &[StatementId]) -> Result<(), DriverError> {
        self.own.session()?.batch(Batch::Open(statements)).await
    }

    /// Adds a statement with the parameters bound before to the open batch.
    #[inline]
    pub async fn add_to_batch(&mut self, id: StatementId, member: Member) -> Result<(), DriverError> {
        self.own.last = Some(id);
        match member {
            Member::Statement => self.counts.sent(self.own.catalogue.brief(id).verb),
            Member::Begin => self.counts.begin += 1,
            Member::Commit => self.counts.commit += 1,
            Member::Rollback => self.counts.rollback += 1,
        }
        open(&mut self.own.session)?.batch(Batch::Add(id, &self.params)).await
    }

    /// What follows in the open batch is executed even after an error before it.
    pub async fn set_point(&mut self) -> Result<(), DriverError> {
        self.own.session()?.batch(Batch::Point).await
    }

    /// Sends the open batch and reads its answers; the error is that of its first statement that failed. Of its statements no time is known,
    /// so that of all together is written down.
    pub async fn end_batch(&mut self) -> Result<(), DriverError> {
        let sent_ns = self.clock_ns();
        let Self { own: OneSession { session, rows, last, .. }, counts, .. } = self;
        let mut answered = |id, effect: Option<Effect>| match effect {
            Some(effect) => counts.effect(effect),
            None => *last = Some(id),
        };
        open(session)?.batch(Batch::End(rows, &mut answered)).await?;
        self.timed(Other::Batch, sent_ns);
        Ok(())
    }

    /// Lets time pass within a transaction, before a workload tries something again; it belongs to its service time.
    pub async fn pause_ms(&self, length_ms: u64) {
        self.pause(Duration::from_millis(length_ms)).await;
    }

    /// The same, as exactly as the event loop's timer.
    pub async fn pause(&self, length: Duration) {
        perbuck_event::sleep(length).await;
    }

    /// The text of the last statement of the catalogue that was sent.
    pub(crate) fn last_sql(&self) -> Option<&str> {
        self.own.last.map(|id| self.own.catalogue.get(id).sql.as_str())
    }

    /// The counters since the last call.
    #[inline]
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    /// The session alone.
    ///
    /// # Errors
    /// It was closed.
    pub fn into_session(self) -> Result<S, DriverError> {
        self.own.session.ok_or_else(closed)
    }

    /// Closes the connection in the way of the protocol.
    pub async fn close(mut self) {
        self.own.close().await;
        self.others.close().await;
    }
}
