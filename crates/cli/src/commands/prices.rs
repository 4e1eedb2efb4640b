//! `perbuck prices`: lists, shows, checks and compares price lists, finds machines that match, and makes new ones from public lists.

pub(crate) mod args;
mod diff;
mod import;
mod lint;
mod list;
mod pairs;
mod show;
mod table;

use std::path::Path;

use perbuck_core::problem::nearest;
use perbuck_prices::{Snapshot, catalogue};

use args::{PricesArguments, PricesCommand};
use perbuck_lab::inputs::read_text;
use perbuck_lab::{ErrorKind, LabError};

pub(crate) fn run(arguments: &PricesArguments) -> Result<(), LabError> {
    match &arguments.command {
        PricesCommand::List(a) => list::run(a),
        PricesCommand::Show(a) => show::run(a),
        PricesCommand::Match(a) => pairs::run(a),
        PricesCommand::Lint(a) => lint::run(a),
        PricesCommand::Diff(a) => diff::run(a),
        PricesCommand::Import(a) => import::run(a),
    }
}

/// A snapshot by its bundled name or by its file, with the name by which messages call the file.
fn snapshot(wanted: &str) -> Result<(String, Snapshot), LabError> {
    if let Some(bundled) = catalogue().iter().find(|b| b.name == wanted) {
        let file = format!("prices/{}.toml", bundled.name);
        let read = Snapshot::read(&file, bundled.text).map_err(|p| LabError::problems(&p))?;
        return Ok((file, read));
    }
    let path = Path::new(wanted);
    let is_a_file_name = path.exists() || wanted.contains('/') || path.extension().is_some();
    if !is_a_file_name {
        let names = || catalogue().iter().map(|b| b.name);
        let near = nearest(wanted, names()).map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
        let all = names().collect::<Vec<_>>().join(", ");
        let help = format!("{near}the snapshots that come with perbuck are: {all}; for your own snapshot, give its file");
        return Err(LabError::new(ErrorKind::Usage, format!("there is no price snapshot `{wanted}`"), help));
    }
    let text = read_text("the price snapshot", path)?;
    let (read, _) = perbuck_prices::read_prices(wanted, &text, None).map_err(|p| LabError::problems(&p))?;
    Ok((wanted.to_owned(), read))
}

/// Refuses a filter that names what none of the snapshots has; a table that is empty by a typing error looks like an answer.
fn known<'a>(what: &str, wanted: &[String], there: impl Iterator<Item = &'a str>) -> Result<(), LabError> {
    let mut all: Vec<&str> = there.collect();
    all.sort_unstable();
    all.dedup();
    let Some(w) = wanted.iter().find(|w| !all.contains(&w.as_str())) else { return Ok(()) };
    let near = nearest(w, all.iter().copied()).map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    let shown = all.iter().take(20).copied().collect::<Vec<_>>().join(", ");
    let more = if all.len() > 20 { format!(" and {} more", all.len() - 20) } else { String::new() };
    Err(LabError::new(ErrorKind::Usage, format!("no {what} `{w}` here"), format!("{near}there are: {shown}{more}")))
}

/// Whether a filter lets this through.
fn passes(wanted: &[String], value: &str) -> bool {
    wanted.is_empty() || wanted.iter().any(|w| w == value)
}
