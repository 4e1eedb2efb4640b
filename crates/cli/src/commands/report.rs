//! `perbuck report RESULTS`

use std::fs;
use std::path::{Path, PathBuf};

use crate::args::{BasisArguments, ReportArguments};
use crate::commands::{print, print_json};
use crate::error::CliError;
use crate::results::{self, Results};
use crate::store;

/// Writes the report of a results folder.
pub(crate) fn run(arguments: &ReportArguments) -> Result<(), CliError> {
    let results = results::read(&arguments.results, &arguments.basis)?;
    if arguments.json {
        return print_json(&perbuck_report::model(&results.study, &results.comparison, &results.records));
    }
    let folder = arguments.output.as_deref().unwrap_or(&arguments.results);
    let [html, markdown] = write(&results, folder)?;
    print(&format!("{}\n{}\n", html.display(), markdown.display()))
}

/// Reads a results folder and writes its report into it; returns the path of the page.
///
/// # Errors
/// As [`results::read`], or a folder that cannot be written.
pub(crate) fn write_for(root: &Path) -> Result<PathBuf, CliError> {
    let basis = BasisArguments { study: None, prices: None, insist: Vec::new() };
    let [html, _] = write(&results::read(root, &basis)?, root)?;
    Ok(html)
}

fn write(results: &Results, folder: &Path) -> Result<[PathBuf; 2], CliError> {
    let model = perbuck_report::model(&results.study, &results.comparison, &results.records);
    fs::create_dir_all(folder).map_err(|e| CliError::file("make the folder", folder, &e))?;
    let (html, markdown) = (folder.join("report.html"), folder.join("report.md"));
    store::replace(&html, &perbuck_report::html::render(&model))?;
    store::replace(&markdown, &perbuck_report::markdown::render(&model))?;
    Ok([html, markdown])
}
