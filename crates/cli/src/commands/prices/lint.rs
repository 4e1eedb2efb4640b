//! `perbuck prices lint`

use perbuck_prices::{Finding, Snapshot, catalogue, disagreements, lint};
use serde::Serialize;

use super::args::{LintArguments, Output};
use super::{snapshot, table};
use perbuck_console::{print, print_json};
use perbuck_lab::{ErrorKind, LabError};

#[derive(Serialize)]
struct Row {
    file: String,
    line: usize,
    rule: &'static str,
    fault: bool,
    message: String,
}

/// Prints what looks wrong; fails where something does.
pub(crate) fn run(arguments: &LintArguments) -> Result<(), LabError> {
    let mut wanted = arguments.snapshots.clone();
    if wanted.is_empty() {
        wanted.extend(catalogue().iter().map(|b| b.name.to_owned()));
    }
    let against = arguments.against.as_deref().map(snapshot).transpose()?;
    let mut rows = Vec::new();
    let mut prices = 0;
    for name in &wanted {
        let (file, read) = snapshot(name)?;
        prices += read.regions.iter().map(|r| r.instances.len()).sum::<usize>();
        rows.extend(findings(&read, against.as_ref().map(|(_, s)| s)).into_iter().map(|f| row(&file, f)));
    }
    match arguments.format {
        Output::Json => print_json(&rows)?,
        Output::Csv => {
            let cells: Vec<Vec<String>> = rows
                .iter()
                .map(|r| vec![r.file.clone(), r.line.to_string(), r.rule.to_owned(), r.fault.to_string(), r.message.clone()])
                .collect();
            print(&table::csv("file,line,rule,fault,message", &cells))?;
        }
        Output::Text => print(&text(&rows))?,
    }
    let faults = rows.iter().filter(|r| r.fault).count();
    if faults == 0 {
        if arguments.format == Output::Text {
            let lists = if wanted.len() == 1 { "1 snapshot".to_owned() } else { format!("{} snapshots", wanted.len()) };
            print(&format!("no faults in {prices} machine prices of {lists}\n"))?;
        }
        return Ok(());
    }
    let message = if faults == 1 { "1 price looks wrong".to_owned() } else { format!("{faults} prices look wrong") };
    let help = "check the price against another list; if both are right, write the other price as `disputed_usd`";
    Err(LabError::new(ErrorKind::Failed, message, help))
}

/// What is wrong with a snapshot, alone and beside another.
fn findings(read: &Snapshot, against: Option<&Snapshot>) -> Vec<Finding> {
    let mut found = lint(read);
    found.extend(against.into_iter().flat_map(|other| disagreements(read, other)));
    found.sort_by_key(|f| f.line);
    found
}

fn row(file: &str, f: Finding) -> Row {
    Row { file: file.to_owned(), line: f.line, rule: f.rule.word(), fault: f.rule.is_fault(), message: f.message }
}

/// The findings one a line, as compilers print them.
fn text(rows: &[Row]) -> String {
    let line = |r: &Row| {
        let kind = if r.fault { "fault" } else { "note" };
        format!("{}:{}: {kind} ({}): {}\n", r.file, r.line, r.rule, r.message)
    };
    rows.iter().map(line).collect()
}

/// The findings of a snapshot that was just written, for the user who imported it.
pub(crate) fn told(file: &str, read: &Snapshot) -> (String, usize) {
    let rows: Vec<Row> = lint(read).into_iter().map(|f| row(file, f)).filter(|r| r.fault).collect();
    (text(&rows), rows.len())
}
