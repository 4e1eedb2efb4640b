//! Exact sums over the measured window, or one phase of it; one per worker, merged at the end.

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::{HistogramRecord, StatementCounts, TransactionRecord};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::workload::Workload;

/// What a worker saw in the window or in a phase.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Totals {
    /// By kind of transaction.
    pub(crate) kinds: Vec<KindTotals>,
    /// Statements of the transactions that ended.
    pub(crate) statements: StatementCounts,
    /// Attempts beyond the first.
    pub(crate) retries: u64,
}

/// What one terminal did in the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TerminalTotals {
    /// Transactions that ended.
    pub transactions: u64,
    /// The time that they took, in nanoseconds.
    pub busy_ns: u64,
    /// When the last transaction of the run ended, in nanoseconds relative to the window.
    pub last_ended_ns: i64,
}

/// Times that terminals let pass, outside of any transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waited {
    /// How often.
    pub count: u64,
    /// In all, in nanoseconds.
    pub sum_ns: u64,
}

impl Waited {
    pub(crate) fn add(&mut self, ns: u64) {
        self.count += 1;
        self.sum_ns += ns;
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
    }

    /// The mean in seconds; `None` where there was none.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / 1e9 / self.count as f64)
    }
}

/// Pauses around the transactions of one kind, as they were in truth. The one before the first transaction of a terminal is
/// not among them, since a workload may lengthen it so that terminals do not start in step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausesSeen {
    /// Before them.
    pub before: Waited,
    /// After them.
    pub after: Waited,
}

impl PausesSeen {
    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        self.before.merge(&other.before);
        self.after.merge(&other.after);
    }
}

/// Transactions of one kind.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct KindTotals {
    pub(crate) committed: u64,
    /// Rolled back by design.
    pub(crate) rolled_back: u64,
    pub(crate) failed: u64,
    /// From the first statement to the end, of the completed ones.
    pub(crate) service: Histogram,
    /// The same of those given up.
    pub(crate) failed_service: Histogram,
    /// From the intended start to the first statement; empty in closed loop.
    pub(crate) wait: Histogram,
    /// From the intended start to the end; empty in closed loop.
    pub(crate) response: Histogram,
    /// What the workload counted of the completed ones.
    pub(crate) facts: [u64; 4],
    /// Pauses that ended; none where terminals do not pause.
    pub(crate) pauses: PausesSeen,
}

impl Totals {
    pub(crate) fn new(kinds: usize) -> Self {
        Self { kinds: (0..kinds).map(|_| KindTotals::default()).collect(), ..Self::default() }
    }

    /// Adds another worker's, or another phase's.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.committed += theirs.committed;
            mine.rolled_back += theirs.rolled_back;
            mine.failed += theirs.failed;
            mine.service.merge(&theirs.service);
            mine.failed_service.merge(&theirs.failed_service);
            mine.pauses.merge(&theirs.pauses);
            mine.wait.merge(&theirs.wait);
            mine.response.merge(&theirs.response);
            mine.facts.iter_mut().zip(theirs.facts).for_each(|(sum, fact)| *sum += fact);
        }
        self.statements.add(&other.statements);
        self.retries += other.retries;
    }

    pub(crate) fn record<W: Workload>(&self, workload: &W) -> BTreeMap<String, TransactionRecord> {
        let facts = |kind: usize, sums: [u64; 4]| {
            let named = workload.fact_names().get(kind).copied().unwrap_or_default();
            named.iter().zip(sums).map(|(name, sum)| ((*name).to_owned(), sum)).collect()
        };
        let one = |(kind, k): (usize, &KindTotals)| TransactionRecord {
            committed: k.committed,
            rolled_back: k.rolled_back,
            failed: k.failed,
            service: HistogramRecord::from_histogram(&k.service),
            wait: HistogramRecord::from_histogram(&k.wait),
            response: HistogramRecord::from_histogram(&k.response),
            facts: facts(kind, k.facts),
        };
        workload.kinds().iter().zip(self.kinds.iter().enumerate()).map(|(name, k)| ((*name).to_owned(), one(k))).collect()
    }
}
