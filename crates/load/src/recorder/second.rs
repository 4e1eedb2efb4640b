//! What one worker sends of a second.

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::StatementCounts;
use serde::{Deserialize, Serialize};

use crate::error::ErrorClass;
use crate::totals::PausesSeen;

/// Transactions of one kind that ended in one second.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindSecond {
    /// Service time of the completed ones, in open loop response time.
    pub completed: Histogram,
    /// The same of those given up.
    pub failed: Histogram,
    /// Pauses that ended.
    pub pauses: PausesSeen,
}

/// What one worker saw in one second.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Second {
    /// The second, relative to the measured window; `i64::MAX` is the drain.
    pub number: i64,
    /// Transactions completed.
    pub transactions: u64,
    /// Transactions given up.
    pub failed: u64,
    /// Statements of the transactions that ended here.
    pub counts: StatementCounts,
    /// Errors of any kind.
    pub errors: u64,
    /// The same by class, in the order of [`ErrorClass::ALL`].
    #[serde(default)]
    pub by_class: [u64; ErrorClass::ALL.len()],
    /// Attempts beyond the first.
    #[serde(default)]
    pub retries: u64,
    /// Connections opened again.
    pub reconnects: u64,
    /// Those of the errors that were the loss of a connection, or a failed reconnect.
    pub losses: u64,
    /// Arrivals of an open loop that were started here.
    pub started: u64,
    /// Service time of the completed ones, in open loop response time.
    pub latency: Histogram,
    /// By kind; empty unless the observer wants seconds by kind.
    pub kinds: Vec<KindSecond>,
}

impl Second {
    pub(crate) fn new(number: i64) -> Self {
        Self { number, ..Self::default() }
    }

    /// An empty one with room for so many kinds.
    pub(super) fn with_kinds(number: i64, kinds: usize) -> Self {
        Self { kinds: vec![KindSecond::default(); kinds], ..Self::new(number) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.transactions + self.failed + self.errors + self.started + self.reconnects == 0
    }

    /// Adds another worker's numbers of the same second.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.failed += other.failed;
        self.counts.add(&other.counts);
        self.reconnects += other.reconnects;
        self.losses += other.losses;
        self.errors += other.errors;
        self.by_class.iter_mut().zip(other.by_class).for_each(|(mine, theirs)| *mine += theirs);
        self.retries += other.retries;
        self.started += other.started;
        self.latency.merge(&other.latency);
        if self.kinds.len() < other.kinds.len() {
            self.kinds.resize_with(other.kinds.len(), KindSecond::default);
        }
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.completed.merge(&theirs.completed);
            mine.failed.merge(&theirs.failed);
            mine.pauses.merge(&theirs.pauses);
        }
    }
}
