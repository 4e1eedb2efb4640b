//! Which build of the program a process is. Two builds of one version may draw different plans, so they refuse each other.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ring::digest;

/// Bytes of one read.
const READ: usize = 256 * 1024;
/// So many digits tell two builds apart for a reader.
const SHOWN: usize = 12;

/// The architecture of a program, and the hash of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    pub(crate) arch: String,
    /// SHA-256 as hexadecimal digits; empty where the file cannot be read.
    pub(crate) hash: String,
}

impl Build {
    /// That of this process, also where its file was replaced since.
    pub fn running() -> Self {
        Self::of(Path::new("/proc/self/exe")).unwrap_or_else(|_| Self::with(String::new()))
    }

    /// That of a program for this architecture.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of(file: &Path) -> io::Result<Self> {
        let (mut file, mut hash, mut room) = (File::open(file)?, digest::Context::new(&digest::SHA256), vec![0; READ]);
        loop {
            match file.read(&mut room)? {
                0 => return Ok(Self::with(hash.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())),
                count => hash.update(room.get(..count).unwrap_or_default()),
            }
        }
    }

    fn with(hash: String) -> Self {
        Self { arch: std::env::consts::ARCH.to_owned(), hash }
    }

    /// Whether both are known to come from different code. Programs for two architectures never have the same file.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        self.arch == other.arch && !self.hash.is_empty() && !other.hash.is_empty() && self.hash != other.hash
    }

    /// The first digits of its hash.
    pub(crate) fn short(&self) -> &str {
        self.hash.get(..SHOWN).unwrap_or(&self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_told_by_its_file_within_an_architecture() {
        let (here, other) = (Build::running(), Build::of(Path::new("/proc/self/cmdline")).unwrap());
        assert!(here.hash.len() == 64 && here.differs(&other) && !here.differs(&Build::running()));
        assert!(!here.differs(&Build { arch: "other".to_owned(), ..other.clone() }), "another architecture");
        assert!(!here.differs(&Build::with(String::new())), "an unknown file");
        assert_eq!(other.short().len(), 12);
    }
}
