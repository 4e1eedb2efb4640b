//! Prepared data that are files of a database within this process.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use perbuck_load::driver::CopyScope;

use super::pack::Source;
use crate::data::{DataState, FRESH};
use crate::error::LabError;
use crate::stage::Stage;

/// The files of the stages of a contender, each once, by the names that they have in an archive: another machine has other paths.
fn files(stages: &[Stage]) -> BTreeMap<String, (&Stage, PathBuf)> {
    let mut found = BTreeMap::new();
    for stage in stages {
        let known: usize = found.len();
        if found.values().any(|(known, _): &(&Stage, PathBuf)| known.address == stage.address) {
            continue;
        }
        if let Some(file) = stage.server.copy_file() {
            found.insert(format!("{known:03}"), (stage, file));
        }
    }
    found
}

/// Saves a copy of each file, from which an archive is filled.
pub(super) fn copies(stages: &[Stage]) -> Result<Vec<Source>, LabError> {
    let files = files(stages).into_iter().map(|(name, (stage, file))| {
        stage.server.save_copy(&CopyScope::default())?;
        Source::of(file.clone(), &name).map_err(LabError::of_file("read", &file))
    });
    files.collect()
}

/// Puts files in place of those that are there, each in one step; returns the first one's name.
pub(super) fn replace(stages: &[Stage], unpack: &mut dyn FnMut(&Path) -> Result<(), LabError>) -> Result<PathBuf, LabError> {
    stages.iter().try_for_each(is_ours)?;
    let files = files(stages);
    let Some((_, first)) = files.values().next() else { return Err(LabError::failed("there is no file to restore", "")) };
    // In the same folder, so that a file only gets another name.
    let beside = first.with_extension("perbuck-restored");
    let clear = || if beside.exists() { fs::remove_dir_all(&beside) } else { Ok(()) };
    clear().map_err(LabError::of_file("remove", &beside))?;
    let done = unpack(&beside).and_then(|()| {
        for (name, (stage, copy)) in &files {
            let made = beside.join(name);
            let synced = File::open(&made).and_then(|file| file.sync_all());
            synced.and_then(|()| fs::rename(&made, copy)).map_err(LabError::of_file("rename", &made))?;
            let restored = stage.server.restore_copy(&CopyScope::default(), &[]);
            restored.and(stage.server.drop_copy())?;
        }
        Ok(())
    });
    done.and(clear().map_err(LabError::of_file("remove", &beside)))?;
    stages.iter().try_for_each(is_there)?;
    Ok(first.with_extension(""))
}

/// A file with data of another tool is not replaced.
fn is_ours(stage: &Stage) -> Result<(), LabError> {
    let facts = stage.server.host_facts(0).map_err(|e| LabError::target(&stage.title, &e))?;
    if facts.is_new || matches!(stage.data.state()?, DataState::Ours { .. } | DataState::Unfinished) {
        return Ok(());
    }
    let message = format!("{}: {} is there, and perbuck did not load it", stage.title, stage.address);
    Err(LabError::refused(message, "move that file away, or give the contender another `target`"))
}

fn is_there(stage: &Stage) -> Result<(), LabError> {
    match stage.data.state()? {
        DataState::Ours { fingerprint, used_by } if fingerprint == stage.fingerprint && used_by == FRESH => Ok(()),
        _ => {
            let message = format!("{}: the restored data in {} are not what their manifest says", stage.title, stage.address);
            Err(LabError::files(message, "load them: perbuck prepare --force STUDY"))
        }
    }
}
