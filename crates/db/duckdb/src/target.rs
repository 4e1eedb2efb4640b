//! `duckdb:PATH?memory_limit=4GiB&threads=2`.

use std::path::PathBuf;

use perbuck_database::address::{TargetProblem, options_of, percent_decode, percent_encode, problem, with_options};
use perbuck_database::registry::PER_THREAD;
use perbuck_database::{Dialect, Target, file};

use crate::dialect::DuckdbDialect;

const OPTIONS: [&str; 5] = ["memory_limit", "threads", "checkpoint_threshold", "temp_directory", "library"];
/// Units of sizes that DuckDB takes; those with an `i` are powers of 1024.
const UNITS: [&str; 8] = ["KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"];
const THREADS_MAX: u32 = 4096;

/// A DuckDB file and the settings that it is opened with. What is `None` is DuckDB's default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DuckdbTarget {
    /// The database file.
    pub path: PathBuf,
    /// Memory for blocks, intermediate results and all else, such as `4GiB`; DuckDB's default is 80 % of the machine's.
    pub memory_limit: Option<String>,
    /// Threads that execute statements, beside those of the sessions; DuckDB's default is one for each processor.
    pub threads: Option<u32>,
    /// Size of the write-ahead log at which a commit writes its changes into the file, such as `16MiB`.
    pub checkpoint_threshold: Option<String>,
    /// The folder for intermediate results that exceed the memory.
    pub temp_directory: Option<PathBuf>,
    /// `libduckdb.so`.
    pub library: Option<PathBuf>,
}

impl DuckdbTarget {
    /// Reads what stands after the scheme.
    pub fn parse(rest: &str) -> Result<Self, TargetProblem> {
        let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
        // `duckdb:///a/b.db` and `duckdb:/a/b.db` name the same file.
        let path = percent_decode(path.strip_prefix("//").unwrap_or(path), "the path")?;
        if path.is_empty() || path.ends_with('/') {
            return problem("the duckdb target names no file", "write duckdb:FILE, for instance duckdb:bench.duckdb");
        }
        if path.starts_with(":memory:") {
            return problem(
                "a DuckDB database in memory is gone when its last connection closes",
                "name a file on a memory file system, for instance duckdb:/dev/shm/bench.duckdb",
            );
        }
        let mut target = Self { path: PathBuf::from(path), ..Self::default() };
        for (key, value) in options_of(options, &OPTIONS)? {
            match key {
                "memory_limit" => target.memory_limit = Some(size(key, &value)?),
                "threads" => target.threads = Some(threads(&value)?),
                "checkpoint_threshold" => target.checkpoint_threshold = Some(size(key, &value)?),
                "temp_directory" => target.temp_directory = Some(named(key, &value)?),
                _ => target.library = Some(named(key, &value)?),
            }
        }
        Ok(target)
    }

    /// The settings by their names in DuckDB.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        let all = [
            ("memory_limit", self.memory_limit.clone()),
            ("threads", self.threads.map(|n| n.to_string())),
            ("checkpoint_threshold", self.checkpoint_threshold.clone()),
            ("temp_directory", self.temp_directory.as_ref().map(text)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// A size in DuckDB's words.
fn size(key: &str, value: &str) -> Result<String, TargetProblem> {
    let number = UNITS.iter().find_map(|unit| value.strip_suffix(unit));
    match number.and_then(|number| number.trim_end().parse::<f64>().ok()) {
        Some(number) if number > 0.0 && number.is_finite() => Ok(value.to_owned()),
        _ => problem(format!("`{key}`: `{value}` is not a size"), "write a size such as `4GiB`"),
    }
}

fn threads(value: &str) -> Result<u32, TargetProblem> {
    match value.parse() {
        Ok(number) if (1..=THREADS_MAX).contains(&number) => Ok(number),
        _ => problem(format!("`threads`: `{value}` is out of range"), format!("write a number from 1 to {THREADS_MAX}")),
    }
}

fn named(key: &str, value: &str) -> Result<PathBuf, TargetProblem> {
    if value.is_empty() {
        problem(format!("`{key}` is empty"), "write a path, or leave it out")
    } else {
        Ok(PathBuf::from(value))
    }
}

impl Target for DuckdbTarget {
    fn dialect(&self) -> &'static dyn Dialect {
        &DuckdbDialect
    }

    fn lease_file(&self) -> Option<PathBuf> {
        Some(file::lease(&self.path))
    }

    fn scheme(&self) -> &'static str {
        "duckdb"
    }

    fn address(&self) -> String {
        let path = percent_encode(&self.path.to_string_lossy(), "?%");
        let library = self.library.as_ref().map(|library| ("library", library.to_string_lossy().into_owned()));
        let option = |(name, value): (&str, String)| format!("{name}={}", percent_encode(&value, "&%"));
        let options: Vec<String> = self.settings().into_iter().chain(library).map(option).collect();
        with_options(format!("duckdb:{path}"), &options)
    }

    /// A file beside it: `a.duckdb` becomes `a-name.duckdb`.
    fn with_database(&self, name: &str) -> Box<dyn Target> {
        Box::new(Self { path: file::beside(&self.path, name), ..self.clone() })
    }

    fn copied(&self) -> Box<dyn Target> {
        Box::new(self.clone())
    }

    fn label(&self) -> String {
        file::stem(&self.path)
    }

    /// The file and its log, which all connections share; each of these has a thread of its own.
    fn descriptors(&self, connections: u32, threads: u32) -> u64 {
        2 + u64::from(connections.saturating_sub(threads) * PER_THREAD)
    }

    fn described(&self) -> String {
        format!("the DuckDB database {}", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(rest: &str) -> DuckdbTarget {
        DuckdbTarget::parse(rest).unwrap()
    }

    #[test]
    fn an_address_comes_back_the_same() {
        for (rest, address) in [
            ("a.duckdb", "duckdb:a.duckdb"),
            ("///x/a.db", "duckdb:/x/a.db"),
            ("//rel/a.db", "duckdb:rel/a.db"),
            ("a%3Fb%25.db?threads=2", "duckdb:a%3Fb%25.db?threads=2"),
            (
                "/a.db?library=/l/libduckdb.so&threads=3&memory_limit=1.5GiB&checkpoint_threshold=64MB&temp_directory=/t%26u",
                "duckdb:/a.db?memory_limit=1.5GiB&threads=3&checkpoint_threshold=64MB&temp_directory=/t%26u&library=/l/libduckdb.so",
            ),
        ] {
            let target = parsed(rest);
            assert_eq!(target.address(), address);
            assert_eq!(parsed(&address["duckdb:".len()..]), target, "{address}");
        }
        let target = parsed("d/a.db?threads=2");
        assert_eq!(target.with_database("x").address(), "duckdb:d/a-x.db?threads=2");
        assert_eq!((target.label(), target.lease_file()), ("a".to_owned(), Some(PathBuf::from("d/a.db.perbuck-lease"))));
    }

    #[test]
    fn wrong_options_are_refused() {
        for rest in [
            "",
            "/tmp/",
            ":memory:",
            "//",
            "a.db?threads=0",
            "a.db?threads=x",
            "a.db?memory_limit=80%25",
            "a.db?memory_limit=-1GB",
            "a.db?memory_limit=5",
            "a.db?library=",
            "a.db?cache=1GB",
            "a.db?checkpoint_threshold=infGB",
        ] {
            assert!(DuckdbTarget::parse(rest).is_err(), "{rest}");
        }
    }
}
