//! What a connection does: the steps of one script after another, drawn by their weights.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use perbuck_core::rng::OpRng;
use perbuck_load::connection::Connection;
use perbuck_load::driver::Session;
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::statement::StatementId;
use perbuck_load::values::{Cell, Params, Rows};
use perbuck_load::workload::{Done, Operation, Terminal};

use super::compile::{Act, Action, Kept, Queued, Runnable, Shared};
use super::expression::{Context, Expression};
use super::program::{Length, Pipeline};
use super::sql::Sql;
use super::value::Value;
use super::variables::{Given, Slot, Variables, is_name};
use crate::Result;

/// Is told what `debug()` is given; nothing where no program has set it.
static DEBUG: OnceLock<fn(&str)> = OnceLock::new();

/// Names what says the values that scripts give to `debug()`.
pub fn say_debug_by(say: fn(&str)) {
    DEBUG.get_or_init(|| say);
}

/// Where another attempt starts: at the transaction that failed, and not at the start of its script.
#[derive(Debug, Clone)]
struct Point {
    sequence: u64,
    step: usize,
    rng: OpRng,
    restores: bool,
}

/// One connection of a workload of scripts.
#[derive(Debug)]
pub struct ScriptTerminal {
    first: bool,
    shared: Arc<Shared>,
    state: State,
}

/// What changes from one step to the next.
#[derive(Debug, Default)]
struct State {
    variables: Variables,
    /// The variables as they were at the start of the transaction.
    saved: Variables,
    /// The text of a statement.
    text: String,
    point: Option<Point>,
}

/// A step that is done: of which script, by its number.
#[derive(Clone, Copy)]
struct At<'a> {
    shared: &'a Shared,
    picked: usize,
    script: &'a Runnable,
    act: &'a Act,
}

impl ScriptTerminal {
    pub(super) fn new(first: bool, shared: Arc<Shared>, variables: Variables) -> Self {
        Self { first, shared, state: State { variables, ..State::default() } }
    }
}

impl Shared {
    /// The script of an operation, by its first random number.
    fn pick(&self, rng: &mut OpRng) -> usize {
        if self.scripts.len() < 2 {
            return 0;
        }
        let mut left = rng.below(self.weights);
        for (i, script) in self.scripts.iter().enumerate() {
            if left < script.weight {
                return i;
            }
            left -= script.weight;
        }
        0
    }
}

impl At<'_> {
    /// That a step of a script cannot be done.
    #[cold]
    fn failed(self, why: impl fmt::Display) -> DriverError {
        DriverError::client(ErrorClass::Fatal, "script", format!("{}:{}: {why}", self.script.name, self.act.line))
    }
}

impl Terminal for ScriptTerminal {
    /// Each statement is prepared once before any load, so that a wrong one is told with its file and line.
    async fn start<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        if !self.first || !shared.prepares_ahead {
            return Ok(());
        }
        for script in &shared.scripts {
            for act in &script.steps {
                let id = match (&act.queued, &act.is) {
                    (Some(queued), _) => queued.id,
                    (None, Action::Bound(id, ..)) => *id,
                    _ => continue,
                };
                if let Err(error) = connection.columns(id).await {
                    let message = format!("{}:{}: {}", script.name, act.line, error.message);
                    return Err(DriverError::new(error.class, error.code, message).because(error.cause));
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn kind(&mut self, operation: &Operation) -> u8 {
        self.shared.pick(&mut operation.rng.clone()) as u8
    }

    async fn transaction<S: Session>(&mut self, connection: &mut Connection<S>, operation: &mut Operation) -> Result<Done> {
        let Self { shared, state, .. } = self;
        let picked = shared.pick(&mut operation.rng);
        let Some(script) = shared.scripts.get(picked) else { return Ok(Done::committed(0)) };
        let (mut next, mut open, mut piped) = (state.resume(operation), false, false);
        while let Some(act) = script.steps.get(next) {
            let at = At { shared, picked, script, act };
            if !open && !piped {
                state.mark(at, (operation, next));
            }
            next += 1;
            let began_ns = connection.step_begins(act.step);
            match &act.is {
                action if piped && let Some(queued) = &act.queued => state.queue(connection, at, queued, action).await?,
                Action::Begin => connection.begin(shared.access).await?,
                Action::Commit => connection.commit().await?,
                Action::Rollback => connection.rollback().await?,
                Action::Bound(id, slots, kept) => state.bound(connection, at, (*id, slots), kept.as_ref()).await?,
                Action::Text(statements, kept) => state.sent(connection, at, statements, kept.as_ref()).await?,
                Action::Set(slot, value) => {
                    let value = state.value(at, value, &mut operation.rng)?;
                    state.variables.set(*slot, value);
                }
                Action::Unless(condition, to) => {
                    if !state.value(at, condition, &mut operation.rng)?.holds() {
                        next = *to;
                    }
                }
                Action::Go(to) => next = *to,
                Action::Sleep(length, unit_ns) => connection.pause(state.length(at, *length, *unit_ns)?).await,
                Action::Pipeline(what, statements) => piped = pipeline(connection, at, (*what, statements), piped).await?,
            }
            connection.step_ended(began_ns);
            open = act.opens.unwrap_or(open);
        }
        if open || piped {
            let what = if piped { "with pipeline open" } else { "without completing the last transaction" };
            let message = format!("{}: end of script reached {what}", script.name);
            return Err(DriverError::client(ErrorClass::Fatal, "script", message));
        }
        state.point = None;
        Ok(Done::committed(picked as u8))
    }

    #[inline]
    fn reconnects_after(&self, _sequence: u64) -> bool {
        self.shared.reconnects
    }
}

impl State {
    /// The step at which this attempt starts, with the state of that moment: the first one of a first attempt.
    #[inline]
    fn resume(&mut self, operation: &mut Operation) -> usize {
        let Some(point) = self.point.take_if(|point| point.sequence == operation.sequence) else { return 0 };
        operation.rng = point.rng;
        if point.restores {
            self.variables.clone_from(&self.saved);
        }
        point.step
    }

    /// Notes that another attempt may start here, where no transaction is open.
    #[inline]
    fn mark(&mut self, at: At<'_>, (operation, step): (&Operation, usize)) {
        let pipes = matches!(at.act.is, Action::Pipeline(Pipeline::Start, _));
        if !pipes && !matches!(at.act.is, Action::Begin | Action::Bound(..) | Action::Text(..)) {
            return;
        }
        // A single statement fails before it has changed a variable.
        let restores = (pipes || at.act.opens == Some(true)) && at.script.restores;
        if restores {
            self.saved.clone_from(&self.variables);
        }
        self.point = Some(Point { sequence: operation.sequence, step, rng: operation.rng.clone(), restores });
    }

    #[inline]
    fn value(&self, at: At<'_>, value: &Expression, rng: &mut OpRng) -> Result<Value> {
        let debug = |value: Value| {
            if let Some(say) = DEBUG.get() {
                say(&format!("debug(script={},command={}): {}", at.picked, at.act.command, value.described()));
            }
        };
        let mut context = Context { variables: &self.variables, names: &at.shared.names, rng, debug: &debug };
        value.evaluate(&mut context).map_err(|why| at.failed(why))
    }

    fn length(&self, at: At<'_>, length: Length, unit_ns: u64) -> Result<Duration> {
        let count = match length {
            Length::Known(count) => Ok(count),
            Length::Of(slot) => self.variables.value(slot, &at.shared.names).and_then(Value::int),
        };
        let count = count.map_err(|why| at.failed(format_args!("sleep: {why}")))?;
        Ok(Duration::from_nanos(u64::try_from(count).unwrap_or(0).saturating_mul(unit_ns)))
    }

    async fn bound<S: Session>(
        &mut self,
        connection: &mut Connection<S>,
        at: At<'_>,
        (id, slots): (StatementId, &[Slot]),
        kept: Option<&Kept>,
    ) -> Result<()> {
        if let Some(kept) = kept {
            learn(connection, at, kept).await?;
        }
        let params = connection.bind();
        slots.iter().for_each(|slot| bind(params, self.variables.given(*slot), at.shared.words, &mut self.text));
        connection.execute(id).await?;
        let Some(kept) = kept else { return Ok(()) };
        store(&mut self.variables, connection.rows(), kept, 0).map_err(|why| at.failed(why))
    }

    /// Adds a statement to the open pipeline; no result of it can be kept.
    async fn queue<S: Session>(
        &mut self,
        connection: &mut Connection<S>,
        at: At<'_>,
        queued: &Queued,
        action: &Action,
    ) -> Result<()> {
        if let Action::Bound(_, _, Some(kept)) | Action::Text(_, Some(kept)) = action {
            let word = if kept.one { "gset" } else { "aset" };
            return Err(at.failed(format_args!("\\{word} is not allowed in pipeline mode")));
        }
        let params = connection.bind();
        queued.slots.iter().for_each(|slot| bind(params, self.variables.given(*slot), at.shared.words, &mut self.text));
        connection.add_to_batch(queued.id, queued.member).await
    }

    /// Sends statements as text: as one where the database takes that and no result is kept, else one after the other.
    async fn sent<S: Session>(
        &mut self,
        connection: &mut Connection<S>,
        at: At<'_>,
        statements: &[Sql],
        kept: Option<&Kept>,
    ) -> Result<()> {
        if let Some(kept) = kept {
            learn(connection, at, kept).await?;
        }
        self.text.clear();
        let last = statements.len().saturating_sub(1);
        let joins = kept.is_none() && at.shared.joins;
        for (i, sql) in statements.iter().enumerate() {
            sql.write(&mut self.text, &self.variables, &at.shared.names);
            if joins && i < last {
                self.text.push_str("; ");
                continue;
            }
            connection.text(sql.verb, &self.text).await?;
            if let Some(kept) = kept.filter(|kept| !kept.one || i == last) {
                store(&mut self.variables, connection.rows(), kept, i).map_err(|why| at.failed(why))?;
            }
            self.text.clear();
        }
        Ok(())
    }
}

/// Starts a pipeline of these statements, sets a point in it, or ends it; whether one is open then.
async fn pipeline<S: Session>(
    connection: &mut Connection<S>,
    at: At<'_>,
    (what, statements): (Pipeline, &[StatementId]),
    piped: bool,
) -> Result<bool> {
    match (what, piped) {
        (Pipeline::Start, _) if !at.shared.binds => Err(at.failed("cannot use pipeline mode with the simple query protocol")),
        (Pipeline::Start, true) => Err(at.failed("already in pipeline mode")),
        (Pipeline::Start, false) => connection.open_batch(statements).await.map(|()| true),
        (Pipeline::Sync | Pipeline::End, false) => Err(at.failed("not in pipeline mode")),
        (Pipeline::Sync, true) => connection.set_point().await.map(|()| true),
        (Pipeline::End, true) => connection.end_batch().await.map(|()| false),
    }
}

/// Asks the server which columns results have that are kept: once for all terminals.
async fn learn<S: Session>(connection: &mut Connection<S>, at: At<'_>, kept: &Kept) -> Result<()> {
    for (i, (known, id)) in kept.columns.iter().zip(&kept.asked).enumerate() {
        // Of joined statements before `\gset` only the last is kept.
        if known.get().is_some() || kept.one && i + 1 < kept.asked.len() {
            continue;
        }
        let told = connection.columns(*id).await?;
        let names = told.ok_or_else(|| at.failed("this database does not tell the columns of a statement"))?;
        let mut slots = Vec::with_capacity(names.len());
        for name in names {
            let name = format!("{}{name}", kept.prefix);
            if !is_name(&name) {
                return Err(at.failed(format_args!("error storing into variable {name}")));
            }
            slots.push(at.shared.names.find(&name));
        }
        // Another terminal may have been faster.
        let _ = known.set(slots.into());
    }
    Ok(())
}

/// Gives variables the values of a row.
fn store(variables: &mut Variables, rows: &Rows, kept: &Kept, statement: usize) -> Result<(), String> {
    if kept.one && rows.len() != 1 {
        return Err(format!("expected one row, got {}", rows.len()));
    }
    let columns = kept.columns.get(statement).and_then(OnceLock::get).map_or(&[][..], |columns| columns);
    let Some(row) = rows.len().checked_sub(1) else { return Ok(()) };
    for (column, slot) in columns.iter().enumerate() {
        let Some(slot) = *slot else { continue };
        match rows.cell(row as usize, column).map_err(DriverError::into_message)? {
            Cell::Null => variables.set(slot, Value::Null),
            Cell::Int(value) => variables.set(slot, Value::Int(value)),
            Cell::Float(value) => variables.set(slot, Value::Double(value)),
            Cell::Text(text) => variables.set_text(slot, |out| match std::str::from_utf8(text) {
                Ok(text) => out.push_str(text),
                Err(_) => out.push_str(&String::from_utf8_lossy(text)),
            }),
        }
    }
    Ok(())
}

/// Adds a variable to the parameters of a statement; one without a value is NULL, as in pgbench.
#[inline]
fn bind(params: &mut Params, given: Given<'_>, words: bool, scratch: &mut String) {
    match given {
        Given::Unset | Given::Value(Value::Null) => params.null(),
        Given::Value(Value::Int(value)) => params.int(value),
        Given::Value(Value::Bool(value)) if !words => params.int(value.into()),
        Given::Value(value @ Value::Bool(_)) => params.text(if value.holds() { b"true" } else { b"false" }),
        Given::Value(value @ Value::Double(_)) => {
            scratch.clear();
            value.write(scratch);
            params.text(scratch.as_bytes())
        }
        Given::Text(text) => params.text(text.as_bytes()),
    };
}

#[cfg(test)]
#[path = "terminal_tests.rs"]
mod tests;
