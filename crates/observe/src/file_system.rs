//! What a folder lies on: data in memory are as fast as no disk is.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::statvfs;
use serde::{Deserialize, Serialize};

/// File systems that may store less than is written to them.
const COMPRESSING: [&str; 4] = ["bcachefs", "btrfs", "f2fs", "zfs"];
/// File systems on which no two files share their blocks.
const APART: [&str; 5] = ["ext2", "ext3", "ext4", "ramfs", "tmpfs"];

/// Room on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// The number of its device: two folders with the same one share it.
    pub device: u64,
    /// Its size in bytes.
    pub total_bytes: u64,
    /// What a user other than root may still write, in bytes.
    pub free_bytes: u64,
    /// Whether it may store less than is written, because it compresses.
    pub compresses: bool,
    /// Whether a copy of a file may take no room, because it shares the blocks of the other.
    pub shares: bool,
}

/// The room on the file system that holds a path; `None` where the system does not tell.
pub fn room(path: &Path) -> Option<Room> {
    let (found, device) = (statvfs(path).ok()?, fs::metadata(path).ok()?.dev());
    let kind = file_system(path);
    let compresses = kind.as_ref().is_none_or(|kind| COMPRESSING.contains(&kind.as_str()));
    let shares = kind.is_none_or(|kind| !APART.contains(&kind.as_str()));
    Some(Room {
        device,
        total_bytes: found.f_blocks.saturating_mul(found.f_frsize),
        free_bytes: found.f_bavail.saturating_mul(found.f_frsize),
        compresses,
        shares,
    })
}

/// The type of the file system that holds a path (`ext4`, `tmpfs`); `None` where the system does not tell.
pub fn file_system(path: &Path) -> Option<String> {
    let absolute = path.canonicalize().ok()?;
    holding(&absolute, &fs::read_to_string("/proc/self/mounts").ok()?)
}

/// The last one of the longest mount points counts: it hides those mounted there before.
fn holding(path: &Path, mounts: &str) -> Option<String> {
    let entry = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (point, kind) = (words.next()?.replace("\\040", " "), words.next()?.to_owned());
        path.starts_with(&point).then_some((point.len(), kind))
    };
    mounts.lines().filter_map(entry).max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "/dev/sda / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\n/dev/sdb /mnt/my\\040disk xfs rw 0 0\n\
        /dev/sdc /dev/shm ext3 rw 0 0\n";

    #[test]
    fn the_longest_and_last_mount_point_counts() {
        let found = |path: &str| holding(Path::new(path), MOUNTS);
        assert_eq!(found("/home/a").as_deref(), Some("ext4"));
        assert_eq!(found("/dev/shm/a").as_deref(), Some("ext3"));
        assert_eq!(found("/dev/shmoo").as_deref(), Some("ext4"));
        assert_eq!(found("/mnt/my disk/a").as_deref(), Some("xfs"));
        assert_eq!(holding(Path::new("/a"), ""), None);
    }

    #[test]
    fn this_machine_has_one() {
        assert!(file_system(Path::new("/")).is_some());
        assert!(room(Path::new("/proc/self")).is_some_and(|room| room.free_bytes == 0 && !room.compresses));
        assert_eq!(room(Path::new("/no/such/folder")), None);
        assert_eq!(file_system(Path::new("/no/such/folder")), None);
    }
}
