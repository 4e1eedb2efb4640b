//! What a study needs from outside its own file: prices, targets and workload parameters, all checked at once.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use perbuck_core::bill::Bill;
use perbuck_core::problem::Problem;
use perbuck_core::run_record::arch;
use perbuck_core::study::{CsvRow, Study};
use perbuck_core::toml_reader::{self, TomlFile};
use perbuck_database::registry::AnyTarget;
use perbuck_database::secret::Secret;
use perbuck_prices::Snapshot;
use perbuck_workloads::Plan;

use crate::error::LabError;
use crate::rates::Rates;
use crate::registry::Registry;
use crate::store;

mod attach;
mod check;
mod copies;
mod named;
mod nowhere;
mod part;
mod profiled;
mod share;

pub use attach::{Targets, study_text};
use check::Check;
pub use named::Named;
pub(crate) use named::say_waits_by;

/// A study with everything about it checked.
pub struct Inputs {
    /// The study.
    pub study: Study,
    /// What messages call its file.
    pub name: String,
    /// The text of its file.
    pub text: String,
    /// The text of the price snapshot, with its name.
    pub prices: Option<(String, String)>,
    /// All bills: contenders in the order of the study, regions within.
    pub bills: Vec<Bill>,
    /// The price lists of the bills.
    pub lists: perbuck_prices::Lists,
    /// Parsed target of each contender; `None` for one that is only priced.
    pub targets: Vec<Option<AnyTarget>>,
    /// Checked parameters of each workload.
    pub plans: Vec<Plan>,
    /// The benchmarks that there are.
    pub registry: Registry,
    /// How fast data were loaded before, which tells how long the study takes; empty where that was not looked for.
    pub rates: Rates,
    /// Passwords that perbuck made itself, by contender.
    pub(crate) passwords: BTreeMap<String, Secret>,
}

/// Reads and checks a study; `targets` are in place of those of its contenders, and `prices` of the snapshot that it names.
///
/// # Errors
/// An unreadable file, or every problem of the study at once.
pub fn read(study: (&Path, &Targets), prices: Option<&Path>, registry: Registry) -> Result<Inputs, LabError> {
    read_or_list(study, prices, registry)?.map_err(|problems| LabError::problems(&problems))
}

/// Checks a study that is not on disk yet, as if it were.
///
/// # Errors
/// Every problem of the study at once.
pub(crate) fn read_drafted(study: &Path, text: String, prices: Option<&Path>) -> Result<Inputs, LabError> {
    let (file, lines) = (study.display().to_string(), text.clone());
    let checked =
        check_with(&file, text, price_text(prices, &lines)?, Registry::default(), |study| own_checks(&file, &lines, study));
    checked.map_err(|problems| LabError::problems(&problems))
}

/// The same with the problems as a list.
///
/// # Errors
/// An unreadable file.
pub fn read_or_list(
    (study, targets): (&Path, &Targets),
    prices: Option<&Path>,
    registry: Registry,
) -> Result<Result<Inputs, Vec<Problem>>, LabError> {
    let text = study_text(study, targets)?;
    let (file, lines) = (study.display().to_string(), text.clone());
    let prices = match given_prices(prices, &text) {
        Ok(prices) => prices?,
        Err(problems) => return Ok(Err(problems)),
    };
    let checked = check_with(&file, text, prices, registry, |study| own_checks(&file, &lines, study));
    Ok(checked.and_then(nowhere::rehearsed))
}

/// What is asked of a study that a user writes, and not of one that lies beside its results or in a page: an architecture that its
/// instances do not have, and names whose folders would be where perbuck has files of its own. Only a study that is to be measured
/// makes folders.
fn own_checks(file: &str, text: &str, study: &Study) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    for (contender, node) in study.contenders.iter().flat_map(|c| c.nodes.iter().map(move |n| (c, n))) {
        let stated = contender.arch.as_deref().filter(|_| node.priced).and_then(arch);
        let Some(machine) = node.machine.as_ref().filter(|m| stated.is_some_and(|stated| stated != m.arch)) else { continue };
        let (name, stated) = (&contender.name, stated.unwrap_or_default());
        let message = format!("contender `{name}`: `arch` is {stated}, and `{}` is {}", node.instance, machine.text());
        let help = "correct `arch` or `instance`; a contender with machines of both has no `arch`".to_owned();
        problems.push(Problem { file: file.to_owned(), line: node.line, message, help });
    }
    problems.extend(perbuck_deploy::kubernetes::Plan::of(study, file).err().into_iter().flatten());
    if study.published.is_some() {
        return if problems.is_empty() { Ok(()) } else { Err(problems) };
    }
    let mut taken = |line: usize, what: &str, name: &str| {
        let message = format!("{what} `{name}` has the name of a file or folder that perbuck makes itself");
        problems.push(Problem { file: file.to_owned(), line, message, help: "give it another name".to_owned() });
    };
    if store::is_own_study(&study.name) {
        taken(text.lines().position(|line| line.starts_with("name")).map_or(0, |n| n + 1), "the study", &study.name);
    }
    for contender in study.contenders.iter().filter(|c| store::is_own_name(&c.name)) {
        taken(contender.line, "contender", &contender.name);
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// A price file of the user, or the problems of an overlay.
type Given = Result<Result<Option<(PathBuf, String)>, LabError>, Vec<Problem>>;

/// The price file that a user names for a study. An overlay becomes the whole list that it makes, so that what is stored and embedded
/// needs no other list.
fn given_prices(path: Option<&Path>, study: &str) -> Given {
    let Some(path) = path else { return Ok(Ok(None)) };
    let text = match read_text("the prices", path) {
        Ok(text) => text,
        Err(e) => return Ok(Err(e)),
    };
    // A study that cannot be read says so elsewhere.
    let of_study = TomlFile::parse("", study.to_owned()).ok().and_then(|file| {
        let snapshot = file.root().table("price")?.text("snapshot")?;
        Some(snapshot.value)
    });
    let (_, whole) = perbuck_prices::read_prices(&path.display().to_string(), &text, of_study.as_deref())?;
    Ok(Ok(Some((path.to_owned(), whole.unwrap_or(text)))))
}

/// The same with problems as an error.
///
/// # Errors
/// An unreadable file, or every problem of it.
pub(crate) fn price_text(path: Option<&Path>, study: &str) -> Result<Option<(PathBuf, String)>, LabError> {
    given_prices(path, study).map_err(|problems| LabError::problems(&problems))?
}

/// Reads a study that is to be measured.
///
/// # Errors
/// As [`read`], and a study whose numbers are published ones: what it would measure is not said in it.
pub fn read_to_measure(study: (&Path, &Targets), prices: Option<&Path>, registry: Registry) -> Result<Inputs, LabError> {
    to_measure(read(study, prices, registry)?)
}

/// Refuses a study whose numbers are published ones, or read from logs.
pub(crate) fn to_measure(inputs: Inputs) -> Result<Inputs, LabError> {
    if inputs.study.published.is_some() {
        let message = format!("{} holds published results in place of trials", inputs.name);
        let help = "replay it: perbuck replay STUDY; to measure it, too, give it a `[sweep]`";
        return Err(LabError::usage(message, help));
    }
    if inputs.study.imported {
        let message =
            format!("{} is a study of imported trials (`imported = true`), and perbuck measures none of them", inputs.name);
        let help =
            "import logs: perbuck import STUDY CONTENDER=LOG; to measure it, remove `imported` and give contenders a `target`";
        return Err(LabError::usage(message, help));
    }
    Ok(inputs)
}

/// The texts of a study with what was published of it, each with what messages call it.
pub struct PublishedTexts {
    /// The study.
    pub study: (String, String),
    /// A price snapshot in place of the one that it names.
    pub prices: Option<(PathBuf, String)>,
    /// Published results in a file of their own.
    pub csv: Option<(String, String)>,
}

/// Reads the files of a study with what was published of it.
///
/// # Errors
/// An unreadable file.
pub fn published_texts(
    (study, targets): (&Path, &Targets),
    prices: Option<&Path>,
    results: Option<&Path>,
) -> Result<PublishedTexts, LabError> {
    let named = |what: &str, path: &Path, limit| Ok::<_, LabError>((path.display().to_string(), read_up_to(what, path, limit)?));
    let csv = results.map(|p| named("the results", p, Limit::TABLE)).transpose()?;
    let study = (study.display().to_string(), study_text(study, targets)?);
    let prices = price_text(prices, &study.1)?;
    Ok(PublishedTexts { csv, study, prices })
}

/// Checks a study with what was published of it.
///
/// # Errors
/// Every problem of the study, or of the file of its results.
pub fn check_published(texts: &PublishedTexts, registry: Registry) -> Result<Inputs, LabError> {
    let ((path, text), prices) = (texts.study.clone(), texts.prices.clone());
    let checked = match &texts.csv {
        None => check(&path, text, prices, registry),
        Some((name, csv)) => {
            let (header, rows) = csv_rows(name, csv)?;
            check_with(&path, text, prices, registry, |study| study.take_results(name, &header, &rows))
        }
    };
    // What it would measure does not matter here.
    let checked = checked.map(|inputs| Inputs { study: inputs.study.as_published(), ..inputs });
    checked.map_err(|problems| LabError::problems(&problems))
}

fn csv_rows(name: &str, text: &str) -> Result<(Vec<String>, Vec<CsvRow>), LabError> {
    if text.len() as u64 > Limit::TABLE.0 {
        return Err(LabError::files(
            format!("{name} has more than {} MB", Limit::TABLE.0 >> 20),
            "check that it is the right file",
        ));
    }
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let line_of = |position: Option<&csv::Position>| position.map_or(0, |p| p.line() as usize);
    let wrong = |e: csv::Error| {
        // Without its position, which the problem has already.
        let why = match e.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("a row has {len} cells, and the header has {expected_len}")
            }
            _ => e.to_string(),
        };
        let help = "give every row as many cells as the header".to_owned();
        let (file, line, message) = (name.to_owned(), line_of(e.position()), format!("is no CSV file: {why}"));
        LabError::problems(&[Problem { file, line, message, help }])
    };
    let cells = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
    let header = cells(reader.headers().map_err(wrong)?);
    let row = |record: csv::StringRecord| (line_of(record.position()), cells(&record));
    let rows = reader.records().map(|record| record.map(row)).collect::<Result<_, _>>().map_err(wrong)?;
    Ok((header, rows))
}

/// Bytes that a file of a kind has at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limit(u64);

impl Limit {
    /// Studies, price lists, files of options and passwords.
    pub const TEXT: Self = Self(toml_reader::LONGEST as u64);
    /// Published results: a row of some forty bytes for each point, which needs forty times as much memory.
    pub const TABLE: Self = Self(4 << 20);
    /// The record of a trial: some 250 bytes for each second, so a month.
    pub const RECORD: Self = Self(1 << 30);
    /// The page of a report: a hundred thousand trials.
    pub const PAGE: Self = Self(1 << 30);
    /// What comes out of a pipe or a device, whose length is not known before it is in memory.
    const STREAM: Self = Self(64 << 20);
}

/// Reads a text file that the user names.
///
/// # Errors
/// Names the file and why it cannot be read.
pub fn read_text(what: &str, path: &Path) -> Result<String, LabError> {
    read_up_to(what, path, Limit::TEXT)
}

/// The same for a file that may be longer.
pub(crate) fn read_up_to(what: &str, path: &Path, limit: Limit) -> Result<String, LabError> {
    let file = Named::open(path).map_err(LabError::of_file(&format!("read {what}"), path))?;
    let limit = if file.is_plain { limit } else { limit.min(Limit::STREAM) };
    read_bounded(what, path, file.length(), file, limit)
}

/// Reads an opened file of so many bytes to its end, but no further than its kind goes: a device has no end.
pub(crate) fn read_bounded(what: &str, path: &Path, length: u64, file: impl Read, limit: Limit) -> Result<String, LabError> {
    let Limit(most) = limit;
    let too_long = || {
        let message = format!("cannot read {what} {}: it has more than {} MB", path.display(), most >> 20);
        LabError::files(message, "check that it is the right file")
    };
    if length > most {
        return Err(too_long());
    }
    let mut text = String::with_capacity(length as usize);
    file.take(most + 1).read_to_string(&mut text).map_err(LabError::of_file(&format!("read {what}"), path))?;
    if text.len() as u64 > most { Err(too_long()) } else { Ok(text) }
}

/// Checks the text of a study; `prices` replaces the snapshot that it names.
///
/// # Errors
/// Every problem of the study, in the order of its lines.
pub fn check(name: &str, text: String, prices: Option<(PathBuf, String)>, registry: Registry) -> Result<Inputs, Vec<Problem>> {
    check_with(name, text, prices, registry, |_| Ok(()))
}

/// The same after `change` has put something into the study.
fn check_with(
    name: &str,
    text: String,
    prices: Option<(PathBuf, String)>,
    registry: Registry,
    change: impl FnOnce(&mut Study) -> Result<(), Vec<Problem>>,
) -> Result<Inputs, Vec<Problem>> {
    let (study, mut problems) = Study::read_with_problems(name, &text, &registry.kinds());
    let Some(mut study) = study else { return Err(problems) };
    let (perbuck_prices::Priced { bills, lists }, prices) = price(name, &study, prices).unwrap_or_else(|found| {
        problems.extend(found);
        Priced::default()
    });
    lists.describe_machines(&mut study);
    problems.extend(change(&mut study).err().into_iter().flatten());
    let mut check = Check { file: name, registry, problems };
    let targets = study.contenders.iter().map(|c| check.target(c)).collect();
    check.config_files(&mut study);
    check.levels(&study);
    study.contenders.iter().for_each(|c| check.private_server(c));
    study.contenders.iter().for_each(|c| check.changes(c));
    study.contenders.iter().for_each(|c| check.backup(c));
    study.contenders.iter().for_each(|c| check.transactions(&study, c));
    study.contenders.iter().for_each(|c| check.cold(&study, c));
    check.profile_fits(&study);
    study.contenders.iter().for_each(|c| check.profile_of(&study, c));
    if study.published.is_none() && !study.imported {
        share::share_data(&mut study, registry);
    }
    // Published results, and logs, may be of a benchmark that perbuck does not run.
    let to_run = study.workloads.iter().filter(|_| study.published.is_none() && !study.imported);
    let plans: Vec<Plan> = to_run.filter_map(|spec| check.plan(spec)).collect();
    if check.problems.is_empty() && study.published.is_none() && !study.imported {
        check.conflicts(&study, &plans);
        check.runs_nowhere(&study, &plans);
        check.too_many_connections(&study, &plans);
        check.paced_twice(&study, &plans);
        check.query_hosts(&study);
        check.copies(&study);
    }
    let mut problems = check.problems;
    if problems.is_empty() {
        return Ok(Inputs {
            study,
            name: name.to_owned(),
            text,
            prices,
            bills,
            lists,
            targets,
            plans,
            registry,
            rates: Rates::default(),
            passwords: BTreeMap::new(),
        });
    }
    problems.sort_by_key(|p| p.line);
    Err(problems)
}

/// What a study costs, and the name and the text of the list that it names.
type Priced = (perbuck_prices::Priced, Option<(String, String)>);

fn price(file: &str, study: &Study, given: Option<(PathBuf, String)>) -> Result<Priced, Vec<Problem>> {
    let Some(wanted) = &study.price.snapshot else { return Ok(Priced::default()) };
    let (snapshot, text) = match given {
        Some((path, text)) => (Some(Snapshot::read(&path.display().to_string(), &text)?), text),
        None => {
            let bundled = perbuck_prices::catalogue().iter().find(|b| b.name == wanted.value);
            (None, bundled.map(|b| b.text.to_owned()).unwrap_or_default())
        }
    };
    let mut priced = perbuck_prices::bills(study, snapshot, file)?;
    // A bill says where a price was declared. Where that file lies is no part of a report: the same files give the same one.
    let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
    for line in priced.bills.iter_mut().flat_map(|b| &mut b.lines) {
        if let Some(rest) = line.source.strip_prefix(file) {
            line.source = format!("{name}{rest}");
        }
    }
    Ok((priced, Some((wanted.value.clone(), text))))
}

#[cfg(test)]
mod tests;
