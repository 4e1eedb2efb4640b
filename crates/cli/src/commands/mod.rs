//! The commands; every one returns its error instead of exiting. Those of more than a page have a file of their own.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use perbuck_console::{
    Display, TRIAL_STOPS, print, print_either, print_hint, print_json, print_report, print_styled, stop_on_signal,
};
use perbuck_core::arrivals::Arrivals;
use perbuck_core::compare::Compared;
use perbuck_lab::capacity::{CapacityRequest, search_capacity};
use perbuck_lab::csv::study::{FileOptions, write_study};
use perbuck_lab::planned::Planned;
use perbuck_lab::power::Power;
use perbuck_lab::prepare::Preparation;
use perbuck_lab::progress::Progress as _;
use perbuck_lab::rates::Rates;
use perbuck_lab::registry::Registry;
use perbuck_lab::run::RunOptions;
use perbuck_lab::verify::VerifyRequest;
use perbuck_lab::{ErrorKind, Lab, LabError, LabOptions};
use perbuck_load::loader::csv::CsvFormat;
use perbuck_report::pipeline;
use perbuck_report::text::{self, Screen};
use perbuck_serve::Listener;

use crate::args::{
    AuditArguments, CapacityArguments, CompareArguments, PlanArguments, PrepareArguments, PriceArguments, ReplayArguments,
    ReportArguments, RunArguments, ServeArguments, StudyArguments, VerifyArguments,
};

pub(crate) mod check;
pub(crate) mod data;
pub(crate) mod demo;
pub(crate) mod deploy;
pub(crate) mod doctor;
pub(crate) mod facts;
pub(crate) mod fleet;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod prices;
pub(crate) mod reference;

/// What standard output is shown on.
pub(crate) fn screen() -> Screen {
    let pipe = Screen::default();
    Screen { columns: perbuck_console::columns().unwrap_or(pipe.columns), colour: perbuck_console::colour() }
}

/// What `plan` prints as JSON.
#[derive(Serialize)]
struct PlanAndPower {
    #[serde(flatten)]
    planned: Planned,
    power: Power,
}

pub(crate) fn plan(arguments: &PlanArguments) -> Result<(), LabError> {
    let StudyArguments { path, targets, prices } = &arguments.study;
    let mut inputs = perbuck_lab::inputs::read_to_measure((path, &targets.of()), prices.as_deref(), Registry::default())?;
    inputs.rates = Rates::of(&LabOptions::default().run.results);
    let (planned, power) = (Planned::of(&inputs), Power::of(&inputs, arguments.pilot.as_deref())?);
    if let Some(file) = &arguments.chart {
        let Some(chart) = perbuck_report::power_chart(&inputs.study.name, &power.margin_text(), &power.lines()) else {
            let message = "a number of transactions alone ends the trials, so that their time is not known".to_owned();
            return Err(LabError::new(ErrorKind::Usage, message, "give the sweep a `duration`"));
        };
        fs::write(file, chart.svg).map_err(|e| LabError::file("write", file, &e))?;
    }
    if arguments.json {
        return print_json(&PlanAndPower { planned, power });
    }
    let (heads, rows, notes) = power.table();
    let notes: String = notes.iter().map(|note| format!("{note}\n")).collect();
    print_styled(&format!("{}\n{}{notes}", planned.text(), text::table(&heads, &rows, screen())))
}

pub(crate) fn price(arguments: &PriceArguments) -> Result<(), LabError> {
    let StudyArguments { path, targets, prices } = &arguments.study;
    let inputs = perbuck_lab::inputs::read((path, &targets.of()), prices.as_deref(), Registry::default())?;
    if inputs.bills.is_empty() {
        let message = format!("{} names no prices", arguments.study.path.display());
        return Err(LabError::new(ErrorKind::Usage, message, "add a `[price]` table with `snapshot` and `regions`"));
    }
    // The file first: whoever reads it gets it even where standard output is gone.
    if let Some(file) = &arguments.diagram {
        let Some(picture) = perbuck_report::diagram(&inputs.study) else {
            let message = format!("{} names no machines to draw", arguments.study.path.display());
            return Err(LabError::new(ErrorKind::Usage, message, "add `node` lines to its contenders"));
        };
        fs::write(file, picture.svg).map_err(|e| LabError::file("write", file, &e))?;
    }
    print_report(arguments.json, &inputs.bills, || text::bills(&inputs.study, &inputs.bills, screen()))
}

/// Loads what a study needs and checks it, or writes its rows as files.
pub(crate) fn prepare(arguments: &PrepareArguments) -> Result<(), LabError> {
    let inputs = perbuck_lab::inputs::read_to_measure((&arguments.study, &arguments.targets.of()), None, Registry::default())?;
    let files = &arguments.files;
    if files.output_type.is_some() {
        let format = files.csv_format.as_deref().map(|f| if f == "mysql" { CsvFormat::Backslash } else { CsvFormat::Quotes });
        let (folder, tables) = (files.output_dir.clone(), files.tables.clone());
        let options = FileOptions { folder, tables, files: files.files, format, threads: files.threads };
        let stop = stop_on_signal("stopping; no file is kept")?;
        return write_study(&inputs, &options, &mut Display::default(), &stop);
    }
    let preparation = match (arguments.check, arguments.force) {
        (true, _) => Preparation::CheckOnly,
        (_, true) => Preparation::Force,
        _ => Preparation::Missing,
    };
    let stop = stop_on_signal(TRIAL_STOPS)?;
    let how = (arguments.sessions, arguments.password.asked());
    perbuck_lab::prepare::study(&inputs, preparation, how, &mut Display::default(), &stop)
}

pub(crate) fn run(arguments: &RunArguments) -> Result<(), LabError> {
    let run = RunOptions {
        results: arguments.results.clone(),
        deployment: arguments.deployment,
        at: arguments.at.clone(),
        fleet: fleet::options(&arguments.fleet)?,
        plans: arguments.plans,
        ask_password: arguments.password.asked(),
        spending: deploy::spending(arguments.spending),
    };
    let StudyArguments { path, targets, prices } = &arguments.study;
    let lab = Lab::open(path, LabOptions { targets: targets.of(), prices: prices.clone(), run, ..LabOptions::default() })?;
    watched(arguments, &lab)?;
    let stop = stop_on_signal(TRIAL_STOPS)?;
    if arguments.driver.is_some() {
        let agents = fleet::options(&arguments.fleet)?;
        let rows = perbuck_lab::ceiling::run(lab.inputs(), agents.as_ref(), &mut Display::default(), &stop)?;
        return print_styled(&text::table(perbuck_lab::ceiling::HEADS, &rows, screen()));
    }
    let results = lab.run(&mut Display::default(), &stop)?;
    if arguments.json {
        return print_json(&results.comparison);
    }
    print_styled(&text::verdicts(&results.study, &results.comparison, screen()))?;
    print_hint(&format!("\nWrite the report with: perbuck report {}\n", lab.folder().display()))
}

/// Serves the metrics of a run, where that is asked for.
fn watched(arguments: &RunArguments, lab: &Lab) -> Result<(), LabError> {
    let Some(at) = arguments.metrics.metrics else { return Ok(()) };
    let listener = Listener::at(at)?;
    Display::default().line(&format!("metrics for Prometheus: http://{}/metrics", listener.address()));
    listener.serve(&lab.inputs().study.name, &lab.folder())
}

/// Prints the dashboard of Grafana.
pub(crate) fn dashboard() -> Result<(), LabError> {
    print_json(&perbuck_exposition::dashboard::json())
}

pub(crate) fn capacity(arguments: &CapacityArguments) -> Result<(), LabError> {
    let StudyArguments { path, targets, prices } = &arguments.study;
    let inputs = perbuck_lab::inputs::read_to_measure((path, &targets.of()), prices.as_deref(), Registry::default())?;
    let arrivals = arguments.arrivals.as_deref().map(|a| if a == "uniform" { Arrivals::Uniform } else { Arrivals::Poisson });
    let request = CapacityRequest {
        file: arguments.study.path.display().to_string(),
        contenders: arguments.contender.clone(),
        workloads: arguments.workload.clone(),
        percentile: arguments.percentile,
        at_most_ns: arguments.at_most,
        from_per_s: arguments.from,
        to_per_s: arguments.to,
        resolution: arguments.resolution,
        repeats: arguments.repeats,
        connections: arguments.connections,
        warmup_ns: arguments.warmup,
        duration_ns: arguments.duration,
        arrivals,
        demand_per_s: arguments.demand,
        results: arguments.results.clone(),
        fleet: fleet::options(&arguments.fleet)?,
        ask_password: arguments.password.asked(),
    };
    let stop = stop_on_signal(TRIAL_STOPS)?;
    let capacity = search_capacity(inputs, &request, &mut Display::default(), &stop)?;
    print_report(arguments.json, &capacity.for_programs(), || text::summary(&capacity.report, screen()))?;
    capacity.kept()
}

/// Prints what the trials of a results folder say, by themselves or beside those of an older one.
pub(crate) fn compare(arguments: &CompareArguments) -> Result<(), LabError> {
    if let Some(old) = &arguments.baseline {
        return regression(old, arguments);
    }
    let results = perbuck_lab::results::read(&arguments.results, &arguments.basis.basis())?;
    let text = || text::verdicts(&results.study, &results.comparison, screen());
    print_report(arguments.json, &results.comparison, text)
}

/// Whether what was measured has become worse.
fn regression(old: &Path, arguments: &CompareArguments) -> Result<(), LabError> {
    let found = perbuck_lab::results::against(old, &arguments.results, arguments.margin, &arguments.basis.insist)?;
    // The file first: whoever reads it gets it even where standard output is gone.
    if let Some(file) = &arguments.junit {
        fs::write(file, pipeline::junit(&found)).map_err(|e| LabError::file("write", file, &e))?;
    }
    print_report(arguments.json, &found, || text::regression(&found, screen()))?;
    if arguments.github {
        print(&pipeline::github(&found))?;
    }
    let worse: Vec<&Compared> = found.worse().collect();
    let Some(first) = worse.first() else { return Ok(()) };
    let more = if worse.len() > 1 { format!(" and {} more", worse.len() - 1) } else { String::new() };
    let message = format!("worse than before: {}, {}{more}", first.contender, first.workload);
    Err(LabError::new(ErrorKind::Worse, message, ""))
}

pub(crate) fn report(arguments: &ReportArguments) -> Result<(), LabError> {
    let results = perbuck_lab::results::read(&arguments.results, &arguments.basis.basis())?;
    if arguments.form.json {
        return print_json(&results.model());
    }
    let folder = arguments.output.as_deref().unwrap_or(&arguments.results);
    let files = perbuck_lab::report::write(&results, folder, &arguments.form.formats())?;
    print(&lines(&files))
}

/// Paths, one a line.
fn lines(files: &[PathBuf]) -> String {
    files.iter().map(|f| format!("{}\n", f.display())).collect()
}

/// Serves until the user stops it.
pub(crate) fn serve(arguments: &ServeArguments) -> Result<(), LabError> {
    perbuck_serve::serve(&arguments.results, arguments.port, |port| {
        print(&format!("http://127.0.0.1:{port}/  (Ctrl-C ends it)\n"))
    })
}

pub(crate) fn verify(arguments: &VerifyArguments) -> Result<(), LabError> {
    let request = VerifyRequest {
        report: arguments.report.clone(),
        results: arguments.results.clone(),
        study: arguments.study.clone(),
        prices: arguments.prices.clone(),
        extract: arguments.extract.clone(),
    };
    let found = perbuck_lab::verify::verify(&request)?;
    print_either(arguments.json, &found, || found.text())?;
    let differences = match (found.differs.len(), &found.other_version) {
        (0, _) => return Ok(()),
        (1, Some(version)) => {
            let message = format!(
                "{}: its data and numbers hold, but only perbuck {version} can verify its text",
                request.page().display()
            );
            let help = "verify it with that version, or make the page again with perbuck report";
            return Err(LabError::new(ErrorKind::Failed, message, help));
        }
        (1, None) => "1 difference".to_owned(),
        (n, _) => format!("{n} differences"),
    };
    let message = format!("{} does not match its data: {differences}", request.page().display());
    let help = "do not trust the page or its data; make the report again from the records with perbuck report";
    Err(LabError::new(ErrorKind::Failed, message, help))
}

/// Writes the report of a published study, from its numbers alone.
pub(crate) fn replay(arguments: &ReplayArguments) -> Result<(), LabError> {
    let texts = arguments.published.texts()?;
    let (inputs, comparison, model) = perbuck_lab::replay::made(&texts)?;
    if arguments.form.json {
        return print_json(&model);
    }
    let folder = arguments.output.clone().unwrap_or_else(|| Path::new("results").join(&inputs.study.name));
    let files = perbuck_lab::report::write_model(&model, &comparison, &folder, &arguments.form.formats())?;
    print_styled(&text::verdicts(&inputs.study, &comparison, screen()))?;
    print(&format!("\n{}", lines(&files)))
}

/// Recomputes what a published study prints, and says which numbers are right.
pub(crate) fn audit(arguments: &AuditArguments) -> Result<(), LabError> {
    let inputs = perbuck_lab::inputs::check_published(&arguments.published.texts()?, Registry::default())?;
    let study = &inputs.study;
    if study.published.is_none() && study.audit.numbers.is_empty() && study.audit.claims.is_empty() {
        return Err(perbuck_lab::replay::no_results(&study.name));
    }
    let found = perbuck_lab::replay::audit(&inputs)?;
    print_report(arguments.json, &found, || text::audit(&found, screen()))?;
    if arguments.strict && !found.is_clean() {
        return Err(LabError::new(ErrorKind::Failed, "the audit found numbers, claims or checks that do not hold", ""));
    }
    Ok(())
}
