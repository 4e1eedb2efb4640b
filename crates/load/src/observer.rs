//! Observers of a trial that runs.

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::Interval;

use crate::recorder::KindSecond;

/// A second that is over.
#[derive(Debug, Clone, Copy)]
pub struct SecondSeen<'a> {
    /// As the record has it, and what was reported too late for the seconds before: the sum over all misses nothing.
    pub interval: &'a Interval,
    /// Service time of what was completed in it, in open loop response time.
    pub latency: &'a Histogram,
    /// Statements that returned a result set, of transactions that ended in it.
    pub read: u64,
    /// Statements that changed rows.
    pub write: u64,
    /// All other statements.
    pub other: u64,
    /// Connections opened again.
    pub reconnects: u64,
    /// Those of the errors that were the loss of a connection, or a failed reconnect.
    pub losses: u64,
    /// Transactions in flight at its end; in closed loop the connections.
    pub in_flight: u64,
    /// By kind of transaction, where [`Observer::by_kind`] asks for it.
    pub kinds: &'a [KindSecond],
}

/// What happens at the edges of the measured window and after each second; the cli samples the machine there and shows
/// progress.
pub trait Observer {
    /// Whether it wants seconds by kind of transaction, which costs one more histogram for each.
    fn by_kind(&self) -> bool {
        false
    }
    /// The measured window opens.
    fn opens(&mut self) {}
    /// A second is over.
    fn second(&mut self, _seen: &SecondSeen<'_>) {}
    /// The measured window closes.
    fn closes(&mut self) {}
}

/// An observer that does nothing.
#[derive(Debug, Clone, Copy)]
pub struct Unobserved;

impl Observer for Unobserved {}
