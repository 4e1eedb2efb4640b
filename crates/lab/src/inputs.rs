//! What a study needs from outside its own file: prices, targets and workload parameters, all checked at once.

use std::fs;
use std::path::{Path, PathBuf};

use perbuck_core::bill::Bill;
use perbuck_core::metric::{QPS, RELATIVE, TPS};
use perbuck_core::problem::Problem;
use perbuck_core::study::{Contender, CsvRow, Located, Study, WorkloadSpec};
use perbuck_database::address::TargetProblem;
use perbuck_database::registry::AnyTarget;
use perbuck_deploy::local::KINDS;
use perbuck_prices::Snapshot;
use perbuck_workloads::Plan;

use crate::error::LabError;
use crate::registry::Registry;

mod changes;

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
    /// The price lists behind the bills.
    pub lists: perbuck_prices::Lists,
    /// Parsed target of each contender; `None` for one that is only priced.
    pub targets: Vec<Option<AnyTarget>>,
    /// Checked parameters of each workload.
    pub plans: Vec<Plan>,
    /// The benchmarks that there are.
    pub registry: Registry,
}

/// Reads and checks a study; `prices` replaces the snapshot that it names.
///
/// # Errors
/// An unreadable file, or every problem of the study at once.
pub fn read(study: &Path, prices: Option<&Path>, registry: Registry) -> Result<Inputs, LabError> {
    read_or_list(study, prices, registry)?.map_err(|problems| LabError::problems(&problems))
}

/// The same with the problems as a list.
///
/// # Errors
/// An unreadable file.
pub fn read_or_list(study: &Path, prices: Option<&Path>, registry: Registry) -> Result<Result<Inputs, Vec<Problem>>, LabError> {
    let text = read_text("the study", study)?;
    let prices = prices.map(|p| read_text("the prices", p).map(|t| (p.to_owned(), t))).transpose()?;
    Ok(check(&study.display().to_string(), text, prices, registry))
}

/// Reads a study that is to be measured.
///
/// # Errors
/// As [`read`], and a study whose numbers are published ones: what it would measure is not said in it.
pub fn read_to_measure(study: &Path, prices: Option<&Path>, registry: Registry) -> Result<Inputs, LabError> {
    let inputs = read(study, prices, registry)?;
    if inputs.study.published.is_some() {
        let message = format!("{} holds published results in place of trials", study.display());
        let help = "replay it: perbuck replay STUDY; to measure it, remove `[results]` and give it a `[sweep]`";
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
pub fn published_texts(study: &Path, prices: Option<&Path>, results: Option<&Path>) -> Result<PublishedTexts, LabError> {
    let named = |what: &str, path: &Path| Ok::<_, LabError>((path.display().to_string(), read_text(what, path)?));
    let prices = prices.map(|p| read_text("the prices", p).map(|t| (p.to_owned(), t)));
    Ok(PublishedTexts {
        csv: results.map(|p| named("the results", p)).transpose()?,
        study: named("the study", study)?,
        prices: prices.transpose()?,
    })
}

/// Checks a study with what was published of it.
///
/// # Errors
/// Every problem of the study, or of the file of its results.
pub fn check_published(texts: &PublishedTexts, registry: Registry) -> Result<Inputs, LabError> {
    let ((path, text), prices) = (texts.study.clone(), texts.prices.clone());
    let Some((name, csv)) = &texts.csv else {
        return check(&path, text, prices, registry).map_err(|problems| LabError::problems(&problems));
    };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(csv.as_bytes());
    let wrong = |e: &csv::Error| {
        let line = e.position().map_or(0, |p| p.line() as usize);
        let message = format!("is no CSV file: {}", unplaced(e));
        LabError::problems(&[Problem {
            file: name.clone(),
            line,
            message,
            help: "give every row as many cells as the header".to_owned(),
        }])
    };
    let header: Vec<String> = reader.headers().map_err(|e| wrong(&e))?.iter().map(str::to_owned).collect();
    let mut rows: Vec<CsvRow> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| wrong(&e))?;
        let line = record.position().map_or(0, |p| p.line() as usize);
        rows.push((line, record.iter().map(str::to_owned).collect()));
    }
    // Published results are checked against the study; what it says of a sweep or a workload of perbuck's is not needed.
    let take = |study: &mut Study| study.take_results(name, &header, &rows);
    check_with(&path, text, prices, registry, take).map_err(|problems| LabError::problems(&problems))
}

/// What is wrong with a CSV file, without its place, which the message names already.
fn unplaced(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("a row has {len} cells, and the header has {expected_len}")
        }
        _ => error.to_string(),
    }
}

/// Reads a text file.
///
/// # Errors
/// Names the file and why it cannot be read.
pub fn read_text(what: &str, path: &Path) -> Result<String, LabError> {
    fs::read_to_string(path).map_err(LabError::of_file(&format!("read {what}"), path))
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
    if let Err(found) = change(&mut study) {
        problems.extend(found);
    }
    let keep = |problems: &mut Vec<Problem>, found: Vec<Problem>| problems.extend(found);
    let (priced, snapshot_text) = match price(name, &study, prices) {
        Ok(priced) => priced,
        Err(found) => {
            keep(&mut problems, found);
            (perbuck_prices::Priced::default(), None)
        }
    };
    let targets = study
        .contenders
        .iter()
        .map(|c| {
            target(name, c, registry).unwrap_or_else(|p| {
                problems.push(p);
                None
            })
        })
        .collect();
    problems.extend(study.contenders.iter().flat_map(|c| private_server(name, c)));
    problems.extend(study.contenders.iter().flat_map(|c| changes::problems(name, c, registry)));
    let mut plans = Vec::new();
    // Published results may be of a benchmark that perbuck does not run.
    for spec in study.workloads.iter().filter(|_| study.published.is_none()) {
        match plan(name, spec, registry) {
            Ok(plan) => plans.push(plan),
            Err(found) => keep(&mut problems, found),
        }
    }
    if problems.is_empty() && study.published.is_none() {
        problems.extend(conflicts(name, &study, &plans));
        problems.extend(too_many_connections(name, &study, &plans));
        problems.extend(paced_twice(name, &study, &plans));
    }
    if problems.is_empty() {
        let perbuck_prices::Priced { bills, lists } = priced;
        return Ok(Inputs { study, name: name.to_owned(), text, prices: snapshot_text, bills, lists, targets, plans, registry });
    }
    problems.sort_by_key(|p| p.line);
    Err(problems)
}

/// Workloads that would spoil each other's tables; that their parameters agree is checked with the study.
fn conflicts(file: &str, study: &Study, plans: &[Plan]) -> Vec<Problem> {
    let all: Vec<(&WorkloadSpec, &Plan)> = study.workloads.iter().zip(plans).collect();
    let mut found = Vec::new();
    for (i, (spec, plan)) in all.iter().enumerate() {
        let same = |(other, _): &&(&WorkloadSpec, &Plan)| other.database == spec.database;
        let why = all[..i].iter().filter(same).find_map(|(other, p)| Some((other, p.conflict(&***plan)?)));
        if let Some((other, why)) = why {
            let message = format!("workloads `{}` and `{}` cannot share their tables, because {why}", other.name, spec.name);
            let help = "give one of them its own `database = \"…\"`".to_owned();
            found.push(Problem { file: file.to_owned(), line: spec.line, message, help });
        }
    }
    found
}

/// Points that a workload has no room for.
fn too_many_connections(file: &str, study: &Study, plans: &[Plan]) -> Vec<Problem> {
    let most = study.sweep.connections.iter().copied().max().unwrap_or(0);
    let problem = |(spec, plan): (&WorkloadSpec, &Plan)| {
        let (limit, parameter) = plan.connections_max().filter(|(limit, _)| *limit < most)?;
        let line = spec.parameters.get(parameter).map_or(spec.line, |p| p.line);
        let message = format!("workload `{}`: `{parameter}` is {limit}, and the sweep has {most} connections", spec.name);
        Some(Problem { file: file.to_owned(), line, message, help: format!("set `{parameter} = {most}`") })
    };
    study.workloads.iter().zip(plans).filter_map(problem).collect()
}

/// Workloads whose terminals wait for themselves under a schedule of arrivals.
fn paced_twice(file: &str, study: &Study, plans: &[Plan]) -> Vec<Problem> {
    let problem = |(spec, plan): (&WorkloadSpec, &Plan)| {
        let parameter = plan.paced_by().filter(|_| study.sweep.is_open())?;
        let line = spec.parameters.get(parameter).map_or(spec.line, |p| p.line);
        let message = format!("workload `{}`: `{parameter}` lets terminals pause, and the sweep says when they start", spec.name);
        let help = format!("leave `{parameter}` out, or give the sweep `connections` without a rate");
        Some(Problem { file: file.to_owned(), line, message, help })
    };
    study.workloads.iter().zip(plans).filter_map(problem).collect()
}

/// What a study costs, and the text of the list that it names.
type Priced = (perbuck_prices::Priced, Option<(String, String)>);

fn price(file: &str, study: &Study, given: Option<(PathBuf, String)>) -> Result<Priced, Vec<Problem>> {
    let Some(wanted) = &study.price.snapshot else { return Ok((perbuck_prices::Priced::default(), None)) };
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

fn target(file: &str, contender: &Contender, registry: Registry) -> Result<Option<AnyTarget>, Problem> {
    let Some(written) = &contender.target else { return Ok(None) };
    let problem = |p: TargetProblem| Problem {
        file: file.to_owned(),
        line: written.line,
        message: format!("contender `{}`: {}", contender.name, p.message),
        help: p.help,
    };
    registry.target(&written.value).map(Some).map_err(problem)
}

/// What is wrong with the private server that a contender asks for, as far as the study alone tells.
fn private_server(file: &str, contender: &Contender) -> Vec<Problem> {
    let Some(spec) = &contender.server else { return Vec::new() };
    let problem = |line, message: String, help: String| {
        let message = format!("contender `{}`: {message}", contender.name);
        Problem { file: file.to_owned(), line, message, help }
    };
    let names = KINDS.map(|(name, _)| name);
    let Some((_, kind)) = KINDS.iter().find(|(name, _)| *name == spec.kind.value) else {
        let help = format!("perbuck starts {}; give any other server by its `target`", names.join(", "));
        return vec![problem(spec.kind.line, format!("perbuck cannot start a server of kind `{}`", spec.kind.value), help)];
    };
    let check = |(key, value): (&String, &Located<String>)| {
        let refused = kind.check(key, &value.value).err()?;
        Some(problem(value.line, refused.message, refused.help))
    };
    spec.config.iter().filter_map(check).collect()
}

fn plan(file: &str, spec: &WorkloadSpec, registry: Registry) -> Result<Plan, Vec<Problem>> {
    let plan = registry.plan(&spec.kind.value, &spec.parameters).map_err(|found| {
        let line = |key: &str| match key {
            "kind" => spec.kind.line,
            key => spec.parameters.get(key).map_or(spec.line, |p| p.line),
        };
        let problem = |p: perbuck_workloads::params::ParamProblem| Problem {
            file: file.to_owned(),
            line: line(&p.key),
            message: format!("workload `{}`: {}", spec.name, p.message),
            help: p.help,
        };
        found.into_iter().map(problem).collect::<Vec<_>>()
    })?;
    let Some(metric) = spec.metric.as_ref().filter(|m| !plan.kind.has(m)) else { return Ok(plan) };
    let (message, help) = if *metric == RELATIVE {
        let measured = [&TPS, &QPS].into_iter().chain(registry.kinds().into_iter().flat_map(|kind| kind.metrics.iter().copied()));
        let names: Vec<String> = measured.map(|m| format!("\"{}\"", m.name)).collect();
        let help = names.split_last().map_or(String::new(), |(last, most)| format!("use {} or {last}", most.join(", ")));
        (format!("workload `{}`: only published results can have the metric `relative`", spec.name), help)
    } else {
        let message = format!("workload `{}` has no {}, so it has no {}", spec.name, metric.counts, metric.label);
        (message, "give this workload its own `metric = \"tps\"`".to_owned())
    };
    Err(vec![Problem { file: file.to_owned(), line: spec.line, message, help }])
}
