//! `perbuck import STUDY CONTENDER=LOG…`

use std::path::PathBuf;

use clap::Args;
use perbuck_console::{print, print_hint, print_json};
use perbuck_core::run_record::RunRecord;
use perbuck_core::units::duration_text;
use perbuck_lab::LabError;
use perbuck_lab::import::{self, ImportRequest, LogFile, NewStudy};

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The study file, with `imported = true` at its top
    #[arg(value_name = "STUDY")]
    study: PathBuf,
    /// Logs and whose they are; CONTENDER/WORKLOAD=LOG where the study has several workloads of the log's kind. Logs of one point
    /// become its trials in this order
    #[arg(value_name = "CONTENDER=LOG", required = true, value_parser = log_file)]
    logs: Vec<LogFile>,
    /// Connections of runs whose log does not say
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: Option<u32>,
    /// Write STUDY first, with the contenders and workloads of the logs
    #[arg(long)]
    new: bool,
    /// With --new: a machine of a contender, by its instance type; may be given several times
    #[arg(long, value_name = "CONTENDER=INSTANCE", requires = "new", value_parser = pair)]
    machine: Vec<(String, String)>,
    /// With --new: the price list
    #[arg(long, value_name = "NAME", requires_all = ["new", "region"])]
    snapshot: Option<String>,
    /// With --new: the region to price in
    #[arg(long, value_name = "REGION", requires = "snapshot")]
    region: Option<String>,
    /// Use this price snapshot file instead of a bundled one
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Folder that holds the results of all studies
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    results: PathBuf,
    /// Print the records as JSON
    #[arg(long)]
    json: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(left, right)| !left.is_empty() && !right.is_empty());
    parts.map(|(left, right)| (left.to_owned(), right.to_owned())).ok_or_else(|| "it has no `=` between two words".to_owned())
}

fn log_file(text: &str) -> Result<LogFile, String> {
    let (whose, path) = pair(text).map_err(|_| "write CONTENDER=LOG, such as arm=arm.log".to_owned())?;
    let (contender, workload) = match whose.split_once('/') {
        None => (whose, None),
        Some((contender, workload)) => (contender.to_owned(), Some(workload.to_owned())),
    };
    Ok(LogFile { contender, workload, path: PathBuf::from(path) })
}

pub(crate) fn run(arguments: &ImportArguments) -> Result<(), LabError> {
    let prices = arguments.snapshot.clone().zip(arguments.region.clone());
    let new = arguments.new.then(|| NewStudy { machines: arguments.machine.clone(), prices });
    let done = import::import(&ImportRequest {
        study: arguments.study.clone(),
        new,
        prices: arguments.prices.clone(),
        logs: arguments.logs.clone(),
        connections: arguments.connections,
        results: arguments.results.clone(),
    })?;
    if arguments.json {
        return print_json(&done.records);
    }
    let mut out = aligned(&done.records.iter().map(row).collect::<Vec<_>>());
    let count = done.records.len();
    out += &format!("{count} trial{} imported into {}\n", if count == 1 { "" } else { "s" }, done.folder.display());
    for text in missing(&done.records) {
        out += &format!("{text}\n");
    }
    print(&out)?;
    print_hint(&format!("next: perbuck compare {0}, or perbuck report {0}\n", done.folder.display()))
}

fn row(record: &RunRecord) -> Vec<String> {
    let metric = record.workload.metric.metric();
    let from = record.imported.clone().unwrap_or_default();
    vec![
        record.key.path(),
        format!("{:.1} {}", record.metric(metric), metric.label),
        duration_text(record.measured.window_ns),
        from.program(),
        format!("{}:{}", from.log, from.line),
    ]
}

/// What the logs of each program do not say, once.
fn missing(records: &[RunRecord]) -> Vec<String> {
    let mut texts: Vec<String> = records.iter().filter_map(|r| Some(r.imported.as_ref()?.text())).collect();
    texts.sort();
    texts.dedup();
    texts
}

/// Rows with columns of equal width.
fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, cell)| format!("{cell:<0$}", width(column)));
        out += &format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    out
}
