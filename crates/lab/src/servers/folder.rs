//! The folder of one private server, and the processes that belong to it.
//!
//! The folder is its own lock: [`Folder::make`] locks it before anything is in it, and the lock goes with the folder. So a folder
//! whose lock is free was left, whatever is in it, and the next command removes it ([`clean`]).

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::libc::{O_DIRECTORY, O_NOFOLLOW};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

use crate::folder::remove as remove_file;
use crate::tuning;

/// The names of all folders of servers start so.
pub(super) const PREFIX: &str = "perbuck-server-";
/// Every process of a server has this variable with the path of the folder: programs that an installer starts have it, too.
pub(super) const VARIABLE: &str = "PERBUCK_SERVER_FOLDER";
/// The first file in the folder, and the last one to go. Nothing is deleted from a folder without it. It says whether SIGQUIT ends
/// the server.
const MARKER: &str = "perbuck-server";
const QUITS: &str = "ends by SIGQUIT\n";
const IS_KILLED: &str = "ends by SIGKILL\n";

/// How often a process that ends is looked at.
pub(super) const POLL: Duration = Duration::from_millis(50);
/// How long a server may take to end after SIGQUIT before it is killed.
const END_TIMEOUT: Duration = Duration::from_secs(6);
/// How long processes and files are tried to be removed at most.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(40);
/// Attempts to make a folder that another perbuck takes for one that was left, before it is locked.
const ATTEMPTS: u32 = 100;

/// A folder that this process made and holds.
pub(super) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes the folder, locked. One that is there is never taken.
    pub(super) fn make(path: &Path, quits: bool) -> io::Result<Self> {
        let mut trouble = None;
        for _ in 0..ATTEMPTS {
            DirBuilder::new().mode(0o700).create(path)?;
            match locked_and_marked(path, quits) {
                Ok(lock) => return Ok(Self { path: path.to_owned(), _lock: lock }),
                // Between the two steps above another perbuck has found it empty and unlocked, and removes it.
                Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::WouldBlock) => trouble = Some(e),
                Err(e) => return Err(e),
            }
            wait_until_gone(path);
        }
        Err(trouble.unwrap_or_else(|| io::Error::other("it cannot be locked")))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Ends what runs in it and deletes it.
    pub(super) fn remove(self) -> io::Result<()> {
        remove(&self.path)
    }
}

fn locked_and_marked(path: &Path, quits: bool) -> io::Result<File> {
    let lock = open(path)?;
    match lock.try_lock() {
        // A file system without locks: there nothing is taken for left.
        Ok(()) | Err(fs::TryLockError::Error(_)) => {}
        Err(fs::TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
    }
    let marker = File::options().write(true).create_new(true).mode(0o600).open(path.join(MARKER));
    marker?.write_all(if quits { QUITS } else { IS_KILLED }.as_bytes())?;
    Ok(lock)
}

fn wait_until_gone(path: &Path) {
    let began = Instant::now();
    while path.exists() && began.elapsed() < POLL * 20 {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Opens a folder, and no link to one.
fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(O_DIRECTORY | O_NOFOLLOW).open(path)
}

/// Ends servers and deletes folders in `parent` that were left: those that no process holds. Says which, and which it could not.
pub(super) fn clean(parent: &Path) -> Vec<Result<String, String>> {
    let Ok(parent) = parent.canonicalize() else { return Vec::new() };
    let mut said = Vec::new();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let path = entry.path();
        match clean_one(&path) {
            Ok(true) => said.push(Ok(format!("removed {}, which a killed run left", path.display()))),
            Ok(false) => {}
            Err(e) => said.push(Err(format!("cannot remove {}, which a killed run left: {e}", path.display()))),
        }
    }
    said
}

/// Removes one folder if it is perbuck's and no process holds it; says whether it was.
pub(super) fn clean_one(path: &Path) -> io::Result<bool> {
    let Ok(lock) = open(path) else { return Ok(false) };
    if lock.metadata()?.uid() != geteuid().as_raw() || lock.try_lock().is_err() {
        return Ok(false);
    }
    // The lock may be that of a folder which is gone, and another one stands at its path.
    let (held, named) = (lock.metadata()?, fs::symlink_metadata(path)?);
    if (held.dev(), held.ino()) != (named.dev(), named.ino()) {
        return Ok(false);
    }
    let is_marked = fs::symlink_metadata(path.join(MARKER)).is_ok_and(|m| m.is_file());
    if !is_marked && fs::read_dir(path)?.next().is_some() {
        return Ok(false);
    }
    remove(path).map(|()| true)
}

/// Deletes a folder whose lock is held, the marker last: what is cut off here goes on with the next command.
fn remove(path: &Path) -> io::Result<()> {
    // What was set for its trials is not left with its machine, whoever removes it.
    tuning::undo(path, Path::new("/")).map_err(io::Error::other)?;
    let quits = fs::read_to_string(path.join(MARKER)).is_ok_and(|text| text == QUITS);
    let began = Instant::now();
    loop {
        end_processes(path, quits);
        match empty(path).and_then(|()| fs::remove_dir(path)) {
            // A process that was killed may still have written a file.
            Err(_) if began.elapsed() < REMOVE_TIMEOUT && path.exists() => thread::sleep(POLL),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            ended => return ended,
        }
    }
}

fn empty(path: &Path) -> io::Result<()> {
    let marker = path.join(MARKER);
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.path() == marker {
            continue;
        }
        if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path())? } else { fs::remove_file(entry.path())? }
    }
    remove_file(&marker)
}

/// Ends all processes of a folder's server: by SIGQUIT, if that ends it, and after a while by SIGKILL. A process that is ending loses its
/// variables before its sockets, so each is waited for to its end.
fn end_processes(folder: &Path, quits: bool) {
    let (began, mut ending) = (Instant::now(), BTreeSet::new());
    while began.elapsed() < REMOVE_TIMEOUT {
        let found = processes_of(folder);
        ending.extend(&found);
        if found.is_empty() && ending.iter().all(|pid| has_ended(*pid)) {
            return;
        }
        let signal = if quits && began.elapsed() < END_TIMEOUT { Signal::SIGQUIT } else { Signal::SIGKILL };
        for pid in found {
            // It may be gone by now, which is what is wanted.
            let _ = kill(pid, signal);
        }
        thread::sleep(POLL);
    }
}

/// Whether nothing of a process is left but its status, which its parent has not asked for yet: its threads share its sockets.
fn has_ended(pid: Pid) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().count();
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before it may hold anything.
    let state = stat.rsplitn(2, |byte| *byte == b')').next().and_then(|rest| rest.trim_ascii_start().first());
    threads == 0 || (threads == 1 && matches!(state, Some(b'Z' | b'X')))
}

/// What the processes of a folder's server are doing, for a message.
pub(super) fn doing(folder: &Path) -> String {
    let one = |pid: Pid| {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let status = read("status");
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("gone").trim().to_owned();
        format!("{} ({pid}: {}, in {})", field("Name:"), field("State:"), read("wchan"))
    };
    let found: Vec<String> = processes_of(folder).into_iter().map(one).collect();
    if found.is_empty() { "it has no process".to_owned() } else { format!("its processes: {}", found.join(", ")) }
}

/// The processes whose variable names the folder.
fn processes_of(folder: &Path) -> Vec<Pid> {
    let variable = [VARIABLE.as_bytes(), b"=", folder.as_os_str().as_encoded_bytes()].concat();
    let numbers =
        fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    let belongs = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == variable)
    };
    numbers.filter(belongs).map(Pid::from_raw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(parent: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(parent).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_folders_that_were_left_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let path = |name: &str| parent.path().join(format!("{PREFIX}{name}"));
        let live = Folder::make(&path("live"), false).unwrap();
        let left = Folder::make(&path("left"), false).unwrap();
        fs::create_dir(left.path().join("data")).unwrap();
        fs::write(left.path().join("data/file"), "x").unwrap();
        drop(left);
        // Cut off before the marker was there, or in the middle of a removal.
        fs::create_dir(path("empty")).unwrap();
        // A folder of the user, by chance of that name, and a link to it.
        fs::create_dir(path("users")).unwrap();
        fs::write(path("users").join("file"), "precious").unwrap();
        std::os::unix::fs::symlink(path("users"), path("link")).unwrap();
        drop(clean(parent.path()));
        assert_eq!(names(parent.path()), ["link", "live", "users"].map(|name| format!("{PREFIX}{name}")));
        live.remove().unwrap();
        assert_eq!(names(parent.path()), ["link", "users"].map(|name| format!("{PREFIX}{name}")));
        assert_eq!(fs::read_to_string(path("users").join("file")).unwrap(), "precious");
    }

    #[test]
    fn a_process_has_ended_when_its_threads_have() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        assert!(!has_ended(pid) && !has_ended(nix::unistd::getpid()));
        child.kill().unwrap();
        let begun = Instant::now();
        while !has_ended(pid) && begun.elapsed() < REMOVE_TIMEOUT {
            thread::sleep(POLL);
        }
        assert!(has_ended(pid), "it is there until its parent asks for its status");
        child.wait().unwrap();
        assert!(has_ended(pid));
    }

    #[test]
    fn what_a_server_is_doing_is_told() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(doing(folder.path()), "it has no process");
        let mut child = std::process::Command::new("sleep").arg("60").env(VARIABLE, folder.path()).spawn().unwrap();
        let begun = Instant::now();
        let expected = format!("its processes: sleep ({}: S (sleeping), in ", child.id());
        while !doing(folder.path()).starts_with(&expected) && begun.elapsed() < REMOVE_TIMEOUT {
            thread::sleep(POLL);
        }
        let told = doing(folder.path());
        child.kill().and_then(|()| child.wait()).unwrap();
        assert!(told.starts_with(&expected), "{told}");
    }

    #[test]
    fn a_folder_that_is_there_is_not_taken() {
        let parent = tempfile::tempdir().unwrap();
        let taken = Folder::make(parent.path(), false).map(drop).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
    }

    /// Before, the folder was locked after it was made: a perbuck that looked in between deleted it although it was in use.
    #[test]
    fn a_folder_that_is_being_made_is_never_removed_from_under_its_maker() {
        let parent = tempfile::tempdir().unwrap();
        let over = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !over.load(std::sync::atomic::Ordering::Relaxed) {
                        clean(parent.path());
                    }
                });
            }
            let makers: Vec<_> = (0..2)
                .map(|maker| {
                    let parent = parent.path();
                    scope.spawn(move || {
                        (0..50).all(|n| {
                            let folder = Folder::make(&parent.join(format!("{PREFIX}{maker}-{n}")), false).unwrap();
                            fs::write(folder.path().join("file"), "x").unwrap();
                            let stayed = folder.path().join("file").exists() && folder.path().join(MARKER).exists();
                            folder.remove().unwrap();
                            stayed
                        })
                    })
                })
                .collect();
            let all_stayed: Vec<bool> = makers.into_iter().map(|maker| maker.join().unwrap()).collect();
            over.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(all_stayed, [true, true]);
        });
        assert_eq!(names(parent.path()), Vec::<String>::new());
    }
}
