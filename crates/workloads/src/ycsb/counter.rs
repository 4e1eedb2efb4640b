//! The numbers of inserted records: given out in order, acknowledged in any order. What is drawn from the records that exist
//! looks at the end of those before which every one is acknowledged.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::Result;
use perbuck_load::error::{DriverError, ErrorClass};

/// Numbers that may be given out beyond the first that is not acknowledged, as in YCSB.
const WINDOW: u64 = 1 << 20;

/// Numbers of new records, shared by all terminals. Only an INSERT writes to it.
#[derive(Debug, Default)]
pub(super) struct Counter {
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
    /// Begins at `start`; `inserts` says whether any number will be taken.
    pub(super) fn new(start: u64, inserts: bool) -> Self {
        let acknowledged = (0..if inserts { WINDOW } else { 0 }).map(|_| AtomicBool::new(false)).collect();
        Self { next: AtomicU64::new(start), end: AtomicU64::new(start), acknowledged, ..Self::default() }
    }

    /// Starts again at `start`: before any terminal of a trial takes a number.
    pub(super) fn restart(&self, start: u64) {
        self.acknowledged.iter().for_each(|flag| flag.store(false, Ordering::Relaxed));
        self.next.store(start, Ordering::SeqCst);
        self.end.store(start, Ordering::SeqCst);
        self.returned().clear();
        self.waiting.store(0, Ordering::SeqCst);
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

    /// Every record below this number is there.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// The record is there. It is a fatal error if a record that was started 2²⁰ records earlier is still not there.
    pub(super) fn acknowledge(&self, number: u64) -> Result<()> {
        let Some(flag) = self.flag(number) else { return Ok(()) };
        if number.saturating_sub(self.end()) >= WINDOW {
            let message = format!("record {number} was inserted, but the INSERT of a record {WINDOW} earlier has not ended");
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

    #[test]
    fn the_end_moves_only_over_acknowledged_numbers() {
        let counter = Counter::new(1_000, true);
        let taken: Vec<u64> = (0..5).map(|_| counter.take().0).collect();
        assert_eq!((taken.as_slice(), counter.end()), ([1_000, 1_001, 1_002, 1_003, 1_004].as_slice(), 1_000));
        for (number, end) in [(1_001, 1_000), (1_003, 1_000), (1_000, 1_002), (1_002, 1_004), (1_004, 1_005)] {
            counter.acknowledge(number).unwrap();
            assert_eq!(counter.end(), end, "after {number}");
        }
        counter.restart(7);
        assert_eq!((counter.take(), counter.end()), ((7, false), 7));
    }

    #[test]
    fn a_failed_insert_is_retried_first() {
        let counter = Counter::new(0, true);
        assert_eq!([counter.take(), counter.take()], [(0, false), (1, false)]);
        counter.give_back(0);
        assert_eq!([counter.take(), counter.take()], [(0, true), (2, false)]);
        counter.give_back(2);
        counter.restart(9);
        assert_eq!(counter.take(), (9, false));
    }

    #[test]
    fn a_record_that_never_comes_ends_the_run_after_a_window() {
        let counter = Counter::new(0, true);
        (1..WINDOW).for_each(|n| counter.acknowledge(n).unwrap());
        assert_eq!(counter.end(), 0);
        let error = counter.acknowledge(WINDOW).unwrap_err();
        assert!(error.class == ErrorClass::Fatal && error.message.contains("record 1048576"), "{error}");
        counter.acknowledge(0).unwrap();
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
                        counter.acknowledge(number).unwrap();
                    }
                });
            }
        });
        assert_eq!((counter.end(), counter.take()), (200_010, (200_010, false)));
    }
}
