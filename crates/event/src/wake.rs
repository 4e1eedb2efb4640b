//! Wake-ups from other threads, by way of [`std::task::Waker`]: for channels, look-ups and foreign libraries. Sockets and timers of
//! this crate do not come this way.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Tasks that another thread woke.
#[derive(Debug)]
pub(crate) struct Remote {
    woken: Mutex<Vec<usize>>,
    any: AtomicBool,
    /// A counter of the kernel that ends the wait of the loop; `None` under a simulated clock.
    waker: Option<OwnedFd>,
}

impl Remote {
    pub(crate) fn new(waker: Option<OwnedFd>) -> Self {
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
            // It can fail only after 2^64 - 2 wake-ups; the loop then finds the task at its next event.
            let _ = rustix::io::write(waker, &1_u64.to_ne_bytes());
        }
    }
}
