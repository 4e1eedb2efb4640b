//! `perbuck price STUDY`

use perbuck_console::print_either;
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
    print_either(arguments.json, &inputs.bills, || perbuck_report::text::bills(&inputs.study, &inputs.bills))
}
