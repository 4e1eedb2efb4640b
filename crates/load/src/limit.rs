//! Ends of a run other than its time: a number of transactions, and errors that nobody tolerates.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::error::{DriverError, ErrorClass};

/// How many transactions may still be started. Shared by all workers, and touched once per transaction, only where a
/// limit was asked for; clones are the same limit.
#[derive(Debug, Clone, Default)]
pub struct EventLimit(Option<Arc<AtomicI64>>);

impl EventLimit {
    /// A limit of so many transactions; `None` is none.
    pub fn new(events: Option<u64>) -> Self {
        Self(events.map(|events| Arc::new(AtomicI64::new(i64::try_from(events).unwrap_or(i64::MAX)))))
    }

    /// Whether one more transaction may be started; counts it.
    #[inline]
    pub(crate) fn take(&self) -> bool {
        self.0.as_ref().is_none_or(|left| left.fetch_sub(1, Ordering::Relaxed) > 0)
    }

    /// Whether all have been started.
    pub(crate) fn exhausted(&self) -> bool {
        self.0.as_ref().is_some_and(|left| left.load(Ordering::Relaxed) <= 0)
    }
}

/// Which failures of single transactions (such as a duplicate key) a run goes on after. What may be retried, and the
/// loss of a connection, never ends a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Tolerance {
    /// All of them; they are counted.
    #[default]
    All,
    /// Those of these codes, written as records write them (`mysql 1062`, `sqlstate 23505`); any other ends the run.
    Codes(Vec<String>),
}

impl Tolerance {
    /// Whether the run goes on after this error.
    pub(crate) fn tolerates(&self, error: &DriverError) -> bool {
        match (self, error.class) {
            (_, ErrorClass::Refused | ErrorClass::Fatal) => false,
            (Self::Codes(codes), ErrorClass::Failed) => codes.contains(&error.code.to_string()),
            _ => true,
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
    fn only_failures_that_are_not_listed_end_a_run() {
        let listed = Tolerance::Codes(vec!["mysql 1062".to_owned()]);
        for (class, number, all, some) in [
            (ErrorClass::Failed, 1062, true, true),
            (ErrorClass::Failed, 1022, true, false),
            (ErrorClass::Retry, 1213, true, true),
            (ErrorClass::Lost, 2013, true, true),
            (ErrorClass::Fatal, 1146, false, false),
        ] {
            let error = SimDriver::error(class, number);
            assert_eq!((Tolerance::All.tolerates(&error), listed.tolerates(&error)), (all, some), "{number}");
        }
    }
}
