//! The files of one run: where each part goes in them, and that they appear whole, all together, and never in place of another file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Error};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use perbuck_load::workload::TableSpec;

use super::{CsvRequest, CsvTable, interrupted};
use crate::error::LabError;
use crate::folder::sync;
use crate::store::{PARTIAL, link, partial_of, remove_if_there};

/// How often a thread that waits for the part before its own checks whether the run has stopped.
const POLL: Duration = Duration::from_millis(50);

/// A file that has no name of its own yet.
#[derive(Debug)]
struct Made {
    table: Option<usize>,
    partial: PathBuf,
    path: PathBuf,
    bytes: u64,
}

/// How far the files are laid out.
#[derive(Debug, Default)]
struct Layout {
    /// The part that is laid out next.
    next: u32,
    /// Which of the files of a table is being filled.
    slot: u32,
    /// The open file of each table, with its position in `made`; those of earlier slots are closed.
    open: Vec<Option<(Arc<File>, usize)>>,
    made: Vec<Made>,
}

/// Where the rows of one part go in one file.
#[derive(Debug)]
pub(super) struct RowRange {
    file: Arc<File>,
    offset: u64,
    path: PathBuf,
}

impl RowRange {
    pub(super) fn write(&self, rows: &[u8]) -> Result<(), LabError> {
        self.file.write_all_at(rows, self.offset).map_err(|e| failed("write", &self.path, &e))
    }
}

/// All files of a run. Dropped before [`Self::finish`] it removes what it made.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    /// Names of the files of each table, by slot.
    names: Vec<Vec<String>>,
    slots: u32,
    parts: u32,
    layout: Mutex<Layout>,
    moved_on: Condvar,
}

impl Files {
    /// Makes the folder, and refuses names that are taken.
    pub(super) fn new(request: &CsvRequest<'_>, tables: &[TableSpec], wanted: &[bool], parts: u32) -> Result<Self, LabError> {
        let folder = request.folder.to_owned();
        fs::create_dir_all(&folder).map_err(|e| failed("make the folder", &folder, &e))?;
        let digits = request.files.to_string().len().max(3);
        let name = |table: &str, slot: u32| match request.files {
            1 => format!("{}.{table}.csv", request.database),
            _ => format!("{}.{table}.{:0digits$}.csv", request.database, slot + 1),
        };
        let names: Vec<Vec<String>> =
            tables.iter().map(|t| (0..request.files).map(|slot| name(&t.bulk.name, slot)).collect()).collect();
        let layout = Layout { open: vec![None; tables.len()], ..Layout::default() };
        let files = Self { folder, names, slots: request.files, parts, layout: Mutex::new(layout), moved_on: Condvar::new() };
        for (names, _) in files.names.iter().zip(wanted).filter(|(_, wanted)| **wanted) {
            names.iter().try_for_each(|name| files.free(name))?;
        }
        Ok(files)
    }

    /// Refuses a name that is taken, or whose temporary name is.
    pub(super) fn free(&self, name: &str) -> Result<(), LabError> {
        let path = self.folder.join(name);
        let there = [partial_of(&path), path].into_iter().find(|path| fs::symlink_metadata(path).is_ok());
        there.map_or(Ok(()), |path| Err(taken(&path)))
    }

    fn layout(&self) -> MutexGuard<'_, Layout> {
        // A thread that panicked has failed the run, and what is counted here stays true.
        self.layout.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the rows of part `index` go in the file of each table, given how many bytes they are. Parts are laid out in their
    /// order, whatever the order in which they were made; so a thread may have to wait here for the one before it.
    pub(super) fn ranges(
        &self,
        index: u32,
        sizes: &[u64],
        stopped: &dyn Fn() -> bool,
    ) -> Result<Vec<Option<RowRange>>, LabError> {
        let mut layout = self.layout();
        while layout.next != index {
            if stopped() {
                return Err(interrupted());
            }
            layout = self.moved_on.wait_timeout(layout, POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
        let slot = (u64::from(index) * u64::from(self.slots) / u64::from(self.parts)) as u32;
        if slot != layout.slot {
            layout.slot = slot;
            layout.open.fill(None);
        }
        let ranges = sizes.iter().enumerate().map(|(table, size)| self.range(&mut layout, table, *size)).collect();
        layout.next += 1;
        self.moved_on.notify_all();
        ranges
    }

    fn range(&self, layout: &mut Layout, table: usize, size: u64) -> Result<Option<RowRange>, LabError> {
        if size == 0 {
            return Ok(None);
        }
        let (file, at) = match &layout.open[table] {
            Some((file, at)) => (Arc::clone(file), *at),
            None => {
                let name = &self.names[table][layout.slot as usize];
                let file = Arc::new(self.make(layout, name, Some(table))?);
                let at = layout.made.len() - 1;
                layout.open[table] = Some((Arc::clone(&file), at));
                (file, at)
            }
        };
        let made = &mut layout.made[at];
        let offset = made.bytes;
        made.bytes += size;
        Ok(Some(RowRange { file, offset, path: made.partial.clone() }))
    }

    fn make(&self, layout: &mut Layout, name: &str, table: Option<usize>) -> Result<File, LabError> {
        let path = self.folder.join(name);
        let partial = partial_of(&path);
        let file = OpenOptions::new().write(true).create_new(true).open(&partial).map_err(|e| failed("make", &partial, &e))?;
        layout.made.push(Made { table, partial, path, bytes: 0 });
        Ok(file)
    }

    pub(super) fn add(&mut self, name: &str, text: &str) -> Result<(), LabError> {
        self.free(name)?;
        let mut layout = self.layout();
        let file = self.make(&mut layout, name, None)?;
        let Some(made) = layout.made.last_mut() else { return Ok(()) };
        made.bytes = text.len() as u64;
        file.write_all_at(text.as_bytes(), 0).map_err(|e| failed("write", &made.partial, &e))
    }

    /// The files of each table that is wanted. A table that has not as many rows as the workload says is an error.
    pub(super) fn written(&self, tables: &[TableSpec], wanted: &[bool], rows: &[u64]) -> Result<Vec<CsvTable>, LabError> {
        let layout = self.layout();
        let mut all = Vec::new();
        for (i, table) in tables.iter().enumerate().filter(|(i, _)| wanted[*i]) {
            let name = table.bulk.name.clone();
            if let Some(expected) = table.rows.filter(|expected| *expected != rows[i]) {
                let made = format!("{} rows were made for table {name}, not {expected}", rows[i]);
                return Err(LabError::failed(format!("{made}, which is a defect of perbuck"), ""));
            }
            let own = || layout.made.iter().filter(|m| m.table == Some(i));
            let (bytes, files) = (own().map(|m| m.bytes).sum(), own().map(|m| m.path.clone()).collect());
            all.push(CsvTable { name, rows: rows[i], bytes, files });
        }
        Ok(all)
    }

    /// Brings every file to disk, compares its length, and gives it its name. On an error none has its name.
    pub(super) fn finish(self) -> Result<(), LabError> {
        let mut layout = self.layout();
        layout.open.clear();
        for made in &layout.made {
            let on_disk = File::open(&made.partial).and_then(|file| {
                file.sync_all()?;
                file.metadata()
            });
            let found = on_disk.map_err(|e| failed("write", &made.partial, &e))?.len();
            if found != made.bytes {
                let message = format!("{} has {found} bytes, not {}", made.partial.display(), made.bytes);
                return Err(LabError::files(message, "something else writes there; name another folder"));
            }
        }
        for (i, Made { partial, path, .. }) in layout.made.iter().enumerate() {
            if let Err(e) = link(partial, path) {
                layout.made[..i].iter().for_each(|m| remove_if_there(&m.path));
                let is_taken = e.kind() == io::ErrorKind::AlreadyExists;
                return Err(if is_taken { taken(path) } else { failed("write", path, &e) });
            }
        }
        layout.made.drain(..).for_each(|made| remove_if_there(&made.partial));
        sync(&self.folder);
        Ok(())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.layout().made.iter().for_each(|made| remove_if_there(&made.partial));
    }
}

fn taken(path: &Path) -> LabError {
    let message = format!("{} is there already, and no file is ever overwritten", path.display());
    let help = match path.extension().is_some_and(|e| e == PARTIAL) {
        true => "a perbuck that was killed left it, or another one is writing there: remove it in the first case",
        false => "move it away, or name another folder",
    };
    LabError::refused(message, help)
}

fn failed(doing: &str, path: &Path, error: &Error) -> LabError {
    let help = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space on that disk, or name a folder on another; no file of this command was kept"
        }
        io::ErrorKind::FileTooLarge => "ask for more files with --files, or raise the limit on their size (ulimit -f)",
        io::ErrorKind::PermissionDenied => "check the permissions of the folder",
        io::ErrorKind::NotADirectory => "a file stands where a folder is needed; move it away, or name another path",
        _ => "no file of this command was kept",
    };
    LabError::files(format!("cannot {doing} {}: {error}", path.display()), help)
}
