//! A database that is one file: its lease, its neighbours, and whether it can be made.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::preflight::{HostFacts, HostProblem};

/// The file that says which perbuck uses the database.
pub fn lease(path: &Path) -> PathBuf {
    path.with_added_extension("perbuck-lease")
}

/// Another database beside it: `a.db` becomes `a-name.db`.
pub fn beside(path: &Path, name: &str) -> PathBuf {
    let extension = path.extension().map(|e| format!(".{}", e.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{}-{name}{extension}", stem(path)))
}

/// Its name without folder and extension.
pub fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Bytes of the file, and of its log, whose name has this ending.
pub fn bytes(path: &Path, log: &str) -> u64 {
    [path, &with_ending(path, log)].map(|file| fs::metadata(file).map_or(0, |file| file.len())).iter().sum()
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(ending);
    beside.into()
}

/// The copy of a database file that no session has open: all of it is in the file, and its log is empty.
#[derive(Debug, Clone, Copy)]
pub struct FileCopy<'a> {
    /// What messages call the database.
    pub product: &'static str,
    /// The file.
    pub path: &'a Path,
    /// How the name of its log ends.
    pub log: &'static str,
}

impl FileCopy<'_> {
    /// Where it is, if it is there.
    pub fn file(&self) -> PathBuf {
        self.path.with_added_extension("perbuck-copy")
    }

    /// Saves it, in place of one that was saved before.
    ///
    /// # Errors
    /// What the file system says, and that the log holds data: another process has the file open.
    pub fn save(&self) -> Result<(), DriverError> {
        self.said("saved", self.has_no_log().and_then(|()| replace(self.path, &self.file())))
    }

    /// Restores it.
    ///
    /// # Errors
    /// Likewise.
    pub fn restore(&self) -> Result<(), DriverError> {
        self.said("restored", self.has_no_log().and_then(|()| replace(&self.file(), self.path)))
    }

    /// Removes it, if it is there, and what a killed process left of one.
    ///
    /// # Errors
    /// What the file system says.
    pub fn remove(&self) -> Result<(), DriverError> {
        for file in [unfinished(self.path), unfinished(&self.file()), self.file()] {
            match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return self.said("removed", Err(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// A log would be read into a file that it does not belong to.
    fn has_no_log(&self) -> io::Result<()> {
        let log = with_ending(self.path, self.log);
        if fs::metadata(&log).is_ok_and(|file| file.len() > 0) {
            let open = format!("{} holds changes; another process has the file open", log.display());
            return Err(io::Error::other(open));
        }
        Ok(())
    }

    fn said(&self, done: &str, came: io::Result<()>) -> Result<(), DriverError> {
        let (product, file) = (self.product, self.path.display());
        let failed = |error| {
            DriverError::client(ErrorClass::Fatal, "copy", format!("the copy of {product} file {file} cannot be {done}: {error}"))
        };
        came.map_err(failed)
    }
}

/// A file that is being copied, before it gets the name of the old one.
fn unfinished(path: &Path) -> PathBuf {
    path.with_added_extension("perbuck-unfinished")
}

/// Copies a file over another one: a process that is killed leaves the old one whole. The copy is on disk when it is there, so that it is not
/// written during the next trial.
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    let unfinished = unfinished(to);
    fs::copy(from, &unfinished)?;
    File::open(&unfinished)?.sync_all()?;
    fs::rename(&unfinished, to)
}

/// What can be said of a database file before a study starts, where `version` begins with the product's name. One that is there is opened. One
/// that is missing is not made.
///
/// # Errors
/// Why it cannot be opened.
pub fn preflight<E>(path: &Path, version: String, open: impl FnOnce() -> Result<(), E>) -> Result<HostFacts, E> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let product = version.split(' ').next().unwrap_or_default().to_owned();
    let mut facts = HostFacts { version, data_folder: Some(folder.to_owned()), is_new: !path.exists(), ..HostFacts::default() };
    if !facts.is_new {
        open()?;
    } else if let Err(error) = takes_files(folder) {
        facts.problems.push(HostProblem {
            message: format!("{product} file {} cannot be made: {error}", path.display()),
            help: "check that its folder exists and that perbuck may create files there".to_owned(),
        });
    }
    Ok(facts)
}

/// Makes a file in the folder and removes it.
fn takes_files(folder: &Path) -> io::Result<()> {
    let probe = folder.join(format!(".perbuck-preflight-{}", std::process::id()));
    File::create_new(&probe)?;
    fs::remove_file(probe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_restored_and_goes() {
        let folder = tempfile::tempdir().unwrap();
        let (path, log) = (folder.path().join("a.db"), folder.path().join("a.db-wal"));
        let copy = FileCopy { product: "SQLite", path: &path, log: "-wal" };
        fs::write(&path, "old").unwrap();
        copy.save().unwrap();
        fs::write(&path, "changed").unwrap();
        // Left by a process that was killed while it copied.
        fs::write(unfinished(&path), "half").unwrap();
        for _ in 0..2 {
            copy.restore().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "old");
            fs::write(&path, "changed").unwrap();
        }
        // A log of the changed file would make a mix of it and the copy.
        fs::write(&log, "frames").unwrap();
        for error in [copy.save().unwrap_err(), copy.restore().unwrap_err()] {
            assert!(error.message.ends_with("a.db-wal holds changes; another process has the file open"), "{error}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "changed");
        fs::write(&log, "").unwrap();
        copy.remove().unwrap();
        copy.remove().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the file and its empty log");
        assert!(copy.restore().is_err());
    }

    #[test]
    fn names_follow_from_the_path() {
        let path = Path::new("d/a.db");
        assert_eq!((lease(path), beside(path, "x")), (PathBuf::from("d/a.db.perbuck-lease"), PathBuf::from("d/a-x.db")));
        assert_eq!((stem(path).as_str(), beside(Path::new("plain"), "x")), ("a", PathBuf::from("plain-x")));
    }
}
