//! The limit for an answer, without a timer per statement.
//!
//! A load generator waits for the server hundreds of thousands of times a second, and arming and disarming a timer for
//! each wait would cost two clock reads and two trips through the timers. So there is one sleep per session that is
//! never disarmed: it goes off every quarter of the limit, and each time it finds the same answer outstanding it
//! counts. The first tick of an answer may come at once and the others are a quarter apart, so after the fifth one the
//! answer has taken at least the limit, and at most five quarters of it. The price per statement is one store
//! ([`Watchdog::rearm`]) and, when the answer is not there yet, one comparison with the time at
//! which a timer last could have gone off.

use std::task::{Poll, ready};
use std::time::Duration;

use perbuck_event::{Sleep, sleep};

const QUARTERS: u32 = 4;

/// The limit for an answer while data are made, counted and checked: an index over a billion rows takes hours.
pub const LONG_READ_TIMEOUT: Duration = Duration::from_secs(48 * 3600);

/// Ends what hangs.
pub struct Watchdog {
    sleep: Sleep,
    limit_ms: u32,
    ticks: u32,
}

impl Watchdog {
    /// One with this limit.
    pub fn new(limit: Duration) -> Self {
        // 49 days fit, and an option of a target cannot be longer.
        let limit_ms = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
        Self { sleep: sleep(quarter(limit_ms)), limit_ms, ticks: 0 }
    }

    /// A new answer is waited for.
    #[inline]
    pub fn rearm(&mut self) {
        self.ticks = 0;
    }

    /// Ready once the answer is overdue; otherwise the task is woken at the next tick.
    #[inline]
    pub fn poll_overdue(&mut self) -> Poll<()> {
        if self.sleep.poll_passed().is_pending() { Poll::Pending } else { self.tick() }
    }

    #[cold]
    fn tick(&mut self) -> Poll<()> {
        loop {
            self.ticks += 1;
            self.sleep = sleep(quarter(self.limit_ms));
            if self.ticks > QUARTERS {
                return Poll::Ready(());
            }
            ready!(self.sleep.poll_passed());
        }
    }
}

/// A quarter of the limit, a millisecond at least.
fn quarter(limit_ms: u32) -> Duration {
    (Duration::from_millis(limit_ms.into()) / QUARTERS).max(Duration::from_millis(1))
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use perbuck_event::{block_on_simulated, now};

    use super::*;

    #[test]
    fn an_answer_is_overdue_neither_early_nor_much_too_late() {
        block_on_simulated(async {
            for limit_ms in [4, 5, 200, 401] {
                let limit = Duration::from_millis(limit_ms);
                let mut watchdog = Watchdog::new(limit);
                // The sleep has ended long ago, while no answer was outstanding.
                sleep(limit * 3 / 5).await;
                for _ in 0..2 {
                    watchdog.rearm();
                    let started = now();
                    poll_fn(|_| watchdog.poll_overdue()).await;
                    let took = now() - started;
                    assert!(took >= limit && took <= limit * 5 / 4, "{took:?} for {limit:?}");
                }
            }
        });
    }
}
