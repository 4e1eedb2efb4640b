//! The options of scripts.

use std::collections::BTreeMap;
use std::sync::Arc;

use perbuck_core::plan;
use perbuck_core::units::Seed;
use perbuck_core::workload_kind::WorkloadKind;
use perbuck_database::Dialect;
use perbuck_load::statement::Verb;
use perbuck_load::workload::Dataset;

use super::builtin::{BUILTIN, Builtin};
use super::compile::Scripts;
use super::data::ScriptData;
use super::made::tables;
use super::program::{Program, Step};
use super::protocol::{PROTOCOLS, Protocol};
use super::registration::{KIND, may_write};
use super::sql::Control;
use super::variables::{Names, Slot, is_name};
use crate::benchmark::{Benchmark, DataSize, speaks_sql};
use crate::generated::Generated;
use crate::params::{NamedFile, Reader, other_data, put};

/// Names that every terminal gives a value, unless a variable of that name is defined.
pub(super) const AUTOMATIC: [&str; 4] = ["client_id", "default_seed", "random_seed", "scale"];

/// Scripts of a workload at most, as in pgbench; each is a kind of transaction.
const MOST_SCRIPTS: usize = 128;
/// Statements of a script at most, and variables of all scripts: their numbers have 16 bits.
const LONGEST: usize = 500;

/// A script with its share of the transactions.
#[derive(Debug, Clone)]
pub(super) struct Script {
    /// As files are told from each other: a second one of a name gets a number.
    pub(super) name: String,
    pub(super) weight: u32,
    /// A hash of its text.
    hash: String,
    pub(super) program: Program,
}

/// Statements of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Executed {
    pub(super) name: String,
    pub(super) hash: String,
    pub(super) statements: Vec<String>,
}

/// Statements that make tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Init {
    pub(super) file: Executed,
    pub(super) tables: Vec<String>,
}

/// Scripts, their variables, and the tables that they use.
#[derive(Debug, Clone)]
pub struct Options {
    pub(super) scripts: Arc<Vec<Script>>,
    pub(super) names: Arc<Names>,
    pub(super) init: Option<Init>,
    /// The tables of `init` whose rows are drawn.
    pub(super) generated: Generated,
    /// What is executed after these rows are in.
    pub(super) finish: Option<Executed>,
    /// Of pgbench's tables; 0 makes none.
    pub(super) scale: u32,
    pub(super) fillfactor: u32,
    pub(super) unlogged: bool,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) protocol: Protocol,
    pub(super) reconnect: bool,
    /// Whether all scripts are pgbench's own, which keep the sums of its tables.
    pub(super) builtin: bool,
}

impl Options {
    /// No script, and these tables.
    pub(super) fn without_scripts(init: Option<Init>, generated: Generated, finish: Option<Executed>) -> Self {
        Self {
            scripts: Arc::default(),
            names: Arc::default(),
            init,
            generated,
            finish,
            scale: 0,
            fillfactor: 100,
            unlogged: false,
            variables: BTreeMap::new(),
            protocol: Protocol::default(),
            reconnect: false,
            builtin: false,
        }
    }

    /// The commands of each script, as pgbench shows them. In this order they are the steps whose times a trial takes.
    pub fn commands(&self) -> Vec<Vec<String>> {
        self.scripts.iter().map(|script| script.program.commands.clone()).collect()
    }

    /// Whether any statement may write.
    pub fn writes(&self) -> bool {
        self.statement_verbs().any(may_write)
    }

    /// Whether a run changes how many rows there are.
    pub(super) fn changes_row_counts(&self) -> bool {
        self.statement_verbs().any(|verb| may_write(verb) && verb != Verb::Update)
    }

    fn statement_verbs(&self) -> impl Iterator<Item = Verb> {
        let statements = self.scripts.iter().flat_map(|script| script.program.statements());
        statements.filter(|sql| sql.control == Control::None).map(|sql| sql.verb)
    }

    /// What decides the tables.
    pub(crate) fn data_parameters(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let files = [("init", self.init.as_ref().map(|init| &init.file)), ("finish", self.finish.as_ref())];
        for (key, file) in files {
            file.into_iter().for_each(|file| put(&mut all, key, &format!("{} {}", file.name, file.hash)));
        }
        self.generated.parameters().for_each(|(key, text)| put(&mut all, &key, text));
        if self.scale > 0 {
            put(&mut all, "scale", &self.scale);
            put(&mut all, "fillfactor", &self.fillfactor);
            put(&mut all, "unlogged", &self.unlogged);
        }
        all
    }
}

impl Benchmark for Options {
    type Workload = Scripts;

    fn kind() -> &'static WorkloadKind {
        &KIND
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        let protocol = reader.word("protocol", &PROTOCOLS, Protocol::default());
        let (mut names, mut scripts) = (Names::default(), Vec::new());
        AUTOMATIC.iter().for_each(|name| _ = names.slot(name));
        let variables = variables(reader);
        variables.keys().for_each(|name| _ = names.slot(name));
        let files = reader.files("file");
        if files.len() > MOST_SCRIPTS {
            reader.problem("file", format!("`file` names {} scripts", files.len()), format!("name {MOST_SCRIPTS} at most"));
        }
        let builtin = files.iter().all(|file| file.name.starts_with(BUILTIN));
        if files.is_empty() && !reader.has("file") {
            reader.problem(
                "kind",
                "a script needs its `file`",
                "write for instance `file = \"orders.sql\"`, or \"builtin:tpcb-like\"",
            );
        }
        for file in files {
            scripts.extend(script(reader, file, &mut names, protocol, &scripts));
        }
        quoted_variables(reader, &scripts, &names, (protocol, &variables));
        let (init, generated, finish) = tables(reader);
        let scale = reader.int_or("scale", 0) as u32;
        if scale > 0 && init.is_some() {
            reader.problem(
                "init",
                "`init` and `scale` both make tables",
                "keep one of them; `init` may make pgbench's tables itself",
            );
        }
        Self {
            scripts: Arc::new(scripts),
            names: Arc::new(names),
            init,
            generated,
            finish,
            scale,
            fillfactor: reader.int("fillfactor") as u32,
            unlogged: reader.switch("unlogged"),
            variables,
            protocol,
            reconnect: reader.switch("reconnect"),
            builtin,
        }
    }

    fn dataset(&self, dialect: &'static dyn Dialect, seed: Seed) -> Arc<dyn Dataset> {
        Arc::new(ScriptData::new(self.clone(), dialect, seed))
    }

    fn workload(&self, dialect: &'static dyn Dialect, _seed: Seed) -> Scripts {
        Scripts::new(self, dialect)
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        let mut all = self.data_parameters();
        for script in self.scripts.iter() {
            put(&mut all, &format!("file {}", script.name), &format!("weight {} {}", script.weight, script.hash));
        }
        let variables: Vec<String> = self.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        put(&mut all, "variables", &variables.join(", "));
        put(&mut all, "protocol", &self.protocol.word());
        put(&mut all, "reconnect", &self.reconnect);
        all
    }

    fn conflict(&self, other: &dyn Benchmark) -> Option<String> {
        let other = other.options::<Self>()?;
        let spoils = |one: &Self, checked: &Self| checked.scale > 0 && checked.builtin && !one.builtin && one.writes();
        if spoils(self, other) || spoils(other, self) {
            return Some("a script of yours may change the sums of pgbench's tables, which are checked".to_owned());
        }
        other_data(&self.data_parameters(), &other.data_parameters())
    }

    fn refusal(&self, dialect: &dyn Dialect) -> Option<(String, String)> {
        let lacks = |dialect: &dyn Dialect| {
            let why = format!("{} has no message that sends a statement with its parameters for one execution", dialect.name());
            (why, "write `protocol = \"prepared\"` or `\"simple\"` (-M)".to_owned())
        };
        let extended = self.protocol == Protocol::Extended && !dialect.parses_each_time();
        let pipes = |script: &Script| {
            let line = script.program.pipeline_line().filter(|_| !dialect.takes_batches())?;
            let why = format!(
                "{} takes no statement before the answer to the one before, so there is no pipeline as in {}:{line}",
                dialect.name(),
                script.name
            );
            Some((why, "remove \\startpipeline and \\endpipeline".to_owned()))
        };
        speaks_sql(dialect).or_else(|| extended.then(|| lacks(dialect))).or_else(|| self.scripts.iter().find_map(pipes))
    }

    fn size(&self) -> DataSize {
        let of_scale = u64::from(self.scale) * 100_011;
        let (rows, bytes) = self.generated.size();
        DataSize {
            rows: rows.saturating_add(of_scale),
            bytes: bytes.saturating_add(of_scale * 97),
            grows: self.changes_row_counts(),
        }
    }
}

/// Variables as a study defines them.
fn variables(reader: &mut Reader<'_>) -> BTreeMap<String, String> {
    let (text, mut all) = (reader.text("variables"), BTreeMap::new());
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        match pair.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
            Some((name, value)) if is_name(name) => _ = all.insert(name.to_owned(), value.to_owned()),
            _ => reader.problem(
                "variables",
                format!("`{pair}` defines no variable"),
                "write for instance \"rows=1000, mode=fast\"",
            ),
        }
    }
    all
}

/// The script of a file; its faults are told with their lines.
fn script(reader: &mut Reader<'_>, file: NamedFile, names: &mut Names, protocol: Protocol, before: &[Script]) -> Option<Script> {
    let text = match file.name.strip_prefix(BUILTIN) {
        None => file.text?,
        Some(start) => match Builtin::named(start) {
            Some(builtin) => builtin.text.to_owned(),
            None => {
                let help = "they are tpcb-like, simple-update and select-only";
                reader.problem("file", format!("there is no script `{}`", file.name), help);
                return None;
            }
        },
    };
    let same = before.iter().filter(|script| script.name.split(" #").next() == Some(&file.name)).count();
    let name = if same == 0 { file.name } else { format!("{} #{}", file.name, same + 1) };
    match Program::read(&text, names, protocol.binds()) {
        Ok(program) if program.statements().count() > LONGEST || names.len() > MOST_SCRIPTS * LONGEST => {
            let message = format!("{name} has more than {LONGEST} statements, or too many variables");
            reader.problem("file", message, "make several files of it");
            None
        }
        Ok(program) => Some(Script { hash: hash(&text), name, weight: file.weight, program }),
        Err(faults) => {
            for fault in faults {
                reader.problem("file", format!("{name}:{}: {}", fault.line, fault.message), fault.help);
            }
            None
        }
    }
}

pub(super) fn hash(text: &str) -> String {
    plan::fingerprint(text).chars().take(16).collect()
}

/// Variables within quotes, where a parameter cannot stand.
fn quoted_variables(
    reader: &mut Reader<'_>,
    scripts: &[Script],
    names: &Names,
    (protocol, variables): (Protocol, &BTreeMap<String, String>),
) {
    if !protocol.binds() {
        return;
    }
    let sets = |slot: Slot| {
        scripts.iter().flat_map(|s| &s.program.steps).any(|step| matches!(step.step, Step::Set(to, _) if to == slot))
    };
    let known = |slot: Slot| {
        let name = names.name(slot);
        AUTOMATIC.contains(&name) || variables.contains_key(name) || sets(slot)
    };
    for script in scripts {
        for step in &script.program.steps {
            let Step::Sql(statements, _) = &step.step else { continue };
            if let Some(slot) = statements.iter().find_map(|sql| sql.quoted_variable(known)) {
                let message = format!("{}:{}: variable `:{}` stands within quotes", script.name, step.line, names.name(slot));
                reader.problem("file", message, "take it out of the quotes, or write `protocol = \"simple\"`");
            }
        }
    }
}
