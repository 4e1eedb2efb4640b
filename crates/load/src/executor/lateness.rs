//! How late some workers of a trial were by themselves, for whoever judges them apart from the others.

use perbuck_core::histogram::Histogram;

use crate::lifecycle::WorkerOutcome;

/// Whether workers of an open loop started transactions late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lateness {
    /// The 99th percentile of how late they sent although a connection was free, in nanoseconds.
    pub sent_late_p99_ns: u64,
    /// The longest 99th percentile of a kind's response times, in nanoseconds.
    pub response_p99_ns: u64,
}

/// That of these workers together.
pub fn lateness(workers: &[WorkerOutcome]) -> Lateness {
    let p99 = |h: &Histogram| h.percentile_ns(99.0).unwrap_or(0);
    let (mut sent_late, mut kinds) = (Histogram::new(), Vec::new());
    for worker in workers {
        sent_late.merge(&worker.recorded.send_lag);
        for phase in &worker.recorded.phases {
            kinds.resize_with(kinds.len().max(phase.kinds.len()), Histogram::new);
            kinds.iter_mut().zip(&phase.kinds).for_each(|(all, kind)| all.merge(&kind.response));
        }
    }
    Lateness { sent_late_p99_ns: p99(&sent_late), response_p99_ns: kinds.iter().map(p99).max().unwrap_or(0) }
}
