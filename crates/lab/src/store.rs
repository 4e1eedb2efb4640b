//! The results folder of one study: write-once records, the study and the prices they were made with.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use perbuck_core::plan::{self, TrialKey};
use perbuck_core::run_record::RunRecord;

use crate::error::LabError;
use crate::inputs::{Inputs, read_text};

/// The name of the stored study.
pub const STUDY_FILE: &str = "study.toml";
/// The name of the stored price snapshot.
pub(crate) const PRICES_FILE: &str = "prices.toml";
/// The name of the file that holds the fingerprint of what is measured.
pub(crate) const FINGERPRINT_FILE: &str = "fingerprint";

/// The name of the file that says that the data were checked after the last trial.
pub(crate) const CHECKED_FILE: &str = "checked";
/// What it says.
pub(crate) const CHECKED_TEXT: &str = "every condition held after the last trial\n";
/// The name of the file that holds the number of the folder.
const ID_FILE: &str = "id";
/// What the name of a file ends with until it is whole.
pub(crate) const PARTIAL: &str = "partial";

/// What lies beside the records of a study.
#[derive(Debug, Clone, Copy)]
pub struct StudyFiles<'a> {
    /// The name of the study, and of its folder.
    pub name: &'a str,
    /// The text of the study.
    pub study: &'a str,
    /// The text of the price snapshot.
    pub prices: Option<&'a str>,
}

impl<'a> From<&'a Inputs> for StudyFiles<'a> {
    fn from(inputs: &'a Inputs) -> Self {
        let prices = inputs.prices.as_ref().map(|(_, text)| text.as_str());
        Self { name: &inputs.study.name, study: &inputs.text, prices }
    }
}

/// A results folder that this process alone writes to.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    is_new: bool,
    // Held until the process ends: two runs of one study would double its load.
    _lock: File,
}

impl Store {
    /// Opens or makes the folder of a study. One that holds trials must be of the same fingerprint; its study and its prices stay as
    /// they are. Where another perbuck writes there, it is waited for until the timeout.
    ///
    /// # Errors
    /// When the folder cannot be written, belongs to another study, or is in use.
    pub fn join_within(results: &Path, files: StudyFiles<'_>, fingerprint: &str, timeout: Duration) -> Result<Self, LabError> {
        let root = results.join(files.name);
        fs::create_dir_all(&root).map_err(LabError::of_file("make the results folder", &root))?;
        let lock = lock(&root, timeout)?;
        let stored = root.join(FINGERPRINT_FILE);
        let known = match fs::read_to_string(&stored) {
            Ok(text) if text.trim() == fingerprint => root.join(STUDY_FILE).exists(),
            // A first attempt that measured nothing (a wrong address, say) leaves nothing to protect.
            Ok(_) if evidence_in(&root)?.is_empty() => false,
            Ok(_) => {
                let message = format!("{} holds trials of another version of this study", root.display());
                let help = "what is measured has changed since (contenders, workloads, sweep or seed): give the study a new `name`, or move that folder away";
                return Err(LabError::refused(message, help));
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => false,
            Err(e) => return Err(LabError::file("read", &stored, &e)),
        };
        let store = Self { root, is_new: !known, _lock: lock };
        if !known {
            replace(&stored, &format!("{fingerprint}\n"))?;
            store.keep(files)?;
        }
        // The lock says that no other process is writing, so an aborted one left these.
        for path in walk(&store.root)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == PARTIAL)) {
            fs::remove_file(&path).map_err(LabError::of_file("remove the unfinished file", &path))?;
        }
        Ok(store)
    }

    /// Stores the study and its prices.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn keep(&self, files: StudyFiles<'_>) -> Result<(), LabError> {
        replace(&self.root.join(STUDY_FILE), files.study)?;
        files.prices.map_or(Ok(()), |text| replace(&self.root.join(PRICES_FILE), text))
    }

    /// Whether the folder held no study when it was opened.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// A number of this folder alone, made when it is first used.
    pub(crate) fn id(&self) -> Result<String, LabError> {
        let path = self.root.join(ID_FILE);
        if !path.exists() {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
            let text = plan::fingerprint(&format!("{} {now} {}", self.root.display(), std::process::id()));
            replace(&path, &format!("{text}\n"))?;
        }
        Ok(read_text("the number of the results folder", &path)?.trim().to_owned())
    }

    /// Whether the data were checked after the last trial.
    pub(crate) fn checked(&self) -> bool {
        self.root.join(CHECKED_FILE).exists()
    }

    /// Notes that the data were checked after the last trial, and held.
    pub(crate) fn mark_checked(&self) -> Result<(), LabError> {
        replace(&self.root.join(CHECKED_FILE), CHECKED_TEXT)
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether a trial is on disk.
    pub fn has(&self, key: &TrialKey) -> bool {
        self.root.join(key.path()).exists()
    }

    /// Writes the record of a trial of the study, once.
    ///
    /// # Errors
    /// When it cannot be written, or is there already.
    pub fn write(&self, record: &RunRecord) -> Result<(), LabError> {
        remove_if_there(&self.root.join(CHECKED_FILE));
        write_once(&self.root.join(record.path()), record)
    }

    /// Removes a record that is kept under another name.
    pub(crate) fn remove(&self, path: &Path) -> Result<(), LabError> {
        fs::remove_file(path).map_err(LabError::of_file("remove the record", path))?;
        path.parent().map(sync_folder);
        Ok(())
    }
}

fn lock(root: &Path, timeout: Duration) -> Result<File, LabError> {
    let path = root.join(".lock");
    let file = File::create(&path).map_err(LabError::of_file("write", &path))?;
    let since = Instant::now();
    let mut locked = file.try_lock();
    while matches!(locked, Err(TryLockError::WouldBlock)) && since.elapsed() < timeout {
        thread::sleep(Duration::from_millis(50));
        locked = file.try_lock();
    }
    match locked {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let message = format!("another perbuck is running this study ({} is locked)", path.display());
            Err(LabError::refused(message, "wait for it, or stop it"))
        }
        Err(TryLockError::Error(e)) => Err(LabError::file("lock", &path, &e)),
    }
}

/// Writes a record, once: through a temporary file that is linked to its name when it is whole and on disk.
pub(crate) fn write_once(path: &Path, record: &RunRecord) -> Result<(), LabError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(LabError::of_file("make the folder", folder))?;
    let text =
        record.to_json().map_err(|e| LabError::failed(format!("the record of {} cannot be written: {e}", record.path()), ""))?;
    let temporary = write_temporary(path, &mut |file| file.write_all(text.as_bytes()))?;
    let linked = link(&temporary, path);
    remove_if_there(&temporary);
    linked.map_err(LabError::of_file("write the record", path))?;
    sync_folder(folder);
    Ok(())
}

/// Writes a file whole or not at all, replacing what was there.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), LabError> {
    replace_with(path, &mut |file| file.write_all(text.as_bytes()))
}

/// The same for a text that is written in parts.
pub(crate) fn replace_with(path: &Path, write: &mut dyn FnMut(&mut File) -> io::Result<()>) -> Result<(), LabError> {
    let temporary = write_temporary(path, write)?;
    fs::rename(&temporary, path).map_err(|e| {
        remove_if_there(&temporary);
        LabError::file("write", path, &e)
    })
}

fn write_temporary(path: &Path, write: &mut dyn FnMut(&mut File) -> io::Result<()>) -> Result<PathBuf, LabError> {
    let temporary = partial_of(path);
    let written = File::create(&temporary).and_then(|mut file| {
        write(&mut file)?;
        file.sync_all()
    });
    written.map_err(|e| {
        remove_if_there(&temporary);
        LabError::file("write", path, &e)
    })?;
    Ok(temporary)
}

/// The name of a file until it is whole.
pub(crate) fn partial_of(path: &Path) -> PathBuf {
    path.with_added_extension(PARTIAL)
}

/// Gives a whole file its own name. A link never replaces another file, as a rename would.
pub(crate) fn link(temporary: &Path, path: &Path) -> io::Result<()> {
    fs::hard_link(temporary, path).or_else(|e| match e.kind() {
        // A file system without hard links. The caller holds a lock, or the only file of that temporary name.
        io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied if !path.exists() => fs::rename(temporary, path),
        _ => Err(e),
    })
}

/// Removes a file of our own; the next start finds one that cannot go.
pub(crate) fn remove_if_there(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Makes new names durable; a file system that cannot do that has no better way.
pub(crate) fn sync_folder(folder: &Path) {
    if let Ok(handle) = File::open(folder) {
        let _ = handle.sync_all();
    }
}

/// All files below a folder, in the order of their paths.
fn walk(folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let unreadable = |e: &io::Error| LabError::file("read the results folder", &folder, e);
        for entry in fs::read_dir(&folder).map_err(|e| unreadable(&e))? {
            let path = entry.map_err(|e| unreadable(&e))?.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}

/// The folder below a results folder that holds searches for the capacity.
pub(crate) const CAPACITY_FOLDER: &str = "capacity";

/// The paths of all records of a study's own trials below its results folder.
///
/// # Errors
/// A folder that cannot be read.
pub fn records_in(root: &Path) -> Result<Vec<PathBuf>, LabError> {
    files_of(root, &["json"])
}

/// The same with the void ones.
pub(crate) fn evidence_in(root: &Path) -> Result<Vec<PathBuf>, LabError> {
    files_of(root, &["json", "void"])
}

/// The files of a study's own trials whose names end so.
fn files_of(root: &Path, endings: &[&str]) -> Result<Vec<PathBuf>, LabError> {
    let is_record =
        |p: &PathBuf| p.extension().is_some_and(|e| endings.iter().any(|ending| e == *ending)) && p.parent() != Some(root);
    // Searches lie deeper than trials, which keeps them apart even from a contender named like the folder.
    let of_a_search =
        |p: &PathBuf| p.strip_prefix(root).is_ok_and(|p| p.starts_with(CAPACITY_FOLDER) && p.components().count() > 4);
    Ok(walk(root)?.into_iter().filter(|p| is_record(p) && !of_a_search(p)).collect())
}
