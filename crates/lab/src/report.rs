//! The report of a results folder on disk: pages, Markdown with its figures, and files for other programs.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use perbuck_core::compare::Comparison;
use perbuck_core::parallel::{both, in_parallel};
use perbuck_core::run_record::RunRecord;
use perbuck_export::{png, xlsx};
use perbuck_report::{ReportModel, Slide, dataset, html, markdown, slides};

use crate::error::LabError;
use crate::folder;
use crate::results::{self, Basis, Results};
use crate::store;

/// The name of the page.
pub const PAGE: &str = "report.html";

/// A form in which a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The whole page with the data that it was made from.
    Full,
    /// Its first screen alone, as a page.
    Brief,
    /// Markdown, and its figures as pictures of the size of a slide.
    Markdown,
    /// The numbers as one CSV file.
    Csv,
    /// The numbers as a workbook of spreadsheet programs.
    Xlsx,
    /// The report model.
    Json,
}

impl Format {
    /// All of them with the word of the command line and the name of the file.
    pub const ALL: [(Self, &str, &str); 6] = [
        (Self::Full, "full", PAGE),
        (Self::Brief, "brief", "brief.html"),
        (Self::Markdown, "md", "report.md"),
        (Self::Csv, "csv", "report.csv"),
        (Self::Xlsx, "xlsx", "report.xlsx"),
        (Self::Json, "json", "report.json"),
    ];
    /// What is written where none was chosen.
    pub const USUAL: [Self; 2] = [Self::Full, Self::Markdown];

    fn path(self, folder: &Path) -> PathBuf {
        folder.join(Self::ALL.iter().find(|(format, _, _)| *format == self).map_or(PAGE, |(_, _, name)| name))
    }
}

/// What a report is made of, but the records that its page embeds.
struct Content<'a> {
    model: &'a ReportModel,
    comparison: &'a Comparison,
    records: &'a [RunRecord],
}

/// Writes what the page embeds.
type Evidence<'a> = &'a mut (dyn FnMut(&mut File) -> io::Result<()> + Send);

/// Reads a results folder and writes its report into it; returns the path of the page.
///
/// # Errors
/// As [`results::read`], or a folder that cannot be written.
pub fn write_for(root: &Path) -> Result<PathBuf, LabError> {
    write(&results::read(root, &Basis::default())?, root, &Format::USUAL)?;
    Ok(Format::Full.path(root))
}

/// Writes the report of results in these formats; the whole page with what it was made from. Returns the paths of the files, without
/// those of figures.
///
/// # Errors
/// A folder that cannot be written, more trials than a sheet has rows.
pub fn write(results: &Results, folder: &Path, formats: &[Format]) -> Result<Vec<PathBuf>, LabError> {
    fs::create_dir_all(folder).map_err(LabError::of_file("make the folder", folder))?;
    let of = |model| Content { model, comparison: &results.comparison, records: results.used() };
    if !formats.contains(&Format::Full) {
        return write_all(&of(&results.model()), folder, formats, false, &mut |_| Ok(()));
    }
    let (model, mut evidence) = results.report_and_evidence(folder)?;
    write_all(&of(&model), folder, formats, true, &mut |page| {
        evidence.rewind()?;
        io::copy(&mut evidence, page).map(drop)
    })
}

/// Writes the report of a published study in these formats; returns the paths as [`write()`] does.
///
/// # Errors
/// As [`write()`].
pub fn write_model(
    model: &ReportModel,
    comparison: &Comparison,
    folder: &Path,
    formats: &[Format],
) -> Result<Vec<PathBuf>, LabError> {
    fs::create_dir_all(folder).map_err(LabError::of_file("make the folder", folder))?;
    let embedded = !model.evidence.is_empty();
    write_all(&Content { model, comparison, records: &[] }, folder, formats, embedded, &mut |page| {
        page.write_all(model.evidence.as_bytes())
    })
}

fn write_all(
    content: &Content<'_>,
    folder: &Path,
    formats: &[Format],
    embedded: bool,
    evidence: Evidence<'_>,
) -> Result<Vec<PathBuf>, LabError> {
    let mut beside: Vec<Format> = formats.to_vec();
    beside.retain(|f| *f != Format::Full);
    let others = || beside.iter().try_for_each(|format| content.write(*format, folder));
    let page = || {
        if beside.len() == formats.len() {
            return Ok(());
        }
        let [before, after] = html::around_evidence(content.model, embedded);
        store::replace_with(&Format::Full.path(folder), &mut |page| {
            page.write_all(before.as_bytes())?;
            evidence(page)?;
            page.write_all(after.as_bytes())
        })
    };
    let (others, page) = both(others, page);
    others.and(page)?;
    Ok(formats.iter().map(|format| format.path(folder)).collect())
}

impl Content<'_> {
    fn write(&self, format: Format, folder: &Path) -> Result<(), LabError> {
        let path = format.path(folder);
        let failed = |why: String| LabError::failed(format!("cannot write {}: {why}", path.display()), "");
        let tables = || dataset::tables(self.comparison, self.records).map_err(|e| failed(e.to_string()));
        match format {
            // The page is written around what it embeds.
            Format::Full => Ok(()),
            Format::Brief => store::replace(&path, &html::brief_page(self.model)),
            Format::Markdown => {
                store::replace(&path, &markdown::render(self.model))?;
                figures(&slides(self.model), folder)
            }
            Format::Csv => store::replace(&path, &dataset::csv(&tables()?)),
            Format::Xlsx => {
                let latest_ms = self.records.iter().map(|r| r.started_unix_ms).max().unwrap_or(0);
                let book = xlsx(&tables()?, latest_ms / 1000).map_err(failed)?;
                store::replace_with(&path, &mut |file| file.write_all(&book))
            }
            Format::Json => {
                let text = serde_json::to_string_pretty(self.model).map_err(|e| failed(e.to_string()))?;
                store::replace(&path, &(text + "\n"))
            }
        }
    }
}

/// Each figure as a drawing and as a picture. They are not synced one by one: what a power cut takes is made again from the records.
fn figures(slides: &[Slide], folder: &Path) -> Result<(), LabError> {
    let drawn = folder.join(markdown::FIGURES);
    folder::make(folder, &drawn)?;
    let write = |name: String, bytes: &[u8]| {
        let path = drawn.join(name);
        folder::create(&path).and_then(|mut file| file.write_all(bytes)).map_err(LabError::of_file("write", &path))
    };
    in_parallel(slides, |slide| {
        write(format!("{}.svg", slide.name), slide.svg.as_bytes())?;
        let picture = png(&slide.svg).map_err(|e| LabError::failed(format!("cannot draw the figure {}: {e}", slide.name), ""))?;
        write(format!("{}.png", slide.name), &picture)
    })
    .map(drop)
}
