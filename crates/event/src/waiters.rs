//! Tasks that wait for something that another task or another thread does.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// The wakers of tasks that wait for one thing.
#[derive(Debug, Default)]
pub struct Waiters(Mutex<Vec<Waker>>);

impl Waiters {
    fn lock(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a task for the next [`Self::wake`]. The task must check after this call whether it still has to wait.
    pub fn add(&self, waker: &Waker) {
        let mut waiting = self.lock();
        if !waiting.iter().any(|known| known.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }

    /// Wakes every task that waits.
    pub fn wake(&self) {
        let waiting = std::mem::take(&mut *self.lock());
        waiting.into_iter().for_each(Waker::wake);
    }

    /// How many tasks wait.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Waits until `ready` returns something. It is called again after each [`Self::wake`].
    pub async fn until<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        poll_fn(|cx| {
            let found = ready().or_else(|| {
                self.add(cx.waker());
                ready()
            });
            found.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}
