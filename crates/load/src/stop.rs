//! Asking a run to stop: once gracefully, twice at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::Waker;

use perbuck_event::Waiters;

use crate::watch::Waits;

/// Shared by the signal handler, the executor and the workers. Reading it is one load of a line that is not written during a
/// run.
#[derive(Debug, Clone, Default)]
pub struct StopToken {
    raised: Arc<AtomicU8>,
    waiting: Arc<Waiters>,
    keeps: bool,
    waits: Arc<Waits>,
}

impl StopToken {
    /// One whose first request ends the measured window there and then and keeps what was measured, as a user does who ends
    /// a run that has no end of its own. Only the second one throws it away.
    pub fn keeping() -> Self {
        Self { keeps: true, ..Self::default() }
    }

    /// Asks to stop; the second time asks to abort.
    pub fn request(&self) {
        let raised = self.raised.load(Ordering::Relaxed).saturating_add(1);
        self.raised.store(raised, Ordering::Relaxed);
        self.waiting.wake();
    }

    /// Wakes a task at the next request. The task must ask after this call whether there was one before.
    pub(crate) fn wake_at_request(&self, waker: &Waker) {
        self.waiting.add(waker);
    }

    /// How often a stop was requested: 0, 1, or 2 for more.
    pub fn stops(&self) -> u8 {
        self.raised.load(Ordering::Relaxed).min(2)
    }

    /// Whether a stop was requested: no new transaction is issued.
    #[inline]
    pub fn requested(&self) -> bool {
        self.raised.load(Ordering::Relaxed) > 0
    }

    /// Whether a run that ends by it keeps what it measured, where it was asked once.
    pub fn keeps(&self) -> bool {
        self.keeps && !self.aborted()
    }

    /// Whether a wait for a server outside of a trial ends: there nothing is measured that would be kept.
    pub(crate) fn ends_waits(&self) -> bool {
        self.requested() && !self.keeps()
    }

    /// What is waited for at this moment.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// A token of its own that enters its waits with this one.
    pub(crate) fn of_trial(&self) -> Self {
        Self { waits: self.waits.clone(), ..Self::default() }
    }

    /// Whether a stop was requested twice: nothing is waited for.
    pub fn aborted(&self) -> bool {
        self.raised.load(Ordering::Relaxed) > 1
    }
}
