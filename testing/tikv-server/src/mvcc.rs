//! The data of transactions: for each key its lock and its versions, as Percolator's protocol wants them.

use std::collections::BTreeMap;

/// Versions of a key that are kept; a reader of an earlier time finds nothing.
const KEPT: usize = 64;

/// A lock.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lock {
    pub(crate) primary: Vec<u8>,
    pub(crate) start_ts: u64,
    pub(crate) ttl_ms: u64,
    pub(crate) for_update_ts: u64,
    /// Taken before anything is known of what will be written.
    pub(crate) pessimistic: bool,
    /// What is written; `None` deletes.
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) async_commit: bool,
    pub(crate) min_commit_ts: u64,
    pub(crate) secondaries: Vec<Vec<u8>>,
}

/// What became of a key in a transaction.
#[derive(Debug, Clone)]
struct Write {
    commit_ts: u64,
    start_ts: u64,
    /// `None` is a deletion; a rollback has no value at all.
    value: Option<Vec<u8>>,
    rolled_back: bool,
}

/// A key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    pub(crate) lock: Option<Lock>,
    /// The newest last.
    writes: Vec<Write>,
}

/// What is known of a transaction at a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Unknown,
    RolledBack,
    Committed(u64),
}

impl Entry {
    /// The value at a time.
    pub(crate) fn read(&self, ts: u64) -> Option<&Vec<u8>> {
        self.writes.iter().rev().find(|w| !w.rolled_back && w.commit_ts <= ts)?.value.as_ref()
    }

    /// The time of the last commit, and its transaction.
    pub(crate) fn last(&self) -> Option<(u64, u64)> {
        self.writes.iter().rev().find(|w| !w.rolled_back).map(|w| (w.commit_ts, w.start_ts))
    }

    pub(crate) fn fate(&self, start_ts: u64) -> Fate {
        match self.writes.iter().rev().find(|w| w.start_ts == start_ts) {
            Some(write) if write.rolled_back => Fate::RolledBack,
            Some(write) => Fate::Committed(write.commit_ts),
            None => Fate::Unknown,
        }
    }

    pub(crate) fn write(&mut self, start_ts: u64, commit_ts: u64, value: Option<Vec<u8>>) {
        self.push(Write { commit_ts, start_ts, value, rolled_back: false });
    }

    /// The transaction will never commit here.
    pub(crate) fn roll_back(&mut self, start_ts: u64) {
        self.lock.take_if(|lock| lock.start_ts == start_ts);
        if self.fate(start_ts) == Fate::Unknown {
            self.push(Write { commit_ts: start_ts, start_ts, value: None, rolled_back: true });
        }
    }

    fn push(&mut self, write: Write) {
        self.writes.push(write);
        if self.writes.len() > KEPT {
            self.writes.remove(0);
        }
    }

    /// Turns the lock of a transaction into a version; whether it had one.
    pub(crate) fn commit(&mut self, start_ts: u64, commit_ts: u64) -> bool {
        let Some(lock) = self.lock.take_if(|lock| lock.start_ts == start_ts && !lock.pessimistic) else { return false };
        self.write(start_ts, commit_ts, lock.value);
        true
    }

    /// The newest value, for whoever spoils it.
    pub(crate) fn newest_mut(&mut self) -> Option<&mut Option<Vec<u8>>> {
        self.writes.iter_mut().rev().find(|w| !w.rolled_back).map(|w| &mut w.value)
    }
}

/// All keys.
pub(crate) type Mvcc = BTreeMap<Vec<u8>, Entry>;
