//! `perbuck price STUDY`

use crate::args::PriceArguments;
use crate::commands::{print, print_json};
use crate::error::{CliError, Exit};
use crate::inputs;

/// Prints the bills of a study.
pub(crate) fn run(arguments: &PriceArguments) -> Result<(), CliError> {
    let inputs = inputs::read(&arguments.study.path, arguments.study.prices.as_deref())?;
    if inputs.bills.is_empty() {
        let message = format!("{} names no prices", arguments.study.path.display());
        return Err(CliError::new(Exit::Usage, message, "add a `[price]` table with `snapshot` and `regions`"));
    }
    if arguments.json {
        return print_json(&inputs.bills);
    }
    print(&perbuck_report::text::bills(&inputs.study, &inputs.bills))
}
