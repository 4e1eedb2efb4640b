//! Observers of a trial that runs.

use std::time::Duration;

use perbuck_core::run_record::Interval;

use crate::listed::Listed;
use crate::recorder::Second;

/// A second that is over.
#[derive(Debug, Clone, Copy)]
pub struct SecondSeen<'a> {
    /// As the record has it, and what was reported too late for the seconds before: the sum over all misses nothing.
    pub interval: &'a Interval,
    /// What all workers saw in it; its kinds where [`Observer::by_kind`] asks for them.
    pub second: &'a Second,
    /// Transactions in flight at its end; in closed loop the connections.
    pub in_flight: u64,
}

/// What happens at the edges of the measured window and after each second; the cli samples the machine there and shows
/// progress.
pub trait Observer {
    /// Whether it wants seconds by kind of transaction, which costs one more histogram for each.
    fn by_kind(&self) -> bool {
        false
    }
    /// Whether it wants each transaction of this process, which costs a few stores for each.
    fn lists(&self) -> bool {
        false
    }
    /// Transactions of one worker that ended in the window, in the order of their ends.
    fn listed(&mut self, _all: &[Listed]) {}
    /// All connections are open, and the start is given: the measured window opens so long from now, after the warm-up.
    fn starts(&mut self, _opens_in: Duration) {}
    /// The measured window opens.
    fn opens(&mut self) {}
    /// A second is over.
    fn second(&mut self, _seen: &SecondSeen<'_>) {}
    /// All workers have ended: what no second has shown, because it was reported late or its second was cut short. The drain is not in it.
    fn rest(&mut self, _rest: &Second) {}
    /// The measured window closes.
    fn closes(&mut self) {}
}

/// What an observer asks workers for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted {
    /// Seconds by kind of transaction.
    pub(crate) by_kind: bool,
    /// Each transaction.
    pub(crate) lists: bool,
}

/// An observer that does nothing.
#[derive(Debug, Clone, Copy)]
pub struct Unobserved;

impl Observer for Unobserved {}
