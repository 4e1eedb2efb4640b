//! A script with its options: what a study or a command line says of it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use perbuck_core::study::{Located, Scalar};
use perbuck_core::units::Seed;
use perbuck_core::workload_kind::{Decides, Parameter, ParameterKind, WorkloadKind};
use perbuck_database::dialect::{Dialect, Feature};
use perbuck_load::limit::Tolerance;
use perbuck_workloads::params::{ParamProblem, Reader};
use perbuck_workloads::{Benchmark, sysbench};

use crate::workload::{LuaWorkload, NoData};

/// A script among the kinds of workload.
pub static KIND: WorkloadKind = WorkloadKind {
    parameters: &[
        Parameter::new("file", ParameterKind::Text, "", Decides::Run, "the script"),
        Parameter::new(
            "options",
            ParameterKind::Text,
            "",
            Decides::Run,
            "its options, as on a command line: tables=4 table_size=1000",
        ),
        Parameter::new(
            "random",
            ParameterKind::Text,
            "",
            Decides::Run,
            "options of its random numbers, in the same form: rand_type=pareto",
        ),
    ],
    without_values: None,
    ..WorkloadKind::plain("lua", "a Lua script for sysbench")
};

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
    /// How long a run lasts, in nanoseconds, where that is known.
    pub length_ns: Option<u64>,
    /// What it prints by.
    pub console: Console,
}

impl fmt::Debug for LuaScript {
    /// What a study says of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.parameters()).finish()
    }
}

impl LuaScript {
    /// Whether it is asked for a load, and not for another command.
    pub fn applies_load(&self) -> bool {
        self.command.as_deref().is_none_or(|command| command == "run")
    }
}

/// Words of the form `name=value` with spaces between them.
fn joined(given: &BTreeMap<String, String>) -> String {
    given.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// The same, read.
fn split(text: &str) -> Result<BTreeMap<String, String>, String> {
    let word = |word: &str| {
        let (name, value) = word.trim_start_matches("--").split_once('=').ok_or_else(|| word.to_owned())?;
        Ok((name.replace('-', "_"), value.to_owned()))
    };
    text.split_whitespace().map(word).collect()
}

/// The laws of random numbers that options of this name give.
///
/// # Errors
/// Every problem of them.
pub fn random_options(given: &BTreeMap<String, String>) -> Result<sysbench::Options, Vec<ParamProblem>> {
    let value = |name: &str, text: &String| sysbench::option_value(name, text).unwrap_or_else(|| Scalar::Text(text.clone()));
    let located = |(name, text): (&String, &String)| (name.clone(), Located { value: value(name, text), line: 0 });
    sysbench::Options::checked(&given.iter().map(located).collect())
}

impl Benchmark for LuaScript {
    type Dataset = NoData;
    type Workload = LuaWorkload;

    fn kind() -> &'static WorkloadKind {
        &KIND
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        let path = PathBuf::from(reader.text("file"));
        let mut words = |key: &'static str| {
            let text = reader.text(key);
            split(&text).unwrap_or_else(|word| {
                reader.problem(
                    key,
                    format!("`{key}` holds `{word}`, not NAME=VALUE"),
                    "write options with spaces between them: a=1 b=2",
                );
                BTreeMap::new()
            })
        };
        let (given, random_given) = (words("options"), words("random"));
        let random = random_options(&random_given).unwrap_or_else(|problems| {
            for problem in problems {
                reader.problem("random", problem.message, problem.help);
            }
            sysbench::Options::read(&mut Reader::new(&BTreeMap::new(), &sysbench::OPTIONS))
        });
        Self {
            path,
            source: Arc::default(),
            command: None,
            settings: Vec::new(),
            given,
            legacy: false,
            compiled: false,
            serverless: false,
            shares: false,
            random: Arc::new(random),
            random_given,
            tolerance: Tolerance::default(),
            length_ns: None,
            console: Console::default(),
        }
    }

    fn dataset(&self, _dialect: &'static dyn Dialect, _seed: Seed) -> NoData {
        NoData
    }

    fn workload(&self, dialect: &'static dyn Dialect, seed: Seed) -> LuaWorkload {
        LuaWorkload::new(self, dialect, seed)
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("file".to_owned(), self.path.display().to_string()),
            ("options".to_owned(), joined(&self.given)),
            ("random".to_owned(), joined(&self.random_given)),
        ])
    }

    fn conflict(&self, _other: &dyn Benchmark) -> Option<String> {
        None
    }

    fn refusal(&self, dialect: &dyn Dialect) -> Option<(String, String)> {
        if self.source.is_empty() {
            let file = self.path.display();
            let message = format!("a study runs no script in Lua, and its file {file} is not kept with the results");
            return Some((message, format!("run it by perbuck sysbench {file} run; its records can be compared and reported")));
        }
        dialect.lacks(Feature::Sql).map(|lack| (lack.why.to_owned(), lack.help.to_owned()))
    }
}
