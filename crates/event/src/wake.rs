//! Wake-ups by way of [`std::task::Waker`]: for channels, look-ups in other threads and foreign libraries. Sockets and
//! timers of this crate do not come this way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Wake;

use crate::local;
use crate::queue::Alarm;

/// Tasks that another thread woke.
#[derive(Debug)]
pub(crate) struct Remote {
    woken: Mutex<Vec<usize>>,
    any: AtomicBool,
    /// Ends the wait of the loop; `None` under a simulated clock.
    alarm: Option<Alarm>,
}

impl Remote {
    pub(crate) fn new(alarm: Option<Alarm>) -> Self {
        Self { woken: Mutex::default(), any: AtomicBool::new(false), alarm }
    }

    /// Moves what was woken into `ready`. One load of a line that nobody writes, as a rule.
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

    fn wake(&self, task: usize) {
        self.woken.lock().unwrap_or_else(PoisonError::into_inner).push(task);
        if !self.any.swap(true, Ordering::Release)
            && let Some(alarm) = &self.alarm
        {
            // It can fail only for want of kernel memory; the loop then finds the task at its next event.
            let _ = alarm.wake();
        }
    }
}

/// What a task's waker points to.
#[derive(Debug)]
pub(crate) struct TaskWaker {
    pub(crate) task: usize,
    pub(crate) remote: Arc<Remote>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !local::wake_here(&self.remote, self.task) {
            self.remote.wake(self.task);
        }
    }
}
