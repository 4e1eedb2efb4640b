//! A copy of the data of a private server, in its folder: saved and restored while the server is stopped.
//!
//! A restore writes only the bytes that differ from the copy. It reads all of them: times of files do not prove that a file is unchanged, since
//! writes through mapped memory do not change them on each file system.

mod ranges;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use perbuck_observe::room;
use ranges::{Pair, copy_ranges};

use crate::preflight::megabytes;
use crate::system::{ioctl_ficlone, syncfs};

/// The folder of the copy; all other folders of a server are its data.
const COPY: &str = "copy";
/// The ending of files that never change, those of RocksDB: a second name of such a file is a copy of it.
const IMMUTABLE: &str = "sst";

/// Saves a copy of all data, in place of one that was saved before. Ends early, with `false`, where `goes` says so.
pub(super) fn save(folder: &Path, goes: &dyn Fn() -> bool) -> io::Result<bool> {
    let copy = folder.join(COPY);
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    DirBuilder::new().mode(0o700).create(&copy)?;
    each(folder, goes, |name| (folder.join(name), copy.join(name)))
}

/// Restores the data that were saved; likewise.
pub(super) fn restore(folder: &Path, goes: &dyn Fn() -> bool) -> io::Result<bool> {
    let copy = folder.join(COPY);
    each(&copy, goes, |name| (copy.join(name), folder.join(name)))
}

/// Fills the folder of a server with prepared data, for the user who runs it; likewise.
pub(super) fn take_over(folder: &Path, kept: &Path, user: Option<(u32, u32)>, goes: &dyn Fn() -> bool) -> io::Result<bool> {
    let copied = each(kept, goes, |name| (kept.join(name), folder.join(name)))?;
    if let Some((user, group)) = user.filter(|_| copied) {
        for entry in fs::read_dir(kept)? {
            give(&folder.join(entry?.file_name()), user, group)?;
        }
    }
    Ok(copied)
}

/// Gives all that is below a path to a user.
fn give(path: &Path, user: u32, group: u32) -> io::Result<()> {
    lchown(path, Some(user), Some(group))?;
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), user, group)?;
        }
    }
    Ok(())
}

/// The folder of the copy that was saved.
pub(super) fn saved(folder: &Path) -> PathBuf {
    folder.join(COPY)
}

/// Makes each folder of data equal to another one, and waits until all of it is on disk: else it would be written during the next trial.
fn each(of: &Path, goes: &dyn Fn() -> bool, folders: impl Fn(&OsString) -> (PathBuf, PathBuf)) -> io::Result<bool> {
    let mut plan = Plan { pairs: Vec::new(), owners: Vec::new(), shares: true };
    for entry in fs::read_dir(of)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir() && name != COPY {
            let (from, to) = folders(&name);
            plan.tree(&from, &to)?;
        }
    }
    plan.has_room(of)?;
    if !copy_ranges(plan.pairs, goes)? {
        return Ok(false);
    }
    plan.owners.iter().try_for_each(|(path, wanted)| own(path, wanted))?;
    syncfs(File::open(of)?)?;
    Ok(true)
}

/// What is left to do when all names are as they should be.
struct Plan {
    /// Files whose bytes may differ.
    pairs: Vec<Pair>,
    /// Files that get an owner and permissions, each with the metadata that it gets.
    owners: Vec<(PathBuf, Metadata)>,
    /// Whether the file system shares the blocks of two files.
    shares: bool,
}

impl Plan {
    /// Whether what files that were just made will take is free: else it would end half way, on a disk that is full for all others, too.
    fn has_room(&self, folder: &Path) -> io::Result<()> {
        let needed = self.pairs.iter().filter(|pair| pair.is_new).map(|pair| pair.bytes).sum();
        match room(folder).filter(|room| needed > room.free_bytes && !room.compresses) {
            Some(room) => {
                let [needed, free] = [needed, room.free_bytes].map(megabytes);
                let message = format!("the copy of the data needs {needed} there, and {free} are free");
                Err(io::Error::new(io::ErrorKind::StorageFull, message))
            }
            None => Ok(()),
        }
    }

    /// Gives a file, or a folder with all that is in it, the names and the lengths of another one, and notes the rest.
    fn tree(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let (metadata, old) = (fs::symlink_metadata(from)?, found(to)?);
        let kind = metadata.file_type();
        let is_kept = old.as_ref().is_some_and(|old| is_kept((from, &metadata), old));
        if old.is_some() && !is_kept {
            remove(to)?;
        }
        if kind.is_dir() {
            if !is_kept {
                DirBuilder::new().mode(0o700).create(to)?;
            }
            self.entries(from, to)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(from)?, to)?;
        } else if !kind.is_file() {
            // Sockets and pipes belong to processes that have ended.
            return Ok(());
        } else if !is_immutable(from) {
            self.file(from, to, metadata.len(), !is_kept)?;
        } else if !is_kept && metadata.dev() != to.parent().map_or(Ok(0), |above| above.metadata().map(|m| m.dev()))? {
            // Prepared data may be on another file system.
            self.file(from, to, metadata.len(), true)?;
        } else if !is_kept {
            fs::hard_link(from, to)?;
        }
        self.owners.push((to.to_owned(), metadata));
        Ok(())
    }

    fn entries(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let names = fs::read_dir(from)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<BTreeSet<_>>>()?;
        for entry in fs::read_dir(to)? {
            let name = entry?.file_name();
            if !names.contains(&name) {
                remove(&to.join(name))?;
            }
        }
        names.iter().try_for_each(|name| self.tree(&from.join(name), &to.join(name)))
    }

    fn file(&mut self, from: &Path, to: &Path, bytes: u64, is_new: bool) -> io::Result<()> {
        let target = File::options().write(true).create(true).truncate(false).mode(0o600).open(to)?;
        if target.metadata()?.len() != bytes {
            target.set_len(bytes)?;
        }
        self.shares = self.shares && ioctl_ficlone(&target, File::open(from)?).is_ok();
        if !self.shares {
            self.pairs.push(Pair { from: from.to_owned(), to: to.to_owned(), bytes, is_new });
        }
        Ok(())
    }
}

/// Whether what is there can be made equal. A file that may not be written cannot, nor one with a second name: that may be one of the copy.
fn is_kept((from, metadata): (&Path, &Metadata), old: &Metadata) -> bool {
    let kind = metadata.file_type();
    if kind != old.file_type() {
        return false;
    }
    if kind.is_file() && is_immutable(from) {
        return (metadata.dev(), metadata.ino()) == (old.dev(), old.ino());
    }
    kind.is_dir() || kind.is_file() && old.nlink() == 1 && old.mode() & 0o200 != 0
}

fn is_immutable(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == IMMUTABLE)
}

/// Gives a file the owner and the permissions of another one, unless it has them.
fn own(to: &Path, wanted: &Metadata) -> io::Result<()> {
    let has = fs::symlink_metadata(to)?;
    if (has.uid(), has.gid()) != (wanted.uid(), wanted.gid()) {
        lchown(to, Some(wanted.uid()), Some(wanted.gid()))?;
    }
    if !wanted.is_symlink() && has.permissions().mode() != wanted.permissions().mode() {
        fs::set_permissions(to, wanted.permissions())?;
    }
    Ok(())
}

fn found(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        came => came.map(Some),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::unix::fs::{FileExt, PermissionsExt};

    use super::*;

    #[test]
    fn a_copy_that_has_no_room_is_not_begun() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("data")).unwrap();
        // A hole, larger than what is free on a disk that tests run on.
        File::create(folder.path().join("data/table")).unwrap().set_len(8 << 40).unwrap();
        if room(folder.path()).is_some_and(|room| !room.shares) {
            let error = save(folder.path(), &|| true).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            assert!(error.to_string().starts_with("the copy of the data needs 8,796,093 MB there, and "), "{error}");
        }
    }

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
    fn only_what_differs_is_written_and_the_copy_is_never_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("data")).unwrap();
        // More than two ranges, and no whole number of pages.
        let large: Vec<u8> = (0..40 * 1024 * 1024 + 5_u32).map(|n| (n / 4096 + n) as u8).collect();
        fs::write(path("data/large"), &large).unwrap();
        for name in ["same", "longer", "shorter", "linked", "read-only", "becomes-folder", "gone"] {
            fs::write(path("data").join(name), name.repeat(1_000)).unwrap();
        }
        fs::set_permissions(path("data/read-only"), fs::Permissions::from_mode(0o400)).unwrap();
        assert!(save(folder.path(), &|| true).unwrap());

        let written = |name: &str| fs::metadata(path("data").join(name)).unwrap().modified().unwrap();
        let same = written("same");
        let open = |name: &str| File::options().write(true).open(path("data").join(name)).unwrap();
        for at in [0, 16 * 1024 * 1024 - 1, 16 * 1024 * 1024, large.len() as u64 - 1] {
            open("large").write_all_at(&[!large[at as usize]], at).unwrap();
        }
        open("longer").write_all_at(b"more", 1_000_000).unwrap();
        open("shorter").set_len(3).unwrap();
        // Written through such a name, the copy itself would change.
        fs::remove_file(path("data/linked")).unwrap();
        fs::hard_link(path("copy/data/linked"), path("data/linked")).unwrap();
        fs::remove_file(path("data/becomes-folder")).unwrap();
        fs::create_dir(path("data/becomes-folder")).unwrap();
        fs::write(path("data/becomes-folder/file"), "x").unwrap();
        fs::remove_file(path("data/gone")).unwrap();

        assert!(restore(folder.path(), &|| true).unwrap());
        for name in ["same", "longer", "shorter", "linked", "read-only", "becomes-folder", "gone"] {
            assert_eq!(text(&path("data").join(name)), name.repeat(1_000));
            assert_eq!(fs::metadata(path("data").join(name)).unwrap().nlink(), 1, "{name}");
        }
        assert!(fs::read(path("data/large")).unwrap() == large);
        assert!(fs::read(path("copy/data/large")).unwrap() == large);
        let shares = ioctl_ficlone(File::create(path("probe")).unwrap(), File::open(path("copy/data/same")).unwrap()).is_ok();
        assert_eq!(written("same") != same, shares, "without shared blocks it was not written");
        assert_eq!(fs::metadata(path("data/read-only")).unwrap().permissions().mode() & 0o777, 0o400);
    }

    #[test]
    fn what_the_file_system_says_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let gone = Pair { from: folder.path().join("none"), to: folder.path().join("neither"), bytes: 1, is_new: false };
        assert_eq!(copy_ranges(vec![gone], &|| true).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(copy_ranges(Vec::new(), &|| true).unwrap());
    }

    #[test]
    fn it_ends_early_when_perbuck_has_gone() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/file"), "a").unwrap();
        let asked = Cell::new(0);
        let gone = || {
            asked.set(asked.get() + 1);
            false
        };
        assert!(!save(folder.path(), &gone).unwrap());
        assert_eq!(asked.get(), 1);
    }
}
