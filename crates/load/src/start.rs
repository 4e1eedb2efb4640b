//! The common start of all workers.

use std::sync::{Arc, Mutex, PoisonError};

use perbuck_event::Waiters;

use crate::window::Window;

/// Gives all workers the same start, or tells them that the run was given up.
#[derive(Debug, Clone, Default)]
pub(crate) struct StartSignal(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// `None` inside is a run that was given up.
    given: Mutex<Option<Option<Window>>>,
    workers: Waiters,
}

impl StartSignal {
    /// Gives the start and wakes every worker; only the first call counts.
    pub(crate) fn give(&self, window: Option<Window>) {
        self.0.given.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(window);
        self.0.workers.wake();
    }

    /// The start, if it was given.
    pub(crate) fn given(&self) -> Option<Option<Window>> {
        *self.0.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the start; `None` where the run was given up.
    pub(crate) async fn wait(&self) -> Option<Window> {
        self.0.workers.until(|| self.given()).await
    }
}

#[cfg(test)]
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
            while start.0.workers.count() < waiters.len() {
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
