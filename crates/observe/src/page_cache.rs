//! The page cache of the operating system.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Drops pages of files, directory entries and inodes.
const ALL: &[u8] = b"3";

/// Writes out what waits for the disks, then drops the page cache of the machine below this root.
///
/// # Errors
/// Why it cannot be dropped, in words.
pub fn drop_page_cache(root: &Path) -> Result<(), String> {
    // What is not on disk yet stays in memory.
    nix::unistd::sync();
    let dropped = OpenOptions::new().write(true).open(root.join("proc/sys/vm/drop_caches")).and_then(|mut to| to.write_all(ALL));
    dropped.map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => "perbuck is not root".to_owned(),
        _ => format!("/proc/sys/vm/drop_caches: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_file_of_the_kernel_is_written_or_it_is_said_why_not() {
        let root = std::env::temp_dir().join(format!("perbuck-page-cache-{}", std::process::id()));
        fs::create_dir_all(root.join("proc/sys/vm")).unwrap();
        let why = drop_page_cache(&root).unwrap_err();
        assert!(why.starts_with("/proc/sys/vm/drop_caches: No such file"), "{why}");
        fs::write(root.join("proc/sys/vm/drop_caches"), "0").unwrap();
        drop_page_cache(&root).unwrap();
        assert_eq!(fs::read(root.join("proc/sys/vm/drop_caches")).unwrap(), ALL);
        fs::remove_dir_all(root).unwrap();
    }
}
