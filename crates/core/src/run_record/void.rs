//! Trials that count for nothing, whatever the target's speed: a record says so itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Flag, RunRecord};
use crate::units::total;

/// A gap from which on a service counts as away, in nanoseconds.
const AWAY_NS: u64 = 1_000_000_000;

/// That a trial counts for nothing and was set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Void {
    /// Which void measurement of its trial it is, from 1.
    pub number: u32,
    /// Why.
    pub why: VoidReason,
}

/// Why a trial counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case", deny_unknown_fields)]
pub enum VoidReason {
    /// No transaction was completed in the measured window.
    NothingCompleted {
        /// Transactions given up in it.
        failed: u64,
        /// The error that came most often, by its code; `None` without one.
        error: Option<String>,
    },
    /// The server went away during the trial: every terminal lost its connection before the window closed, and nothing was completed for at
    /// least a second, or the server did not answer after the trial.
    ServerDied {
        /// How many terminals lost their connection.
        terminals_lost: u64,
        /// The longest time without a completed transaction, in milliseconds.
        gap_ms: u64,
    },
}

impl VoidReason {
    /// In words, with its numbers.
    pub fn text(&self) -> String {
        match self {
            Self::NothingCompleted { failed, error } => {
                let failed = if *failed == 0 { String::new() } else { format!(", and {failed} failed") };
                let error = error.as_ref().map(|code| format!("; its most frequent error is {code}")).unwrap_or_default();
                format!("{}{failed}{error}", self.group())
            }
            Self::ServerDied { terminals_lost, gap_ms } => {
                let then = match *gap_ms as f64 / 1000.0 {
                    seconds if seconds < 1.0 => "it did not answer after it".to_owned(),
                    seconds => format!("nothing was completed for {seconds:.1} s"),
                };
                format!("{}: {terminals_lost} terminals lost their connection, and {then}", self.group())
            }
        }
    }

    /// In words that are the same for all trials of this reason.
    pub fn group(&self) -> &'static str {
        match self {
            Self::NothingCompleted { .. } => "no transaction was completed in the measured time",
            Self::ServerDied { .. } => "the server went away during the trial",
        }
    }
}

impl RunRecord {
    /// Why this trial counts for nothing, if it does. A slow target, or one with failed transactions, is no reason: leaving those out
    /// would bend the result.
    pub fn void_reason(&self) -> Option<VoidReason> {
        let kinds = self.measured.transactions.values();
        let (completed, failed) = kinds.fold((0, 0), |(c, f), kind| (total([c, kind.completed()]), total([f, kind.failed])));
        if completed == 0 {
            let error = self.errors.iter().max_by_key(|(_, e)| e.count).map(|(code, _)| code.clone());
            return Some(VoidReason::NothingCompleted { failed, error });
        }
        let health = &self.health;
        let away = health.longest_gap_ns >= AWAY_NS || self.flags.iter().any(|f| matches!(f, Flag::ServerAway { .. }));
        let died = away && health.terminals_lost >= u64::from(self.load.connections.max(1));
        died.then_some(VoidReason::ServerDied {
            terminals_lost: health.terminals_lost,
            gap_ms: health.longest_gap_ns / 1_000_000,
        })
    }

    /// Its path below the results folder: that of its key, and for a void one with its number: `001.2.void`.
    pub fn path(&self) -> String {
        let path = self.key.path();
        match &self.void {
            Some(void) => format!("{}.{}.void", path.trim_end_matches(".json"), void.number),
            None => path,
        }
    }
}
