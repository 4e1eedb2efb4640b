//! The common start of all workers.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::window::Window;

/// Gives all workers the same start, or tells them that there is none.
#[derive(Debug, Clone, Default)]
pub struct StartSignal(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// `None` inside is a run that was given up.
    given: Option<Option<Window>>,
    /// Workers that wait.
    waiting: Vec<Waker>,
}

impl StartSignal {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the start and wakes every worker; only the first call counts.
    pub fn give(&self, window: Option<Window>) {
        let mut state = self.lock();
        state.given.get_or_insert(window);
        let waiting = std::mem::take(&mut state.waiting);
        // A worker that wakes takes the lock.
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Waits for the start; `None` is that there is none.
    pub(crate) async fn wait(&self) -> Option<Window> {
        poll_fn(|cx| {
            let mut state = self.lock();
            if let Some(window) = state.given {
                return Poll::Ready(window);
            }
            if !state.waiting.iter().any(|waiting| waiting.will_wake(cx.waker())) {
                state.waiting.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use std::thread;

    use perbuck_event::{block_on, now, timeout_at};

    use super::*;

    #[test]
    fn every_waiter_is_woken_and_the_first_start_counts() {
        let window = Window { opens: now(), length_ns: 7, warmup_ns: 0 };
        for given in [Some(window), None] {
            let start = StartSignal::default();
            let wait = |start: StartSignal| move || block_on(timeout_at(now().plus_ns(20_000_000_000), start.wait()));
            let waiters: Vec<_> = (0..3).map(|_| thread::spawn(wait(start.clone()))).collect();
            while start.lock().waiting.len() < waiters.len() {
                thread::yield_now();
            }
            start.give(given);
            start.give(Some(Window { length_ns: 8, ..window }));
            for waiter in waiters {
                let seen = waiter.join().unwrap().unwrap().expect("it is woken");
                assert_eq!(seen.map(|w| w.length_ns), given.map(|w| w.length_ns));
            }
        }
    }
}
