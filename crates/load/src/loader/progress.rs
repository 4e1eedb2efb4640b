//! How far a load is.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::ledger::PartState;

/// How far a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadProgress {
    /// Rows that are in.
    pub rows: u64,
    /// Parts finished.
    pub parts: u32,
    /// Parts in all.
    pub of: u32,
    /// Tables that have their indexes and were counted, once all parts are in.
    pub tables_finished: u32,
    /// Tables in all.
    pub tables: u32,
    /// Rows that an earlier load had brought in, which this one went on with.
    pub rows_before: u64,
    /// Parts that it had finished.
    pub parts_before: u32,
}

/// Counters of a load; touched once per transaction of megabytes.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) next: AtomicU32,
    pub(super) done: AtomicU32,
    pub(super) rows: AtomicU64,
    pub(super) next_job: AtomicU32,
    pub(super) indexed: AtomicU32,
    pub(super) verified: AtomicU32,
    rows_before: u64,
    parts_before: u32,
}

impl Shared {
    /// The counters of a load that goes on after these parts.
    pub(super) fn after(states: &[PartState]) -> Self {
        let rows_before = states.iter().map(|s| s.rows).sum();
        let parts_before = states.iter().filter(|s| s.done).count() as u32;
        Self { rows_before, parts_before, ..Self::default() }
    }

    pub(super) fn progress(&self, of: u32, tables: u32) -> LoadProgress {
        let now = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
        let (parts, tables_finished) = (now(&self.done), now(&self.indexed).min(now(&self.verified)));
        let &Self { rows_before, parts_before, .. } = self;
        let rows = rows_before + self.rows.load(Ordering::Relaxed);
        LoadProgress { rows, parts, of, tables_finished, tables, rows_before, parts_before }
    }
}
