//! What a connection does: the steps of one script after another, drawn by their weights.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_database::Dialect;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::statement::{Catalogue, StatementId};
use perbuck_load::values::{Cell, Params, Rows};
use perbuck_load::workload::{Done, Operation, Terminal, TerminalId, Workload};

use super::expression::{Context, Expression};
use super::options::{AUTOMATIC, Options, Protocol};
use super::program::{Length, Placed, Step, Store};
use super::sql::{Control, Sql};
use super::value::Value;
use super::variables::{Given, Names, Slot, Variables, is_name};
use crate::Result;

/// Is told what `debug()` is given; nothing where no program has set it.
static DEBUG: OnceLock<fn(&str)> = OnceLock::new();

/// Names what says the values that scripts give to `debug()`.
pub fn say_debug_by(say: fn(&str)) {
    DEBUG.get_or_init(|| say);
}

/// The scripts of a workload, for one database.
#[derive(Debug)]
pub struct Scripts {
    catalogue: Arc<Catalogue>,
    shared: Arc<Shared>,
}

/// What all terminals read.
#[derive(Debug)]
struct Shared {
    scripts: Vec<Runnable>,
    names: Arc<Names>,
    /// Sum of the weights.
    weights: u64,
    variables: Variables,
    access: Access,
    reconnects: bool,
    /// Whether truth values go to the server as words.
    words: bool,
    /// Whether statements can be prepared before a script has run.
    prepares_ahead: bool,
}

#[derive(Debug)]
struct Runnable {
    name: String,
    weight: u64,
    steps: Vec<Act>,
    /// Whether variables change after a transaction was begun, so that another attempt needs those from before.
    restores: bool,
}

/// A step with its position in the script.
#[derive(Debug)]
struct Act {
    line: usize,
    command: usize,
    is: Action,
}

#[derive(Debug)]
enum Action {
    Begin,
    Commit,
    Rollback,
    /// A prepared statement.
    Prepared(StatementId, Box<[Slot]>, Option<Kept>),
    /// A statement that is sent as text.
    Text(Box<[Sql]>, Option<Kept>),
    Set(Slot, Expression),
    Unless(Expression, usize),
    Go(usize),
    Sleep(Length, u64),
}

/// Where the columns of a result go.
#[derive(Debug)]
struct Kept {
    /// Whether there must be one row.
    one: bool,
    prefix: String,
    /// The statements by which the server is asked for its columns.
    asked: Box<[StatementId]>,
    /// The variable of each column, once the server was asked.
    columns: Box<[OnceLock<Box<[Option<Slot>]>>]>,
}

impl Scripts {
    /// The scripts of `options`.
    pub fn new(options: &Options, dialect: &'static dyn Dialect) -> Self {
        let mut catalogue = Catalogue::default();
        let is_postgres = dialect.family() == "postgres";
        let mut compiler = Compiler { catalogue: &mut catalogue, options, joins: is_postgres };
        let scripts: Vec<Runnable> = options.scripts.iter().map(|script| compiler.script(script)).collect();
        let mut variables = Variables::new(options.names.len());
        let fixed = [("scale", options.scale.max(1).to_string())];
        let fixed = fixed.iter().map(|(name, value)| (*name, value.as_str()));
        for (name, value) in fixed.chain(options.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))) {
            if let Some(slot) = options.names.find(name) {
                variables.set_text(slot, |out| out.push_str(value));
                if let Some(value) = Value::of_text(value) {
                    variables.set(slot, value);
                }
            }
        }
        let makes = options.scripts.iter().flat_map(|script| script.program.statements()).any(|sql| sql.makes);
        let shared = Shared {
            weights: scripts.iter().map(|script| script.weight).sum(),
            scripts,
            names: Arc::clone(&options.names),
            variables,
            access: if options.writes() { Access::Write } else { Access::Read },
            reconnects: options.reconnect,
            words: is_postgres,
            prepares_ahead: options.protocol == Protocol::Prepared && !makes,
        };
        Self { catalogue: Arc::new(catalogue), shared: Arc::new(shared) }
    }
}

struct Compiler<'a> {
    catalogue: &'a mut Catalogue,
    options: &'a Options,
    /// Whether the database takes several statements as one text.
    joins: bool,
}

impl Compiler<'_> {
    fn script(&mut self, script: &super::options::Script) -> Runnable {
        Runnable {
            name: script.name.clone(),
            weight: u64::from(script.weight),
            steps: script.program.steps.iter().map(|step| self.step(step)).collect(),
            restores: script.program.sets_within_transactions(),
        }
    }

    fn step(&mut self, placed: &Placed) -> Act {
        let is = match &placed.step {
            Step::Sql(statements, store) => self.sql(statements, store),
            Step::Set(slot, value) => Action::Set(*slot, value.clone()),
            Step::Unless(condition, to) => Action::Unless(condition.clone(), *to),
            Step::Go(to) => Action::Go(*to),
            Step::Sleep(length, unit_ns) => Action::Sleep(*length, *unit_ns),
        };
        Act { line: placed.line, command: placed.command, is }
    }

    fn sql(&mut self, statements: &[Sql], store: &Store) -> Action {
        let control = statements.first().map_or(Control::None, |sql| sql.control);
        match control {
            Control::Begin => return Action::Begin,
            Control::Commit => return Action::Commit,
            Control::Rollback => return Action::Rollback,
            Control::None | Control::Opens | Control::Ends => {}
        }
        let prepares = self.options.protocol == Protocol::Prepared && control == Control::None;
        let keeps = *store != Store::Nowhere;
        let ids: Vec<StatementId> =
            if prepares || keeps { statements.iter().map(|sql| self.register(sql, keeps)).collect() } else { Vec::new() };
        let kept = |one: bool, prefix: &String| Kept {
            one,
            prefix: prefix.clone(),
            columns: ids.iter().map(|_| OnceLock::new()).collect(),
            asked: ids.clone().into(),
        };
        let kept = match store {
            Store::Nowhere => None,
            Store::OneRow(prefix) => Some(kept(true, prefix)),
            Store::LastRow(prefix) => Some(kept(false, prefix)),
        };
        match (ids.as_slice(), statements) {
            ([id], [sql]) if prepares => Action::Prepared(*id, sql.parameters().collect(), kept),
            _ if kept.is_none() && self.joins => Action::Text(statements.into(), None),
            _ => Action::Text(statements.into(), kept),
        }
    }

    fn register(&mut self, sql: &Sql, keeps: bool) -> StatementId {
        let text = sql.prepared(&self.options.names);
        let same = |s: &perbuck_load::statement::Statement| s.sql == text && s.keep_rows == keeps;
        match self.catalogue.statements().iter().position(same) {
            Some(at) => StatementId(at as u16),
            None => self.catalogue.add_named(sql.verb.word(), sql.verb, keeps, text),
        }
    }
}

impl Workload for Scripts {
    type Terminal = ScriptTerminal;

    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }

    fn kinds(&self) -> Vec<&str> {
        self.shared.scripts.iter().map(|script| script.name.as_str()).collect()
    }

    fn prepares_ahead(&self) -> bool {
        self.shared.prepares_ahead
    }

    fn terminal(&self, id: TerminalId) -> ScriptTerminal {
        let mut variables = self.shared.variables.clone();
        let seed = (id.seed.0 >> 1) as i64;
        let default_seed = (Seed(id.seed.0).derive("default_seed of scripts").0 >> 1) as i64;
        for (name, value) in AUTOMATIC.iter().zip([i64::from(id.index), default_seed, seed]) {
            if let Some(slot) = self.shared.names.find(name).filter(|slot| variables.given(*slot) == Given::Unset) {
                variables.set(slot, Value::Int(value));
            }
        }
        let saved = Variables::default();
        ScriptTerminal {
            first: id.is_first(),
            shared: Arc::clone(&self.shared),
            variables,
            saved,
            text: String::new(),
            point: None,
        }
    }
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
    variables: Variables,
    /// The variables as they were at the start of the transaction.
    saved: Variables,
    /// The text of a statement.
    text: String,
    point: Option<Point>,
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

/// That a step of a script cannot be done.
#[cold]
fn failed(script: &Runnable, act: &Act, why: impl std::fmt::Display) -> DriverError {
    DriverError::client(ErrorClass::Fatal, "script", format!("{}:{}: {why}", script.name, act.line))
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
                let Action::Prepared(id, ..) = &act.is else { continue };
                if let Err(error) = connection.columns(*id).await {
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
        let shared = Arc::clone(&self.shared);
        let picked = shared.pick(&mut operation.rng);
        let Some(script) = shared.scripts.get(picked) else { return Ok(Done::committed(0)) };
        let (mut at, mut open) = (0, false);
        if let Some(point) = self.point.take_if(|point| point.sequence == operation.sequence) {
            (at, operation.rng) = (point.step, point.rng);
            if point.restores {
                self.variables.clone_from(&self.saved);
            }
        }
        while let Some(act) = script.steps.get(at) {
            if !open {
                self.mark(script, act, (operation, at));
            }
            at += 1;
            match &act.is {
                Action::Begin => {
                    connection.begin(shared.access).await?;
                    open = true;
                }
                Action::Commit => {
                    connection.commit().await?;
                    open = false;
                }
                Action::Rollback => {
                    connection.rollback().await?;
                    open = false;
                }
                Action::Prepared(id, slots, kept) => {
                    self.prepared(connection, (*id, slots), (script, act, kept.as_ref())).await?
                }
                Action::Text(statements, kept) => {
                    self.sent(connection, statements, (script, act, kept.as_ref())).await?;
                    match statements.first().map(|sql| sql.control) {
                        Some(Control::Opens) => open = true,
                        Some(Control::Ends) => open = false,
                        _ => {}
                    }
                }
                Action::Set(slot, value) => {
                    let value = self.value(value, (picked, script, act), &mut operation.rng)?;
                    self.variables.set(*slot, value);
                }
                Action::Unless(condition, to) => {
                    if !self.value(condition, (picked, script, act), &mut operation.rng)?.holds() {
                        at = *to;
                    }
                }
                Action::Go(to) => at = *to,
                Action::Sleep(length, unit_ns) => connection.pause(self.length((script, act), *length, *unit_ns)?).await,
            }
        }
        if open {
            let message = format!("{}: end of script reached without completing the last transaction", script.name);
            return Err(DriverError::client(ErrorClass::Fatal, "script", message));
        }
        self.point = None;
        Ok(Done::committed(picked as u8))
    }

    #[inline]
    fn reconnects_after(&self, _sequence: u64) -> bool {
        self.shared.reconnects
    }
}

impl ScriptTerminal {
    /// Notes that another attempt may start here, where no transaction is open.
    #[inline]
    fn mark(&mut self, script: &Runnable, act: &Act, (operation, step): (&Operation, usize)) {
        let begins = match &act.is {
            Action::Begin => true,
            Action::Text(statements, _) => statements.first().is_some_and(|sql| sql.control == Control::Opens),
            Action::Prepared(..) => false,
            _ => return,
        };
        // A single statement fails before it has changed a variable.
        let restores = begins && script.restores;
        if restores {
            self.saved.clone_from(&self.variables);
        }
        self.point = Some(Point { sequence: operation.sequence, step, rng: operation.rng.clone(), restores });
    }

    #[inline]
    fn value(&self, value: &Expression, (picked, script, act): (usize, &Runnable, &Act), rng: &mut OpRng) -> Result<Value> {
        let debug = |value: Value| {
            if let Some(say) = DEBUG.get() {
                say(&format!("debug(script={picked},command={}): {}", act.command, value.described()));
            }
        };
        let mut context = Context { variables: &self.variables, names: &self.shared.names, rng, debug: &debug };
        value.evaluate(&mut context).map_err(|why| failed(script, act, why))
    }

    fn length(&self, (script, act): (&Runnable, &Act), length: Length, unit_ns: u64) -> Result<Duration> {
        let count = match length {
            Length::Known(count) => Ok(count),
            Length::Of(slot) => self.variables.value(slot, &self.shared.names).and_then(Value::int),
        };
        let count = count.map_err(|why| failed(script, act, format_args!("sleep: {why}")))?;
        Ok(Duration::from_nanos(u64::try_from(count).unwrap_or(0).saturating_mul(unit_ns)))
    }

    async fn prepared<S: Session>(
        &mut self,
        connection: &mut Connection<S>,
        (id, slots): (StatementId, &[Slot]),
        (script, act, kept): (&Runnable, &Act, Option<&Kept>),
    ) -> Result<()> {
        self.learn(connection, (script, act, kept)).await?;
        let params = connection.bind();
        slots.iter().for_each(|slot| bind(params, self.variables.given(*slot), self.shared.words, &mut self.text));
        connection.execute(id).await?;
        let Some(kept) = kept else { return Ok(()) };
        store(&mut self.variables, connection.rows(), kept, 0).map_err(|why| failed(script, act, why))
    }

    async fn sent<S: Session>(
        &mut self,
        connection: &mut Connection<S>,
        statements: &[Sql],
        (script, act, kept): (&Runnable, &Act, Option<&Kept>),
    ) -> Result<()> {
        let names = Arc::clone(&self.shared.names);
        self.learn(connection, (script, act, kept)).await?;
        self.text.clear();
        let last = statements.len().saturating_sub(1);
        let joins = kept.is_none() && self.shared.words;
        for (i, sql) in statements.iter().enumerate() {
            sql.write(&mut self.text, &self.variables, &names);
            if joins && i < last {
                self.text.push_str("; ");
                continue;
            }
            let rows = connection.text(sql.verb, &self.text).await?;
            if let Some(kept) = kept.filter(|kept| !kept.one || i == last) {
                store(&mut self.variables, rows, kept, i).map_err(|why| failed(script, act, why))?;
            }
            self.text.clear();
        }
        Ok(())
    }

    /// Asks the server which columns results have that are kept: once for all terminals.
    async fn learn<S: Session>(
        &self,
        connection: &mut Connection<S>,
        (script, act, kept): (&Runnable, &Act, Option<&Kept>),
    ) -> Result<()> {
        let Some(kept) = kept else { return Ok(()) };
        for (i, (known, id)) in kept.columns.iter().zip(&kept.asked).enumerate() {
            // Of joined statements before `\gset` only the last is kept.
            if known.get().is_some() || kept.one && i + 1 < kept.asked.len() {
                continue;
            }
            let told = connection.columns(*id).await?;
            let names = told.ok_or_else(|| failed(script, act, "this database does not tell the columns of a statement"))?;
            let mut slots = Vec::with_capacity(names.len());
            for name in names {
                let name = format!("{}{name}", kept.prefix);
                if !is_name(&name) {
                    return Err(failed(script, act, format_args!("error storing into variable {name}")));
                }
                slots.push(self.shared.names.find(&name));
            }
            // Another terminal may have been faster.
            let _ = known.set(slots.into());
        }
        Ok(())
    }
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
