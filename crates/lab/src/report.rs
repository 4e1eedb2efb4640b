//! The report of a results folder on disk: page, Markdown and drawings.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use perbuck_core::parallel::both;
use perbuck_report::{ReportModel, drawings, html, markdown};

use crate::error::LabError;
use crate::folder;
use crate::results::{self, Basis, Results};
use crate::store;

/// The name of the page.
pub const PAGE: &str = "report.html";
pub(crate) const MARKDOWN: &str = "report.md";

/// Reads a results folder and writes its report into it; returns the path of the page.
///
/// # Errors
/// As [`results::read`], or a folder that cannot be written.
pub fn write_for(root: &Path) -> Result<PathBuf, LabError> {
    let [html, _] = write(&results::read(root, &Basis::default())?, root)?;
    Ok(html)
}

/// Writes the report of results with what it was made from, as [`write_model`] does.
///
/// # Errors
/// A folder that cannot be written.
pub fn write(results: &Results, folder: &Path) -> Result<[PathBuf; 2], LabError> {
    fs::create_dir_all(folder).map_err(LabError::of_file("make the folder", folder))?;
    let (model, mut evidence) = results.report_and_evidence(folder)?;
    write_around(&model, folder, true, &mut |page| {
        evidence.rewind()?;
        io::copy(&mut evidence, page).map(drop)
    })
}

/// Writes a report as `report.html` and `report.md` with its drawings; returns the paths of the first two.
///
/// # Errors
/// A folder that cannot be written.
pub fn write_model(model: &ReportModel, folder: &Path) -> Result<[PathBuf; 2], LabError> {
    let embedded = !model.evidence.is_empty();
    write_around(model, folder, embedded, &mut |page| page.write_all(model.evidence.as_bytes()))
}

fn write_around(
    model: &ReportModel,
    folder: &Path,
    embedded: bool,
    evidence: &mut (dyn FnMut(&mut File) -> io::Result<()> + Send),
) -> Result<[PathBuf; 2], LabError> {
    let drawn = folder.join(markdown::FIGURES);
    folder::make(folder, &drawn)?;
    let (page, text) = (folder.join(PAGE), folder.join(MARKDOWN));
    let beside = || {
        store::replace(&text, &markdown::render(model))?;
        drawings(model).into_iter().try_for_each(|(name, drawing)| {
            // Not synced one by one: a drawing that a power cut takes is made again from the records.
            let path = drawn.join(name);
            let written = folder::create(&path).and_then(|mut file| file.write_all(drawing.as_bytes()));
            written.map_err(LabError::of_file("write", &path))
        })
    };
    let written = || {
        let [before, after] = html::around_evidence(model, embedded);
        store::replace_with(&page, &mut |page| {
            page.write_all(before.as_bytes())?;
            evidence(page)?;
            page.write_all(after.as_bytes())
        })
    };
    let (beside, written) = both(beside, written);
    beside.and(written)?;
    Ok([page, text])
}
