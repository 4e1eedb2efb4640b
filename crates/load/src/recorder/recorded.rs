//! What a worker has seen, without what it needs to see more: it can be sent to another process.

use std::collections::BTreeMap;

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::{ErrorRecord, StatementCounts};
use serde::{Deserialize, Serialize};

use super::Recorder;
use crate::gaps::Quiet;
use crate::totals::Totals;

/// The numbers of a recorder that has finished; see there.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Recorded {
    /// The phases of the window.
    pub(crate) phases: Vec<Totals>,
    /// Statements from the first connection to the last.
    pub(crate) statements_whole_run: StatementCounts,
    /// Errors of the whole run by code.
    pub(crate) errors: BTreeMap<String, ErrorRecord>,
    pub(crate) gaps: Vec<Quiet>,
    pub(crate) lost: u64,
    /// How many terminals lost a connection before the window closed.
    pub(crate) terminals_lost: u64,
    pub(crate) reconnects: u64,
    pub(crate) unfinished: Histogram,
    pub(crate) unstarted: u64,
    pub(crate) unfinished_ns: u64,
    pub(crate) before_ns: u64,
    pub(crate) send_lag: Histogram,
    pub(crate) late_sends: u64,
    /// Transactions that ended in the drain.
    pub(crate) drained: u64,
}

impl From<Recorder> for Recorded {
    fn from(mut recorder: Recorder) -> Self {
        let (statements_whole_run, drained) = (recorder.statements_whole_run(), recorder.drained());
        // Between the warm-up and the drain.
        recorder.totals.pop();
        let phases = recorder.totals.drain(1..).collect();
        Self {
            phases,
            statements_whole_run,
            errors: recorder.errors.into_iter().map(|(code, error)| (code.to_string(), error)).collect(),
            gaps: recorder.gaps,
            lost: recorder.lost,
            terminals_lost: recorder.lost_by.len() as u64,
            reconnects: recorder.reconnects,
            unfinished: recorder.unfinished,
            unstarted: recorder.unstarted,
            unfinished_ns: recorder.unfinished_ns,
            before_ns: recorder.before_ns,
            send_lag: recorder.send_lag,
            late_sends: recorder.late_sends,
            drained,
        }
    }
}
