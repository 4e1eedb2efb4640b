//! `sqlite:PATH?synchronous=FULL&journal_mode=WAL`.

use std::path::PathBuf;

use perbuck_database::address::{
    TargetProblem, kibibytes, milliseconds, one_of, options_of, percent_decode, percent_encode, problem, with_options,
};

use perbuck_database::registry::PER_THREAD;
use perbuck_database::{Dialect, Target, file};

use crate::dialect::SqliteDialect;

const OPTIONS: [&str; 4] = ["synchronous", "journal_mode", "busy_timeout", "cache"];
/// In the order of their numbers.
pub(crate) const SYNCHRONOUS: [&str; 4] = ["OFF", "NORMAL", "FULL", "EXTRA"];
pub(crate) const JOURNAL_MODES: [&str; 5] = ["WAL", "DELETE", "TRUNCATE", "PERSIST", "MEMORY"];

/// An SQLite file and its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteTarget {
    /// The database file.
    pub path: PathBuf,
    /// `PRAGMA synchronous`: OFF, NORMAL, FULL or EXTRA.
    pub synchronous: String,
    /// `PRAGMA journal_mode`: WAL, DELETE, TRUNCATE, PERSIST or MEMORY.
    pub journal_mode: String,
    /// How long a session waits for a lock, in milliseconds.
    pub busy_timeout_ms: u32,
    /// `PRAGMA cache_size` in KiB.
    pub cache_kib: u32,
}

impl SqliteTarget {
    /// Reads what stands after the scheme.
    pub fn parse(rest: &str) -> Result<Self, TargetProblem> {
        let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
        let path = percent_decode(path, "the path")?;
        if path.is_empty() || path.ends_with('/') {
            return problem("the sqlite target names no file", "write sqlite:FILE, for instance sqlite:bench.db");
        }
        if path.starts_with(":memory:") {
            return problem(
                "only one connection can use an SQLite database in memory",
                "name a file on a memory file system, for instance sqlite:/dev/shm/bench.db",
            );
        }
        let mut target = Self {
            path: PathBuf::from(path),
            synchronous: "FULL".to_owned(),
            journal_mode: "WAL".to_owned(),
            busy_timeout_ms: 60_000,
            cache_kib: 2_000,
        };
        for (key, value) in options_of(options, &OPTIONS)? {
            match key {
                "synchronous" => target.synchronous = one_of(key, &value.to_ascii_uppercase(), &SYNCHRONOUS)?,
                "journal_mode" => target.journal_mode = one_of(key, &value.to_ascii_uppercase(), &JOURNAL_MODES)?,
                "busy_timeout" => target.busy_timeout_ms = milliseconds(key, &value, 0)?,
                _ => target.cache_kib = kibibytes(key, &value)?,
            }
        }
        Ok(target)
    }
}

impl Target for SqliteTarget {
    fn dialect(&self) -> &'static dyn Dialect {
        &SqliteDialect
    }

    fn lease_file(&self) -> Option<PathBuf> {
        Some(file::lease(&self.path))
    }

    fn scheme(&self) -> &'static str {
        "sqlite"
    }

    fn address(&self) -> String {
        let path = percent_encode(&self.path.to_string_lossy(), "?%");
        let mut options = Vec::new();
        let mut add = |differs: bool, text: String| options.extend(differs.then_some(text));
        add(self.synchronous != "FULL", format!("synchronous={}", self.synchronous));
        add(self.journal_mode != "WAL", format!("journal_mode={}", self.journal_mode));
        add(self.busy_timeout_ms != 60_000, format!("busy_timeout={}ms", self.busy_timeout_ms));
        add(self.cache_kib != 2_000, format!("cache={}KiB", self.cache_kib));
        with_options(format!("sqlite:{path}"), &options)
    }

    /// A file beside it: `a.db` becomes `a-name.db`.
    fn with_database(&self, name: &str) -> Box<dyn Target> {
        Box::new(Self { path: file::beside(&self.path, name), ..self.clone() })
    }

    fn copied(&self) -> Box<dyn Target> {
        Box::new(self.clone())
    }

    fn label(&self) -> String {
        file::stem(&self.path)
    }

    /// Each connection has a thread of its own, and opens the file and its log.
    fn descriptors(&self, connections: u32, threads: u32) -> u64 {
        let more_threads = connections.saturating_sub(threads) * PER_THREAD;
        u64::from(connections) * 2 + u64::from(more_threads)
    }

    fn described(&self) -> String {
        format!("the SQLite database {}", self.path.display())
    }
}
