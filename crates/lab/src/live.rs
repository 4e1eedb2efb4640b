//! What a running study does right now, as lines of JSON in a file beside its records: for `perbuck serve` and `--metrics`.
//!
//! The file is only appended to while a run goes on, and the next one starts it again. It decides nothing, so a disk that refuses it
//! stops no measurement.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use perbuck_core::bill::Bill;
use perbuck_core::buckets::Buckets;
use perbuck_core::plan::TrialKey;
use perbuck_core::printable::printable_json;
use perbuck_core::run_record::Interval;
use perbuck_load::error::ErrorClass;
use perbuck_load::recorder::Second;
use perbuck_observe::CpuTime;
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
        /// What the contenders cost; empty in a study without prices.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prices: Vec<Price>,
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
        /// What was counted in it; `None` in files of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counts: Option<Counts>,
    },
    /// Workers of a trial have ended: what no second of it had.
    Rest {
        /// Which trial.
        trial: TrialKey,
        /// What they counted.
        counts: Counts,
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

/// What a contender costs by one of its bills.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// The contender.
    pub contender: String,
    /// The region of the bill.
    pub region: String,
    /// US dollars an hour: the month's sum by the hours of a month.
    pub dollars_per_hour: f64,
}

impl Price {
    /// Of a bill.
    pub(crate) fn of(bill: &Bill) -> Self {
        let dollars_per_hour = bill.monthly().0 as f64 / 1e6 / f64::from(bill.hours_per_month.max(1));
        Self { contender: bill.contender.clone(), region: bill.region.clone(), dollars_per_hour }
    }
}

/// What a second of a trial adds to what the run has counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Transactions completed.
    pub transactions: u64,
    /// Transactions given up.
    pub failed: u64,
    /// Statements of the transactions that ended.
    pub statements: u64,
    /// Attempts beyond the first.
    pub retries: u64,
    /// Errors by class, those that occurred.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Connections opened again.
    pub reconnects: u64,
    /// Transactions in flight at its end; in closed loop the connections.
    pub in_flight: u64,
    /// Service time of the completed transactions, in open loop response time.
    pub latency: Buckets,
    /// CPU time of perbuck since the line before; `None` where agents apply the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientCpu>,
}

/// CPU time of the client's process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientCpu {
    /// In user mode, nanoseconds.
    pub user_ns: u64,
    /// In the kernel, nanoseconds.
    pub system_ns: u64,
}

impl Counts {
    /// What the workers saw in a second.
    pub(crate) fn of(second: &Second) -> Self {
        let errors = ErrorClass::ALL.iter().zip(second.by_class).filter(|(_, count)| *count > 0);
        Self {
            transactions: second.transactions,
            failed: second.failed,
            statements: second.counts.total(),
            retries: second.retries,
            errors: errors.map(|(class, count)| (class.word().to_owned(), count)).collect(),
            reconnects: second.reconnects,
            in_flight: 0,
            latency: Buckets::of(&second.latency),
            client: None,
        }
    }
}

pub(crate) struct Live {
    file: Option<File>,
    /// CPU time of this process as it was last told.
    cpu: CpuTime,
}

impl Live {
    /// Starts the file of a results folder again.
    pub(crate) fn new(root: &Path) -> Self {
        Self { file: folder::create(&root.join(LIVE_FILE)).ok(), cpu: perbuck_observe::own_cpu() }
    }

    /// CPU time of this process since this was last asked.
    pub(crate) fn cpu(&mut self) -> ClientCpu {
        let before = std::mem::replace(&mut self.cpu, perbuck_observe::own_cpu());
        let CpuTime { user_ns, system_ns } = self.cpu.minus(before);
        ClientCpu { user_ns, system_ns }
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
        let counts = Counts::of(&Second { transactions: 5, by_class: [0, 0, 2, 0, 0], ..Second::default() });
        assert_eq!(counts.errors, BTreeMap::from([("lost".to_owned(), 2)]));
        let counts = Some(Counts { latency: Buckets { exponential: vec![(-3, 5)], ..Buckets::default() }, ..counts });
        let second = Event::Second { trial, position: 3, left_s: 60, second, counts };
        let mut live = Live::new(folder.path());
        live.say(Event::Began { trials: 4, on_disk: 0, prices: Vec::new() });
        live.say(second.clone());
        drop(live);
        let text = std::fs::read_to_string(folder.path().join(LIVE_FILE)).unwrap();
        let events: Vec<Event> = text.lines().map(|l| serde_json::from_str::<Line>(l).unwrap().event).collect();
        assert_eq!(events, [Event::Began { trials: 4, on_disk: 0, prices: Vec::new() }, second, Event::Ended]);
    }

    #[test]
    fn a_folder_that_is_gone_stops_nothing() {
        Live::new(Path::new("/nowhere/at/all")).say(Event::Began { trials: 1, on_disk: 0, prices: Vec::new() });
    }
}
