//! `perbuck verify REPORT`

use perbuck_console::print_either;
use perbuck_lab::verify::{VerifyRequest, verify};
use perbuck_lab::{ErrorKind, LabError};

use crate::args::VerifyArguments;

/// Verifies a report and says what held and what differs.
pub(crate) fn run(arguments: &VerifyArguments) -> Result<(), LabError> {
    let request = VerifyRequest {
        report: arguments.report.clone(),
        results: arguments.results.clone(),
        study: arguments.study.clone(),
        prices: arguments.prices.clone(),
        extract: arguments.extract.clone(),
    };
    let found = verify(&request)?;
    print_either(arguments.json, &found, || found.text())?;
    let differences = match found.differs.len() {
        0 => return Ok(()),
        1 => "1 difference".to_owned(),
        n => format!("{n} differences"),
    };
    let message = format!("{} is not what its data give: {differences}", request.page().display());
    let help = "trust neither the page nor its data; make the report anew from the records";
    Err(LabError::new(ErrorKind::Failed, message, help))
}
