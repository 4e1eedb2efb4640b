//! The files of one run: where each part goes in them, and that they appear whole, all together, and in nobody's place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Error};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use perbuck_load::workload::TableSpec;

use super::{CsvRequest, CsvTable, interrupted};
use crate::error::LabError;

/// How often a thread that waits for its turn looks whether it waits in vain.
const LOOK: Duration = Duration::from_millis(50);

/// A file that has no name of its own yet.
#[derive(Debug)]
struct Made {
    table: Option<usize>,
    partial: PathBuf,
    path: PathBuf,
    bytes: u64,
}

/// Whose turn it is, and where the next part goes.
#[derive(Debug, Default)]
struct Turn {
    /// The part whose place comes next.
    next: u32,
    /// Which of the files of a table is being filled.
    slot: u32,
    /// The open file of each table, with its position in `made`; those of earlier slots are closed.
    open: Vec<Option<(Arc<File>, usize)>>,
    made: Vec<Made>,
}

/// Where the rows of one part go in one file.
#[derive(Debug)]
pub(super) struct Place {
    file: Arc<File>,
    offset: u64,
    path: PathBuf,
}

impl Place {
    /// Writes them.
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
    turn: Mutex<Turn>,
    turned: Condvar,
}

impl Files {
    /// Makes the folder and looks that every name is free.
    ///
    /// # Errors
    /// The first file that is there already, or a folder that cannot be made.
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
        let turn = Turn { open: vec![None; tables.len()], ..Turn::default() };
        let files = Self { folder, names, slots: request.files, parts, turn: Mutex::new(turn), turned: Condvar::new() };
        for names in files.names.iter().zip(wanted).filter_map(|(names, wanted)| wanted.then_some(names)) {
            names.iter().try_for_each(|name| files.free(name))?;
        }
        Ok(files)
    }

    /// Whether neither the name nor its temporary one is taken.
    ///
    /// # Errors
    /// Names the one that is.
    pub(super) fn free(&self, name: &str) -> Result<(), LabError> {
        let path = self.folder.join(name);
        for path in [partial_of(&path), path] {
            if fs::symlink_metadata(&path).is_ok() {
                return Err(taken(&path));
            }
        }
        Ok(())
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        // Whoever panicked has failed the run, and what is counted here stays true.
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the rows of part `index` go in the file of each table, given how many bytes they are. Parts get their places in
    /// their order, whatever the order in which they were made; so a thread may have to wait here for the one before it.
    ///
    /// # Errors
    /// A file that cannot be made, or `stopped`.
    pub(super) fn places(&self, index: u32, sizes: &[u64], stopped: &dyn Fn() -> bool) -> Result<Vec<Option<Place>>, LabError> {
        let mut turn = self.turn();
        while turn.next != index {
            if stopped() {
                return Err(interrupted());
            }
            turn = self.turned.wait_timeout(turn, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        let slot = (u64::from(index) * u64::from(self.slots) / u64::from(self.parts)) as u32;
        if slot != turn.slot {
            turn.slot = slot;
            turn.open.fill(None);
        }
        let places = sizes.iter().enumerate().map(|(table, size)| self.place(&mut turn, table, *size)).collect();
        turn.next += 1;
        self.turned.notify_all();
        places
    }

    fn place(&self, turn: &mut Turn, table: usize, size: u64) -> Result<Option<Place>, LabError> {
        if size == 0 {
            return Ok(None);
        }
        let (file, at) = match &turn.open[table] {
            Some((file, at)) => (Arc::clone(file), *at),
            None => {
                let name = &self.names[table][turn.slot as usize];
                let file = Arc::new(self.make(turn, name, Some(table))?);
                turn.open[table] = Some((Arc::clone(&file), turn.made.len() - 1));
                (file, turn.made.len() - 1)
            }
        };
        let made = &mut turn.made[at];
        let offset = made.bytes;
        made.bytes += size;
        Ok(Some(Place { file, offset, path: made.partial.clone() }))
    }

    /// Makes a file under its temporary name.
    fn make(&self, turn: &mut Turn, name: &str, table: Option<usize>) -> Result<File, LabError> {
        let path = self.folder.join(name);
        let partial = partial_of(&path);
        let file = OpenOptions::new().write(true).create_new(true).open(&partial).map_err(|e| failed("make", &partial, &e))?;
        turn.made.push(Made { table, partial, path, bytes: 0 });
        Ok(file)
    }

    /// Adds a file of text.
    ///
    /// # Errors
    /// As [`Self::places`], and where it is there already.
    pub(super) fn add(&mut self, name: &str, text: &str) -> Result<(), LabError> {
        self.free(name)?;
        let mut turn = self.turn();
        let file = self.make(&mut turn, name, None)?;
        let Some(made) = turn.made.last_mut() else { return Ok(()) };
        made.bytes = text.len() as u64;
        file.write_all_at(text.as_bytes(), 0).map_err(|e| failed("write", &made.partial, &e))
    }

    /// What was written of each table that is wanted.
    ///
    /// # Errors
    /// A table that has not as many rows as the workload says.
    pub(super) fn written(&self, tables: &[TableSpec], wanted: &[bool], rows: &[u64]) -> Result<Vec<CsvTable>, LabError> {
        let turn = self.turn();
        let mut all = Vec::new();
        for (i, table) in tables.iter().enumerate().filter(|(i, _)| wanted[*i]) {
            let name = table.bulk.name.clone();
            if let Some(expected) = table.rows.filter(|expected| *expected != rows[i]) {
                let message =
                    format!("{} rows were made for table {name}, not {expected}, which is a defect of perbuck", rows[i]);
                return Err(LabError::failed(message, ""));
            }
            let own = || turn.made.iter().filter(|m| m.table == Some(i));
            let (bytes, files) = (own().map(|m| m.bytes).sum(), own().map(|m| m.path.clone()).collect());
            all.push(CsvTable { name, rows: rows[i], bytes, files });
        }
        Ok(all)
    }

    /// Brings every file to disk, looks that it has its length, and gives it its name.
    ///
    /// # Errors
    /// The first that cannot be; none has its name then.
    pub(super) fn finish(self) -> Result<(), LabError> {
        let mut turn = self.turn();
        turn.open.clear();
        for made in &turn.made {
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
        for (i, made) in turn.made.iter().enumerate() {
            if let Err(e) = name(made) {
                turn.made[..i].iter().for_each(|m| remove(&m.path));
                return Err(if e.kind() == io::ErrorKind::AlreadyExists {
                    taken(&made.path)
                } else {
                    failed("write", &made.path, &e)
                });
            }
        }
        turn.made.clear();
        // Makes the new names durable; a file system that cannot do that has no better way.
        if let Ok(folder) = File::open(&self.folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.turn().made.iter().for_each(|made| remove(&made.partial));
    }
}

/// A link never takes the place of another file, as a rename would.
fn name(made: &Made) -> Result<(), Error> {
    match fs::hard_link(&made.partial, &made.path) {
        Ok(()) => fs::remove_file(&made.partial),
        // A file system without hard links.
        Err(e) if matches!(e.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied) && !made.path.exists() => {
            fs::rename(&made.partial, &made.path)
        }
        Err(e) => Err(e),
    }
}

/// Removes what is ours; what cannot go is found and named by the next run.
fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

fn partial_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    path.with_file_name(name)
}

fn taken(path: &Path) -> LabError {
    let message = format!("{} is there already, and no file is ever overwritten", path.display());
    let help = match path.extension().is_some_and(|e| e == "partial") {
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
