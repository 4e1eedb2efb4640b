//! A recording: what each session of a log did, in its order. Texts that occur again are kept once.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use perbuck_load::statement::Verb;

use super::summary::Summary;

/// Kinds of transaction, as reports name them: what is no statement of its own has the two last.
pub(super) const KINDS: [&str; 7] = ["select", "insert", "update", "delete", "other", "read-only transaction", "transaction"];
/// The positions of the last two.
pub(super) const READS: u8 = 5;
pub(super) const WRITES: u8 = 6;

/// No values, or no row count.
pub(super) const NONE: u32 = u32::MAX;

/// Sessions with what they did.
#[derive(Debug, Default)]
pub struct Recording {
    pub(super) texts: Texts,
    /// Statements that were prepared, with `?` for each parameter; a number of them is that of the catalogue.
    pub(super) prepared: Vec<(String, Verb)>,
    /// How many values each of them has.
    pub(super) counts: Vec<u16>,
    pub(super) values: Values,
    pub(super) sessions: Vec<Session>,
    /// What is told of it.
    pub summary: Summary,
}

/// What one session did.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Position among the databases of the summary.
    pub(super) database: u16,
    pub(super) transactions: Vec<Transaction>,
    pub(super) steps: Vec<Step>,
    /// When its last statement was, in microseconds as `due_us`.
    pub(super) ended_us: i64,
}

/// A transaction, or a statement outside of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transaction {
    /// When its first statement was sent, in microseconds from the first statement of the recording.
    pub(super) due_us: i64,
    /// Position of its first step; it ends where the next one starts.
    pub(super) first: u32,
    pub(super) kind: u8,
    /// Whether any statement of it may write.
    pub(super) writes: bool,
    /// Whether it ended in ROLLBACK.
    pub(super) rolled_back: bool,
}

/// A statement of a transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) act: Act,
    pub(super) verb: Verb,
    /// Rows that it returned or changed; [`NONE`] where the log does not say.
    pub(super) rows: u32,
    /// When it was sent, in microseconds as `due_us`.
    pub(super) began_us: i64,
    /// How long it took then, in microseconds; [`NONE`] while that is not known.
    pub(super) took_us: u32,
    /// Whether others may see an effect of it: it changes or locks rows, or ends a transaction.
    pub(super) acts: bool,
    /// Whether the log has it where it ended, which is then what is known of its order.
    pub(super) at_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Begin,
    Commit,
    Rollback,
    /// A text, by its number.
    Text(u32),
    /// A prepared statement by its number, and where its values are.
    Prepared(u32, u32),
}

impl Step {
    /// When it had been answered.
    pub(super) fn ended_us(&self) -> i64 {
        self.began_us.saturating_add(if self.took_us == NONE { 0 } else { i64::from(self.took_us) })
    }

    /// Its position among the statements of all sessions, as a time.
    pub(super) fn order_us(&self) -> i64 {
        if self.at_end { self.ended_us() } else { self.began_us }
    }
}

impl Session {
    /// The steps of the transaction at this position.
    #[inline]
    pub(super) fn steps_of(&self, position: usize) -> &[Step] {
        let Some(transaction) = self.transactions.get(position) else { return &[] };
        let end = self.transactions.get(position + 1).map_or(self.steps.len(), |next| next.first as usize);
        self.steps.get(transaction.first as usize..end).unwrap_or_default()
    }
}

impl Recording {
    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> u64 {
        let prepared: usize = self.prepared.iter().map(|(sql, _)| sql.len() + 32).sum();
        let session = |s: &Session| s.transactions.capacity() * size_of::<Transaction>() + s.steps.capacity() * size_of::<Step>();
        let sessions: usize = self.sessions.iter().map(|s| session(s) + size_of::<Session>()).sum();
        (self.texts.bytes.capacity() + self.texts.ends.capacity() * 8 + self.values.0.capacity() + prepared + sessions) as u64
    }
}

/// Texts, each kept once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    bytes: String,
    ends: Vec<u64>,
}

impl Texts {
    /// The text of that number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &str {
        let number = number as usize;
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(number).copied().unwrap_or(start);
        self.bytes.get(start as usize..end as usize).unwrap_or_default()
    }
}

/// Finds texts that are there while a recording is made.
#[derive(Debug, Default)]
pub(super) struct Interner {
    pub(super) texts: Texts,
    known: HashMap<u64, u32>,
}

impl Interner {
    /// The number of a text that is there, or else the key that it gets.
    fn look(&self, text: &str) -> Result<u32, u64> {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let mut key = hasher.finish();
        loop {
            match self.known.get(&key) {
                Some(number) if self.texts.get(*number) == text => return Ok(*number),
                Some(_) => key = key.wrapping_add(1),
                None => return Err(key),
            }
        }
    }

    /// The number of a text that is there.
    pub(super) fn find(&self, text: &str) -> Option<u32> {
        self.look(text).ok()
    }

    /// The number of a text.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        let key = match self.look(text) {
            Ok(number) => return number,
            Err(key) => key,
        };
        let number = self.texts.ends.len() as u32;
        self.texts.bytes.push_str(text);
        self.texts.ends.push(self.texts.bytes.len() as u64);
        self.known.insert(key, number);
        number
    }
}

/// Values of prepared statements, one list after the other: of each its length in four bytes, or [`NONE`] for NULL, and its text.
#[derive(Debug, Default)]
pub(super) struct Values(Vec<u8>);

impl Values {
    /// Adds a list and says where it starts; `None` where there is no room for more.
    pub(super) fn add<'a>(&mut self, values: impl Iterator<Item = Option<&'a str>>) -> Option<u32> {
        let start = u32::try_from(self.0.len()).ok().filter(|start| *start != NONE)?;
        for value in values {
            match value {
                None => self.0.extend_from_slice(&NONE.to_le_bytes()),
                Some(text) => {
                    self.0.extend_from_slice(&(text.len() as u32).to_le_bytes());
                    self.0.extend_from_slice(text.as_bytes());
                }
            }
        }
        Some(start)
    }

    /// The values from there on, more than the statement has.
    pub(super) fn from(&self, start: u32) -> impl Iterator<Item = Option<&[u8]>> {
        let mut rest = self.0.get(start as usize..).unwrap_or_default();
        std::iter::from_fn(move || {
            let (length, after) = rest.split_first_chunk::<4>()?;
            let length = u32::from_le_bytes(*length);
            if length == NONE {
                rest = after;
                return Some(None);
            }
            let (value, after) = after.split_at_checked(length as usize)?;
            rest = after;
            Some(Some(value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_once_and_values_are_read_as_they_were_written() {
        let mut interner = Interner::default();
        let numbers: Vec<u32> = ["a", "", "bé", "a", ""].iter().map(|text| interner.number(text)).collect();
        assert_eq!(numbers, [0, 1, 2, 0, 1]);
        assert_eq!([0, 1, 2, 3].map(|number| interner.texts.get(number)), ["a", "", "bé", ""]);
        let mut values = Values::default();
        let first = values.add([Some("12"), None].into_iter()).unwrap();
        let second = values.add([Some("")].into_iter()).unwrap();
        let read = |start, count| values.from(start).take(count).collect::<Vec<_>>();
        assert_eq!(read(first, 2), [Some(&b"12"[..]), None]);
        assert_eq!(read(second, 2), [Some(&b""[..])]);
    }
}
