//! The numbers of inserted records: given out in order, acknowledged in any order. What is drawn from the records that exist
//! looks at the end of those before which every one is acknowledged.
//!
//! Numbers start at 0 in each trial and count the inserts of this process alone; a [`Stripe`] says which records they are.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::share::Share;

use super::stripe::Stripe;
use crate::Result;

/// Numbers that may be given out beyond the first that is not acknowledged, as in YCSB.
const WINDOW: u64 = 1 << 20;

/// Numbers of new records, shared by all terminals of a process. Only an INSERT writes to it.
#[derive(Debug, Default)]
pub(super) struct Counter {
    /// The first new record of the trial.
    first: AtomicU64,
    next: AtomicU64,
    /// Every number below is acknowledged.
    end: AtomicU64,
    /// Acknowledged numbers from `end` on, each at its position modulo the window; empty if no operation inserts.
    acknowledged: Box<[AtomicBool]>,
    moving: AtomicBool,
    /// Numbers whose INSERT failed, for the next insert, and how many they are.
    returned: Mutex<Vec<u64>>,
    waiting: AtomicUsize,
}

impl Counter {
    /// New records start with `first`; `inserts` says whether any number will be taken.
    pub(super) fn new(first: u64, inserts: bool) -> Self {
        let acknowledged = (0..if inserts { WINDOW } else { 0 }).map(|_| AtomicBool::new(false)).collect();
        Self { first: AtomicU64::new(first), acknowledged, ..Self::default() }
    }

    /// Starts again with the record `first`: before any terminal of a trial takes a number.
    pub(super) fn restart(&self, first: u64) {
        self.first.store(first, Ordering::SeqCst);
        self.complete(0);
    }

    /// Every number below `end` counts as given out and acknowledged, and none from there on.
    pub(super) fn complete(&self, end: u64) {
        self.acknowledged.iter().for_each(|flag| flag.store(false, Ordering::Relaxed));
        self.next.store(end, Ordering::SeqCst);
        self.end.store(end, Ordering::SeqCst);
        self.returned().clear();
        self.waiting.store(0, Ordering::SeqCst);
    }

    /// Which records the numbers of this process are, whose share of the trial is `share`.
    #[inline]
    pub(super) fn stripe(&self, share: Share) -> Stripe {
        Stripe { first: self.first.load(Ordering::Relaxed), share }
    }

    /// The number of the next record to insert, and whether its INSERT failed before.
    #[inline]
    pub(super) fn take(&self) -> (u64, bool) {
        if self.waiting.load(Ordering::Relaxed) > 0
            && let Some(number) = self.returned().pop()
        {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return (number, true);
        }
        (self.next.fetch_add(1, Ordering::Relaxed), false)
    }

    /// The record could not be inserted: the next INSERT is about it, so that no gap remains.
    #[cold]
    pub(super) fn give_back(&self, number: u64) {
        self.returned().push(number);
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    fn returned(&self) -> std::sync::MutexGuard<'_, Vec<u64>> {
        // Nothing can panic while it is held.
        self.returned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many numbers were given out.
    pub(super) fn given_out(&self) -> u64 {
        self.next.load(Ordering::SeqCst)
    }

    /// The record of every number below this one is there.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// Whether the record of this number is known to be there.
    pub(super) fn is_acknowledged(&self, number: u64) -> bool {
        let end = self.end();
        let flagged = || number - end < WINDOW && self.flag(number).is_some_and(|flag| flag.load(Ordering::SeqCst));
        number < end || flagged()
    }

    /// The `record` of this number is there. It is a fatal error if one that was started 2²⁰ numbers earlier is still not there.
    pub(super) fn acknowledge(&self, number: u64, record: u64) -> Result<()> {
        let Some(flag) = self.flag(number) else { return Ok(()) };
        if number.saturating_sub(self.end()) >= WINDOW {
            let message = format!("record {record} was inserted, but the INSERT of a record {WINDOW} earlier has not ended");
            return Err(DriverError::client(ErrorClass::Fatal, "unacknowledged", message));
        }
        flag.store(true, Ordering::SeqCst);
        // A thread that finds another one moving the end leaves it to that one, which looks again when it is done.
        while self.flag(self.end()).is_some_and(|flag| flag.load(Ordering::SeqCst)) {
            if self.moving.swap(true, Ordering::SeqCst) {
                break;
            }
            let mut end = self.end.load(Ordering::SeqCst);
            while self.flag(end).is_some_and(|flag| flag.swap(false, Ordering::SeqCst)) {
                end += 1;
            }
            self.end.store(end, Ordering::SeqCst);
            self.moving.store(false, Ordering::SeqCst);
        }
        Ok(())
    }

    fn flag(&self, number: u64) -> Option<&AtomicBool> {
        self.acknowledged.get((number % WINDOW) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acknowledge(counter: &Counter, number: u64) {
        counter.acknowledge(number, number).unwrap();
    }

    #[test]
    fn the_end_moves_only_over_acknowledged_numbers() {
        let counter = Counter::new(1_000, true);
        let taken: Vec<u64> = (0..5).map(|_| counter.take().0).collect();
        assert_eq!((taken.as_slice(), counter.end(), counter.given_out()), ([0, 1, 2, 3, 4].as_slice(), 0, 5));
        for (number, end) in [(1, 0), (3, 0), (0, 2), (2, 4), (4, 5)] {
            assert!(!counter.is_acknowledged(number), "before {number}");
            acknowledge(&counter, number);
            assert_eq!((counter.end(), counter.is_acknowledged(number)), (end, true), "after {number}");
        }
        counter.restart(7);
        assert_eq!((counter.stripe(Share::WHOLE).first, counter.take(), counter.end()), (7, (0, false), 0));
    }

    #[test]
    fn shares_count_apart_and_give_out_each_record_once() {
        let shares: Vec<Share> = (0..3).map(|number| Share { number, of: 3 }).collect();
        let counters: Vec<Counter> = shares.iter().map(|_| Counter::new(50, true)).collect();
        // The second one is ahead of the others.
        let taken = [2, 5, 3].iter().zip(counters.iter().zip(&shares)).flat_map(|(times, (counter, share))| {
            (0..*times).map(|_| counter.stripe(*share).record(counter.take().0)).collect::<Vec<_>>()
        });
        assert_eq!(taken.collect::<Vec<_>>(), [50, 53, 51, 54, 57, 60, 63, 52, 55, 58]);
        assert_eq!(counters.iter().map(Counter::given_out).collect::<Vec<_>>(), [2, 5, 3]);
    }

    #[test]
    fn what_is_complete_is_given_out_and_acknowledged() {
        let counter = Counter::new(10, true);
        assert_eq!((0..5).map(|_| counter.take().0).max(), Some(4));
        counter.give_back(2);
        acknowledge(&counter, 3);
        assert!(counter.is_acknowledged(3) && !counter.is_acknowledged(4) && !counter.is_acknowledged(3 + WINDOW));
        counter.complete(9);
        assert_eq!((counter.end(), counter.given_out(), counter.take()), (9, 9, (9, false)));
        assert!(counter.is_acknowledged(8) && !counter.is_acknowledged(9) && !counter.is_acknowledged(3 + WINDOW));
    }

    #[test]
    fn a_failed_insert_is_retried_first() {
        let counter = Counter::new(0, true);
        assert_eq!([counter.take(), counter.take()], [(0, false), (1, false)]);
        counter.give_back(0);
        assert_eq!([counter.take(), counter.take()], [(0, true), (2, false)]);
        counter.give_back(2);
        counter.restart(9);
        assert_eq!(counter.take(), (0, false));
    }

    #[test]
    fn a_record_that_never_comes_ends_the_run_after_a_window() {
        let counter = Counter::new(0, true);
        (1..WINDOW).for_each(|n| acknowledge(&counter, n));
        assert_eq!(counter.end(), 0);
        let error = counter.acknowledge(WINDOW, 7 + WINDOW).unwrap_err();
        assert!(error.class == ErrorClass::Fatal && error.message.contains("record 1048583"), "{error}");
        acknowledge(&counter, 0);
        assert_eq!(counter.end(), WINDOW);
    }

    #[test]
    fn threads_leave_no_acknowledged_number_behind() {
        let counter = Counter::new(10, true);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50_000 {
                        let number = counter.take().0;
                        assert!(counter.end() <= number);
                        acknowledge(&counter, number);
                    }
                });
            }
        });
        assert_eq!((counter.end(), counter.take()), (200_000, (200_000, false)));
    }
}
