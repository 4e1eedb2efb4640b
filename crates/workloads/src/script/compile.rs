//! Scripts for one database: their statements in a catalogue, and steps that name them.

use std::sync::{Arc, OnceLock};

use perbuck_core::units::Seed;
use perbuck_database::Dialect;
use perbuck_load::batch::Member;
use perbuck_load::driver::Access;
use perbuck_load::statement::{Catalogue, Statement, StatementId};
use perbuck_load::workload::{TerminalId, Workload};

use super::expression::Expression;
use super::options::{AUTOMATIC, Options, Script};
use super::program::{Length, Pipeline, Placed, Step, Store};
use super::protocol::Protocol;
use super::sql::{Control, Sql};
use super::terminal::ScriptTerminal;
use super::value::Value;
use super::variables::{Given, Names, Slot, Variables};

/// The scripts of a workload, for one database.
#[derive(Debug)]
pub struct Scripts {
    catalogue: Arc<Catalogue>,
    pub(super) shared: Arc<Shared>,
}

/// What all terminals read.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) scripts: Vec<Runnable>,
    pub(super) names: Arc<Names>,
    /// Sum of the weights.
    pub(super) weights: u64,
    pub(super) variables: Variables,
    pub(super) access: Access,
    pub(super) reconnects: bool,
    /// Whether truth values go to the server as words.
    pub(super) words: bool,
    /// Whether variables are parameters of their statements.
    pub(super) binds: bool,
    /// Whether the database takes several statements as one text.
    pub(super) joins: bool,
    /// Whether statements can be prepared before a script has run.
    pub(super) prepares_ahead: bool,
}

#[derive(Debug)]
pub(super) struct Runnable {
    pub(super) name: String,
    pub(super) weight: u64,
    pub(super) steps: Vec<Act>,
    /// Whether variables change after a transaction was begun, so that another attempt needs those from before.
    pub(super) restores: bool,
}

/// A step with its position in the script.
#[derive(Debug)]
pub(super) struct Act {
    pub(super) line: usize,
    pub(super) command: usize,
    /// The number of its command among those of all scripts.
    pub(super) step: u32,
    /// Whether a transaction is open after it; `None` where it changes nothing of that.
    pub(super) opens: Option<bool>,
    /// How a statement goes into a pipeline, in a script that starts one.
    pub(super) queued: Option<Queued>,
    pub(super) is: Action,
}

/// A statement of the catalogue for a pipeline.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) id: StatementId,
    pub(super) slots: Box<[Slot]>,
    pub(super) member: Member,
}

#[derive(Debug)]
pub(super) enum Action {
    Begin,
    Commit,
    Rollback,
    /// A statement of the catalogue, with variables as parameters.
    Bound(StatementId, Box<[Slot]>, Option<Kept>),
    /// A statement that is sent as text.
    Text(Box<[Sql]>, Option<Kept>),
    Set(Slot, Expression),
    Unless(Expression, usize),
    Go(usize),
    Sleep(Length, u64),
    /// With the statements of a pipeline that starts.
    Pipeline(Pipeline, Box<[StatementId]>),
}

/// The variables that the columns of a result go to, where a script mentions them.
pub(super) type Columns = Box<[Option<Slot>]>;

/// Where the columns of a result go.
#[derive(Debug)]
pub(super) struct Kept {
    /// Whether there must be one row.
    pub(super) one: bool,
    pub(super) prefix: String,
    /// The statements by which the server is asked for its columns.
    pub(super) asked: Box<[StatementId]>,
    /// The variable of each column, once the server was asked.
    pub(super) columns: Box<[OnceLock<Columns>]>,
}

impl Scripts {
    /// The scripts of `options`.
    pub fn new(options: &Options, dialect: &'static dyn Dialect) -> Self {
        let mut catalogue = Catalogue::default();
        if options.protocol == Protocol::Extended {
            catalogue.parse_each_time();
        }
        let mut compiler = Compiler { catalogue: &mut catalogue, options, commands: 0 };
        let scripts: Vec<Runnable> = options.scripts.iter().map(|script| compiler.script(script)).collect();
        let commands = compiler.commands;
        catalogue.time_steps(commands);
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
            words: dialect.takes_several_statements(),
            binds: options.protocol.binds(),
            joins: dialect.takes_several_statements(),
            prepares_ahead: options.protocol == Protocol::Prepared && !makes,
        };
        Self { catalogue: Arc::new(catalogue), shared: Arc::new(shared) }
    }
}

struct Compiler<'a> {
    catalogue: &'a mut Catalogue,
    options: &'a Options,
    /// Those of the scripts before.
    commands: u32,
}

impl Compiler<'_> {
    fn script(&mut self, script: &Script) -> Runnable {
        let pipes = self.options.protocol.binds() && script.program.pipeline_line().is_some();
        let rests = (1..).map(|next| script.program.steps.get(next..).unwrap_or_default());
        let steps = script.program.steps.iter().zip(rests).map(|(step, rest)| self.step(step, rest, pipes)).collect();
        self.commands += script.program.commands.len() as u32;
        let restores = script.program.sets_within_transactions();
        Runnable { name: script.name.clone(), weight: u64::from(script.weight), steps, restores }
    }

    fn step(&mut self, placed: &Placed, rest: &[Placed], pipes: bool) -> Act {
        let is = match &placed.step {
            Step::Sql(statements, store) => self.sql(statements, store),
            Step::Set(slot, value) => Action::Set(*slot, value.clone()),
            Step::Unless(condition, to) => Action::Unless(condition.clone(), *to),
            Step::Go(to) => Action::Go(*to),
            Step::Sleep(length, unit_ns) => Action::Sleep(*length, *unit_ns),
            Step::Pipeline(Pipeline::Start) if pipes => Action::Pipeline(Pipeline::Start, self.piped(rest)),
            Step::Pipeline(what) => Action::Pipeline(*what, Box::default()),
        };
        let queued = match &placed.step {
            Step::Sql(statements, _) if pipes => statements.first().map(|sql| self.queued(sql)),
            _ => None,
        };
        let control = match &placed.step {
            Step::Sql(statements, _) => statements.first().map_or(Control::None, |sql| sql.control),
            _ => Control::None,
        };
        let opens = match control {
            Control::None => None,
            Control::Begin | Control::Opens => Some(true),
            Control::Commit | Control::Rollback | Control::Ends => Some(false),
        };
        let step = self.commands + placed.command.saturating_sub(1) as u32;
        Act { line: placed.line, command: placed.command, step, opens, queued, is }
    }

    /// The statements up to the end of a pipeline that starts before `rest`.
    fn piped(&mut self, rest: &[Placed]) -> Box<[StatementId]> {
        let inside = rest.iter().take_while(|placed| placed.step != Step::Pipeline(Pipeline::End));
        let statements = inside.flat_map(|placed| placed.step.statements());
        statements.map(|sql| self.register(sql, false)).collect()
    }

    fn queued(&mut self, sql: &Sql) -> Queued {
        let member = match sql.control {
            Control::Begin => Member::Begin,
            Control::Commit => Member::Commit,
            Control::Rollback => Member::Rollback,
            Control::None | Control::Opens | Control::Ends => Member::Statement,
        };
        Queued { id: self.register(sql, false), slots: sql.parameters().collect(), member }
    }

    fn sql(&mut self, statements: &[Sql], store: &Store) -> Action {
        let control = statements.first().map_or(Control::None, |sql| sql.control);
        match control {
            Control::Begin => return Action::Begin,
            Control::Commit => return Action::Commit,
            Control::Rollback => return Action::Rollback,
            Control::None | Control::Opens | Control::Ends => {}
        }
        let binds = match self.options.protocol {
            Protocol::Simple => false,
            Protocol::Extended => true,
            Protocol::Prepared => control == Control::None,
        };
        let keeps = *store != Store::Nowhere;
        let ids: Vec<StatementId> =
            if binds || keeps { statements.iter().map(|sql| self.register(sql, keeps)).collect() } else { Vec::new() };
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
            ([id], [sql]) if binds => Action::Bound(*id, sql.parameters().collect(), kept),
            _ => Action::Text(statements.into(), kept),
        }
    }

    fn register(&mut self, sql: &Sql, keeps: bool) -> StatementId {
        let text = sql.prepared(&self.options.names);
        let same = |s: &Statement| s.sql == text && s.keep_rows == keeps;
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

    /// As in pgbench: a transaction that failed is one of those that were asked for.
    fn counts_failed(&self) -> bool {
        true
    }

    fn prepares_ahead(&self) -> bool {
        self.shared.prepares_ahead
    }

    fn terminal(&self, id: TerminalId) -> ScriptTerminal {
        let mut variables = self.shared.variables.clone();
        // A seed that a user gives is a number that a script can say.
        let seed = i64::try_from(id.seed.0).unwrap_or((id.seed.0 >> 1) as i64);
        let default_seed = (Seed(id.seed.0).derive("default_seed of scripts").0 >> 1) as i64;
        for (name, value) in AUTOMATIC.iter().zip([i64::from(id.index), default_seed, seed]) {
            if let Some(slot) = self.shared.names.find(name).filter(|slot| variables.given(*slot) == Given::Unset) {
                variables.set(slot, Value::Int(value));
            }
        }
        ScriptTerminal::new(id.is_first(), Arc::clone(&self.shared), variables)
    }
}
