//! The connections of one terminal of a script, and what it prepared on them.

use std::time::Duration;

use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, Effect, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::statement::{Statement, StatementId, Verb};

type Result<T, E = DriverError> = std::result::Result<T, E>;

/// A statement that a script prepared.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Prepared {
    Begin,
    Commit,
    Rollback,
    /// That of its connection.
    Known(StatementId),
}

impl Prepared {
    /// Does what a word says that controls a transaction.
    pub(crate) async fn control<S: Session>(self, connection: &mut Connection<S>) -> Result<Effect> {
        match self {
            Self::Begin => connection.begin(Access::Write).await?,
            Self::Commit => connection.commit().await?,
            Self::Rollback | Self::Known(_) => connection.rollback().await?,
        }
        Ok(Effect::Affected(0))
    }
}

/// How long a connection that could not be opened is let alone.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// Connections of one thread: more are not what a script wants.
const MOST: usize = 1 << 12;

/// What a script holds of a statement: the number of its connection, how often that was closed or opened again before, by 2^24, and its
/// position there. All fit into a number of Lua.
const POSITION_BITS: u32 = 16;
const TIMES_BITS: u32 = 24;

/// One of them.
#[derive(Debug, Default)]
struct Line {
    is_closed: bool,
    /// How often it was closed or opened again.
    times: u32,
    prepared: Vec<Prepared>,
    /// The texts of those that the connection knows, for one that was lost.
    texts: Vec<String>,
}

impl Line {
    fn handle(&self, number: usize, position: usize) -> i64 {
        let times = i64::from(self.times) & ((1 << TIMES_BITS) - 1);
        ((number as i64) << TIMES_BITS | times) << POSITION_BITS | position as i64
    }
}

/// All of them, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    lines: Vec<Line>,
    keeps_rows: bool,
}

impl Connections {
    /// Opens one for the script; its number. That of the engine is the first.
    pub(crate) async fn connect<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<usize> {
        let closed = self.lines.iter().position(|line| line.is_closed);
        let number = closed.unwrap_or(self.lines.len());
        if number == MOST {
            let message = format!("a thread opens at most {MOST} connections, and none of this one was closed");
            return Err(DriverError::client(ErrorClass::Fatal, "lua", message));
        }
        if !connection.has(number) {
            connection.open_another(number).await?;
        }
        match self.lines.get_mut(number) {
            Some(line) => line.is_closed = false,
            None => self.lines.push(Line::default()),
        }
        Ok(number)
    }

    /// The script has closed one, or opened it again: it has no statements.
    pub(crate) fn forget(&mut self, number: usize, is_closed: bool) {
        if let Some(line) = self.lines.get_mut(number) {
            *line = Line { is_closed, times: line.times.wrapping_add(1), ..Line::default() };
        }
    }

    /// Prepares a query on the connection that statements go to; what the script holds of it.
    pub(crate) async fn prepare<S: Session>(&mut self, query: &str, connection: &mut Connection<S>) -> Result<i64> {
        let number = connection.here();
        let statement = self.statement(query);
        let Some(line) = self.lines.get_mut(number).filter(|line| line.prepared.len() >> POSITION_BITS == 0) else {
            let message = format!("one connection prepares at most {} statements", 1 << POSITION_BITS);
            return Err(DriverError::client(ErrorClass::Fatal, "statement", message));
        };
        let prepared = match known(query) {
            Some(word) => word,
            None => {
                let id = connection.add_statement(statement).await?;
                line.texts.push(query.to_owned());
                Prepared::Known(id)
            }
        };
        line.prepared.push(prepared);
        Ok(line.handle(number, line.prepared.len() - 1))
    }

    /// The statement of a handle, if its connection has it still; what follows goes to that connection.
    #[inline]
    pub(crate) fn switch_to_statement<S: Session>(
        &self,
        handle: i64,
        connection: &mut Connection<S>,
    ) -> Result<Option<Prepared>> {
        let (number, position) =
            ((handle >> (POSITION_BITS + TIMES_BITS)) as usize, handle as usize & ((1 << POSITION_BITS) - 1));
        let Some(line) = self.lines.get(number).filter(|line| line.handle(number, position) == handle) else { return Ok(None) };
        let Some(prepared) = line.prepared.get(position).copied() else { return Ok(None) };
        connection.switch_to(number)?;
        Ok(Some(prepared))
    }

    /// Whether the engine has opened its connection again, since it was lost: then it has neither the others nor their statements.
    #[inline]
    pub(crate) fn are_lost<S: Session>(&self, connection: &Connection<S>) -> bool {
        let known = self.lines.get(connection.here()).map_or(0, |line| line.texts.len());
        connection.statements() < known || (0..).zip(&self.lines).any(|(number, line)| !line.is_closed && !connection.has(number))
    }

    /// Opens and prepares there what the script had. Where that fails, the next attempt comes after a pause.
    #[cold]
    pub(crate) async fn restore<S: Session>(&self, connection: &mut Connection<S>) -> Result<()> {
        let restored = self.open_all(connection).await;
        if restored.is_err() {
            connection.pause(AFTER_FAILURE).await;
        }
        restored
    }

    async fn open_all<S: Session>(&self, connection: &mut Connection<S>) -> Result<()> {
        for (number, line) in (0..).zip(&self.lines).filter(|(_, line)| !line.is_closed) {
            if !connection.has(number) {
                connection.open_another(number).await?;
            }
            connection.switch_to(number)?;
            for sql in line.texts.iter().skip(connection.statements()) {
                connection.add_statement(self.statement(sql)).await?;
            }
        }
        Ok(())
    }

    /// Begins with none, for a script that reads the rows of results or does not: what a script before it had open is closed.
    pub(crate) async fn renew<S: Session>(&mut self, keeps_rows: bool, connection: &mut Connection<S>) -> Result<()> {
        let before = std::mem::replace(self, Self { keeps_rows, ..Self::default() });
        if before.lines.is_empty() || !connection.opens_others() {
            return Ok(());
        }
        for number in 0..before.lines.len() {
            connection.close_one(number).await;
        }
        connection.switch_to(0)?;
        connection.open_another(0).await
    }

    fn statement(&self, sql: &str) -> Statement {
        Statement { verb: verb(sql), sql: sql.to_owned(), records: None, keep_rows: self.keeps_rows }
    }
}

/// A statement of transactions, which the engine counts for itself.
pub(crate) fn known(sql: &str) -> Option<Prepared> {
    let word = sql.trim().trim_end_matches(';').trim_end();
    [("begin", Prepared::Begin), ("commit", Prepared::Commit), ("rollback", Prepared::Rollback)]
        .into_iter()
        .find(|(known, _)| word.eq_ignore_ascii_case(known))
        .map(|(_, prepared)| prepared)
}

/// What the server counts a statement as: its first word.
pub(crate) fn verb(sql: &str) -> Verb {
    let word = sql.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    [("select", Verb::Select), ("insert", Verb::Insert), ("update", Verb::Update), ("delete", Verb::Delete)]
        .into_iter()
        .find(|(known, _)| word.eq_ignore_ascii_case(known))
        .map_or(Verb::Other, |(_, verb)| verb)
}
