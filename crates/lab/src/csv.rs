//! The rows of a data set as CSV files for bulk importers, and SQL scripts that take them in. The rows are those that a load sends,
//! whatever the number of threads.
//!
//! Files get their own names only when all of them are whole, counted and on disk, and never one that is taken.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use perbuck_database::dialect::CsvWords;
use perbuck_load::loader::csv::{CsvFormat, put_rows};
use perbuck_load::stop::StopToken;
use perbuck_load::values::Params;
use perbuck_load::workload::{Dataset, TableSpec};

use crate::error::{ErrorKind, LabError};

mod files;
pub mod study;

use files::Files;

/// How often the threads are asked whether they have ended, and after how many times progress is shown.
const POLL: Duration = Duration::from_millis(5);
const POLLS_PER_SHOW: u32 = 20;

/// The SQL beside the files: their names end so, after that of the database. There is no second point in a name: TiDB Lightning
/// would take `database.something.sql` for data.
const SCRIPTS: [&str; 3] = ["tables", "load", "indexes"];

/// What is to be written, and where.
#[derive(Debug, Clone, Copy)]
pub struct CsvRequest<'a> {
    /// The folder, which is made where it is missing.
    pub folder: &'a Path,
    /// The name of the database, the first part of the names of the files.
    pub database: &'a str,
    /// The tables to write; all of them if empty.
    pub tables: &'a [String],
    /// Files per table.
    pub files: u32,
    /// Threads that make rows.
    pub threads: u32,
    /// How the database reads it.
    pub csv: CsvWords,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CsvProgress {
    /// Bytes written.
    pub bytes: u64,
    /// Parts of the data that are written, each about as large as the others.
    pub parts: u32,
    /// Parts in all.
    pub of: u32,
}

/// One table that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvTable {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Bytes of all its files.
    pub bytes: u64,
    /// Its files, in the order of their rows.
    pub files: Vec<PathBuf>,
}

/// Writes the files; what was written, table by table.
///
/// # Errors
/// An unknown table, more files than the data have parts, a file that is there already or cannot be written, an interruption,
/// or rows that are not as many as the workload says. Then no file is kept.
pub fn write(
    dataset: &dyn Dataset,
    request: &CsvRequest<'_>,
    stop: &StopToken,
    progress: &mut dyn FnMut(CsvProgress),
) -> Result<Vec<CsvTable>, LabError> {
    let (tables, parts) = (dataset.tables(), dataset.parts());
    let wanted = wanted(&tables, request.tables)?;
    if request.files > parts {
        let message = format!("{} files for each table are too many: the data have {parts} parts", request.files);
        return Err(LabError::usage(message, format!("ask for at most {parts} files")));
    }
    let mut files = Files::new(request, &tables, &wanted, parts)?;
    let script = |name: &str| format!("{}-{name}.sql", request.database);
    SCRIPTS.iter().try_for_each(|name| files.free(&script(name)))?;
    let writer = Writer {
        dataset,
        tables: &tables,
        wanted: &wanted,
        format: request.csv.format,
        parts,
        files: &files,
        stop,
        failed: StopToken::default(),
        next: AtomicU32::new(0),
        done: AtomicU32::new(0),
        bytes: AtomicU64::new(0),
        rows: tables.iter().map(|_| AtomicU64::new(0)).collect(),
    };
    writer.run(request.threads, progress)?;
    let rows: Vec<u64> = writer.rows.into_iter().map(AtomicU64::into_inner).collect();
    let written = files.written(&tables, &wanted, &rows)?;
    for (name, text) in SCRIPTS.iter().zip(scripts(request.csv, &tables, &written)) {
        files.add(&script(name), &text)?;
    }
    files.finish()?;
    Ok(written)
}

fn wanted(tables: &[TableSpec], names: &[String]) -> Result<Vec<bool>, LabError> {
    if let Some(unknown) = names.iter().find(|n| tables.iter().all(|t| t.bulk.name != **n)) {
        let known: Vec<&str> = tables.iter().map(|t| t.bulk.name.as_str()).collect();
        return Err(LabError::usage(format!("there is no table `{unknown}`"), format!("use {}", known.join(", "))));
    }
    Ok(tables.iter().map(|t| names.is_empty() || names.contains(&t.bulk.name)).collect())
}

/// What the threads share; touched once for each part, which is megabytes.
struct Writer<'a> {
    dataset: &'a dyn Dataset,
    tables: &'a [TableSpec],
    wanted: &'a [bool],
    format: CsvFormat,
    parts: u32,
    files: &'a Files,
    stop: &'a StopToken,
    failed: StopToken,
    next: AtomicU32,
    done: AtomicU32,
    bytes: AtomicU64,
    rows: Vec<AtomicU64>,
}

impl Writer<'_> {
    fn run(&self, threads: u32, progress: &mut dyn FnMut(CsvProgress)) -> Result<(), LabError> {
        let mut show = || {
            let (bytes, parts) = (self.bytes.load(Ordering::Relaxed), self.done.load(Ordering::Relaxed));
            progress(CsvProgress { bytes, parts, of: self.parts });
        };
        thread::scope(|scope| {
            let work = || self.work().inspect_err(|_| self.failed.request());
            let start = |_| {
                thread::Builder::new().name("write".to_owned()).spawn_scoped(scope, work).map_err(|e| {
                    self.failed.request();
                    LabError::failed(format!("cannot start a thread that writes files: {e}"), "")
                })
            };
            let threads: Vec<Result<_, LabError>> = (0..threads.clamp(1, self.parts.max(1))).map(start).collect();
            let mut polls = 0u32;
            while !threads.iter().flatten().all(thread::ScopedJoinHandle::is_finished) {
                thread::sleep(POLL);
                polls += 1;
                if polls.is_multiple_of(POLLS_PER_SHOW) {
                    show();
                }
            }
            show();
            let died = || LabError::failed("a thread that writes files died, which is a defect of perbuck", "");
            let results = threads.into_iter().map(|t| t?.join().unwrap_or_else(|_| Err(died())));
            // An interruption is what the others report when one has failed; the failure comes first.
            let worst = results.filter_map(Result::err).min_by_key(|e| e.kind() == ErrorKind::Interrupted);
            worst.map_or(Ok(()), Err)
        })
    }

    fn stopped(&self) -> bool {
        self.stop.requested() || self.failed.requested()
    }

    fn work(&self) -> Result<(), LabError> {
        let mut cells = Params::default();
        let mut buffers = vec![Vec::new(); self.tables.len()];
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.parts {
                return Ok(());
            }
            self.make(index, &mut cells, &mut buffers)?;
            let sizes: Vec<u64> = buffers.iter().map(|b| b.len() as u64).collect();
            let ranges = self.files.ranges(index, &sizes, &|| self.stopped())?;
            for (range, buffer) in ranges.iter().zip(&buffers) {
                if let Some(range) = range {
                    range.write(buffer)?;
                }
            }
            self.bytes.fetch_add(sizes.iter().sum(), Ordering::Relaxed);
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Makes the rows of a part, a buffer for each table.
    fn make(&self, index: u32, cells: &mut Params, buffers: &mut [Vec<u8>]) -> Result<(), LabError> {
        buffers.iter_mut().for_each(Vec::clear);
        let mut part = self.dataset.part(index);
        part.only(self.wanted);
        while let Some(table) = part.next_batch(cells.clear()) {
            if self.stopped() {
                return Err(interrupted());
            }
            if self.wanted[table] {
                let width = self.tables[table].bulk.columns.len();
                self.rows[table].fetch_add((cells.len() / width) as u64, Ordering::Relaxed);
                put_rows(&mut buffers[table], self.format, cells, width);
            }
        }
        Ok(())
    }
}

/// The SQL that makes the tables that were written, takes the files in from within their folder, and makes the indexes.
fn scripts(csv: CsvWords, tables: &[TableSpec], written: &[CsvTable]) -> [String; 3] {
    let chosen = || tables.iter().filter(|t| written.iter().any(|w| w.name == t.bulk.name));
    let lines = |statements: Vec<&String>| statements.into_iter().map(|s| format!("{s};\n")).collect::<String>();
    let load = |(table, written): (&TableSpec, &CsvTable)| -> String {
        let columns = table.bulk.columns.join(", ");
        // A quote in the name of the database is doubled within a literal.
        let names = written.files.iter().filter_map(|path| path.file_name());
        names.map(|file| (csv.take_in)(&file.to_string_lossy().replace('\'', "''"), &table.bulk.name, &columns)).collect()
    };
    let loads = chosen().zip(written).map(load).collect();
    let after = chosen().flat_map(|t| &t.after_load).chain(chosen().filter_map(|t| t.statistics.as_ref()));
    [lines(chosen().flat_map(|t| &t.create).collect()), loads, lines(after.collect())]
}

fn interrupted() -> LabError {
    LabError::new(ErrorKind::Interrupted, "interrupted; no file was kept", "run the same command again to write them")
}

#[cfg(test)]
mod tests;
