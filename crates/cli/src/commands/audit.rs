//! `perbuck audit STUDY`

use perbuck_core::audit::{self, Audit, Ground};
use perbuck_core::problem::Problem;

use crate::args::AuditArguments;
use crate::commands::{print, print_json, replay};
use crate::error::{CliError, Exit};
use crate::inputs::{self, Inputs};

/// Recomputes what a published study prints, and says which figures are right.
pub(crate) fn run(arguments: &AuditArguments) -> Result<(), CliError> {
    let inputs = inputs::read_published(&arguments.published)?;
    let study = &inputs.study;
    if study.published.is_none() && study.audit.figures.is_empty() && study.audit.claims.is_empty() {
        return Err(replay::no_results(&study.name));
    }
    let found = of(&inputs)?;
    if arguments.json {
        print_json(&found)?;
    } else {
        print(&perbuck_report::text::audit(&found))?;
    }
    if arguments.strict && !found.is_clean() {
        return Err(CliError::new(Exit::Failed, "the audit found figures, claims or checks that do not hold", ""));
    }
    Ok(())
}

/// The audit of a study that was read.
///
/// # Errors
/// Every formula that names something that is not there.
pub(crate) fn of(inputs: &Inputs) -> Result<Audit, CliError> {
    let ground = Ground { study: &inputs.study, bills: &inputs.bills, facts: &inputs.lists };
    audit::audit(&ground).map_err(|found| {
        let problem = |(line, message): (usize, String)| Problem {
            file: inputs.name.clone(),
            line,
            message,
            help: "mend the formula; docs/commands/audit.md lists what it may name".to_owned(),
        };
        CliError::problems(&found.into_iter().map(problem).collect::<Vec<_>>())
    })
}
