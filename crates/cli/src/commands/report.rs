//! `perbuck report RESULTS`

use perbuck_console::{print, print_json};
use perbuck_lab::{LabError, report, results};

use crate::args::ReportArguments;

/// Writes the report of a results folder.
pub(crate) fn run(arguments: &ReportArguments) -> Result<(), LabError> {
    let results = results::read(&arguments.results, &arguments.basis.basis())?;
    if arguments.json {
        return print_json(&results.report()?);
    }
    let folder = arguments.output.as_deref().unwrap_or(&arguments.results);
    let [html, markdown] = report::write(&results, folder)?;
    print(&format!("{}\n{}\n", html.display(), markdown.display()))
}
