//! Every opening of a file in a results folder. What lies there may come from another person, so no link in it is followed, and
//! nothing but plain files and folders is opened. The folder itself is named by the user, and may be a link.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use crate::error::LabError;
use crate::inputs::{Limit, read_bounded};

/// Opening a pipe must not wait for its other end.
const FLAGS: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_NONBLOCK);

/// Opens a plain file to read it.
///
/// # Errors
/// A link, anything else that is no plain file, and what the system says.
pub fn open(path: &Path) -> io::Result<File> {
    plain(OpenOptions::new().read(true).custom_flags(FLAGS.bits()).open(path))
}

/// Opens a plain file to write it, and makes it if it is not there. What it holds stays.
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    plain(OpenOptions::new().write(true).create(true).truncate(false).custom_flags(FLAGS.bits()).open(path))
}

/// The same, emptied.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    // Emptied only when it is known to be a file of this folder.
    let file = open_to_write(path)?;
    file.set_len(0)?;
    Ok(file)
}

fn plain(opened: io::Result<File>) -> io::Result<File> {
    let file = opened.map_err(|e| match nix::Error::from_raw(e.raw_os_error().unwrap_or(0)) {
        nix::Error::ELOOP => io::Error::other("it is a link, and perbuck follows no links in results folders"),
        nix::Error::ENXIO => not_plain(),
        _ => e,
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_plain()) }
}

fn not_plain() -> io::Error {
    io::Error::other("it is no plain file")
}

/// Reads a text.
///
/// # Errors
/// As [`open`], a file that is longer than its limit, or that is no text.
pub fn read_text(what: &str, path: &Path, limit: Limit) -> Result<String, LabError> {
    let file = open(path).map_err(LabError::of_file(&format!("read {what}"), path))?;
    let length = file.metadata().map_or(0, |m| m.len());
    read_bounded(what, path, length, file, limit)
}

/// Whether there is a plain file of this name.
pub fn has_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|m| m.is_file())
}

/// Makes a folder and those above it, down from `root`, which may be a link. Each new one is on disk.
pub(crate) fn make(root: &Path, folder: &Path) -> Result<(), LabError> {
    let new: Vec<&Path> = root.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists()).collect();
    let stands_in_the_way =
        |e: io::Error| if e.kind() == io::ErrorKind::AlreadyExists { io::ErrorKind::NotADirectory.into() } else { e };
    fs::create_dir_all(root).map_err(|e| LabError::file("make the folder", root, &stands_in_the_way(e)))?;
    new.into_iter().for_each(sync_above);
    let mut made = root.to_owned();
    for part in folder.strip_prefix(root).unwrap_or(folder) {
        made.push(part);
        let there = match DirBuilder::new().mode(0o777).create(&made) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => fs::symlink_metadata(&made),
            other => other.and_then(|()| {
                sync_above(&made);
                fs::symlink_metadata(&made)
            }),
        };
        let there = there.map_err(LabError::of_file("make the folder", &made))?;
        refuse_link(&made, &there)?;
        if !there.is_dir() {
            return Err(LabError::file("make the folder", &made, &io::Error::from(io::ErrorKind::NotADirectory)));
        }
    }
    Ok(())
}

fn sync_above(made: &Path) {
    // The folder of a relative path of one name is the one that perbuck runs in.
    sync(made.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new(".")));
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Makes new names durable; a file system that cannot do that has no better way.
pub fn sync(folder: &Path) {
    if let Ok(handle) = File::open(folder) {
        let _ = handle.sync_all();
    }
}

/// All plain files below a folder, in the order of their paths. A link is refused: to leave it out would leave out what it stands for.
pub(crate) fn walk(root: &Path) -> Result<Vec<PathBuf>, LabError> {
    let (mut found, mut folders, mut seen) = (Vec::new(), vec![root.to_owned()], BTreeSet::new());
    while let Some(folder) = folders.pop() {
        let unreadable = |e: io::Error| LabError::file("read the results folder", &folder, &e);
        // The same folder may be mounted into itself.
        let own = fs::metadata(&folder).map_err(unreadable)?;
        if !seen.insert((own.dev(), own.ino())) {
            continue;
        }
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(unreadable)?);
            if kind.is_symlink() {
                refuse_link(&path, &fs::symlink_metadata(&path).map_err(unreadable)?)?;
            } else if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// How deep below a folder of results a study may lie: `results/sysbench/<study>` is the deepest that perbuck makes.
const DEEPEST: usize = 3;

/// The folders from here on that hold one of these files, by name. Below such a folder none is looked for, hidden ones are left out, and
/// links are not followed: they may lead out of it.
///
/// # Errors
/// A folder that cannot be read.
pub fn those_with(root: &Path, files: &[&str]) -> Result<Vec<PathBuf>, LabError> {
    let (mut found, mut next) = (Vec::new(), vec![(root.to_owned(), 0)]);
    while let Some((folder, depth)) = next.pop() {
        if files.iter().any(|file| has_file(&folder.join(file))) {
            found.push(folder);
            continue;
        }
        if depth == DEEPEST {
            continue;
        }
        let unreadable = LabError::of_file("read the folder", &folder);
        let entries: Vec<fs::DirEntry> = fs::read_dir(&folder).and_then(Iterator::collect).map_err(unreadable)?;
        let open = |e: &fs::DirEntry| !e.file_name().as_encoded_bytes().starts_with(b".");
        let folders = entries.iter().filter(|e| open(e) && e.file_type().is_ok_and(|t| t.is_dir()));
        next.extend(folders.map(|e| (e.path(), depth + 1)));
    }
    found.sort();
    Ok(found)
}

fn refuse_link(path: &Path, metadata: &Metadata) -> Result<(), LabError> {
    if !metadata.is_symlink() {
        return Ok(());
    }
    let message = format!("{} is a link, and perbuck follows no links in results folders", path.display());
    Err(LabError::files(message, "put the files that it points to in its place, or remove it"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_neither_read_nor_written_nor_walked() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("in"), folder.path().join("out"));
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("x.json"), "mine").unwrap();
        fs::write(root.join("a/b/1.json"), "1").unwrap();
        symlink(outside.join("x.json"), root.join("file")).unwrap();
        for refused in [open(&root.join("file")), create(&root.join("file"))] {
            assert!(refused.unwrap_err().to_string().contains("it is a link"));
        }
        assert!(!has_file(&root.join("file")) && has_file(&root.join("a/b/1.json")));
        assert!(walk(&root).unwrap_err().to_string().contains("file is a link"));
        fs::remove_file(root.join("file")).unwrap();
        symlink(&outside, root.join("c")).unwrap();
        assert!(make(&root, &root.join("c/d")).unwrap_err().to_string().contains("c is a link"));
        assert!(make(&root, &root.join("a/b/c")).is_ok() && !outside.join("d").exists());
        fs::remove_file(root.join("c")).unwrap();
        assert_eq!(walk(&root).unwrap(), [root.join("a/b/1.json")]);
        assert_eq!(fs::read_to_string(outside.join("x.json")).unwrap(), "mine");
        // The folder that the user names may be one.
        symlink(&root, folder.path().join("named")).unwrap();
        assert_eq!(walk(&folder.path().join("named")).unwrap().len(), 1);
        make(&folder.path().join("named"), &folder.path().join("named/d/e")).unwrap();
        assert!(root.join("d/e").is_dir());
    }

    #[test]
    fn only_plain_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for opened in [open(&pipe), create(&pipe), open(folder.path())] {
            assert!(opened.unwrap_err().to_string().contains("no plain file"));
        }
        assert_eq!(walk(folder.path()).unwrap(), Vec::<PathBuf>::new());
    }
}
