//! A database that is one file: its lease, its neighbours, and whether it can be made.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

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
    let mut beside = path.as_os_str().to_owned();
    beside.push(log);
    [path, Path::new(&beside)].map(|file| fs::metadata(file).map_or(0, |file| file.len())).iter().sum()
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
    fn names_follow_from_the_path() {
        let path = Path::new("d/a.db");
        assert_eq!((lease(path), beside(path, "x")), (PathBuf::from("d/a.db.perbuck-lease"), PathBuf::from("d/a-x.db")));
        assert_eq!((stem(path).as_str(), beside(Path::new("plain"), "x")), ("a", PathBuf::from("plain-x")));
    }
}
