//! How far a load is.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::ledger::PartState;

/// How far a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadProgress {
    /// Rows that are committed.
    pub rows: u64,
    /// Parts finished.
    pub parts: u32,
    /// Parts in all.
    pub of: u32,
    /// Tables that have their indexes and were counted, once all parts are in.
    pub tables_finished: u32,
    /// Tables in all.
    pub tables: u32,
    /// How long the server took for statistics of the tables, all sessions together.
    pub statistics_ms: u64,
    /// Rows that an earlier load had committed; this one continues after them.
    pub rows_before: u64,
    /// Parts that the earlier load had finished.
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
    pub(super) statistics_ms: AtomicU64,
    rows_before: u64,
    parts_before: u32,
}

impl Shared {
    /// The counters of a load that continues after these parts.
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
        let statistics_ms = self.statistics_ms.load(Ordering::Relaxed);
        LoadProgress { rows, parts, of, tables_finished, tables, statistics_ms, rows_before, parts_before }
    }
}
