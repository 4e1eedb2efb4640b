//! What a study needs from outside its own file: prices, targets and workload parameters, all checked at once.

use std::fs;
use std::path::{Path, PathBuf};

use perbuck_core::bill::Bill;
use perbuck_core::problem::Problem;
use perbuck_core::study::{Contender, Metric, Study, WorkloadSpec};
use perbuck_drivers::target::Target;
use perbuck_prices::Snapshot;
use perbuck_workloads::Plan;

use crate::error::CliError;

/// A study with everything about it checked.
pub(crate) struct Inputs {
    /// The study.
    pub(crate) study: Study,
    /// The text of its file.
    pub(crate) text: String,
    /// The text of the price snapshot, with its name.
    pub(crate) prices: Option<(String, String)>,
    /// All bills: contenders in the order of the study, regions within.
    pub(crate) bills: Vec<Bill>,
    /// Parsed target of each contender; `None` for one that is only priced.
    pub(crate) targets: Vec<Option<Target>>,
    /// Checked parameters of each workload.
    pub(crate) plans: Vec<Plan>,
}

/// Reads and checks a study; `prices` replaces the snapshot that it names.
///
/// # Errors
/// An unreadable file, or every problem of the study at once.
pub(crate) fn read(study: &Path, prices: Option<&Path>) -> Result<Inputs, CliError> {
    read_or_list(study, prices)?.map_err(|problems| CliError::problems(&problems))
}

/// The same with the problems as a list.
///
/// # Errors
/// An unreadable file.
pub(crate) fn read_or_list(study: &Path, prices: Option<&Path>) -> Result<Result<Inputs, Vec<Problem>>, CliError> {
    let text = read_text("the study", study)?;
    let prices = prices.map(|p| read_text("the prices", p).map(|t| (p.to_owned(), t))).transpose()?;
    Ok(check(&study.display().to_string(), text, prices))
}

/// Reads a text file.
///
/// # Errors
/// Names the file and why it cannot be read.
pub(crate) fn read_text(what: &str, path: &Path) -> Result<String, CliError> {
    fs::read_to_string(path).map_err(|e| CliError::file(&format!("read {what}"), path, &e))
}

/// Checks the text of a study; `prices` replaces the snapshot that it names.
///
/// # Errors
/// Every problem of the study, in the order of its lines.
pub(crate) fn check(name: &str, text: String, prices: Option<(PathBuf, String)>) -> Result<Inputs, Vec<Problem>> {
    let (study, mut problems) = Study::read_with_problems(name, &text);
    let Some(study) = study else { return Err(problems) };
    let keep = |problems: &mut Vec<Problem>, found: Vec<Problem>| problems.extend(found);
    let (bills, snapshot_text) = match price(name, &study, prices) {
        Ok(priced) => priced,
        Err(found) => {
            keep(&mut problems, found);
            (Vec::new(), None)
        }
    };
    let targets = study
        .contenders
        .iter()
        .map(|c| {
            target(name, c).unwrap_or_else(|p| {
                problems.push(p);
                None
            })
        })
        .collect();
    let mut plans = Vec::new();
    for spec in &study.workloads {
        match plan(name, spec) {
            Ok(plan) => plans.push(plan),
            Err(found) => keep(&mut problems, found),
        }
    }
    if problems.is_empty() {
        problems.extend(conflicts(name, &study, &plans));
        problems.extend(too_many_connections(name, &study, &plans));
        problems.extend(paced_twice(name, &study, &plans));
    }
    if problems.is_empty() {
        return Ok(Inputs { study, text, prices: snapshot_text, bills, targets, plans });
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
        let why = all[..i].iter().filter(same).find_map(|(other, p)| Some((other, p.conflict(plan)?)));
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

type Priced = (Vec<Bill>, Option<(String, String)>);

fn price(file: &str, study: &Study, given: Option<(PathBuf, String)>) -> Result<Priced, Vec<Problem>> {
    let Some(wanted) = &study.price.snapshot else { return Ok((Vec::new(), None)) };
    let (snapshot, text) = match given {
        Some((path, text)) => (Snapshot::read(&path.display().to_string(), &text)?, text),
        None => {
            let snapshot = perbuck_prices::find(wanted, file)?;
            let bundled = perbuck_prices::catalogue().iter().find(|b| b.name == wanted.value);
            (snapshot, bundled.map(|b| b.text.to_owned()).unwrap_or_default())
        }
    };
    let (mut bills, mut problems) = (Vec::new(), Vec::new());
    for contender in &study.contenders {
        for region in &study.price.regions {
            match perbuck_prices::bill(contender, region, &study.price, &snapshot, file) {
                Ok(bill) => bills.push(bill),
                Err(found) => problems.extend(found),
            }
        }
    }
    // A region that the list does not have is found once per contender.
    problems.dedup();
    if problems.is_empty() { Ok((bills, Some((wanted.value.clone(), text)))) } else { Err(problems) }
}

fn target(file: &str, contender: &Contender) -> Result<Option<Target>, Problem> {
    let Some(written) = &contender.target else { return Ok(None) };
    let problem = |p: perbuck_drivers::target::TargetProblem| Problem {
        file: file.to_owned(),
        line: written.line,
        message: format!("contender `{}`: {}", contender.name, p.message),
        help: p.help,
    };
    Target::parse(&written.value).map(Some).map_err(problem)
}

fn plan(file: &str, spec: &WorkloadSpec) -> Result<Plan, Vec<Problem>> {
    let plan = Plan::read(&spec.kind.value, &spec.parameters).map_err(|found| {
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
    if spec.metric == Some(Metric::Tpmc) && !matches!(plan, Plan::Tpcc(_)) {
        return Err(vec![Problem {
            file: file.to_owned(),
            line: spec.line,
            message: format!("workload `{}` has no new-order transactions, so it has no tpmC", spec.name),
            help: "give this workload its own `metric = \"tps\"`".to_owned(),
        }]);
    }
    Ok(plan)
}
