//! What a running study does right now, as lines of JSON in a file beside its records: for `perbuck serve`.
//!
//! The file is only appended to while a run goes on, and the next one starts it again. It decides nothing, so a disk that refuses it
//! stops no measurement.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use perbuck_core::plan::TrialKey;
use perbuck_core::printable::printable_json;
use perbuck_core::run_record::Interval;
use serde::{Deserialize, Serialize};

use crate::folder;

/// Its name in the results folder.
pub const LIVE_FILE: &str = "live.jsonl";

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// When it was written, milliseconds since 1970 UTC.
    pub at_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The run began: trials of the study, and how many were on disk.
    Began {
        /// Planned.
        trials: usize,
        /// There already.
        on_disk: usize,
    },
    /// Work that is no trial: a load, a check.
    Doing {
        /// In words.
        text: String,
    },
    /// A second of a trial.
    Second {
        /// Which trial.
        trial: TrialKey,
        /// Its position in the plan, from 1.
        position: usize,
        /// Time that the run still takes, about.
        left_s: u64,
        /// The second.
        second: Interval,
    },
    /// A trial is over and on disk.
    Done {
        /// Which trial.
        trial: TrialKey,
        /// Its value with its unit.
        #[serde(alias = "figure")]
        value: String,
    },
    /// The run is over.
    Ended,
}

pub(crate) struct Live {
    file: Option<File>,
}

impl Live {
    /// Starts the file of a results folder again.
    pub(crate) fn new(root: &Path) -> Self {
        Self { file: folder::create(&root.join(LIVE_FILE)).ok() }
    }

    /// Adds a line, in one write, so that a reader sees whole lines.
    pub(crate) fn say(&mut self, event: Event) {
        let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
        let line = serde_json::to_string(&Line { at_ms, event });
        if let (Some(file), Ok(line)) = (&mut self.file, line)
            && file.write_all((printable_json(&line).into_owned() + "\n").as_bytes()).is_err()
        {
            self.file = None;
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.say(Event::Ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let (contender, workload) = ("a".to_owned(), "w".to_owned());
        let trial = TrialKey { contender, workload, connections: 1, rate_per_s: None, deployment: None, trial: 2 };
        let second = Interval { transactions: 5, ..Interval::default() };
        let second = Event::Second { trial, position: 3, left_s: 60, second };
        let mut live = Live::new(folder.path());
        live.say(Event::Began { trials: 4, on_disk: 0 });
        live.say(second.clone());
        drop(live);
        let text = std::fs::read_to_string(folder.path().join(LIVE_FILE)).unwrap();
        let events: Vec<Event> = text.lines().map(|l| serde_json::from_str::<Line>(l).unwrap().event).collect();
        assert_eq!(events, [Event::Began { trials: 4, on_disk: 0 }, second, Event::Ended]);
    }

    #[test]
    fn a_folder_that_is_gone_stops_nothing() {
        Live::new(Path::new("/nowhere/at/all")).say(Event::Began { trials: 1, on_disk: 0 });
    }
}
