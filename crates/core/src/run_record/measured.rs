//! What was seen during a trial: counters, histograms, seconds and the client's state.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::processors::MachineSamples;
use super::profile::Profile;
use crate::histogram::Histogram;
use crate::littles_law::LittlesLaw;
use crate::load_model::Phase;
use crate::steady::Steadiness;
use crate::units::total;

/// The measured window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Its true length in nanoseconds.
    pub window_ns: u64,
    /// By kind of transaction.
    pub transactions: BTreeMap<String, TransactionRecord>,
    /// Statements of attempts, successful or not, that ended in the window.
    pub statements: StatementCounts,
    /// Attempts beyond the first.
    pub retries: u64,
    /// What only an open loop has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoop>,
    /// The phases of the window, where it has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseRecord>,
}

/// What became of the arrivals of an open loop. `backlog_at_open + offered` is `started + backlog_at_close`; what was
/// started has completed, failed, or is among the unfinished.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenLoop {
    /// Transactions that were due in the measured window.
    pub offered: u64,
    /// Transactions that were started in it.
    pub started: u64,
    /// Due and not started when the window opened.
    pub backlog_at_open: u64,
    /// Due and not started when it closed.
    pub backlog_at_close: u64,
    /// How long those that were due and not ended when the window closed had been due then: a lower bound of their
    /// response time. Percentiles of response time count them with it, since leaving them out would flatter the target.
    pub unfinished: HistogramRecord,
}

/// One phase of the measured window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseRecord {
    /// What was applied and how long.
    pub phase: Phase,
    /// Transactions that ended in it, by kind.
    pub transactions: BTreeMap<String, TransactionRecord>,
}

/// Transactions of one kind that ended in the measured window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransactionRecord {
    /// Committed.
    pub committed: u64,
    /// Rolled back because the workload says so (1 % of new orders).
    pub rolled_back: u64,
    /// Given up after the last attempt, or refused without a retry.
    pub failed: u64,
    /// Service time of completed transactions, all attempts included: from their first statement to their end.
    pub service: HistogramRecord,
    /// Open loop: from the intended start to the first statement.
    #[serde(default, skip_serializing_if = "HistogramRecord::is_empty")]
    pub wait: HistogramRecord,
    /// Open loop: from the intended start to the end, which is what a user feels.
    #[serde(default, skip_serializing_if = "HistogramRecord::is_empty")]
    pub response: HistogramRecord,
    /// What the workload counted of the completed ones, summed (order lines, payments to another warehouse …).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, u64>,
}

/// A histogram as stored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistogramRecord {
    /// HDR V2 deflated, base64; values in nanoseconds. Empty text is an empty histogram.
    pub hdr: String,
    /// How many values.
    pub count: u64,
    /// Exact sum in nanoseconds.
    pub sum_ns: u64,
    /// Exact maximum in nanoseconds.
    pub max_ns: u64,
}

/// Statements by what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatementCounts {
    /// Statements that returned a result set.
    pub read: u64,
    /// Statements that changed at least one row.
    pub write: u64,
    /// All others: begin, commit, rollback, and changes that matched nothing (as sysbench counts).
    pub other: u64,
    /// SELECT sent.
    pub select: u64,
    /// INSERT sent.
    pub insert: u64,
    /// UPDATE sent.
    pub update: u64,
    /// DELETE sent.
    pub delete: u64,
    /// BEGIN sent.
    pub begin: u64,
    /// COMMIT sent.
    pub commit: u64,
    /// ROLLBACK sent.
    pub rollback: u64,
}

/// Errors of one code.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorRecord {
    /// How often.
    pub count: u64,
    /// retry, failed, lost.
    pub class: String,
    /// The first message seen.
    pub example: String,
}

/// One second of the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Start relative to the measured window, in milliseconds; negative in the warm-up.
    pub start_ms: i64,
    /// Length in milliseconds; the last one may be shorter.
    pub length_ms: u64,
    /// Transactions completed (committed, or rolled back by design).
    pub transactions: u64,
    /// Statements of those transactions.
    pub statements: u64,
    /// Errors of any kind.
    pub errors: u64,
    /// Open loop: transactions that were due in this second.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub due: u64,
    /// Open loop: transactions due and not started at the end of this second.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub backlog: u64,
    /// Median service time in nanoseconds, in open loop response time; 0 where nothing completed.
    pub p50_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Maximum.
    pub max_ns: u64,
}

/// The client's own state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Health {
    /// CPU time of the whole process in user mode during the measured window (an embedded database included).
    pub client_user_ns: u64,
    /// The same in the kernel.
    pub client_system_ns: u64,
    /// Connections lost.
    pub connections_lost: u64,
    /// Terminals that lost a connection before the measured window closed; records of older versions have 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub terminals_lost: u64,
    /// Connections opened again: after a loss, and where the workload does so.
    pub reconnects: u64,
    /// Longest time without any completed transaction inside the measured window, in nanoseconds.
    pub longest_gap_ns: u64,
    /// Times of at least one second without any completed transaction.
    pub gaps: Vec<Gap>,
    /// Transactions still in flight at the end, ended in the drain and counted in no window.
    pub drained: u64,
    /// Transactions still in flight when the drain limit came; they were aborted.
    pub aborted: u64,
    /// Each load thread; empty for an embedded database, whose work is done on those threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerHealth>,
    /// How late the event loops of the load threads woke from a probe every 10 ms, within the measured window.
    #[serde(default, skip_serializing_if = "HistogramRecord::is_empty")]
    pub lag: HistogramRecord,
    /// Open loop: how late transactions started although a connection was free, which is the client's fault.
    #[serde(default, skip_serializing_if = "HistogramRecord::is_empty")]
    pub send_lag: HistogramRecord,
    /// Open loop: starts more than a millisecond late although a connection was free.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub late_sends: u64,
    /// The most memory that the process has held so far, in bytes; 0 where the system does not say.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub peak_memory_bytes: u64,
    /// What the client's machine did, where its system says so. In files it has the name of its first part, so that seals of older pages hold.
    #[serde(default, rename = "processors", skip_serializing_if = "Option::is_none")]
    pub samples: Option<MachineSamples>,
    /// Where this process spent its processor time before the window, where the study asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// What the client's connections sent in the measured window; absent without a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkRecord>,
    /// Closed loop: what lies across the edges of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edges: Option<WindowEdges>,
    /// Little's law over the measured window (closed loop).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub littles_law: Option<LittlesLaw>,
    /// Whether the throughput had settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steadiness: Option<Steadiness>,
}

/// What the kernel counted of the client's TCP connections. It does not see what the server sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkRecord {
    /// Segments with data that the client sent, those that it sent again included.
    pub segments_sent: u64,
    /// Segments that the client sent again, because no acknowledgement came.
    pub segments_retransmitted: u64,
}

/// One load thread during the measured window.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerHealth {
    /// Connections that it drove.
    pub connections: u32,
    /// CPU time that it used, in nanoseconds.
    pub cpu_ns: u64,
    /// The share of one processor that it used in the phase in which it used most; without phases over the window.
    pub busiest_phase: f64,
}

/// Transactions of a closed loop that lie across an edge of the window. Those that ended in it are in its histograms with all
/// of their time; those that were in flight at its end are in none, and where one connection is passed over by all others, they
/// are the longest there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowEdges {
    /// In flight when the window closed, without those that had to be aborted.
    pub in_flight: u64,
    /// For how long the oldest of them had run then, in nanoseconds.
    pub oldest_ns: u64,
    /// Their time within the window, in nanoseconds.
    pub in_flight_ns: u64,
    /// Of those that ended in the window, the time before it opened, in nanoseconds.
    pub before_ns: u64,
}

pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A time in which nothing completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// Start relative to the measured window, in milliseconds.
    pub start_ms: i64,
    /// Length in milliseconds.
    pub length_ms: u64,
}

impl StatementCounts {
    /// All statements.
    pub fn total(&self) -> u64 {
        total([self.read, self.write, self.other])
    }

    /// Adds another count.
    pub fn add(&mut self, o: &Self) {
        self.read += o.read;
        self.write += o.write;
        self.other += o.other;
        self.select += o.select;
        self.insert += o.insert;
        self.update += o.update;
        self.delete += o.delete;
        self.begin += o.begin;
        self.commit += o.commit;
        self.rollback += o.rollback;
    }
}

impl HistogramRecord {
    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Encodes a histogram.
    pub fn from_histogram(h: &Histogram) -> Self {
        if h.count() == 0 {
            return Self::default();
        }
        let sum_ns = u64::try_from(h.sum_ns()).unwrap_or(u64::MAX);
        Self { hdr: h.to_base64(), count: h.count(), sum_ns, max_ns: h.max_ns() }
    }

    /// Decodes it.
    ///
    /// # Errors
    /// Says what is wrong with the stored text, or that its count is not the stored one.
    pub fn to_histogram(&self) -> Result<Histogram, String> {
        let mut h = Histogram::new();
        self.add_to(&mut h)?;
        Ok(h)
    }

    /// Decodes it into a sum.
    ///
    /// # Errors
    /// As [`Self::to_histogram`]; part of it may have been added.
    pub fn add_to(&self, sum: &mut Histogram) -> Result<(), String> {
        let held = match self.hdr.as_str() {
            "" => 0,
            hdr => sum.add_base64(hdr, u128::from(self.sum_ns), self.max_ns)?,
        };
        if held != self.count {
            return Err(format!("histogram holds {held} values, but the record says {}", self.count));
        }
        Ok(())
    }
}

impl TransactionRecord {
    /// Completed: committed, or rolled back by design.
    pub fn completed(&self) -> u64 {
        total([self.committed, self.rolled_back])
    }
}
