//! `perbuck compare RESULTS`, and `perbuck compare --baseline OLD NEW`

use std::path::Path;

use perbuck_console::print_either;
use perbuck_core::compare::Compared;
use perbuck_lab::{ErrorKind, LabError, results};

use crate::args::CompareArguments;

/// Prints what the trials of a results folder say, by themselves or beside those of an older one.
pub(crate) fn run(arguments: &CompareArguments) -> Result<(), LabError> {
    if let Some(old) = &arguments.baseline {
        return regression(old, arguments);
    }
    let results = results::read(&arguments.results, &arguments.basis.basis())?;
    let text = || perbuck_report::text::verdicts(&results.study, &results.comparison);
    print_either(arguments.json, &results.comparison, text)
}

/// Whether what was measured has become worse.
fn regression(old: &Path, arguments: &CompareArguments) -> Result<(), LabError> {
    let found = results::against(old, &arguments.results, arguments.margin, &arguments.basis.insist)?;
    print_either(arguments.json, &found, || perbuck_report::text::regression(&found))?;
    let worse: Vec<&Compared> = found.worse().collect();
    let Some(first) = worse.first() else { return Ok(()) };
    let more = if worse.len() > 1 { format!(" and {} more", worse.len() - 1) } else { String::new() };
    let message = format!("worse than before: {}, {}{more}", first.contender, first.workload);
    Err(LabError::new(ErrorKind::Worse, message, ""))
}
