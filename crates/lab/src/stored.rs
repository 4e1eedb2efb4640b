//! Reading a results folder: many records at once, because thousands of files are one.

use std::fs;
use std::path::{Path, PathBuf};

use perbuck_core::parallel::in_parallel;
use perbuck_core::problem::Problem;
use perbuck_core::run_record::RunRecord;
use perbuck_core::study::Study;
use perbuck_report::evidence;

use crate::error::LabError;
use crate::inputs::read_text;
use crate::registry::Registry;
use crate::store;

/// What a results folder holds.
pub struct Stored {
    /// Path of the stored study.
    pub study: PathBuf,
    /// Path of the stored prices, where there are any.
    pub prices: Option<PathBuf>,
    /// All records, in the order of their paths.
    pub records: Vec<RunRecord>,
    /// The checksum of each of them.
    pub sums: Vec<String>,
    /// Whether the data were checked after the last trial.
    pub checked: bool,
}

/// Reads the text of a stored study.
///
/// # Errors
/// Every problem of the study itself; what it needs from outside is not looked at.
pub fn read_study(text: &str) -> Result<Study, Vec<Problem>> {
    Study::read(store::STUDY_FILE, text, &Registry::default().kinds())
}

/// Reads a results folder.
///
/// # Errors
/// When it is no results folder, or a record in it cannot be read.
pub fn read(root: &Path) -> Result<Stored, LabError> {
    let study = root.join(store::STUDY_FILE);
    let is_folder = fs::metadata(root).map_err(LabError::of_file("read the results folder", root))?.is_dir();
    if !is_folder || !study.exists() {
        let message = format!("{} is not the results folder of a study: it has no {}", root.display(), store::STUDY_FILE);
        return Err(LabError::files(message, "name the folder of one study, such as results/my-study"));
    }
    let paths = store::records_in(root)?;
    let (mut records, mut sums) = (Vec::with_capacity(paths.len()), Vec::with_capacity(paths.len()));
    for (record, sum) in in_parallel(&paths, |path| one(root, path))? {
        records.push(record);
        sums.push(sum);
    }
    let prices = Some(root.join(store::PRICES_FILE)).filter(|p| p.exists());
    Ok(Stored { study, prices, records, sums, checked: root.join(store::CHECKED_FILE).exists() })
}

/// A record in its place, with its checksum.
fn one(root: &Path, path: &Path) -> Result<(RunRecord, String), LabError> {
    let record = read_record(path)?;
    if root.join(record.key.path()) != path {
        let message = format!("{} holds the record of another trial, {}", path.display(), record.key.path());
        return Err(LabError::files(message, "put each record back to its own name"));
    }
    let sum = seal(&record)?;
    Ok((record, sum))
}

/// The checksum of a record.
///
/// # Errors
/// When a number of it is not finite, which no file can hold.
pub fn seal(record: &RunRecord) -> Result<String, LabError> {
    evidence::seal(record).map_err(|e| LabError::failed(format!("the record of {}: {e}", record.key.path()), ""))
}

/// Reads a record.
///
/// # Errors
/// When it cannot be read, or is none.
pub fn read_record(path: &Path) -> Result<RunRecord, LabError> {
    let mut record = RunRecord::from_json(&read_text("the record", path)?).map_err(|e| {
        let help = "restore it from a copy, or remove it and run the study again to measure that trial anew";
        LabError::files(format!("{} {e}", path.display()), help)
    })?;
    // A list that grew while it was read holds room for up to twice as many; in ten thousand records that is half of the memory.
    record.intervals.shrink_to_fit();
    Ok(record)
}
