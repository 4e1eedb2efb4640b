//! What a folder holds: studies with their trials, and reports of published ones.

use std::fs;
use std::path::{Path, PathBuf};

use perbuck_core::study::{NO_LIMIT_NS, Study};

use perbuck_lab::error::LabError;
use perbuck_lab::folder::{self, has_file};
use perbuck_lab::inputs::Limit;
use perbuck_lab::report::PAGE;
use perbuck_lab::{store, stored};

/// How deep below the given folder a study may lie: `results/sysbench/<study>` is the deepest that perbuck makes.
const DEEPEST: usize = 3;

pub(super) struct Found {
    /// Its folder's name below the given one; `.` for that itself. Addresses carry it, and it is only ever looked up.
    pub(super) name: String,
    pub(super) folder: PathBuf,
    /// The study; `None` for a report alone, or a file that is no study any more.
    pub(super) study: Option<Study>,
    /// The page of a report without a study.
    pub(super) page: Option<PathBuf>,
}

/// Everything that a folder holds, by name. Links are not followed: they may lead out of it.
pub(super) fn all(root: &Path) -> Result<Vec<Found>, LabError> {
    let mut out = Vec::new();
    below(root, root, 0, &mut out)?;
    out.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(out)
}

fn below(root: &Path, at: &Path, depth: usize, out: &mut Vec<Found>) -> Result<(), LabError> {
    let study = at.join(store::STUDY_FILE);
    let page = at.join(PAGE);
    if has_file(&study) || has_file(&page) {
        let relative = at.strip_prefix(root).unwrap_or(at).to_string_lossy().into_owned();
        let name = if relative.is_empty() { ".".to_owned() } else { relative };
        let read = folder::read_text("the study", &study, Limit::TEXT).ok().and_then(|text| stored::read_study(&text).ok());
        let page = (!has_file(&study)).then_some(page);
        out.push(Found { name, folder: at.to_owned(), study: read, page });
        return Ok(());
    }
    if depth == DEEPEST {
        return Ok(());
    }
    for entry in fs::read_dir(at).map_err(|e| LabError::file("read the folder", at, &e))? {
        let entry = entry.map_err(|e| LabError::file("read the folder", at, &e))?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !hidden && entry.file_type().is_ok_and(|t| t.is_dir()) {
            below(root, &entry.path(), depth + 1, out)?;
        }
    }
    Ok(())
}

impl Found {
    pub(super) fn title(&self) -> &str {
        self.study.as_ref().map_or(self.name.as_str(), |s| s.name.as_str())
    }

    /// The paths of its records below its folder, in their order.
    pub(super) fn records(&self) -> Vec<String> {
        let paths = if self.page.is_some() { Vec::new() } else { store::records_in(&self.folder).unwrap_or_default() };
        let relative = |p: &PathBuf| p.strip_prefix(&self.folder).ok().map(|p| p.to_string_lossy().into_owned());
        paths.iter().filter_map(relative).collect()
    }

    /// How many trials its study plans; `None` without a study, and where it imports logs.
    pub(super) fn planned(&self) -> Option<usize> {
        self.study.as_ref().filter(|s| !s.imported).map(|s| s.trials_planned() as usize)
    }

    /// How long warm-up and measured window of a trial are, in milliseconds; `None` without a study, and where a number of
    /// transactions ends the window.
    pub(super) fn times_ms(&self) -> Option<[u64; 2]> {
        self.study
            .as_ref()
            .filter(|s| s.sweep.duration_ns < NO_LIMIT_NS)
            .map(|s| [s.sweep.warmup_ns, s.sweep.duration_ns].map(|ns| ns / 1_000_000))
    }
}
