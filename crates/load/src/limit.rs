//! Ends of a run other than its time: a number of transactions, and errors that are not tolerated.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::Waker;

use perbuck_event::Waiters;
use serde::{Deserialize, Serialize};

use crate::error::{DriverError, ErrorClass};

/// How many transactions may still be started. Shared by all workers, and touched once per transaction, only where a
/// limit was asked for; clones are the same limit.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventLimit(Option<Arc<Events>>);

#[derive(Debug)]
struct Events {
    left: AtomicI64,
    waiting: Waiters,
}

impl Events {
    /// Takes one; false where none is left. The last one wakes the workers that wait for the end.
    #[inline]
    fn take(&self) -> bool {
        let left = self.left.fetch_sub(1, Ordering::Relaxed);
        if left == 1 {
            self.waiting.wake();
        }
        left > 0
    }
}

impl EventLimit {
    /// A limit of so many transactions; `None` means no limit.
    pub(crate) fn new(events: Option<u64>) -> Self {
        let left = |events| AtomicI64::new(i64::try_from(events).unwrap_or(i64::MAX));
        Self(events.map(|events| Arc::new(Events { left: left(events), waiting: Waiters::default() })))
    }

    /// Whether one more transaction may be started; counts it.
    #[inline]
    pub(crate) fn take(&self) -> bool {
        self.0.as_ref().is_none_or(|events| events.take())
    }

    /// Corrects the count at the end of a transaction. One that does not count, since it failed, lets another one start. One that
    /// started in the warm-up and ended in the window is counted now, since it counts there.
    #[inline]
    pub(crate) fn ended(&self, counts: bool, started_ns: i64, ended_ns: i64) {
        let Some(events) = &self.0 else { return };
        if started_ns >= 0 && !counts {
            events.left.fetch_add(1, Ordering::Relaxed);
        } else if started_ns < 0 && ended_ns >= 0 && counts {
            events.take();
        }
    }

    /// Whether all have been started.
    pub(crate) fn exhausted(&self) -> bool {
        self.0.as_ref().is_some_and(|events| events.left.load(Ordering::Relaxed) <= 0)
    }

    /// Wakes a task when all have been started. The task must ask after this call whether they were before.
    pub(crate) fn wake_at_end(&self, waker: &Waker) {
        if let Some(events) = &self.0 {
            events.waiting.add(waker);
        }
    }
}

/// After which errors of single transactions (a deadlock, a duplicate key, a lost connection) a run goes on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Tolerance {
    /// All errors except those that say that no transaction can succeed; they are counted.
    #[default]
    All,
    /// All errors, those that say that no transaction can succeed included, except a refused login.
    Every,
    /// Those named here; any other ends the run.
    Listed {
        /// Codes, written as records write them (`mysql 1062`, `sqlstate 23505`). One that the driver holds to be fatal is
        /// then the failure of one transaction.
        codes: Vec<String>,
        /// Everything that may be tried again.
        retries: bool,
        /// The loss of a connection.
        losses: bool,
    },
}

impl Tolerance {
    /// Whether the run goes on after this error.
    pub fn tolerates(&self, error: &DriverError) -> bool {
        let (codes, retries, losses) = match self {
            Self::All => return !matches!(error.class, ErrorClass::Refused | ErrorClass::Fatal),
            Self::Every => return error.class != ErrorClass::Refused,
            Self::Listed { codes, retries, losses } => (codes, retries, losses),
        };
        let listed = || codes.contains(&error.code.to_string());
        match error.class {
            ErrorClass::Refused => false,
            ErrorClass::Retry => *retries || listed(),
            ErrorClass::Lost => *losses || listed(),
            ErrorClass::Failed | ErrorClass::Fatal => listed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::SimDriver;

    #[test]
    fn a_limit_is_one_for_all_its_clones() {
        let limit = EventLimit::new(Some(3));
        let other = limit.clone();
        assert!(limit.take() && other.take() && !other.exhausted() && limit.take());
        assert!(other.exhausted() && !other.take() && !limit.take());
        let none = EventLimit::new(None);
        assert!((0..5).all(|_| none.take()) && !none.exhausted());
        assert!(!EventLimit::new(Some(0)).take());
    }

    #[test]
    fn what_completes_in_the_window_counts() {
        let limit = EventLimit::new(Some(2));
        assert!(limit.take());
        limit.ended(false, 5, 9);
        assert!(limit.take() && !limit.exhausted());
        limit.ended(true, -3, 4);
        assert!(limit.exhausted() && !limit.take());
        let limit = EventLimit::new(Some(1));
        limit.ended(true, -3, -1);
        limit.ended(false, -3, 4);
        assert!(limit.take());
    }

    #[test]
    fn only_failures_that_are_not_listed_end_a_run() {
        let codes = vec!["sim 1062".to_owned(), "sim 1290".to_owned()];
        let listed = Tolerance::Listed { codes: codes.clone(), retries: false, losses: true };
        let usual = Tolerance::Listed { codes, retries: true, losses: false };
        for (class, number, of_all, of_listed, of_usual) in [
            (ErrorClass::Failed, 1062, true, true, true),
            (ErrorClass::Failed, 1022, true, false, false),
            (ErrorClass::Retry, 1213, true, false, true),
            (ErrorClass::Lost, 2013, true, true, false),
            (ErrorClass::Fatal, 1146, false, false, false),
            (ErrorClass::Fatal, 1290, false, true, true),
            (ErrorClass::Refused, 1062, false, false, false),
        ] {
            let error = SimDriver::error(class, number);
            let tolerated = [&Tolerance::All, &listed, &usual].map(|t| t.tolerates(&error));
            assert_eq!(tolerated, [of_all, of_listed, of_usual], "{number}");
        }
    }
}
