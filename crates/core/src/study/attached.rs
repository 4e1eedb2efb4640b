//! What a study names and holds nowhere but elsewhere: addresses that a command line gave, and files beside it.
//!
//! perbuck appends them to the study that it keeps, as tables at its end, so that the file alone says everything and the lines above stay
//! where they are.

use std::collections::BTreeMap;

use toml_edit::{DocumentMut, Item, Table, value};

use super::windows::WINDOW;
use super::{Contender, WorkloadSpec};
use crate::problem::did_you_mean;
use crate::toml_reader::{Located, Scalar, Section, TomlFile};
use crate::workload_kind::{ParameterKind, TABLE_FILE, WorkloadKind, file_text, files_of};

/// Targets by the names of contenders.
const TARGETS: &str = "targets";
/// Texts of files by the names that the study calls them.
const FILES: &str = "files";
/// The keys of workloads that name files.
const SCRIPT_KEYS: [&str; 3] = ["file", "init", "finish"];
/// The key of workloads that holds tables which may name files, and that of the columns of a table.
const TABLE_KEYS: [&str; 2] = ["table", "columns"];

/// The key of workloads that names the files of a log.
const LOG_KEY: &str = "log";

/// A log that a workload names.
#[derive(Debug, Clone)]
pub struct LogNamed {
    /// As the workload names it: one file, or several with commas between them.
    pub list: Located<String>,
    /// Its format, where the workload says so.
    pub format: Option<Located<String>>,
}

impl LogNamed {
    /// The names of its files, in their order.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        files_of(&self.list.value).map(|(name, _)| name)
    }
}

/// What is appended to a study.
#[derive(Debug, Default)]
pub struct Attached {
    /// Targets by contender.
    pub targets: BTreeMap<String, String>,
    /// Texts of files by name.
    pub files: BTreeMap<String, String>,
}

impl Attached {
    /// The text of the study with these at its end; as it is where there are none.
    pub fn to(&self, study: &str) -> String {
        let mut document = DocumentMut::new();
        for (name, of) in [(TARGETS, &self.targets), (FILES, &self.files)] {
            if !of.is_empty() {
                let table: Table = of.iter().map(|(key, text)| (key.clone(), value(text.clone()))).collect();
                document.insert(name, Item::Table(table));
            }
        }
        if document.is_empty() {
            return study.to_owned();
        }
        // A copy that perbuck made has such tables already.
        if let Some(text) = self.in_tables_of(study) {
            return text;
        }
        format!("{}\n\n# Added by perbuck, so that this file alone says everything.\n{document}", study.trim_end())
    }
}

impl Attached {
    /// The study with these in the tables that it has for them; `None` where it has none, or cannot be read.
    fn in_tables_of(&self, study: &str) -> Option<String> {
        let mut document: DocumentMut = study.parse().ok()?;
        if [TARGETS, FILES].iter().all(|name| !document.contains_table(name)) {
            return None;
        }
        for (name, of) in [(TARGETS, &self.targets), (FILES, &self.files)].into_iter().filter(|(_, of)| !of.is_empty()) {
            let table = document.entry(name).or_insert_with(|| Item::Table(Table::new())).as_table_mut()?;
            for (key, text) in of {
                table.insert(key, value(text.clone()));
            }
        }
        Some(document.to_string())
    }
}

/// The names of the contenders of a study; none of one that cannot be read.
pub fn contenders_of(study: &str) -> Vec<String> {
    let Ok(file) = TomlFile::parse("", study.to_owned()) else { return Vec::new() };
    file.root().tables("contender").into_iter().filter_map(|c| c.text("name").map(|name| name.value)).collect()
}

/// The contenders of a study with nothing to drive: without a target, a server and a deployment.
pub fn without_target(study: &str) -> Vec<String> {
    let Ok(file) = TomlFile::parse("", study.to_owned()) else { return Vec::new() };
    let root = file.root();
    let bare = root.tables("contender").into_iter().filter(|c| !c.has("target") && !c.has("server") && !c.has("deploy"));
    bare.filter_map(|c| c.text("name").map(|name| name.value)).collect()
}

/// The files that a study names and does not hold, by name and line.
pub fn files_named(study: &str) -> Vec<Located<String>> {
    // What is wrong with the file is told by its reader.
    let Ok(file) = TomlFile::parse("", study.to_owned()) else { return Vec::new() };
    let root = file.root();
    let servers = root.tables("contender").into_iter().filter_map(|contender| contender.table("server")?.text("config_file"));
    let results = root.table("results").and_then(|results| results.text("file"));
    let held = texts(&root, FILES);
    servers.chain(results).filter(|named| !held.contains_key(&named.value)).collect()
}

/// The scripts that the workloads of a study name and the study does not hold, by name and line.
pub fn scripts_named(study: &str) -> Vec<Located<String>> {
    let Ok(file) = TomlFile::parse("", study.to_owned()) else { return Vec::new() };
    let root = file.root();
    let levels =
        root.tables("factor").into_iter().flat_map(|factor| factor.tables("level")).filter_map(|level| level.table("workload"));
    let held = texts(&root, FILES);
    let lists = root
        .tables("workload")
        .into_iter()
        .chain(levels)
        .flat_map(|w| SCRIPT_KEYS.map(|key| w.is_text(key).then(|| w.text(key)).flatten()));
    let names = lists.flatten().flat_map(|list| {
        let named = |(name, _): (&str, Option<&str>)| Located { value: name.to_owned(), line: list.line };
        files_of(&list.value).map(named).collect::<Vec<_>>()
    });
    let [table, columns] = TABLE_KEYS;
    let within = root.tables("workload").into_iter().flat_map(|w| w.tables(table)).flat_map(|table| table.tables(columns));
    let of_columns = within.filter_map(|column| column.text(TABLE_FILE));
    names.chain(of_columns).filter(|named| !held.contains_key(&named.value)).collect()
}

/// The logs that the workloads of a study name, and of which the study holds no summary.
pub fn logs_named(study: &str) -> Vec<LogNamed> {
    let Ok(file) = TomlFile::parse("", study.to_owned()) else { return Vec::new() };
    let root = file.root();
    let held = texts(&root, FILES);
    let text = |w: &Section<'_>, key: &str| w.is_text(key).then(|| w.text(key)).flatten();
    let named = root.tables("workload").into_iter().filter_map(|w| {
        let list = text(&w, LOG_KEY).filter(|list| !held.contains_key(&list.value))?;
        Some(LogNamed { list, format: text(&w, "format").filter(|format| format.value != "auto") })
    });
    named.collect()
}

/// The log that a workload names.
fn log_of(spec: &WorkloadSpec) -> Option<Located<String>> {
    let declared = spec.known?.parameters.iter().find(|parameter| parameter.kind == ParameterKind::Log)?;
    match spec.parameters.get(declared.name) {
        Some(Located { value: Scalar::Text(names), line }) => Some(Located { value: names.clone(), line: *line }),
        _ => None,
    }
}

/// Gives a workload what is told of its log, if the study holds it: how many streams there are follows from it.
pub(super) fn give_log(root: &Section<'_>, spec: &mut WorkloadSpec) {
    if let Some(names) = log_of(spec)
        && let Some(Located { value, line }) = texts(root, FILES).remove(&names.value)
    {
        spec.parameters.insert(file_text(&names.value), Located { value: Scalar::Text(value), line });
    }
}

/// Gives workloads the texts of the files that their parameters name. Files that are not there are reported.
pub(super) fn give_scripts(root: &Section<'_>, workloads: &mut [WorkloadSpec]) {
    for spec in workloads {
        let lists: Vec<Located<Scalar>> = files_parameters(spec).filter_map(|key| spec.parameters.get(key).cloned()).collect();
        if let Some(names) = log_of(spec).filter(|names| !spec.parameters.contains_key(&file_text(&names.value)))
            && let Some(text) = text_of(root, &names)
        {
            spec.parameters.insert(file_text(&names.value), Located { value: Scalar::Text(text), line: names.line });
        }
        for list in lists {
            let Scalar::Text(names) = &list.value else { continue };
            for (name, _) in files_of(names).filter(|(name, _)| !name.contains(':')) {
                give_text(root, spec, (name, list.line));
            }
        }
        for (name, line) in files_of_tables(spec) {
            give_text(root, spec, (&name, line));
        }
    }
}

/// Gives a workload the text of a file, once.
fn give_text(root: &Section<'_>, spec: &mut WorkloadSpec, (name, line): (&str, usize)) {
    let key = file_text(name);
    if spec.parameters.contains_key(&key) {
        return;
    }
    if let Some(text) = text_of(root, &Located { value: name.to_owned(), line }) {
        spec.parameters.insert(key, Located { value: Scalar::Text(text), line });
    }
}

/// The files that tables within its parameters name, with the lines of the names.
fn files_of_tables(spec: &WorkloadSpec) -> Vec<(String, usize)> {
    let lists: Vec<String> = spec.known.into_iter().flat_map(WorkloadKind::lists).map(|list| format!("{list}.")).collect();
    let names = spec.parameters.iter().filter_map(|(path, found)| match &found.value {
        Scalar::Text(name) if path.rsplit('.').next() == Some(TABLE_FILE) && lists.iter().any(|list| path.starts_with(list)) => {
            Some((name.clone(), found.line))
        }
        _ => None,
    });
    names.collect()
}

fn files_parameters(spec: &WorkloadSpec) -> impl Iterator<Item = &'static str> + use<> {
    let declared = spec.known.map(|kind| kind.parameters).unwrap_or_default();
    declared.iter().filter(|parameter| parameter.kind == ParameterKind::Files).map(|parameter| parameter.name)
}

/// The targets that were appended to a study.
pub fn targets_given(study: &str) -> BTreeMap<String, String> {
    let Ok(file) = TomlFile::parse("", study.to_owned()) else { return BTreeMap::new() };
    texts(&file.root(), TARGETS).into_iter().map(|(name, found)| (name, found.value)).collect()
}

/// The texts of an appended table.
pub(super) fn texts(root: &Section<'_>, table: &str) -> BTreeMap<String, Located<String>> {
    let all = root.table(table).map(|s| s.remaining_scalars()).unwrap_or_default();
    let text = |(key, found): (String, Located<Scalar>)| match found.value {
        Scalar::Text(value) => Some((key, Located { value, line: found.line })),
        _ => None,
    };
    all.into_iter().filter_map(text).collect()
}

/// The targets that were given apart from the contenders.
pub(super) fn targets(root: &Section<'_>) -> BTreeMap<String, Located<String>> {
    // The files are asked for by name, windows when their workloads are known.
    root.has(FILES);
    root.has(WINDOW);
    texts(root, TARGETS)
}

/// The text of a file that the study names; where the study does not hold it, that is reported.
pub(super) fn text_of(root: &Section<'_>, named: &Located<String>) -> Option<String> {
    let text = texts(root, FILES).remove(&named.value).map(|found| found.value);
    if text.is_none() {
        let message = format!("there is no file `{}` beside the study", named.value);
        root.file().report(named.line, message, "correct its name; it is looked for in the folder of the study");
    }
    text
}

/// Targets that were given apart from the contenders take the place of theirs.
pub(super) fn give_targets(root: &Section<'_>, targets: BTreeMap<String, Located<String>>, contenders: &mut [Contender]) {
    for (name, target) in targets {
        let Some(contender) = contenders.iter_mut().find(|c| c.name == name) else {
            let names: Vec<&str> = contenders.iter().map(|c| c.name.as_str()).collect();
            let help = did_you_mean(&name, &names, || format!("the contenders are: {}", names.join(", ")));
            root.file().report(target.line, format!("a target is given for `{name}`, which is no contender"), help);
            continue;
        };
        if contender.server.is_some() {
            let message = format!("a target is given for contender `{name}`, which has a `server`");
            root.file().report(target.line, message, "leave one of them out");
        }
        contender.target = Some(target);
    }
}
