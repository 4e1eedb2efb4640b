//! What a running study does right now, as lines of JSON in a file beside its records: for `perbuck serve`.
//!
//! The file is only appended to while a run goes on, and begun anew by the next one. Nothing reads it to decide
//! anything, so a disk that refuses it stops no measurement.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::{Interval, RunRecord};
use serde::{Deserialize, Serialize};

use crate::progress::Progress;

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
    /// Something besides trials: a load, a check.
    Doing {
        /// In words.
        text: String,
    },
    /// A second of a trial.
    Second {
        /// Which trial.
        trial: TrialKey,
        /// Its place in the plan, from 1.
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
        /// Its figure with its unit.
        figure: String,
    },
    /// The run is over.
    Ended,
}

/// The file of a run.
#[derive(Debug)]
pub struct Live {
    file: Option<File>,
}

impl Live {
    /// Begins the file of a results folder anew.
    pub fn begin(root: &Path) -> Self {
        Self { file: File::create(root.join(LIVE_FILE)).ok() }
    }

    /// Adds a line, in one write, so that a reader sees whole lines.
    pub fn say(&mut self, event: Event) {
        let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
        let line = serde_json::to_string(&Line { at_ms, event });
        if let (Some(file), Ok(line)) = (&mut self.file, line)
            && file.write_all((line + "\n").as_bytes()).is_err()
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

/// How long a run still takes: what is planned, and what trials took beside it so far.
#[derive(Debug)]
pub struct Left {
    trial: Duration,
    beside: Duration,
    over: u32,
}

impl Left {
    /// For trials of this planned length.
    pub fn new(trial: Duration) -> Self {
        Self { trial, beside: Duration::ZERO, over: 0 }
    }

    /// A trial is over that took so long with all that came before and after it.
    pub fn over(&mut self, took: Duration) {
        self.beside += took.saturating_sub(self.trial);
        self.over += 1;
    }

    /// The time for so many trials, the first of which has been running for `since`.
    pub fn left(&self, trials: usize, since: Duration) -> Duration {
        let each = self.trial + self.beside / self.over.max(1);
        (each * trials as u32).saturating_sub(since)
    }
}

/// What a run is seen by: the terminal, the live file, and the time that it still takes.
pub struct Display<'a> {
    /// The terminal.
    pub progress: &'a mut dyn Progress,
    /// The file.
    pub live: &'a mut Live,
    /// The time.
    pub time: &'a mut Left,
}

impl Display<'_> {
    /// A trial is on disk, with this figure, and took so long with all that belongs to it.
    pub fn over(&mut self, record: &RunRecord, figure: &str, took: Duration) {
        self.time.over(took);
        let figure = format!("{figure} {}", record.workload.metric.metric().label);
        self.live.say(Event::Done { trial: record.key.clone(), figure });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let trial = TrialKey {
            contender: "a".into(),
            workload: "w".into(),
            connections: 1,
            rate_per_s: None,
            deployment: None,
            trial: 2,
        };
        let second =
            Event::Second { trial, position: 3, left_s: 60, second: Interval { transactions: 5, ..Interval::default() } };
        let mut live = Live::begin(folder.path());
        live.say(Event::Began { trials: 4, on_disk: 0 });
        live.say(second.clone());
        drop(live);
        let text = std::fs::read_to_string(folder.path().join(LIVE_FILE)).unwrap();
        let lines: Vec<Line> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(
            lines.iter().map(|l| l.event.clone()).collect::<Vec<_>>(),
            [Event::Began { trials: 4, on_disk: 0 }, second, Event::Ended]
        );
    }

    #[test]
    fn a_folder_that_is_gone_stops_nothing() {
        Live::begin(Path::new("/nowhere/at/all")).say(Event::Began { trials: 1, on_disk: 0 });
    }

    #[test]
    fn time_left_counts_what_trials_take_beside_their_window() {
        let s = Duration::from_secs;
        let mut left = Left::new(s(10));
        assert_eq!(left.left(3, s(4)), s(26));
        left.over(s(14));
        assert_eq!(left.left(2, s(0)), s(28));
        assert_eq!(left.left(1, s(60)), s(0));
    }
}
