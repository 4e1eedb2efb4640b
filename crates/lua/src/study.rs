//! A script as the workload of a study.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use perbuck_core::plan;
use perbuck_core::study::{Located, Scalar};
use perbuck_core::units::Seed;
use perbuck_core::workload_kind::{Decides, Parameter, ParameterKind, WorkloadKind};
use perbuck_database::dialect::{Dialect, Feature};
use perbuck_load::limit::Tolerance;
use perbuck_load::workload::Dataset;
use perbuck_workloads::params::{NamedFile, ParamProblem, Reader};
use perbuck_workloads::script::{FINISH, MadeTables, TABLE};
use perbuck_workloads::{Benchmark, DataSize, sysbench};

use crate::data::LuaData;
use crate::describe::compiles;
use crate::script::{Console, Init, LuaScript};
use crate::values::{self, Purpose};
use crate::workload::LuaWorkload;

const OPTIONS: [Parameter; 8] = [
    Parameter::new(
        "file",
        ParameterKind::Files,
        "",
        Decides::Run,
        "the script, and the modules that it loads: \"mine.lua, common.lua\"",
    ),
    Parameter::new(
        "options",
        ParameterKind::Text,
        "",
        Decides::Run,
        "its options, as on a command line: \"hot_rows=10 mode='read only'\"",
    ),
    Parameter::new(
        "random",
        ParameterKind::Text,
        "",
        Decides::Run,
        "options of its random numbers, in the same form: \"rand_type=pareto\"",
    ),
    Parameter::new(
        "init",
        ParameterKind::Files,
        "",
        Decides::Data,
        "a script whose command `prepare` makes and fills the tables, with its modules; or statements: \"tables.sql\"",
    ),
    TABLE,
    FINISH,
    Parameter::new("tables", ParameterKind::Text, "", Decides::Data, "the tables that `init` makes: \"orders, customers\""),
    Parameter::new(
        "init_options",
        ParameterKind::Text,
        "",
        Decides::Data,
        "options that decide the tables; `init` and `file` both get them: \"rows=1000\"",
    ),
];

/// A script among the kinds of workload.
pub static KIND: WorkloadKind =
    WorkloadKind { parameters: &OPTIONS, without_values: None, ..WorkloadKind::plain("lua", "a Lua script for sysbench") };

/// Words of the form `name=value` with spaces between them; a value with spaces stands in quotes.
fn joined(given: &BTreeMap<String, String>) -> String {
    let word = |(name, value): (&String, &String)| match value.contains(char::is_whitespace) {
        true => format!("{name}='{value}'"),
        false => format!("{name}={value}"),
    };
    given.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// The same, read; an error is the first word that has no such form.
fn split(text: &str) -> Result<BTreeMap<String, String>, String> {
    let (mut all, mut rest) = (BTreeMap::new(), text.trim_start());
    while !rest.is_empty() {
        let wrong = || rest.split_whitespace().next().unwrap_or_default().to_owned();
        let (name, value) = rest.split_once('=').filter(|(name, _)| !name.contains(char::is_whitespace)).ok_or_else(wrong)?;
        let quoted = value.strip_prefix('\'').map(|inner| inner.split_once('\'').ok_or_else(wrong)).transpose()?;
        let (value, left) = quoted.unwrap_or_else(|| value.split_once(char::is_whitespace).unwrap_or((value, "")));
        all.insert(name.trim_start_matches("--").replace('-', "_"), value.to_owned());
        rest = left.trim_start();
    }
    Ok(all)
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

fn words(reader: &mut Reader<'_>, key: &'static str) -> BTreeMap<String, String> {
    let text = reader.text(key);
    split(&text).unwrap_or_else(|word| {
        let help = "write options with spaces between them: a=1 b='two words'";
        reader.problem(key, format!("`{key}` holds `{word}`, not NAME=VALUE"), help);
        BTreeMap::new()
    })
}

/// The script that a parameter names, and its modules; they are compiled, and do not run.
fn named(reader: &mut Reader<'_>, key: &'static str) -> Option<(String, String, BTreeMap<String, String>)> {
    let mut held = BTreeMap::new();
    let mut script = None;
    for NamedFile { name, text, weight } in reader.files(key) {
        if weight != 1 {
            reader.problem(
                key,
                format!("{name} has a weight"),
                "leave it out: the first file is the script, the others are modules",
            );
        }
        let Some(text) = text else { continue };
        // The first line may say which program runs it.
        let text = if text.starts_with('#') { format!("--{text}") } else { text };
        if let Err(failure) = compiles(&name, &text) {
            reader.problem(key, failure, "correct the file");
        }
        match script {
            None => script = Some((name, text)),
            Some(_) => drop(held.insert(name, text)),
        }
    }
    script.map(|(name, text)| (name, text, held))
}

/// Tables of statements, with rows that are drawn.
fn of_statements(reader: &mut Reader<'_>) -> Init {
    for key in ["tables", "init_options"] {
        if !reader.text(key).is_empty() {
            let help =
                "leave it out: perbuck reads the names of tables from the statements, and options of the script go to `options`";
            reader.problem(key, format!("`{key}` belongs to an `init` in Lua"), help);
        }
    }
    Init::Sql(Box::new(MadeTables::read(reader)))
}

fn init(reader: &mut Reader<'_>, random: &Arc<sysbench::Options>) -> Option<Init> {
    if reader.text("init").to_ascii_lowercase().ends_with(".sql") {
        return Some(of_statements(reader));
    }
    let rows = ["table.", FINISH.name].into_iter().find(|key| reader.has(key));
    if let Some(key) = rows {
        let help = "write `init = \"tables.sql\"` with the CREATE TABLE statements; a script in Lua fills its tables itself";
        reader.problem(key, "rows of `[[workload.table]]` and `finish` need an `init` in SQL", help);
    }
    reader.list(TABLE.name);
    reader.text(FINISH.name);
    let given = words(reader, "init_options");
    let list = reader.text("tables");
    let tables: Vec<String> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let is_name = |name: &&String| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if let Some(wrong) = tables.iter().find(|name| !is_name(name)) {
        reader.problem("tables", format!("`{wrong}` is no name of a table"), "write for instance \"orders, customers\"");
    }
    let (has_init, has_tables) = (reader.has("init"), !tables.is_empty());
    if has_init != has_tables {
        let help = "an `init` in Lua makes the tables that `tables` names, so that perbuck knows what it may drop; without both it uses the \
                    tables that are there";
        reader.problem(if has_init { "init" } else { "tables" }, "`init` and `tables` belong together", help);
    }
    let (name, text, held) = named(reader, "init")?;
    let script = LuaScript { command: Some("prepare".to_owned()), ..LuaScript::of(name, text, held, given, random) };
    Some(Init::Script(Box::new(script), tables))
}

impl LuaScript {
    /// The script of a file, which loads its modules from files; its options are those of nothing given.
    pub fn of_file(path: PathBuf, name: String, text: Vec<u8>) -> Self {
        let random = Arc::new(sysbench::Options::read(&mut Reader::new(&BTreeMap::new(), &sysbench::OPTIONS)));
        let script = Self::of(name, String::new(), BTreeMap::new(), BTreeMap::new(), &random);
        Self { path, source: Arc::new(text), is_held: false, ..script }
    }

    fn of(
        name: String,
        text: String,
        held: BTreeMap<String, String>,
        given: BTreeMap<String, String>,
        random: &Arc<sysbench::Options>,
    ) -> Self {
        Self {
            path: PathBuf::from(&name),
            name,
            source: Arc::new(text.into_bytes()),
            modules: Arc::new(held),
            is_held: true,
            init: None,
            command: None,
            settings: Vec::new(),
            given,
            legacy: false,
            compiled: false,
            serverless: false,
            shares: false,
            random: Arc::clone(random),
            random_given: BTreeMap::new(),
            tolerance: Tolerance::default(),
            console: Console::default(),
        }
    }

    /// What decides the tables; nothing where perbuck makes none.
    pub(crate) fn data_parameters(&self) -> BTreeMap<String, String> {
        let (maker, tables) = match self.init.as_deref() {
            Some(Init::Script(maker, tables)) => (maker, tables),
            Some(Init::Sql(made)) => return made.parameters(),
            None => return BTreeMap::new(),
        };
        let mut all = maker.texts("init");
        all.insert("tables".to_owned(), tables.join(", "));
        all.insert("init_options".to_owned(), joined(&maker.given));
        all.insert("random".to_owned(), joined(&self.random_given));
        all
    }

    /// Hashes of its texts, by what they are.
    fn texts(&self, key: &str) -> BTreeMap<String, String> {
        let hash = |text: &str| plan::fingerprint(text).chars().take(16).collect::<String>();
        let own = (self.name.clone(), hash(&String::from_utf8_lossy(&self.source)));
        let modules = self.modules.iter().map(|(name, text)| (name.clone(), hash(text)));
        [own].into_iter().chain(modules).map(|(name, hash)| (format!("{key} {name}"), hash)).collect()
    }
}

impl Benchmark for LuaScript {
    type Workload = LuaWorkload;

    fn kind() -> &'static WorkloadKind {
        &KIND
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        let (given, random_given) = (words(reader, "options"), words(reader, "random"));
        let random = random_options(&random_given).unwrap_or_else(|problems| {
            for problem in problems {
                reader.problem("random", problem.message, problem.help);
            }
            sysbench::Options::read(&mut Reader::new(&BTreeMap::new(), &sysbench::OPTIONS))
        });
        let random = Arc::new(random);
        let init = init(reader, &random);
        if !reader.has("file") {
            reader.problem("kind", "a script needs its `file`", "write for instance `file = \"mine.lua\"`");
        }
        let (name, text, held) = named(reader, "file").unwrap_or_default();
        Self { random_given, init: init.map(Arc::new), ..Self::of(name, text, held, given, &random) }
    }

    fn dataset(&self, dialect: &'static dyn Dialect, seed: Seed) -> Arc<dyn Dataset> {
        match self.init.as_deref() {
            // What a script does with rows is not known before it runs.
            Some(Init::Sql(made)) => made.dataset(dialect, seed, true),
            _ => Arc::new(LuaData::new(self.clone(), dialect)),
        }
    }

    fn workload(&self, dialect: &'static dyn Dialect, seed: Seed) -> LuaWorkload {
        LuaWorkload::new(self, dialect, seed)
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        let mut all = self.data_parameters();
        all.extend(self.texts("file"));
        all.insert("options".to_owned(), joined(&self.given));
        all.insert("random".to_owned(), joined(&self.random_given));
        all
    }

    fn conflict(&self, other: &dyn Benchmark) -> Option<String> {
        let other = other.options::<Self>()?;
        let (one, other) = (self.data_parameters(), other.data_parameters());
        (!one.is_empty() && !other.is_empty() && one != other).then(|| "their `init` makes other tables".to_owned())
    }

    fn refusal(&self, dialect: &dyn Dialect) -> Option<(String, String)> {
        dialect.lacks(Feature::Sql).map(|lack| (lack.why.to_owned(), lack.help.to_owned()))
    }

    fn size(&self) -> DataSize {
        match self.init.as_deref() {
            Some(Init::Sql(made)) => made.size(true),
            _ => DataSize::default(),
        }
    }

    fn rehearse(&self) -> Vec<(String, String)> {
        let mut problems = values::problems(self, Purpose::Run);
        if let Some(maker) = self.maker() {
            problems.extend(values::problems(maker, Purpose::Prepare));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_words_with_values() {
        let all = split("a=1 --b-c='two words'  d=").unwrap();
        assert_eq!(joined(&all), "a=1 b_c='two words' d=");
        assert_eq!(split(&joined(&all)).unwrap(), all);
        for (text, wrong) in [("a", "a"), ("a=1 b c=2", "b"), ("a='x", "a='x")] {
            assert_eq!(split(text).unwrap_err(), wrong);
        }
    }
}
