//! What the lists show of a study: a line of each trial, and its answer. Read from the records once, and again when a file has changed.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use perbuck_core::parallel::in_parallel;
use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::Flag;
use perbuck_lab::facts::{Machine, machines};
use perbuck_lab::results::{self, Basis};
use perbuck_lab::store::{PRICES_FILE, STUDY_FILE};
use perbuck_lab::stored::read_record;
use perbuck_report::document::Answer;

use super::find::Found;

/// A study as the lists show it.
pub(super) struct Summary {
    /// Its trials in the order of their paths.
    pub(super) trials: Vec<Trial>,
    /// Its answer; `Err` says why there is none.
    pub(super) answer: Result<Answer, String>,
}

/// A trial in a list.
#[derive(Debug, Clone)]
pub(super) struct Trial {
    /// The path of its record below the folder.
    pub(super) path: String,
    pub(super) key: TrialKey,
    /// The value of its metric, and what that is called.
    pub(super) value: f64,
    pub(super) unit: String,
    pub(super) p95_ns: Option<u64>,
    pub(super) flags: Vec<String>,
    /// A hash of the facts of its machines.
    pub(super) machines: u64,
}

/// The summaries of all studies that were shown, with a hash of the files that each was made from.
#[derive(Default)]
pub(super) struct Summaries(Mutex<HashMap<PathBuf, (u64, Arc<Summary>)>>);

impl Summaries {
    /// The summary of a study as its files are now.
    pub(super) fn of(&self, f: &Found) -> Arc<Summary> {
        let records = f.records();
        let now = state_of(f, &records);
        let known =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&f.folder).filter(|(then, _)| *then == now).cloned();
        if let Some((_, summary)) = known {
            return summary;
        }
        // Without the lock: other studies are shown meanwhile.
        let made = Arc::new(made(f, &records));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(f.folder.clone(), (now, Arc::clone(&made)));
        made
    }
}

/// The same for the same machines while this program runs.
pub(super) fn hash_of(machines: &[Machine]) -> u64 {
    let mut hasher = DefaultHasher::new();
    machines.hash(&mut hasher);
    hasher.finish()
}

/// A hash of names, sizes and times of the files.
fn state_of(f: &Found, records: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for name in records.iter().map(String::as_str).chain([STUDY_FILE, PRICES_FILE]) {
        let facts = std::fs::symlink_metadata(f.folder.join(name)).ok();
        (name, facts.as_ref().map(std::fs::Metadata::len), facts.and_then(|m| m.modified().ok())).hash(&mut hasher);
    }
    hasher.finish()
}

fn made(f: &Found, records: &[String]) -> Summary {
    // A record that cannot be read is named by the answer, which is made from all of them.
    let Ok(trials) = in_parallel(records, |path| Ok::<_, Infallible>(trial(f, path)));
    let answer = match results::read(&f.folder, &Basis::default()) {
        Ok(results) => Ok(results.model().brief.answer),
        Err(error) => Err(error.words().0.to_owned()),
    };
    Summary { trials: trials.into_iter().flatten().collect(), answer }
}

fn trial(f: &Found, path: &str) -> Option<Trial> {
    let record = read_record(&f.folder.join(path)).ok()?;
    let metric = record.workload.metric.metric();
    Some(Trial {
        path: path.to_owned(),
        value: record.metric(metric),
        unit: metric.label.to_string(),
        p95_ns: record.latency().ok().and_then(|latency| latency.percentile_ns(95.0)),
        flags: record.flags.iter().map(Flag::text).collect(),
        machines: hash_of(&machines(&record)),
        key: record.key,
    })
}
