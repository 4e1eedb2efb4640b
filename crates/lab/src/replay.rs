//! The report of a published study, with its printed results in place of trials, and its audit.

use std::path::Path;

use perbuck_core::audit::{self, Audit, Ground};
use perbuck_core::compare::{self, Comparison};
use perbuck_core::problem::Problem;
use perbuck_report::ReportModel;
use perbuck_report::evidence::{self, Head, Kind};

use crate::error::LabError;
use crate::inputs::{self, Inputs, PublishedTexts};
use crate::registry::Registry;
use crate::results::{embedded, source};

/// A published study, what its numbers say, and the report with what it was made from.
///
/// # Errors
/// Every problem of the texts, or a study without results.
pub fn made(texts: &PublishedTexts) -> Result<(Inputs, Comparison, ReportModel), LabError> {
    let inputs = inputs::check_published(texts, Registry::default())?;
    let comparison = compare::replay(&inputs.study, &inputs.bills).filter(|c| c.found > 0);
    let Some(comparison) = comparison else { return Err(no_results(&inputs.study.name)) };
    let found = audit(&inputs)?;
    let mut model = perbuck_report::replay(&inputs.study, &comparison, &found);
    model.evidence = embedded(&head(&inputs, texts), &[], &[])?;
    Ok((inputs, comparison, model))
}

fn head(inputs: &Inputs, texts: &PublishedTexts) -> Head {
    let prices = inputs.prices.as_ref().map(|(name, text)| match &texts.prices {
        Some((path, text)) => source(path, true, text),
        None => source(Path::new(&format!("{name}.toml")), false, text),
    });
    Head {
        form: evidence::FORM,
        perbuck: env!("CARGO_PKG_VERSION").to_owned(),
        kind: Kind::Published,
        study: source(Path::new(&texts.study.0), true, &texts.study.1),
        prices,
        results: texts.csv.as_ref().map(|(name, text)| source(Path::new(name), true, text)),
        used: None,
        insist: Vec::new(),
        checked: true,
    }
}

/// That a study holds nothing to replay.
pub fn no_results(study: &str) -> LabError {
    let message = format!("the study {study} has no `[results]` with numbers");
    LabError::usage(message, "add `[results]`, or give a CSV file with --results FILE; to measure it: perbuck run STUDY")
}

/// The audit of a study that was read.
///
/// # Errors
/// Every formula that names something that is not there.
pub fn audit(inputs: &Inputs) -> Result<Audit, LabError> {
    let ground = Ground { study: &inputs.study, bills: &inputs.bills, facts: &inputs.lists };
    audit::audit(&ground).map_err(|found| {
        let problem = |(line, message): (usize, String)| Problem {
            file: inputs.name.clone(),
            line,
            message,
            help: "mend the formula; docs/commands/audit.md lists what it may name".to_owned(),
        };
        LabError::problems(&found.into_iter().map(problem).collect::<Vec<_>>())
    })
}
