//! `perbuck audit STUDY`

use perbuck_console::print_either;
use perbuck_lab::registry::Registry;
use perbuck_lab::{ErrorKind, LabError, inputs, replay};

use crate::args::AuditArguments;

/// Recomputes what a published study prints, and says which numbers are right.
pub(crate) fn run(arguments: &AuditArguments) -> Result<(), LabError> {
    let inputs = inputs::check_published(&arguments.published.texts()?, Registry::default())?;
    let study = &inputs.study;
    if study.published.is_none() && study.audit.numbers.is_empty() && study.audit.claims.is_empty() {
        return Err(replay::no_results(&study.name));
    }
    let found = replay::audit(&inputs)?;
    print_either(arguments.json, &found, || perbuck_report::text::audit(&found))?;
    if arguments.strict && !found.is_clean() {
        return Err(LabError::new(ErrorKind::Failed, "the audit found numbers, claims or checks that do not hold", ""));
    }
    Ok(())
}
