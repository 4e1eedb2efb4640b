//! `perbuck replay STUDY`

use std::path::Path;

use perbuck_console::{print, print_json};
use perbuck_lab::{LabError, replay, report};

use crate::args::ReplayArguments;

/// Writes the report of a published study, from its numbers alone.
pub(crate) fn run(arguments: &ReplayArguments) -> Result<(), LabError> {
    let texts = arguments.published.texts()?;
    let (inputs, comparison, model) = replay::made(&texts)?;
    if arguments.json {
        return print_json(&model);
    }
    let folder = arguments.output.clone().unwrap_or_else(|| Path::new("results").join(&inputs.study.name));
    let [html, markdown] = report::write_model(&model, &folder)?;
    print(&perbuck_report::text::verdicts(&inputs.study, &comparison))?;
    print(&format!("\n{}\n{}\n", html.display(), markdown.display()))
}
