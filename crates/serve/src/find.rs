//! What a folder holds: studies with their trials, and reports of published ones.

use std::path::{Path, PathBuf};

use perbuck_core::study::{NO_LIMIT_NS, Study};

use perbuck_lab::error::LabError;
use perbuck_lab::folder::{self, has_file};
use perbuck_lab::inputs::Limit;
use perbuck_lab::report::PAGE;
use perbuck_lab::{store, stored};

pub(super) struct Found {
    /// Its folder's name below the given one; `.` for that itself. Addresses carry it, and it is only ever looked up.
    pub(super) name: String,
    pub(super) folder: PathBuf,
    /// The study; `None` for a report alone, or a file that is no study any more.
    pub(super) study: Option<Study>,
    /// The page of a report without a study.
    pub(super) page: Option<PathBuf>,
}

/// Everything that a folder holds, by name.
pub(super) fn all(root: &Path) -> Result<Vec<Found>, LabError> {
    let folders = folder::those_with(root, &[store::STUDY_FILE, PAGE])?;
    let mut out: Vec<Found> = folders.into_iter().map(|folder| found(root, folder)).collect();
    out.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(out)
}

fn found(root: &Path, folder: PathBuf) -> Found {
    let relative = folder.strip_prefix(root).unwrap_or(&folder).to_string_lossy().into_owned();
    let name = if relative.is_empty() { ".".to_owned() } else { relative };
    let study = folder.join(store::STUDY_FILE);
    let read = folder::read_text("the study", &study, Limit::TEXT).ok().and_then(|text| stored::read_study(&text).ok());
    let page = (!has_file(&study)).then(|| folder.join(PAGE));
    Found { name, folder, study: read, page }
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

    /// How long warm-up and measured window of a trial of this workload are, in milliseconds; `None` without a study, and where a
    /// number of transactions ends the window.
    pub(super) fn times_ms(&self, workload: &str) -> Option<[u64; 2]> {
        let sweep = self.study.as_ref()?.sweep_of(workload);
        (sweep.duration_ns < NO_LIMIT_NS).then(|| [sweep.warmup_ns, sweep.duration_ns].map(|ns| ns / 1_000_000))
    }
}
