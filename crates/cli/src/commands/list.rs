//! `perbuck list`: the studies of a results folder.

use std::path::Path;

use perbuck_console::print;
use perbuck_lab::results::{self, Basis};
use perbuck_lab::{LabError, folder, store, stored};

use crate::args::StudiesArguments;

/// Of each study: its trials, and the answer, or why there is none yet.
pub(crate) fn run(arguments: &StudiesArguments) -> Result<(), LabError> {
    let found = folder::those_with(&arguments.results, &[store::STUDY_FILE])?;
    if found.is_empty() {
        return print(&format!("{} holds no study\n", arguments.results.display()));
    }
    let all: Vec<String> = found.iter().map(|study| entry(study)).collect();
    print(&all.join("\n"))
}

/// A study that cannot be read or compared says why, and hides no other.
fn entry(study: &Path) -> String {
    let text = folder::read_text("the study", &study.join(store::STUDY_FILE), perbuck_lab::inputs::Limit::TEXT);
    let planned = text.ok().and_then(|text| stored::read_study(&text).ok()).map(|s| s.trials_planned());
    let trials = store::records_in(study).map_or(0, |records| records.len());
    let of = planned.map(|planned| format!(" of {planned}")).unwrap_or_default();
    let mut out = format!("{}: {trials}{of} trials\n", study.display());
    match results::read(study, &Basis::default()).and_then(|results| results.report()) {
        Ok(report) => out += &format!("  {}\n", report.brief.answer.text),
        Err(error) => out += &format!("  {}\n", error.words().0),
    }
    out
}
