//! What is told of a recording: it stands in a study in place of, and holds no text of a statement.

use std::collections::BTreeMap;
use std::fmt;

use perbuck_core::units::thousands;
use serde::{Deserialize, Serialize};

use super::recording::{KINDS, NONE, Session};

/// What is told of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// The format of the log.
    pub format: String,
    /// Another one is another recording.
    pub fingerprint: String,
    /// Its databases by name, in the order of names.
    pub databases: BTreeMap<String, OfDatabase>,
    /// What is not replayed, and what else was found, by kind.
    pub noted: BTreeMap<String, Noted>,
    /// Bytes of the log.
    pub read_bytes: u64,
    /// Bytes of memory that the recording takes.
    pub memory_bytes: u64,
}

/// What is told of the sessions in one database.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfDatabase {
    /// Sessions that sent statements.
    pub sessions: u64,
    /// The most sessions at a time.
    pub at_once: u32,
    /// Transactions by kind.
    pub transactions: BTreeMap<String, u64>,
    /// Statements of these.
    pub statements: u64,
    /// Those of them of which the log has a row count.
    pub with_rows: u64,
    /// From the first to the last statement, in microseconds.
    pub length_us: u64,
    /// Whether statements outside of transactions, or within, may write.
    pub writes: bool,
}

/// What was found in a log, so often.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noted {
    /// How often.
    pub count: u64,
    /// File and line of the first one, where it has a line.
    pub first: String,
}

impl Summary {
    /// As it stands in a study.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Reads such a text; `None` where it is none.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Lines of what was noted, such as `12 COPY left out, the first at a.csv:7`.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.noted.iter().map(|(what, noted)| {
            let first = if noted.first.is_empty() { String::new() } else { format!(", the first at {}", noted.first) };
            format!("{} {what}{first}", thousands(noted.count))
        })
    }
}

impl OfDatabase {
    /// All transactions.
    pub fn all(&self) -> u64 {
        self.transactions.values().sum()
    }
}

impl fmt::Display for OfDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.length_us as f64 / 1e6;
        write!(
            f,
            "{} transactions of {} statements in {} sessions, at most {} at once, over {seconds:.1} s",
            thousands(self.all()),
            thousands(self.statements),
            thousands(self.sessions),
            self.at_once
        )
    }
}

/// The position of each database among those that are told of, and what is told of each.
pub(super) fn databases(names: &[String], sessions: &[Session]) -> (Vec<u16>, BTreeMap<String, OfDatabase>) {
    let of = |(position, name): (usize, &String)| {
        let mine: Vec<&Session> = sessions.iter().filter(|s| usize::from(s.database) == position).collect();
        (name.clone(), of_database(&mine))
    };
    // What one did that is left out makes no session.
    let all: BTreeMap<String, OfDatabase> = names.iter().enumerate().map(of).filter(|(_, of)| of.sessions > 0).collect();
    let position = |name: &String| all.keys().position(|known| known == name).map_or(u16::MAX, |at| at as u16);
    (names.iter().map(position).collect(), all)
}

fn of_database(sessions: &[&Session]) -> OfDatabase {
    let mut told = OfDatabase { sessions: sessions.len() as u64, ..OfDatabase::default() };
    let (mut edges, mut first, mut last) = (Vec::new(), i64::MAX, i64::MIN);
    for session in sessions {
        let Some(start) = session.transactions.first() else { continue };
        edges.extend([(start.due_us, 1), (session.ended_us.max(start.due_us) + 1, -1)]);
        (first, last) = (first.min(start.due_us), last.max(session.ended_us));
        told.statements += session.steps.len() as u64;
        told.with_rows += session.steps.iter().filter(|step| step.rows != NONE).count() as u64;
        for transaction in &session.transactions {
            let kind = KINDS[usize::from(transaction.kind)];
            *told.transactions.entry(kind.to_owned()).or_default() += 1;
            told.writes |= transaction.writes;
        }
    }
    edges.sort_unstable();
    let (mut open, mut most) = (0_i64, 0_i64);
    for (_, change) in edges {
        open += change;
        most = most.max(open);
    }
    told.at_once = u32::try_from(most).unwrap_or(u32::MAX);
    told.length_us = u64::try_from(last.saturating_sub(first)).unwrap_or(0);
    told
}
