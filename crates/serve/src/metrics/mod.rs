//! Metrics of studies for Prometheus, from their live files.
//!
//! A counter grows as long as this process runs, over all runs of a study that it has followed.

mod counted;
mod families;
mod follower;
mod listener;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use perbuck_exposition::Format;

use crate::http::{Answer, Request};
use families::Shown;
use follower::Follower;

pub use listener::Listener;

/// Studies at most whose metrics are shown.
const MOST_STUDIES: usize = 1000;

/// A study whose metrics are wanted.
pub(crate) struct Wanted {
    /// What its label says.
    pub(crate) study: String,
    pub(crate) folder: PathBuf,
    /// Trials that it plans and that are on disk, where the live file does not say.
    pub(crate) trials: Option<(u64, u64)>,
}

/// The live files that are followed, by folder.
#[derive(Default)]
pub(crate) struct Metrics(Mutex<BTreeMap<PathBuf, Follower>>);

impl Metrics {
    /// For a study that will run: what earlier runs have counted is not shown.
    pub(crate) fn of_run(folder: &Path) -> Self {
        Self(Mutex::new(BTreeMap::from([(folder.to_owned(), Follower::after(folder))])))
    }

    /// The answer to a scrape.
    pub(crate) fn answer(&self, wanted: &[Wanted], request: &Request) -> Answer {
        let mut followers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        followers.retain(|folder, _| wanted.iter().any(|w| w.folder == *folder));
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
        for Wanted { folder, .. } in wanted.iter().take(MOST_STUDIES) {
            followers.entry(folder.clone()).or_default().read(folder);
        }
        let shown: Vec<Shown<'_>> = wanted
            .iter()
            .filter_map(|w| {
                Some(Shown { study: &w.study, trials: w.trials, counted: &followers.get(&w.folder)?.counted, now_ms })
            })
            .collect();
        let format = Format::of(&request.accept);
        Answer { status: 200, kind: format.content_type(), body: vec![format.write(&families::of(&shown))] }
    }
}
