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

pub(crate) struct Watchdog {
    sleep: Sleep,
    quarter_ms: u32,
    ticks: u32,
}

impl Watchdog {
    pub(crate) fn new(limit: Duration) -> Self {
        // Rounded up, so that four are not less than the limit; 49 days fit.
        let quarter_ms = limit.as_nanos().div_ceil(u128::from(QUARTERS) * 1_000_000);
        let quarter_ms = u32::try_from(quarter_ms).unwrap_or(u32::MAX).max(1);
        Self { sleep: sleep(Duration::from_millis(quarter_ms.into())), quarter_ms, ticks: 0 }
    }

    /// From now on another limit.
    pub(crate) fn set_limit(&mut self, limit: Duration) {
        *self = Self::new(limit);
    }

    /// A new answer is waited for.
    #[inline]
    pub(crate) fn rearm(&mut self) {
        self.ticks = 0;
    }

    /// Ready once the answer is overdue; otherwise the task is woken at the next tick.
    #[inline]
    pub(crate) fn poll_overdue(&mut self) -> Poll<()> {
        if self.sleep.poll_passed().is_pending() { Poll::Pending } else { self.tick() }
    }

    /// A quarter has passed, or several.
    #[cold]
    fn tick(&mut self) -> Poll<()> {
        loop {
            self.ticks += 1;
            self.sleep = sleep(Duration::from_millis(self.quarter_ms.into()));
            if self.ticks > QUARTERS {
                return Poll::Ready(());
            }
            ready!(self.sleep.poll_passed());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use perbuck_event::{block_on_simulated, now};

    use super::*;

    #[test]
    fn an_answer_is_overdue_neither_early_nor_much_too_late() {
        block_on_simulated(async {
            let limit = Duration::from_millis(200);
            let mut dog = Watchdog::new(limit);
            // The sleep went off long ago, while nothing was waited for.
            sleep(Duration::from_millis(120)).await;
            for _ in 0..2 {
                dog.rearm();
                let started = now();
                poll_fn(|_| dog.poll_overdue()).await;
                let took = now() - started;
                assert!(took >= limit && took <= limit * 5 / 4, "{took:?}");
            }
        });
    }
}
