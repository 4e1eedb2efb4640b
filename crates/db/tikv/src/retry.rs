//! Why a request is sent again, how long is waited before, and how often that happened: no retry goes unseen.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use perbuck_event::Moment;
use perbuck_load::error::{Cause, DriverError, ErrorClass, ErrorCode};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// Another peer leads the region, and the answer says which one.
    NotLeader,
    /// The region has no leader, or the answer does not say which one.
    NoLeader,
    RegionNotFound,
    KeyNotInRegion,
    /// The region was split or merged, or its peers changed.
    EpochNotMatch,
    /// The store has too much to do.
    ServerIsBusy,
    /// The term of the region's leader ended meanwhile.
    StaleCommand,
    /// Another store answers at that address.
    StoreNotMatch,
    /// The store could not be reached, or the connection was lost.
    StoreLost,
    Timeout,
    /// The region cannot serve requests at the moment (merging, recovering, disk full …).
    NotReady,
    /// PD could not be reached, or does not know the region now.
    Pd,
    Locked,
}

/// The words under which they are counted, in the order of their declaration.
const WORDS: [(Why, &str); 13] = [
    (Why::NotLeader, "not_leader"),
    (Why::NoLeader, "no_leader"),
    (Why::RegionNotFound, "region_not_found"),
    (Why::KeyNotInRegion, "key_not_in_region"),
    (Why::EpochNotMatch, "epoch_not_match"),
    (Why::ServerIsBusy, "server_is_busy"),
    (Why::StaleCommand, "stale_command"),
    (Why::StoreNotMatch, "store_not_match"),
    (Why::StoreLost, "store_lost"),
    (Why::Timeout, "timeout"),
    (Why::NotReady, "region_not_ready"),
    (Why::Pd, "pd"),
    (Why::Locked, "locked"),
];

impl Why {
    /// The word under which it is counted.
    pub(crate) fn word(self) -> &'static str {
        WORDS[self as usize].1
    }

    /// The first pause and the longest, in milliseconds. What tells where to go instead needs none at first.
    fn pauses_ms(self) -> (u64, u64) {
        match self {
            Self::NotLeader | Self::EpochNotMatch => (0, 100),
            Self::Locked => (1, 100),
            Self::ServerIsBusy | Self::StoreLost | Self::Pd => (20, 500),
            _ => (2, 500),
        }
    }
}

/// How often requests were sent again, by reason; one for all sessions of a driver.
#[derive(Debug, Default)]
pub(crate) struct Counts([AtomicU64; WORDS.len()]);

impl Counts {
    fn add(&self, why: Why) {
        self.0[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// By name, as records hold them.
    pub(crate) fn named(&self) -> BTreeMap<String, i64> {
        let one = |((_, word), count): (&(Why, &str), &AtomicU64)| {
            (format!("client_retries_{word}"), count.load(Ordering::Relaxed) as i64)
        };
        WORDS.iter().zip(&self.0).map(one).collect()
    }
}

/// The tries of one request.
#[derive(Debug)]
pub(crate) struct Tries {
    limit: Duration,
    /// Set by the first failure: until then no clock is read.
    deadline: Option<Moment>,
    count: u32,
    /// Sets sessions apart, so that they do not come back in step: 0 to 7.
    spread: u64,
}

impl Tries {
    pub(crate) fn new(limit_ms: u32, session: u32) -> Self {
        Self { limit: Duration::from_millis(limit_ms.into()), deadline: None, count: 0, spread: u64::from(session % 8) }
    }

    #[inline]
    pub(crate) fn restart(&mut self) {
        self.deadline = None;
        self.count = 0;
    }

    #[inline]
    pub(crate) fn begun(&self) -> bool {
        self.count > 0
    }

    /// Counts a failure and waits before the next try.
    ///
    /// # Errors
    /// `Failed` where the limit for all tries together is over; `words` are the server's.
    #[cold]
    pub(crate) async fn retry(&mut self, why: Why, words: &str, counts: &Counts) -> Result<(), DriverError> {
        let now = perbuck_event::now();
        let deadline = *self.deadline.get_or_insert(now + self.limit);
        let (first, longest) = why.pauses_ms();
        // The first of those without a pause goes at once, the next ones do not: two stores might send us to and fro.
        let first = if first == 0 && self.count > 0 { 1 } else { first };
        let pause_ms = (first << self.count.min(10)).min(longest);
        let pause = Duration::from_micros(pause_ms * 1000 * (8 + self.spread) / 8);
        self.count += 1;
        if now + pause > deadline {
            let (limit_ms, count) = (self.limit.as_millis(), self.count);
            let message = format!("given up after {count} tries within {limit_ms} ms: {} {words}", why.word());
            let cause = (why == Why::Timeout).then_some(Cause::Timeout);
            return Err(DriverError::new(ErrorClass::Failed, ErrorCode::Word("tikv", why.word()), message).because(cause));
        }
        counts.add(why);
        if !pause.is_zero() {
            perbuck_event::sleep(pause).await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use perbuck_event::{block_on_simulated, now};

    use super::*;

    #[test]
    fn every_reason_has_its_word() {
        assert!(WORDS.iter().enumerate().all(|(i, (why, _))| *why as usize == i));
    }

    #[test]
    fn tries_are_counted_and_end_with_the_limit() {
        block_on_simulated(async {
            let (counts, mut tries) = (Counts::default(), Tries::new(2_000, 3));
            let began = now();
            let mut count = 0;
            let error = loop {
                match tries.retry(Why::ServerIsBusy, "too much", &counts).await {
                    Ok(()) => count += 1,
                    Err(error) => break error,
                }
            };
            assert!((5..12).contains(&count) && now() - began <= Duration::from_secs(2), "{count}");
            assert_eq!((error.class, error.code), (ErrorClass::Failed, ErrorCode::Word("tikv", "server_is_busy")));
            assert_eq!(counts.named()["client_retries_server_is_busy"], count);
            // A request that is told where to go goes at once.
            tries.restart();
            let before = now();
            tries.retry(Why::NotLeader, "", &counts).await.unwrap_or_default();
            assert_eq!(now(), before);
        });
    }
}
