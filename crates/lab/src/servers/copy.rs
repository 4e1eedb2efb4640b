//! A copy of the data of a private server, in its folder: saved and restored while the server is stopped.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::{lchown, symlink};
use std::path::Path;

use nix::unistd::syncfs;

/// The folder of the copy; all other folders of a server are its data.
const COPY: &str = "copy";
/// The ending of files that never change, those of RocksDB: a second name of such a file is a copy of it.
const IMMUTABLE: &str = "sst";
/// Bytes between two looks whether perbuck is still there.
const STEP: u64 = 64 * 1024 * 1024;

/// Saves a copy of all data, in place of one that was saved before. Ends early, with `false`, where `goes` says so.
pub(super) fn save(folder: &Path, goes: &dyn Fn() -> bool) -> io::Result<bool> {
    let copy = folder.join(COPY);
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    fs::create_dir(&copy)?;
    each(folder, goes, |name| tree(&folder.join(name), &copy.join(name), goes))
}

/// Restores the data that were saved; likewise.
pub(super) fn restore(folder: &Path, goes: &dyn Fn() -> bool) -> io::Result<bool> {
    let copy = folder.join(COPY);
    each(&copy, goes, |name| {
        let data = folder.join(name);
        if data.exists() {
            fs::remove_dir_all(&data)?;
        }
        tree(&copy.join(name), &data, goes)
    })
}

/// Does something for each folder of data, and waits until all of it is on disk: else it would be written during the next trial.
fn each(of: &Path, goes: &dyn Fn() -> bool, mut copied: impl FnMut(&str) -> io::Result<bool>) -> io::Result<bool> {
    for entry in fs::read_dir(of)? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|_| io::Error::other("the name of a folder is no text"))?;
        if entry.file_type()?.is_dir() && name != COPY && !(copied(&name)? && goes()) {
            return Ok(false);
        }
    }
    syncfs(File::open(of)?)?;
    Ok(true)
}

/// Copies a file, or a folder with all that is in it, with owners and permissions.
fn tree(from: &Path, to: &Path, goes: &dyn Fn() -> bool) -> io::Result<bool> {
    let metadata = fs::symlink_metadata(from)?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            if !tree(&from.join(&name), &to.join(&name), goes)? {
                return Ok(false);
            }
        }
    } else if kind.is_symlink() {
        symlink(fs::read_link(from)?, to)?;
    } else if !kind.is_file() {
        // Sockets and pipes belong to processes that have ended.
        return Ok(true);
    } else if from.extension().is_some_and(|ending| ending == IMMUTABLE) {
        fs::hard_link(from, to)?;
    } else if !file(from, to, goes)? {
        return Ok(false);
    }
    lchown(to, Some(metadata.uid()), Some(metadata.gid()))?;
    if !kind.is_symlink() {
        fs::set_permissions(to, metadata.permissions())?;
    }
    Ok(true)
}

/// The system shares the blocks of both files where the file system can (`copy_file_range`).
fn file(from: &Path, to: &Path, goes: &dyn Fn() -> bool) -> io::Result<bool> {
    let (source, mut target) = (File::open(from)?, File::create_new(to)?);
    loop {
        if io::copy(&mut (&source).take(STEP), &mut target)? < STEP {
            return Ok(true);
        }
        if !goes() {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn data_are_restored_as_they_were_saved() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("data/deep")).unwrap();
        fs::write(path("data/deep/table"), "old").unwrap();
        fs::set_permissions(path("data/deep/table"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::write(path("data/000001.sst"), "immutable").unwrap();
        symlink("deep/table", path("data/link")).unwrap();
        fs::write(path("server.log"), "no data").unwrap();
        assert!(save(folder.path(), &|| true).unwrap());
        fs::write(path("data/deep/table"), "new, and longer").unwrap();
        fs::write(path("data/deep/more"), "x").unwrap();
        fs::remove_file(path("data/000001.sst")).unwrap();
        for _ in 0..2 {
            assert!(restore(folder.path(), &|| true).unwrap());
            assert_eq!([text(&path("data/deep/table")), text(&path("data/000001.sst"))], ["old", "immutable"]);
            assert_eq!(fs::metadata(path("data/deep/table")).unwrap().permissions().mode() & 0o777, 0o640);
            assert_eq!(fs::read_link(path("data/link")).unwrap(), Path::new("deep/table"));
            assert!(!path("data/deep/more").exists() && path("server.log").exists());
            fs::write(path("data/deep/table"), "changed by a trial").unwrap();
        }
        // A later copy takes the place of the first.
        assert!(save(folder.path(), &|| true).unwrap());
        assert_eq!(text(&path("copy/data/deep/table")), "changed by a trial");
    }

    #[test]
    fn it_ends_early_when_perbuck_has_gone() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("file"), name).unwrap();
        }
        let asked = Cell::new(0);
        let gone = || {
            asked.set(asked.get() + 1);
            false
        };
        assert!(!save(folder.path(), &gone).unwrap());
        assert_eq!((asked.get(), fs::read_dir(folder.path().join("copy")).unwrap().count()), (1, 1));
    }
}
