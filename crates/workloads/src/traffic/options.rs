//! The options of recorded traffic.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use perbuck_core::study::Scalar;
use perbuck_core::units::Seed;
use perbuck_core::workload_kind::{Streams, WorkloadKind, file_text};
use perbuck_database::Dialect;
use perbuck_load::workload::Dataset;

use super::deal::Choice;
use super::recording::Recording;
use super::registration::KIND;
use super::summary::{OfDatabase, Summary};
use super::workload::Traffic;
use crate::benchmark::{Benchmark, DataSize, speaks_sql};
use crate::params::{Reader, other_data, put};
use crate::script::MadeTables;

/// Recordings that this process has read, by their fingerprints: a study names them, and holds none.
static KEPT: Mutex<BTreeMap<String, Arc<Recording>>> = Mutex::new(BTreeMap::new());

/// Keeps a recording for the workloads that its summary is given to.
pub fn keep(recording: Recording) {
    let fingerprint = recording.summary.fingerprint.clone();
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).insert(fingerprint, Arc::new(recording));
}

/// Traffic that is replayed.
#[derive(Debug, Clone)]
pub struct Options {
    log: String,
    summary: Summary,
    /// Of which database.
    database: String,
    /// How many times as fast as recorded; `None` is as fast as it goes.
    speed: Option<f64>,
    reads_only: bool,
    /// What makes the tables.
    tables: MadeTables,
}

impl Options {
    fn told(&self) -> OfDatabase {
        self.summary.databases.get(&self.database).cloned().unwrap_or_default()
    }

    /// One for the most sessions at a time.
    pub(super) fn streams(&self) -> Streams {
        // As fast as it goes is without a schedule.
        let (told, speed) = (self.told(), self.speed.unwrap_or(f64::INFINITY));
        Streams { default: told.at_once.clamp(1, 10_000), schedule_ns: (told.length_us as f64 * 1e3 / speed) as u64 }
    }

    /// Whether anything that is replayed may write.
    pub(super) fn writes(&self) -> bool {
        self.told().writes && !self.reads_only
    }

    fn choice(&self) -> Choice {
        let position = self.summary.databases.keys().position(|name| *name == self.database).unwrap_or(0);
        Choice { database: position as u16, reads_only: self.reads_only, speed: self.speed }
    }
}

impl Benchmark for Options {
    type Workload = Traffic;

    fn kind() -> &'static WorkloadKind {
        &KIND
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        let log = reader.text("log");
        if log.is_empty() && !reader.has("log") {
            reader.problem("kind", "recorded traffic needs its `log`", "write for instance `log = \"server.csv\"`");
        }
        let summary = match reader.attached(&file_text(&log)).map(Summary::read) {
            Some(None) => {
                reader.problem("log", format!("the summary of `{log}` in the study cannot be read"), "take it out of `[files]`");
                None
            }
            read => read.flatten(),
        };
        let speed = speed(reader);
        let format = reader.text("format");
        if !matches!(&*format, "" | "auto") && super::Format::named(&format).is_none() {
            reader.problem(
                "format",
                format!("there is no format \"{format}\""),
                format!("use \"auto\" or one of {}", super::format::words()),
            );
        }
        let (reads_only, asked) = (reader.switch("reads_only"), reader.text("recorded_database"));
        let summary = summary.unwrap_or_default();
        let names: Vec<&str> = summary.databases.keys().map(String::as_str).collect();
        let database = match &names[..] {
            // The log is not there, which is told elsewhere.
            [] => asked,
            [only] if asked.is_empty() => (*only).to_owned(),
            names if names.contains(&&*asked) && !asked.is_empty() => asked,
            names => {
                let message = if asked.is_empty() {
                    format!("the log has sessions of {} databases", names.len())
                } else {
                    format!("the log has no session of database \"{asked}\"")
                };
                reader.problem(
                    if asked.is_empty() { "log" } else { "recorded_database" },
                    message,
                    format!("choose by `recorded_database` one of {}", names.join(", ")),
                );
                String::new()
            }
        };
        Self { log, summary, database, speed, reads_only, tables: MadeTables::read(reader) }
    }

    fn dataset(&self, dialect: &'static dyn Dialect, seed: Seed) -> Arc<dyn Dataset> {
        self.tables.dataset(dialect, seed, self.writes())
    }

    fn workload(&self, _dialect: &'static dyn Dialect, _seed: Seed) -> Traffic {
        let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).get(&self.summary.fingerprint).cloned();
        Traffic::new(kept, self.choice(), self.writes(), &self.log)
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        let mut all = self.tables.parameters();
        put(&mut all, "log", &format!("{} {}", self.log, self.summary.fingerprint));
        put(&mut all, "format", &self.summary.format);
        put(&mut all, "speed", &self.speed.map_or_else(|| "max".to_owned(), |speed| speed.to_string()));
        put(&mut all, "reads_only", &self.reads_only);
        put(&mut all, "recorded_database", &self.database);
        put(&mut all, "recorded", &self.told());
        for (what, noted) in &self.summary.noted {
            put(&mut all, what, &noted.count);
        }
        all
    }

    fn conflict(&self, other: &dyn Benchmark) -> Option<String> {
        other_data(&self.tables.parameters(), &other.options::<Self>()?.tables.parameters())
    }

    fn refusal(&self, dialect: &dyn Dialect) -> Option<(String, String)> {
        speaks_sql(dialect)
    }

    fn size(&self) -> DataSize {
        self.tables.size(self.writes())
    }

    fn told(&self) -> Vec<String> {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let Summary { format, read_bytes, memory_bytes, .. } = &self.summary;
        let first = format!(
            "{} ({format}, {:.1} MB; {:.1} MB in memory): {}",
            self.log,
            megabytes(*read_bytes),
            megabytes(*memory_bytes),
            Self::told(self)
        );
        std::iter::once(first).chain(self.summary.notes()).collect()
    }
}

/// The speed: a number, or `max`.
fn speed(reader: &mut Reader<'_>) -> Option<f64> {
    let given = reader.scalar("speed").cloned();
    let speed = match &given {
        None => return Some(1.0),
        Some(Scalar::Text(text)) if text == "max" => return None,
        Some(Scalar::Text(text)) => text.parse().unwrap_or(f64::NAN),
        Some(Scalar::Int(speed)) => *speed as f64,
        Some(Scalar::Float(speed)) => *speed,
        Some(_) => f64::NAN,
    };
    if !(0.001..=1000.0).contains(&speed) {
        reader.problem("speed", "`speed` is no number from 0.001 to 1000", "write for instance `speed = 2.0`, or \"max\"");
        return Some(1.0);
    }
    Some(speed)
}
