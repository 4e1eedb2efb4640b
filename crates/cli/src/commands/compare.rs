//! `perbuck compare RESULTS`

use crate::args::CompareArguments;
use crate::commands::{print, print_json};
use crate::error::CliError;
use crate::results;

/// Prints what the trials of a results folder say.
pub(crate) fn run(arguments: &CompareArguments) -> Result<(), CliError> {
    let results = results::read(&arguments.results, &arguments.basis)?;
    if arguments.json {
        return print_json(&results.comparison);
    }
    print(&perbuck_report::text::verdicts(&results.study, &results.comparison))
}
