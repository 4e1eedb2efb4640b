//! The lease of a database that is a file: another file beside it, locked as long as its holder lives. A lock ends with its process,
//! however that ends, so there is nothing to renew.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::{Found, Holder};
use crate::folder;
use crate::store::{is_locked_file, remove_if_there};

/// Longer texts are none of ours.
const MAX_BYTES: u64 = 4096;

/// A file that is locked.
#[derive(Debug)]
pub(super) struct Locked {
    path: PathBuf,
    // Unlocked when it is closed.
    _file: File,
}

/// Takes it for `own`; where that cannot be, what was found.
pub(super) fn take(path: &Path, own: &Holder) -> Result<Locked, Found> {
    let failed = |e: io::Error| Found::Unusable(format!("{}: {e}", path.display()));
    loop {
        let mut file = folder::open_to_write(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Found::Held(holder_in(path))),
            Err(TryLockError::Error(e)) => return Err(failed(e)),
        }
        // Its last holder may have removed it in between: the lock of a file without a name keeps no one away.
        if is_locked_file(path, &file) {
            let text = format!("{}\n", own.text());
            file.set_len(0).and_then(|()| file.write_all(text.as_bytes())).map_err(failed)?;
            return Ok(Locked { path: path.to_owned(), _file: file });
        }
    }
}

/// Who holds it, if a process does.
pub(super) fn seen(path: &Path) -> Option<Option<Holder>> {
    let file = folder::open(path).ok()?;
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)).then(|| holder_in(path))
}

fn holder_in(path: &Path) -> Option<Holder> {
    let mut text = String::new();
    folder::open(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Holder::read(&text)
}

impl Drop for Locked {
    fn drop(&mut self) {
        remove_if_there(&self.path);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_and_the_file_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db.perbuck-lease");
        let (first, second) = (Holder::own("first"), Holder::own("second"));
        let held = take(&path, &first).unwrap();
        assert!(matches!(take(&path, &second), Err(Found::Held(Some(holder))) if holder.is(&first)));
        assert!(seen(&path).flatten().unwrap().is(&first));
        drop(held);
        assert!(!path.exists() && seen(&path).is_none());
        // A file that a killed process left is locked by no one.
        std::fs::write(&path, first.text()).unwrap();
        assert!(seen(&path).is_none());
        drop(take(&path, &second).unwrap());
        assert!(matches!(take(&folder.path().join("no/where"), &first), Err(Found::Unusable(_))));
    }
}
