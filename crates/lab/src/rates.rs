//! How fast data were loaded before: by the loads of earlier studies in the same folder of results.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use perbuck_core::compare::{DataLoad, Stretch};
use perbuck_core::study::Contender;

use crate::error::LabError;
use crate::folder;
use crate::used::{self, USED_FILE};

/// Earlier studies that are read, the newest first.
const STUDIES: usize = 10;
/// A shorter load tells how long its beginning takes, and not how fast it is.
const SHORTEST_MS: u64 = 1_000;

/// Bytes and milliseconds of all loads, by target, kind of workload and kind of reset.
#[derive(Debug, Default)]
pub struct Rates(BTreeMap<(String, String, Option<String>), (u64, u64)>);

fn key(load: &DataLoad) -> (String, String, Option<String>) {
    (load.target.clone(), load.kind.clone(), load.reset.clone())
}

impl Rates {
    /// Those of a folder of results. What cannot be read tells nothing.
    pub fn of(results: &Path) -> Self {
        let mut rates = Self::default();
        for folder in newest(results, USED_FILE, STUDIES).unwrap_or_default() {
            let lines = used::text(&folder).ok().flatten().and_then(|text| Stretch::lines(&text).ok());
            let loads = lines.into_iter().flatten().filter(|stretch| stretch.took_ms >= SHORTEST_MS);
            for (load, took_ms) in loads.filter_map(|stretch| Some((stretch.load?, stretch.took_ms))) {
                rates.saw(&load, took_ms);
            }
        }
        rates
    }

    /// A load took so long.
    pub(crate) fn saw(&mut self, load: &DataLoad, took_ms: u64) {
        let known = self.0.entry(key(load)).or_default();
        *known = (known.0.saturating_add(load.bytes), known.1.saturating_add(took_ms));
    }

    /// Bytes of rows in a second, their check included; `None` where nothing was loaded yet.
    pub(crate) fn bytes_per_s(&self, load: &DataLoad) -> Option<f64> {
        let (bytes, ms) = self.0.get(&key(load))?;
        (*bytes > 0).then(|| *bytes as f64 * 1000.0 / *ms as f64)
    }
}

/// Where the data of a contender are.
pub(crate) fn target_of(contender: &Contender) -> String {
    match (&contender.target, &contender.server, &contender.deploy) {
        (Some(target), ..) => target.value.clone(),
        (None, Some(server), _) => format!("private {}", server.kind.value),
        (None, None, Some(deploy)) => format!("{} {}", deploy.provider.word(), deploy.kind.value),
        (None, None, None) => String::new(),
    }
}

/// The newest folders with that file.
pub(crate) fn newest(results: &Path, file: &str, most: usize) -> Result<Vec<PathBuf>, LabError> {
    let mut found: Vec<PathBuf> = folder::those_with(results, &[file])?;
    found.sort_by_cached_key(|folder| fs::metadata(folder.join(file)).and_then(|m| m.modified()).ok());
    Ok(found.into_iter().rev().take(most).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use perbuck_core::compare::Work;

    fn load(target: &str, bytes: u64) -> DataLoad {
        DataLoad { target: target.to_owned(), kind: "tpcc".to_owned(), bytes, reset: None }
    }

    #[test]
    fn loads_of_earlier_studies_tell_how_fast_a_target_takes_rows() {
        let results = tempfile::tempdir().unwrap();
        let stretch = |took_ms, load| Stretch { ended_unix_ms: 0, took_ms, work: Work::Loads, up: Vec::new(), load };
        let write = |study: &str, stretches: &[Stretch]| {
            let lines: String = stretches.iter().map(|s| serde_json::to_string(s).unwrap() + "\n").collect();
            fs::create_dir(results.path().join(study)).unwrap();
            fs::write(results.path().join(study).join(USED_FILE), lines).unwrap();
        };
        let (slow, fast) = (stretch(3_000, Some(load("private m", 10))), stretch(1_000, Some(load("private m", 70))));
        // Too short to tell, and no load at all.
        write("a", &[slow, stretch(999, Some(load("private m", 1_000))), stretch(5_000, None)]);
        let back = stretch(2_000, Some(load("private m", 80).reset("restored")));
        write("b", &[fast, back, stretch(2_000, Some(load("sqlite:x.db", 0)))]);
        fs::create_dir(results.path().join("c")).unwrap();
        fs::write(results.path().join("c").join(USED_FILE), "no line of it\n").unwrap();
        let rates = Rates::of(results.path());
        assert_eq!(rates.bytes_per_s(&load("private m", 1)), Some(20.0));
        assert_eq!(rates.bytes_per_s(&load("private m", 1).reset("restored")), Some(40.0));
        assert_eq!(rates.bytes_per_s(&load("private m", 1).reset("reloaded")), None);
        assert_eq!(rates.bytes_per_s(&load("private p", 1)), None);
        assert_eq!(rates.bytes_per_s(&load("sqlite:x.db", 1)), None);
        assert_eq!(rates.bytes_per_s(&DataLoad { kind: "ycsb".to_owned(), ..load("private m", 1) }), None);
        assert_eq!(Rates::of(&results.path().join("missing")).0.len(), 0);
    }
}
