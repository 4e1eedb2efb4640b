//! Reading a results folder: many records at once, because thousands of files are one.

use std::fs;
use std::path::{Path, PathBuf};

use perbuck_core::parallel::in_parallel;
use perbuck_core::problem::Problem;
use perbuck_core::run_record::RunRecord;
use perbuck_core::study::Study;
use perbuck_report::evidence;

use crate::error::LabError;
use crate::folder::{self, has_file};
use crate::inputs::Limit;
use crate::registry::Registry;
use crate::store;

/// Reads the text of a stored study.
///
/// # Errors
/// Every problem of the study itself; what it needs from outside is not looked at.
pub fn read_study(text: &str) -> Result<Study, Vec<Problem>> {
    Study::read(store::STUDY_FILE, text, &Registry::default().kinds())
}

/// All records of a results folder in the order of their paths, void ones included, and their checksums.
pub(crate) fn records(root: &Path) -> Result<(Vec<RunRecord>, Vec<String>), LabError> {
    let is_folder = fs::metadata(root).map_err(LabError::of_file("read the results folder", root))?.is_dir();
    if !is_folder || !has_file(&root.join(store::STUDY_FILE)) {
        let message = format!("{} is not the results folder of a study: it has no {}", root.display(), store::STUDY_FILE);
        return Err(LabError::files(message, "name the folder of one study, such as results/my-study"));
    }
    let one = |path: &PathBuf| {
        let record = read_record(path)?;
        if root.join(record.path()) != *path {
            let message = format!("{} holds the record of another trial, {}", path.display(), record.path());
            return Err(LabError::files(message, "put each record back to its own name"));
        }
        let sum = seal(&record)?;
        Ok((record, sum))
    };
    Ok(in_parallel(&store::evidence_in(root)?, one)?.into_iter().unzip())
}

/// The checksum of a record; one with a number that is not finite has none.
pub(crate) fn seal(record: &RunRecord) -> Result<String, LabError> {
    evidence::seal(record).map_err(|e| LabError::failed(format!("the record of {}: {e}", record.path()), ""))
}

/// Reads a record.
///
/// # Errors
/// When it cannot be read, or is none.
pub fn read_record(path: &Path) -> Result<RunRecord, LabError> {
    let mut record = RunRecord::from_json(&folder::read_text("the record", path, Limit::RECORD)?).map_err(|e| {
        let help = "restore it from a copy, or remove it and run the study again: it measures that trial again";
        LabError::files(format!("{} {e}", path.display()), help)
    })?;
    // A list that grew while it was read holds room for up to twice as many; in ten thousand records that is half of the memory.
    record.intervals.shrink_to_fit();
    Ok(record)
}
