//! `perbuck price STUDY`

use perbuck_console::{print, print_json};
use perbuck_lab::registry::Registry;
use perbuck_lab::{ErrorKind, LabError, inputs};

use crate::args::PriceArguments;

/// Prints the bills of a study.
pub(crate) fn run(arguments: &PriceArguments) -> Result<(), LabError> {
    let inputs = inputs::read(&arguments.study.path, arguments.study.prices.as_deref(), Registry::default())?;
    if inputs.bills.is_empty() {
        let message = format!("{} names no prices", arguments.study.path.display());
        return Err(LabError::new(ErrorKind::Usage, message, "add a `[price]` table with `snapshot` and `regions`"));
    }
    if arguments.json {
        return print_json(&inputs.bills);
    }
    print(&perbuck_report::text::bills(&inputs.study, &inputs.bills))
}
