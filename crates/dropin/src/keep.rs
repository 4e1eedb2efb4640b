//! Where the record of a run goes: the folder of its study, which grows by one trial with every run of the same command
//! line, and by one contender with every new database.

use std::path::Path;
use std::time::Duration;

use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::RunRecord;

use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::folder::has_file;
use perbuck_lab::inputs;
use perbuck_lab::registry::Registry;
use perbuck_lab::store::{self, Store, StudyFiles};

use crate::study::{Member, Series};

/// How long another perbuck that writes to the same folder is waited for; it holds it for the length of a few writes.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
/// The most trials that a study has.
const TRIALS: u32 = 1000;

/// The databases that the folder knows, and its number of trials; none where there is no folder yet.
fn known(root: &Path) -> Result<(Vec<Member>, u32), LabError> {
    let path = root.join("study.toml");
    if !has_file(&path) {
        return Ok((Vec::new(), 0));
    }
    let stored = inputs::read((&path, &inputs::Targets::new()), None, Registry::default())?;
    let member = |c: &perbuck_core::study::Contender| {
        let address = c.target.as_ref().map(|t| t.value.clone()).unwrap_or_default();
        Member { name: c.name.clone(), address }
    };
    Ok((stored.study.contenders.iter().map(member).collect(), stored.study.sweep.trials))
}

/// The database among those known: under the name that was asked for, or under the one made of its address, with a
/// number after it where another address has that name.
fn named(known: &[Member], asked: Option<&str>, made: &str, address: &str) -> Result<Member, LabError> {
    let member = |name: String| Member { name, address: address.to_owned() };
    let taken = |name: &str| known.iter().find(|m| m.name == name).filter(|m| m.address != address);
    if let Some(name) = asked {
        return match taken(name) {
            None => Ok(member(name.to_owned())),
            Some(other) => {
                let message = format!("contender `{name}` is {} in these results, not {address}", other.address);
                let help = "give this database another name with --contender, or other results with --results";
                Err(LabError::new(ErrorKind::Refused, message, help))
            }
        };
    }
    if let Some(same) = known.iter().find(|m| m.address == address && m.name.starts_with(made)) {
        return Ok(same.clone());
    }
    let names = std::iter::once(made.to_owned()).chain((2u32..).map(|n| format!("{made}-{n}")));
    Ok(member(names.into_iter().find(|name| known.iter().all(|m| m.name != *name)).unwrap_or_else(|| made.to_owned())))
}

/// Finds out before a run whether its record can be kept under the name that was asked for, which `member` has.
pub(crate) fn check(results: &Path, series: &Series, member: &Member) -> Result<(), LabError> {
    let (members, _) = known(&results.join(&series.name))?;
    let member = named(&members, Some(&member.name), &member.name, &member.address)?;
    if store::is_own_name(&member.name) {
        let message = format!("--contender={}: perbuck makes a file or folder of that name itself", member.name);
        return Err(LabError::new(ErrorKind::Usage, message, "give it another name"));
    }
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if member.name.is_empty() || member.name.len() > 64 || member.name.starts_with('.') || !member.name.chars().all(good) {
        let message = format!("--contender={}: it cannot be the name of a folder", member.name);
        let help = "use 1 to 64 letters, digits, `-`, `_` or `.`, not starting with a dot";
        return Err(LabError::new(ErrorKind::Usage, message, help));
    }
    Ok(())
}

/// Writes the record; returns its path.
pub(crate) fn keep(
    results: &Path,
    series: &Series,
    asked: Option<&str>,
    made: &str,
    (mut record, series_file): (RunRecord, Option<&str>),
) -> Result<String, LabError> {
    let address = record.target.address.clone();
    let files = |text| StudyFiles { name: &series.name, study: text, prices: None };
    let alone = series.text(&[Member { name: record.key.contender.clone(), address: address.clone() }], 1);
    let store = Store::join_within(results, files(&alone), &series.fingerprint, LOCK_TIMEOUT)?;
    let (mut members, trials) = if store.is_new() { (Vec::new(), 0) } else { known(store.root())? };
    let member = named(&members, asked, made, &address)?;
    let key = |trial| TrialKey { contender: member.name.clone(), trial, ..record.key.clone() };
    let Some(key) = (1..=TRIALS).map(key).find(|key| !store.has(key)) else {
        let message = format!("{} holds {TRIALS} runs of this command line already", store.root().display());
        return Err(LabError::new(ErrorKind::Refused, message, "name another folder with --results"));
    };
    let position = members.iter().map(|m| runs_of(&store, &record.key, &m.name)).sum();
    if !members.contains(&member) {
        members.push(member);
    }
    let trials = trials.max(key.trial);
    let fingerprint = series.study(&members, trials).fingerprint_alone(&key.contender).unwrap_or_default();
    store.keep(files(&series.text(&members, trials)))?;
    record = RunRecord { study: series.name.clone(), study_fingerprint: fingerprint, key, position, ..record };
    store.write(&record, series_file)?;
    Ok(store.root().join(record.key.path()).display().to_string())
}

/// How many runs of a database the folder holds.
fn runs_of(store: &Store, key: &TrialKey, contender: &str) -> u32 {
    let key = |trial| TrialKey { contender: contender.to_owned(), trial, ..key.clone() };
    (1..=TRIALS).take_while(|trial| store.has(&key(*trial))).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_keeps_its_name_and_another_one_gets_its_own() {
        let member = |name: &str, address: &str| Member { name: name.into(), address: address.into() };
        let known = [member("h-1", "x"), member("h-1-2", "y"), member("mine", "z")];
        let name = |asked, address| named(&known, asked, "h-1", address).map(|m| m.name);
        assert_eq!(name(None, "x").unwrap(), "h-1");
        assert_eq!(name(None, "y").unwrap(), "h-1-2");
        assert_eq!(name(None, "new").unwrap(), "h-1-3");
        assert_eq!(name(Some("mine"), "z").unwrap(), "mine");
        assert_eq!(name(Some("other"), "z").unwrap(), "other");
        assert!(name(Some("mine"), "x").unwrap_err().to_string().contains("`mine` is z in these results"));
    }
}
