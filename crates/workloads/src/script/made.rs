//! The tables that the statements of `init` make, with rows that are drawn: for scripts, and for workloads of other kinds.

use std::collections::BTreeMap;
use std::sync::Arc;

use perbuck_core::units::Seed;
use perbuck_database::Dialect;
use perbuck_load::workload::{Check, Dataset, Part, TableSpec};

use super::Options;
use super::data::ScriptData;
use super::options::{Executed, Init, hash};
use super::program::{Program, Step};
use super::variables::Names;
use crate::benchmark::{Benchmark, DataSize};
use crate::generated::{self, Generated};
use crate::params::{NamedFile, Reader};

/// What the parameters `init`, `table` and `finish` say of a workload that is no script in SQL; without them its tables are there.
#[derive(Debug, Clone)]
pub struct MadeTables(Options);

impl MadeTables {
    /// Reads the three parameters.
    pub fn read(reader: &mut Reader<'_>) -> Self {
        let (init, generated, finish) = tables(reader);
        Self(Options::without_scripts(init, generated, finish))
    }

    /// What decides the tables.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        self.0.data_parameters()
    }

    /// About how much is loaded; `grows` says whether a run changes how many rows there are.
    pub fn size(&self, grows: bool) -> DataSize {
        DataSize { grows, ..self.0.size() }
    }

    /// The tables on a database, with rows drawn from a seed.
    pub fn dataset(&self, dialect: &'static dyn Dialect, seed: Seed, grows: bool) -> Arc<dyn Dataset> {
        Arc::new(MadeData { made: ScriptData::new(self.0.clone(), dialect, seed), grows })
    }
}

/// The tables of a workload of another kind.
#[derive(Debug)]
struct MadeData {
    made: ScriptData,
    /// Whether a run changes how many rows there are.
    grows: bool,
}

impl Dataset for MadeData {
    fn tables(&self) -> Vec<TableSpec> {
        self.made.tables()
    }

    fn parts(&self) -> u32 {
        self.made.parts()
    }

    fn part(&self, index: u32) -> Box<dyn Part> {
        self.made.part(index)
    }

    fn checks(&self) -> Vec<Check> {
        Vec::new()
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        self.made.parameters()
    }

    fn grows(&self) -> bool {
        self.grows
    }
}

/// The tables that `init` makes, those of them whose rows are drawn, and what comes after these rows.
pub(super) fn tables(reader: &mut Reader<'_>) -> (Option<Init>, Generated, Option<Executed>) {
    let init = init(reader);
    // Of a file that is not there, or cannot be read, more is not told.
    let unreadable = init.is_none() && reader.has("init");
    let made = init.as_ref().map(|init| &*init.tables);
    let generated = if unreadable {
        reader.list(generated::TABLE.name);
        Generated::default()
    } else {
        generated::read(reader, made)
    };
    let finish = executed(reader, "finish");
    if finish.is_some() && !reader.has("table.") {
        let help = "put its statements at the end of `init`, or fill tables by `[[workload.table]]`";
        reader.problem("finish", "`finish` comes after rows of `[[workload.table]]`, and there are none", help);
    }
    (init, generated, finish)
}

/// The statements of the file that a parameter names.
fn executed(reader: &mut Reader<'_>, key: &'static str) -> Option<Executed> {
    let mut files = reader.files(key);
    if files.len() > 1 {
        reader.problem(key, format!("`{key}` is one file"), "put the statements of all into one");
    }
    let NamedFile { name, text, .. } = files.pop()?;
    let text = text?;
    let mut names = Names::default();
    let program = match Program::read(&text, &mut names, false) {
        Ok(program) => program,
        Err(faults) => {
            for fault in faults {
                reader.problem(key, format!("{name}:{}: {}", fault.line, fault.message), fault.help);
            }
            return None;
        }
    };
    if let Some(step) = program.steps.iter().find(|step| !matches!(step.step, Step::Sql(..))) {
        reader.problem(
            key,
            format!("{name}:{}: a meta command in `{key}`", step.line),
            "write its statements without meta commands",
        );
    }
    let statements = program.statements().map(|sql| sql.written(&names)).collect();
    Some(Executed { hash: hash(&text), name, statements })
}

/// The statements of `init`, and the tables that they make.
fn init(reader: &mut Reader<'_>) -> Option<Init> {
    let file = executed(reader, "init")?;
    let tables: Vec<String> = file.statements.iter().filter_map(|sql| super::data::made_table(sql)).collect();
    if tables.is_empty() {
        let help = "let it make the tables, so that perbuck knows what it may drop: CREATE TABLE name (…)";
        reader.problem("init", format!("{} makes no table", file.name), help);
    }
    Some(Init { file, tables })
}
