//! Where prepared data are kept: a folder, or a bucket that speaks S3.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use perbuck_load::stop::StopToken;
use perbuck_s3::{Bucket, Problem, Settings};

use crate::error::{ErrorKind, LabError};
use crate::folder;

/// Where Google serves its buckets in the words of S3.
const GOOGLE: &str = "https://storage.googleapis.com";

/// A folder or a bucket that holds prepared data: `CONTENDER.json`, and beside it `CONTENDER/ID/000000` and so on.
pub(super) enum Archive {
    /// On this machine.
    Folder(PathBuf),
    /// A bucket.
    Bucket(Box<Remote>),
}

/// A bucket, what the keys of its objects start with, and what ends its waits.
pub(super) struct Remote {
    bucket: Bucket,
    prefix: String,
    stop: StopToken,
}

impl Remote {
    /// Does something with an object, or with a list; who waits is told what for.
    fn does<T>(&self, doing: &str, name: &str, work: impl FnOnce(&Bucket, &str) -> Result<T, Problem>) -> Result<T, LabError> {
        let Self { bucket, prefix, stop } = self;
        let what = if name.is_empty() { "the archive" } else { name };
        let _open = stop.waits().enter(format!("to {doing} {what} at {}", bucket.authority()), None);
        work(bucket, &format!("{prefix}{name}")).map_err(|problem| failed(doing, what, &problem))
    }
}

impl Archive {
    /// Reads a folder's path, `s3://BUCKET/PREFIX` or `gs://BUCKET/PREFIX`.
    ///
    /// # Errors
    /// An address that is none, and keys that are missing.
    pub(super) fn at(text: &str, stop: &StopToken) -> Result<Self, LabError> {
        let (rest, usual) = match (text.strip_prefix("s3://"), text.strip_prefix("gs://")) {
            (Some(rest), _) => (rest, None),
            (_, Some(rest)) => (rest, Some(GOOGLE)),
            _ if text.contains("://") => {
                let message = format!("`{text}` is neither a folder nor a bucket");
                return Err(LabError::usage(message, "write a path, s3://BUCKET/PREFIX or gs://BUCKET/PREFIX"));
            }
            _ => return Ok(Self::Folder(text.into())),
        };
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if name.is_empty() || !name.chars().all(plain) {
            return Err(LabError::usage(format!("`{text}` names no bucket"), "write s3://BUCKET/PREFIX"));
        }
        let variable = |name: &str| std::env::var(name).ok();
        let file = |path: &str| fs::read_to_string(path).ok();
        let settings = Settings::of(name, usual, &variable, &file).map_err(|why| {
            let help = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_ENDPOINT_URL of a server that is not Amazon's";
            LabError::usage(format!("{text}: {why}"), help)
        })?;
        let prefix = prefix.trim_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let stopped = stop.clone();
        let bucket = Bucket::new(name, settings, Box::new(move || stopped.requested()));
        Ok(Self::Bucket(Box::new(Remote { bucket, prefix, stop: stop.clone() })))
    }

    /// Puts bytes under a name, in place of those that are there: they are there whole, or not at all.
    pub(super) fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), LabError> {
        match self {
            Self::Folder(root) => {
                let path = root.join(name);
                write_whole(&path, &bytes).map_err(LabError::of_file("write", &path))
            }
            Self::Bucket(remote) => remote.does("put", name, |bucket, key| bucket.put(key, bytes)),
        }
    }

    /// Reads what is there under a name, of so many bytes at most.
    pub(super) fn get(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, LabError> {
        match self {
            Self::Folder(root) => {
                let path = root.join(name);
                let read = folder::open(&path).and_then(|file| {
                    let mut bytes = Vec::new();
                    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
                    if bytes.len() as u64 > bytes_max { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
                });
                match read {
                    Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
                    read => read.map(Some).map_err(LabError::of_file("read", &path)),
                }
            }
            Self::Bucket(remote) => remote.does("read", name, |bucket, key| bucket.get(key, bytes_max)),
        }
    }

    /// All names that start so, with their bytes.
    pub(super) fn names(&self, start: &str) -> Result<Vec<(String, u64)>, LabError> {
        match self {
            Self::Folder(root) if !root.exists() => Ok(Vec::new()),
            Self::Folder(root) => {
                let name =
                    |path: &Path| Some((path.strip_prefix(root).ok()?.to_str()?.to_owned(), fs::metadata(path).ok()?.len()));
                let all = folder::walk(root)?;
                let own = all.iter().filter_map(|path| name(path)).filter(|(name, _)| name.starts_with(start));
                // As a bucket lists them: a folder of paths has another order.
                let mut own: Vec<(String, u64)> = own.collect();
                own.sort();
                Ok(own)
            }
            Self::Bucket(remote) => {
                let listed = remote.does("list", start, Bucket::list)?;
                let own = |key: &str| key.strip_prefix(remote.prefix.as_str()).map(str::to_owned);
                Ok(listed.into_iter().filter_map(|object| Some((own(&object.key)?, object.bytes))).collect())
            }
        }
    }

    /// Removes what is there under a name, and folders that are then empty.
    pub(super) fn remove(&self, name: &str) -> Result<(), LabError> {
        match self {
            Self::Folder(root) => {
                let path = root.join(name);
                folder::remove(&path).map_err(LabError::of_file("remove", &path))?;
                let above = Path::new(name).ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
                above.take_while(|above| fs::remove_dir(root.join(above)).is_ok()).for_each(drop);
                Ok(())
            }
            Self::Bucket(remote) => remote.does("remove", name, Bucket::delete),
        }
    }

    /// Requests that had to be repeated.
    pub(super) fn repeated(&self) -> u32 {
        if let Self::Bucket(remote) = self { remote.bucket.repeated() } else { 0 }
    }
}

/// Writes a file so that a process that is killed leaves the old one or the new one.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let unfinished = path.with_added_extension("partial");
    let mut file = File::create(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&unfinished, path)?;
    path.parent().into_iter().for_each(folder::sync);
    Ok(())
}

fn failed(doing: &str, what: &str, problem: &Problem) -> LabError {
    let help = match problem {
        Problem::Denied(_) => {
            "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and that they may list, read, write and delete there"
        }
        Problem::Bucket(_) => "make the bucket first; check its name, AWS_REGION and AWS_ENDPOINT_URL",
        Problem::Unreached(_) => "check AWS_ENDPOINT_URL, AWS_CA_BUNDLE and the network; the same command again is safe",
        Problem::Stopped => return LabError::interrupted(),
        Problem::Other(_) => "",
    };
    LabError::new(ErrorKind::Target, format!("cannot {doing} {what}: {}", problem.text()), help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_keeps_what_is_put_and_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Archive::at(folder.path().join("new").to_str().unwrap(), &StopToken::default()).unwrap();
        assert_eq!(archive.names("").unwrap(), []);
        archive.put("a/b/000000", b"12345".to_vec()).unwrap();
        archive.put("a.json", b"{}".to_vec()).unwrap();
        archive.put("a.json", b"{1}".to_vec()).unwrap();
        assert_eq!(archive.names("").unwrap(), [("a.json".to_owned(), 3), ("a/b/000000".to_owned(), 5)]);
        assert_eq!(archive.names("a/").unwrap().len(), 1);
        assert_eq!(archive.get("a.json", 3).unwrap().unwrap(), b"{1}");
        assert!(archive.get("a.json", 2).is_err() && archive.get("b.json", 2).unwrap().is_none());
        archive.remove("a/b/000000").unwrap();
        archive.remove("a/b/000000").unwrap();
        assert!(!folder.path().join("new/a").exists() && folder.path().join("new/a.json").exists());
    }

    #[test]
    fn addresses_of_no_archive_are_told() {
        for wrong in ["ftp://h/x", "s3://", "s3:///x", "s3://a b/c", "gs://"] {
            let error = Archive::at(wrong, &StopToken::default()).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Usage, "{wrong}");
        }
    }
}
