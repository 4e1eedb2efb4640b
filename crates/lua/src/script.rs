//! A script with its options.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use perbuck_load::limit::Tolerance;
use perbuck_workloads::script::MadeTables;
use perbuck_workloads::{Benchmark, sysbench};

/// The value of an option, as a script sees it.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// On or off.
    Switch(bool),
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
    /// Several texts.
    List(Vec<String>),
}

impl Setting {
    /// It as text, as scripts of sysbench 0.5 see all options.
    pub fn text(&self) -> String {
        match self {
            Self::Switch(on) => if *on { "on" } else { "off" }.to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::List(list) => list.join(","),
        }
    }
}

type Sink = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// What scripts print by.
#[derive(Clone)]
pub struct Console {
    print: Sink,
    log: Sink,
}

impl Console {
    /// One that prints by a function, and tells what goes wrong by another one, a line at a time.
    pub fn new(print: impl Fn(&[u8]) + Send + Sync + 'static, log: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self { print: Arc::new(print), log: Arc::new(log) }
    }

    pub(crate) fn print(&self, text: &[u8]) {
        (self.print)(text);
    }

    pub(crate) fn log(&self, line: &[u8]) {
        (self.log)(line);
    }
}

impl Default for Console {
    /// One that prints nothing.
    fn default() -> Self {
        Self::new(|_| (), |_| ())
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Console")
    }
}

/// A script with everything that decides what it does.
#[derive(Clone)]
pub struct LuaScript {
    /// Its file.
    pub path: PathBuf,
    /// Its text.
    pub source: Arc<Vec<u8>>,
    /// What records and studies call it.
    pub name: String,
    /// Texts of its modules by the names of their files.
    pub modules: Arc<BTreeMap<String, String>>,
    /// Whether a study holds its text and those of its modules: then it loads no other files.
    pub is_held: bool,
    /// What makes its tables, if perbuck may.
    pub init: Option<Arc<Init>>,
    /// The command that it is asked for; `run` applies a load.
    pub command: Option<String>,
    /// All options by name, those of every script and its own.
    pub settings: Vec<(String, Setting)>,
    /// Those of its own options that were given, for the record.
    pub given: BTreeMap<String, String>,
    /// Whether it declares no options, so that it finds all of them as global variables, as under sysbench 0.5.
    pub legacy: bool,
    /// Whether LuaJIT compiles it: then a loop without an end cannot be ended.
    pub compiled: bool,
    /// Whether it runs without a server, because its text asks none: then a connection is an error.
    pub serverless: bool,
    /// Whether the terminals of a thread share one state, in which each has global variables of its own: what they execute is in memory once.
    /// Only for a text that reaches nothing else.
    pub shares: bool,
    /// How its random numbers are drawn.
    pub random: Arc<sysbench::Options>,
    /// The same, as parameters.
    pub random_given: BTreeMap<String, String>,
    /// After which errors an event starts again.
    pub tolerance: Tolerance,
    /// What it prints by.
    pub console: Console,
}

/// What makes the tables of a study.
#[derive(Debug)]
pub enum Init {
    /// A script, by its command `prepare`, and the names of its tables.
    Script(Box<LuaScript>, Vec<String>),
    /// Statements, with rows that are drawn.
    Sql(Box<MadeTables>),
}

impl fmt::Debug for LuaScript {
    /// What a study says of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.parameters()).finish()
    }
}

impl LuaScript {
    /// The script that makes its tables, if one does.
    pub(crate) fn maker(&self) -> Option<&LuaScript> {
        match self.init.as_deref() {
            Some(Init::Script(script, _)) => Some(script),
            _ => None,
        }
    }

    /// Whether it is asked for a load, and not for another command.
    pub fn applies_load(&self) -> bool {
        self.command.as_deref().is_none_or(|command| command == "run")
    }
}
