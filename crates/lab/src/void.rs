//! Trials that count for nothing: kept as evidence under another name, and measured again.

use std::path::PathBuf;

use perbuck_core::compare::Remark;
use perbuck_core::parallel::in_parallel;
use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::{RunRecord, Void, VoidReason};

use crate::error::LabError;
use crate::sidecar::{self, Sort, Trial};
use crate::store::Store;
use crate::stored::read_record;

/// How often one command measures a void trial again. A target that is away for longer needs a person.
pub(crate) const REPEATS: u32 = 2;

/// Keeps a trial that counts for nothing beside those that count, under the first free number; says where.
pub(crate) fn set_aside(store: &Store, trial: &Trial, why: &VoidReason) -> Result<String, LabError> {
    let numbered = |number| RunRecord { void: Some(Void { number, why: why.clone() }), ..trial.record.clone() };
    let mut aside = numbered(1);
    let path = |aside: &RunRecord| store.root().join(aside.path());
    while path(&aside).exists() {
        // A command that was killed between writing this and removing the trial's own file would write it twice.
        if read_record(&path(&aside)).is_ok_and(|known| known == aside) {
            return Ok(aside.path());
        }
        aside = numbered(aside.void.map_or(1, |void| void.number) + 1);
    }
    let path = aside.path();
    store.write_trial(&Trial { record: aside, ..trial.clone() })?;
    Ok(path)
}

/// Whether no comparison accepts such a trial. Others that older versions counted keep counting: their page is out.
fn is_never_compared(why: &VoidReason) -> bool {
    matches!(why, VoidReason::NothingCompleted { .. })
}

/// Sets aside what older versions wrote as trials; returns a line for each. A record that cannot be read is left to the comparison,
/// which names it.
pub(crate) fn sweep(store: &Store, plan: &[TrialKey]) -> Result<Vec<String>, LabError> {
    let paths: Vec<PathBuf> = plan.iter().map(|key| store.root().join(key.path())).filter(|path| path.exists()).collect();
    let reasons = in_parallel(&paths, |path| {
        Ok::<_, LabError>(read_record(path).ok().and_then(|r| r.void_reason()).filter(is_never_compared))
    })?;
    let mut lines = Vec::new();
    for (path, why) in paths.iter().zip(reasons).filter_map(|(path, why)| Some((path, why?))) {
        let beside = |sort| sidecar::text_of(path, sort);
        let trial = Trial { record: read_record(path)?, series: beside(Sort::Series)?, plans: beside(Sort::Plans)? };
        let aside = set_aside(store, &trial, &why)?;
        store.remove(path)?;
        lines.push(format!("{}: void, because {}; kept as {aside}", trial.record.key.title(), why.text()));
    }
    Ok(lines)
}

/// A trial that was void each time.
pub(crate) fn given_up(key: &TrialKey, why: &VoidReason) -> LabError {
    let count = REPEATS + 1;
    let message = format!("{count} measurements of {} are void; the last one: {}", key.title(), why.text());
    LabError::failed(
        message,
        "find out what holds the server up, or give the study a longer `duration` and a new name; the same command measures that trial again",
    )
}

/// What a report says of the void trials: how many there are of each reason.
pub(crate) fn remarks(void: &[RunRecord]) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = Vec::new();
    for record in void {
        let Some(void) = &record.void else { continue };
        let text = format!("void, and in no number: {}", void.why.group());
        match remarks.iter_mut().find(|r| r.text == text) {
            Some(known) => known.trials += 1,
            None => remarks.push(Remark { text, flag: None, trials: 1, example: record.path() }),
        }
    }
    remarks
}
