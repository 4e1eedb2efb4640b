//! The text of a study with what it names and does not hold: files beside it, and targets of a command line.

use std::collections::BTreeMap;
use std::path::Path;

use perbuck_core::study::{Attached, files_named};

use super::read_text;
use crate::error::LabError;

/// Targets by the names of contenders, from a command line.
pub type Targets = BTreeMap<String, String>;

/// Reads a study file, the files that it names in its own folder, and puts targets in place of those of its contenders.
///
/// # Errors
/// A study that cannot be read. A file that is not there is told with the other problems of the study.
pub fn study_text(study: &Path, targets: &Targets) -> Result<String, LabError> {
    let text = read_text("the study", study)?;
    let folder = study.parent().unwrap_or(Path::new(""));
    let mut attached = Attached { targets: targets.clone(), ..Attached::default() };
    for named in files_named(&text) {
        let path = folder.join(&named.value);
        if path.is_file() {
            attached.files.insert(named.value, read_text("a file of the study", &path)?);
        }
    }
    Ok(attached.to(&text))
}
