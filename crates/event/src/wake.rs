//! Wake-ups from other threads, by way of [`std::task::Waker`]: for channels, look-ups and foreign libraries. Sockets and timers of
//! this crate do not come this way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::queue::LoopWaker;

/// Tasks that another thread woke.
#[derive(Debug)]
pub(crate) struct Remote {
    woken: Mutex<Vec<usize>>,
    any: AtomicBool,
    /// Ends the wait of the loop; `None` under a simulated clock.
    waker: Option<LoopWaker>,
}

impl Remote {
    pub(crate) fn new(waker: Option<LoopWaker>) -> Self {
        Self { woken: Mutex::default(), any: AtomicBool::new(false), waker }
    }

    /// Moves what was woken into `ready`. As a rule this is one load of a line that is not written.
    #[inline]
    pub(crate) fn take(&self, ready: &mut impl Extend<usize>) {
        if self.any.load(Ordering::Relaxed) {
            self.take_some(ready);
        }
    }

    #[cold]
    fn take_some(&self, ready: &mut impl Extend<usize>) {
        if self.any.swap(false, Ordering::Acquire) {
            let mut woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
            ready.extend(woken.drain(..));
        }
    }

    pub(crate) fn wake(&self, task: usize) {
        self.woken.lock().unwrap_or_else(PoisonError::into_inner).push(task);
        if !self.any.swap(true, Ordering::Release)
            && let Some(waker) = &self.waker
        {
            // It can fail only for want of kernel memory; the loop then finds the task at its next event.
            let _ = waker.wake();
        }
    }
}
