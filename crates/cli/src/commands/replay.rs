//! `perbuck replay STUDY`

use std::path::Path;

use perbuck_core::compare::{self, Comparison};
use perbuck_report::ReportModel;
use perbuck_report::evidence::{self, Head, Kind};

use crate::args::ReplayArguments;
use crate::commands::{audit, print, print_json, report};
use crate::error::{CliError, Exit};
use crate::inputs::{self, Inputs, PublishedTexts};
use crate::results::{embedded, source};

/// Writes the report of a published study, from its numbers alone.
pub(crate) fn run(arguments: &ReplayArguments) -> Result<(), CliError> {
    let texts = inputs::published_texts(&arguments.published)?;
    let (inputs, comparison, model) = made(&texts)?;
    if arguments.json {
        return print_json(&model);
    }
    let folder = arguments.output.clone().unwrap_or_else(|| Path::new("results").join(&inputs.study.name));
    let [html, markdown] = report::write_model(&model, &folder)?;
    print(&perbuck_report::text::verdicts(&inputs.study, &comparison))?;
    print(&format!("\n{}\n{}\n", html.display(), markdown.display()))
}

/// A published study, what its numbers say, and the report with what it was made from.
///
/// # Errors
/// Every problem of the texts, or a study without results.
pub(crate) fn made(texts: &PublishedTexts) -> Result<(Inputs, Comparison, ReportModel), CliError> {
    let inputs = inputs::check_published(texts)?;
    let comparison = compare::replay(&inputs.study, &inputs.bills).filter(|c| c.found > 0);
    let Some(comparison) = comparison else { return Err(no_results(&inputs.study.name)) };
    let found = audit::of(&inputs)?;
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
        insist: Vec::new(),
        checked: true,
    }
}

/// That a study holds nothing to replay.
pub(crate) fn no_results(study: &str) -> CliError {
    let message = format!("the study {study} has no `[results]` with numbers");
    CliError::new(
        Exit::Usage,
        message,
        "add `[results]`, or give a CSV file with --results FILE; to measure it: perbuck run STUDY",
    )
}
