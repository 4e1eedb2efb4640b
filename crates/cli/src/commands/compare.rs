//! `perbuck compare RESULTS`, and `perbuck compare --baseline OLD NEW`

use std::path::Path;

use perbuck_core::compare::{self, Compared, Regression};

use crate::args::{BasisArguments, CompareArguments};
use crate::commands::{print, print_json};
use crate::error::{CliError, Exit};
use crate::results;

/// Prints what the trials of a results folder say, by themselves or beside those of an older one.
pub(crate) fn run(arguments: &CompareArguments) -> Result<(), CliError> {
    if let Some(old) = &arguments.baseline {
        return regression(old, arguments);
    }
    let results = results::read(&arguments.results, &arguments.basis)?;
    if arguments.json {
        return print_json(&results.comparison);
    }
    print(&perbuck_report::text::verdicts(&results.study, &results.comparison))
}

/// A results folder beside an older one.
///
/// # Errors
/// A folder that cannot be read, or trials that cannot be compared.
pub(crate) fn against(old: &Path, new: &Path, margin: Option<f64>, insist: &[String]) -> Result<Regression, CliError> {
    let basis = BasisArguments { study: None, prices: None, insist: insist.to_vec() };
    let (old, new) = (results::read(old, &basis)?, results::read(new, &basis)?);
    let sides = ((&old.study, old.used()), (&new.study, new.used()));
    compare::regression(sides.0, sides.1, margin, insist).map_err(|r| CliError::refusals(&r))
}

/// Whether what was measured has become worse.
fn regression(old: &Path, arguments: &CompareArguments) -> Result<(), CliError> {
    let found = against(old, &arguments.results, arguments.margin, &arguments.basis.insist)?;
    if arguments.json {
        print_json(&found)?;
    } else {
        print(&perbuck_report::text::regression(&found))?;
    }
    let worse: Vec<&Compared> = found.worse().collect();
    let Some(first) = worse.first() else { return Ok(()) };
    let more = if worse.len() > 1 { format!(" and {} more", worse.len() - 1) } else { String::new() };
    let message = format!("worse than before: {}, {}{more}", first.contender, first.workload);
    Err(CliError::new(Exit::Worse, message, ""))
}
