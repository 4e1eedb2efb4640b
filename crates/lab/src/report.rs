//! The report of a results folder on disk: page, Markdown and drawings.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;

use perbuck_report::{ReportModel, drawings, html, markdown};

use crate::error::LabError;
use crate::results::{self, Basis, Results};
use crate::store;

/// The name of the page.
pub const PAGE: &str = "report.html";

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
    let values = folder.join(markdown::FIGURES);
    fs::create_dir_all(&values).map_err(LabError::of_file("make the folder", &values))?;
    let (page, text) = (folder.join(PAGE), folder.join("report.md"));
    thread::scope(|scope| {
        let written = scope.spawn(|| {
            let [before, after] = html::around_evidence(model, embedded);
            store::replace_with(&page, &mut |page| {
                page.write_all(before.as_bytes())?;
                evidence(page)?;
                page.write_all(after.as_bytes())
            })
        });
        store::replace(&text, &markdown::render(model))?;
        for (name, drawing) in drawings(model) {
            // Not synced one by one: a drawing that a power cut takes is made again from the records.
            let path = values.join(name);
            fs::write(&path, drawing).map_err(LabError::of_file("write", &path))?;
        }
        written.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    Ok([page, text])
}
