//! From a results folder to a comparison.

use std::path::Path;

use perbuck_core::compare::{self, Comparison, Remark};
use perbuck_core::run_record::RunRecord;
use perbuck_core::study::Study;

use crate::args::BasisArguments;
use crate::error::{CliError, Exit};
use crate::{inputs, store};

/// A results folder, read and compared.
pub(crate) struct Results {
    /// The study whose prices and rule were applied.
    pub(crate) study: Study,
    /// All records.
    pub(crate) records: Vec<RunRecord>,
    /// What they say.
    pub(crate) comparison: Comparison,
}

/// Reads and compares a results folder.
///
/// # Errors
/// Unreadable files, a study with problems, or trials that cannot be compared.
pub(crate) fn read(root: &Path, basis: &BasisArguments) -> Result<Results, CliError> {
    let stored = store::read(root)?;
    let study_path = basis.study.as_ref().unwrap_or(&stored.study);
    let prices = basis.prices.as_ref().or(stored.prices.as_ref().filter(|_| basis.study.is_none()));
    let inputs = inputs::read(study_path, prices.map(std::path::PathBuf::as_path))?;
    let fingerprint = inputs.study.fingerprint();
    let of_this_study = |r: &&RunRecord| {
        r.study_fingerprint == fingerprint
            || inputs.study.fingerprint_alone(&r.key.contender).as_ref() == Some(&r.study_fingerprint)
    };
    if let Some(stranger) = stored.records.iter().find(|r| !of_this_study(r)) {
        let message = format!("{} was measured by another version of the study {}", stranger.key.path(), study_path.display());
        return Err(CliError::new(
            Exit::Refused,
            message,
            "only prices, labels, summary and decision may differ from the study that ran",
        ));
    }
    if stored.records.is_empty() {
        let message = format!("{} holds no trial yet", root.display());
        return Err(CliError::new(Exit::Failed, message, "run the study first: perbuck run STUDY"));
    }
    let plan = inputs.study.plan();
    let (records, outside): (Vec<RunRecord>, Vec<RunRecord>) = stored.records.into_iter().partition(|r| plan.contains(&r.key));
    let mut comparison =
        compare::compare(&inputs.study, &records, &inputs.bills, &basis.insist).map_err(|r| CliError::refusals(&r))?;
    if let Some(first) = outside.first() {
        // Left out, but never silently: choosing trials after seeing them is how results are bent.
        let text = "trials on disk lie outside the sweep of the study and are not used".to_owned();
        comparison.remarks.push(Remark { text, trials: outside.len(), example: first.key.path() });
    }
    if !stored.checked {
        let text = if inputs.study.sweep.collected {
            "the data were not checked after the last trial; `perbuck sysbench` checks none"
        } else {
            "the data were not checked after the last trial, or a condition did not hold; `perbuck run STUDY` checks them"
        };
        let trials = comparison.found;
        comparison.remarks.push(Remark { text: text.to_owned(), trials, example: root.display().to_string() });
    }
    Ok(Results { study: inputs.study, records, comparison })
}
