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
    let differences = match (found.differs.len(), &found.other_version) {
        (0, _) => return Ok(()),
        (1, Some(version)) => {
            let message = format!(
                "{}: its data and numbers hold, but only perbuck {version} can verify its text",
                request.page().display()
            );
            let help = "verify it with that version, or make the page again with perbuck report";
            return Err(LabError::new(ErrorKind::Failed, message, help));
        }
        (1, None) => "1 difference".to_owned(),
        (n, _) => format!("{n} differences"),
    };
    let message = format!("{} does not match its data: {differences}", request.page().display());
    let help = "do not trust the page or its data; make the report again from the records with perbuck report";
    Err(LabError::new(ErrorKind::Failed, message, help))
}
