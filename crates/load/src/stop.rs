//! Asking a run to stop: once gracefully, twice at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Shared by the signal handler, the executor and the workers. Reading it is one load of a line that nobody writes
/// during a run.
#[derive(Debug, Clone, Default)]
pub struct StopToken(Arc<AtomicU8>);

impl StopToken {
    /// Asks to stop; the second time asks to abort.
    pub fn request(&self) {
        let raised = self.0.load(Ordering::Relaxed).saturating_add(1);
        self.0.store(raised, Ordering::Relaxed);
    }

    /// Whether somebody asked: no new transaction is issued.
    #[inline]
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Whether somebody asked twice: nothing is waited for.
    pub fn aborted(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1
    }
}
