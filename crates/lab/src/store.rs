//! The results folder of one study: write-once records, the study and the prices they were made with.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use perbuck_core::plan::{self, TrialKey};
use perbuck_core::run_record::RunRecord;
use perbuck_core::study::Study;
use perbuck_report::markdown;

use crate::deploy::STATE_FILE;
use crate::error::LabError;
use crate::folder::{self, has_file, sync};
use crate::globals::SETTINGS_FILE;
use crate::inputs::{Inputs, Limit};
use crate::live::LIVE_FILE;
use crate::registry::Registry;
use crate::report::Format;
use crate::sidecar::{self, Sort, Trial};
use crate::used::USED_FILE;

/// The name of the stored study.
pub const STUDY_FILE: &str = "study.toml";
/// The name of the stored price snapshot.
pub const PRICES_FILE: &str = "prices.toml";
/// The name of the file that holds the fingerprint of what is measured.
pub(crate) const FINGERPRINT_FILE: &str = "fingerprint";

/// The name of the file that says that the data were checked after the last trial.
pub(crate) const CHECKED_FILE: &str = "checked";
pub(crate) const CHECKED_TEXT: &str = "every condition held after the last trial\n";
/// The name of the file that holds the number of the folder.
const ID_FILE: &str = "id";
/// The name of the file that the one perbuck holds which writes to the folder.
const LOCK_FILE: &str = ".lock";
/// The names in a results folder that are perbuck's own, but for those that start with a dot and those of a report
/// ([`Format::ALL`]): a contender has a folder beside them. Those of searches and pilot trials are shared: their trials lie deeper.
const OWN_NAMES: [&str; 12] = [
    STUDY_FILE,
    PRICES_FILE,
    FINGERPRINT_FILE,
    CHECKED_FILE,
    ID_FILE,
    LIVE_FILE,
    USED_FILE,
    SIZING_PAGE,
    SIZING_MARKDOWN,
    SETTINGS_FILE,
    STATE_FILE,
    markdown::FIGURES,
];
/// The folders beside those of studies that the commands of these names fill with studies of their own.
const OWN_STUDIES: [&str; 5] = ["sysbench", "tpcc", "tpch", "ch", "ycsb"];
/// Keys that a message names, at most.
const CHANGES_SHOWN: usize = 8;
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

/// Whether a contender of that name would have its folder where perbuck has a file or a folder of its own.
pub fn is_own_name(contender: &str) -> bool {
    let whole = contender.strip_suffix(PARTIAL).and_then(|name| name.strip_suffix('.')).unwrap_or(contender);
    OWN_NAMES.contains(&whole) || Format::ALL.iter().any(|(_, _, file)| *file == whole)
}

/// Whether a study of that name would have its folder where a command collects studies of its own.
pub(crate) fn is_own_study(name: &str) -> bool {
    OWN_STUDIES.contains(&name)
}

/// A results folder that this process alone writes to.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    is_new: bool,
    // Held until the process ends: two runs of one study would double its load.
    lock: File,
}

impl Store {
    /// Opens or makes the folder of a study. One that holds trials must be of the same fingerprint; its study and its prices stay as
    /// they are. Where another perbuck writes there, it is waited for until the timeout.
    ///
    /// # Errors
    /// When the folder cannot be written, belongs to another study, or is in use.
    pub fn join_within(results: &Path, files: StudyFiles<'_>, fingerprint: &str, timeout: Duration) -> Result<Self, LabError> {
        let root = results.join(files.name);
        folder::make(results, &root)?;
        let lock = lock(&root, timeout)?;
        let all = folder::walk(&root)?;
        let stored = root.join(FINGERPRINT_FILE);
        let known = match has_file(&stored).then(|| folder::read_text("the fingerprint", &stored, Limit::TEXT)).transpose()? {
            Some(text) if text.trim() == fingerprint => has_file(&root.join(STUDY_FILE)),
            // A first attempt that measured nothing (a wrong address, say) leaves nothing to protect.
            Some(_) if evidence_in(&root)?.is_empty() => false,
            Some(_) => {
                let message = format!("{} holds trials of another version of this study", root.display());
                let help = format!("give the study a new `name`, or move {} away", root.display());
                return Err(LabError::refused(message + &changes(&root, files.study), help));
            }
            None => false,
        };
        let store = Self { root, is_new: !known, lock };
        if !known {
            replace(&stored, &format!("{fingerprint}\n"))?;
            store.keep(files)?;
        }
        // The lock says that no other process is writing, so an aborted one left these.
        for path in all.into_iter().filter(|path| path.extension().is_some_and(|e| e == PARTIAL)) {
            // One of them may have got its name by what was written above.
            folder::remove(&path).map_err(LabError::of_file("remove the unfinished file", &path))?;
        }
        Ok(store)
    }

    /// Refuses a study that decides by another rule than the one its folder holds, once there are trials: a rule that is chosen after looking
    /// at the results proves nothing. More trials may be added; they are told as another look.
    ///
    /// # Errors
    /// Another confidence, margin or end.
    pub(crate) fn keeps_rule(&self, study: &Study) -> Result<(), LabError> {
        if self.is_new || records_in(&self.root)?.is_empty() {
            return Ok(());
        }
        let stored = folder::read_text("the study", &self.root.join(STUDY_FILE), Limit::TEXT)?;
        // What is not known here, such as a metric of a benchmark, is no part of the rule.
        let Some(old) = Study::read_with_problems(STUDY_FILE, &stored, &[]).0 else { return Ok(()) };
        let until = |s: &Study| s.decision.until.as_ref().map_or("none".to_owned(), |u| format!("decided, least {}", u.least));
        let (was, is) = (&old.decision, &study.decision);
        let keys = [
            ("confidence", was.confidence.to_string(), is.confidence.to_string()),
            ("margin", was.margin.to_string(), is.margin.to_string()),
            ("until", until(&old), until(study)),
        ];
        let changed: Vec<String> =
            keys.into_iter().filter(|(_, a, b)| a != b).map(|(key, a, b)| format!("decision.{key}: {a} → {b}")).collect();
        if changed.is_empty() {
            return Ok(());
        }
        let message = format!("{} holds trials that are judged by another rule: {}", self.root.display(), changed.join("; "));
        let help =
            "put it back, or give the study a new `name`; `perbuck report --study` shows what another rule says, as another look";
        Err(LabError::refused(message, help))
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
        if !has_file(&path) {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
            let text = plan::fingerprint(&format!("{} {now} {}", self.root.display(), std::process::id()));
            replace(&path, &format!("{text}\n"))?;
        }
        Ok(folder::read_text("the number of the results folder", &path, Limit::TEXT)?.trim().to_owned())
    }

    pub(crate) fn checked(&self) -> bool {
        has_file(&self.root.join(CHECKED_FILE))
    }

    /// Refuses to go on where the folder is no longer the one that was opened: what is written then would be half of a study.
    ///
    /// # Errors
    /// The folder was removed, moved or replaced.
    pub(crate) fn still_there(&self) -> Result<(), LabError> {
        if is_locked_file(&self.root.join(LOCK_FILE), &self.lock) {
            return Ok(());
        }
        let what = if self.root.exists() { "another one stands in its place" } else { "it is not there" };
        let message = format!("the results folder {} was moved or removed while the study ran: {what} now", self.root.display());
        let help = "move it back and run the same command again: finished trials that are in it are kept";
        Err(LabError::files(message, help))
    }

    /// Notes that the data were checked after the last trial, and held.
    pub(crate) fn mark_checked(&self) -> Result<(), LabError> {
        self.still_there()?;
        replace(&self.root.join(CHECKED_FILE), CHECKED_TEXT)
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether a trial is on disk.
    pub fn has(&self, key: &TrialKey) -> bool {
        has_file(&self.root.join(key.path()))
    }

    /// Writes the record of a trial of the study, once, with the file of series that belongs beside it.
    ///
    /// # Errors
    /// When it cannot be written, or is there already.
    pub fn write(&self, record: &RunRecord, series: Option<&str>) -> Result<(), LabError> {
        self.still_there()?;
        remove_if_there(&self.root.join(CHECKED_FILE));
        write_once(&self.root, &self.root.join(record.path()), (record, series))
    }

    /// The same for all that is kept of a trial.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(crate) fn write_trial(&self, trial: &Trial) -> Result<(), LabError> {
        let path = self.root.join(trial.record.path());
        if let Some(plans) = &trial.plans {
            self.still_there()?;
            folder::make(&self.root, path.parent().unwrap_or(&path))?;
            sidecar::write(&path, Sort::Plans, plans)?;
        }
        self.write(&trial.record, trial.series.as_deref())
    }

    /// Removes a record that is kept under another name.
    pub(crate) fn remove(&self, path: &Path) -> Result<(), LabError> {
        fs::remove_file(path).map_err(LabError::of_file("remove the record", path))?;
        Sort::ALL.iter().for_each(|sort| remove_if_there(&sort.path_of(path)));
        path.parent().map(sync);
        Ok(())
    }
}

/// The keys by which a study differs from the one that its folder holds, after a colon; nothing where that cannot be told.
fn changes(root: &Path, study: &str) -> String {
    let kinds = Registry::default().kinds();
    let read = |text: &str| Study::read(STUDY_FILE, text, &kinds).ok();
    let stored = folder::read_text("the study", &root.join(STUDY_FILE), Limit::TEXT).ok();
    let Some((old, new)) = stored.and_then(|old| Some((read(&old)?, read(study)?))) else { return String::new() };
    let all = new.changes_since(&old);
    let more = if all.len() > CHANGES_SHOWN { format!("; and {} more", all.len() - CHANGES_SHOWN) } else { String::new() };
    let shown = &all[..all.len().min(CHANGES_SHOWN)];
    if shown.is_empty() { String::new() } else { format!(": {}{more}", shown.join("; ")) }
}

fn lock(root: &Path, timeout: Duration) -> Result<File, LabError> {
    let path = root.join(LOCK_FILE);
    let file = folder::create(&path).map_err(LabError::of_file("write", &path))?;
    let since = Instant::now();
    let mut locked = file.try_lock();
    while matches!(locked, Err(TryLockError::WouldBlock)) && since.elapsed() < timeout {
        thread::sleep(Duration::from_millis(50));
        locked = file.try_lock();
    }
    match locked {
        Ok(()) if is_locked_file(&path, &file) => Ok(file),
        Ok(()) => {
            let message = format!("{} was removed by another program", path.display());
            Err(LabError::refused(message, "run the command again; nothing was written"))
        }
        Err(TryLockError::WouldBlock) => {
            let message = format!("another perbuck is running this study ({} is locked)", path.display());
            Err(LabError::refused(message, "wait for it, or stop it"))
        }
        Err(TryLockError::Error(e)) => Err(LabError::file("lock", &path, &e)),
    }
}

/// Whether the file of that path is the one that is open. A folder that was moved away, or put in place of another one, has another
/// file.
pub(crate) fn is_locked_file(path: &Path, open: &File) -> bool {
    let identity = |m: fs::Metadata| (m.dev(), m.ino());
    fs::symlink_metadata(path).is_ok_and(|named| open.metadata().is_ok_and(|open| identity(named) == identity(open)))
}

/// Writes a record below `root`, once: through a temporary file that is linked to its name when it is whole and on disk.
pub(crate) fn write_once(root: &Path, path: &Path, (record, series): (&RunRecord, Option<&str>)) -> Result<(), LabError> {
    let folder = path.parent().unwrap_or(path);
    folder::make(root, folder)?;
    let text =
        record.to_json().map_err(|e| LabError::failed(format!("the record of {} cannot be written: {e}", record.path()), ""))?;
    series.map_or(Ok(()), |series| sidecar::write(path, Sort::Series, series))?;
    let temporary = write_temporary(path, &mut |file| file.write_all(text.as_bytes()))?;
    let linked = link(&temporary, path);
    remove_if_there(&temporary);
    linked.map_err(LabError::of_file("write the record", path))?;
    sync(folder);
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
    })?;
    sync(path.parent().unwrap_or(path));
    Ok(())
}

fn write_temporary(path: &Path, write: &mut dyn FnMut(&mut File) -> io::Result<()>) -> Result<PathBuf, LabError> {
    let temporary = partial_of(path);
    let written = folder::create(&temporary).and_then(|mut file| {
        write(&mut file)?;
        file.sync_all()
    });
    written.map_err(|e| {
        remove_if_there(&temporary);
        LabError::file("write", path, &e)
    })?;
    Ok(temporary)
}

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

/// The folder below a results folder that holds searches for the capacity.
pub(crate) const CAPACITY_FOLDER: &str = "capacity";
/// The same for pilot trials.
pub(crate) const PILOT_FOLDER: &str = "pilot";

/// What a demand costs by the searches, in a results folder.
pub(crate) const SIZING_PAGE: &str = "sizing.html";
pub(crate) const SIZING_MARKDOWN: &str = "sizing.md";

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
    // Searches and pilot trials lie deeper than trials, which keeps them apart even from a contender named like their folder.
    let is_apart = |p: &PathBuf| {
        let below = p.strip_prefix(root).unwrap_or(p);
        [CAPACITY_FOLDER, PILOT_FOLDER].iter().any(|folder| below.starts_with(folder)) && below.components().count() > 4
    };
    Ok(folder::walk(root)?.into_iter().filter(|p| is_record(p) && !is_apart(p)).collect())
}
