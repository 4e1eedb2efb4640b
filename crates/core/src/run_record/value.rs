//! The value of a metric in a trial.

use super::RunRecord;
use crate::metric::{CompositeValues, Counted, Metric};
use crate::units::total;

impl RunRecord {
    /// Why it has no value of a metric: one that needs every transaction of a trial has none where one failed.
    pub fn lacks(&self, metric: &Metric) -> Option<String> {
        let Counted::Composite(composite) = &metric.of else { return None };
        composite.values(self, metric.per.seconds()).err()
    }

    /// The value of a metric from counters and measured time; 0 where nothing was measured, and where it has none.
    pub fn metric(&self, metric: &Metric) -> f64 {
        if let Counted::Composite(composite) = &metric.of {
            return composite.values(self, metric.per.seconds()).map_or(0.0, CompositeValues::mean);
        }
        let seconds = self.measured.window_ns as f64 / 1e9;
        if seconds == 0.0 {
            return 0.0;
        }
        self.counted(metric) as f64 * metric.per.seconds() / seconds
    }

    /// Whether it holds what a metric counts; a record of an older version may not.
    pub fn counts(&self, metric: &Metric) -> bool {
        let Counted::Facts(names) = &metric.of else { return true };
        names.iter().all(|name| self.measured.transactions.values().any(|t| t.facts.contains_key(name.as_ref())))
    }

    /// How many a metric counts in the measured window.
    pub fn counted(&self, metric: &Metric) -> u64 {
        let transactions = || self.measured.transactions.iter();
        let of = |counts: &dyn Fn(&str) -> bool| total(transactions().filter(|t| counts(t.0)).map(|t| t.1.completed()));
        match &metric.of {
            Counted::Transactions => of(&|_| true),
            Counted::Kinds(kinds) => of(&|kind| kinds.iter().any(|k| k == kind)),
            Counted::Statements => self.measured.statements.total(),
            Counted::Composite(composite) => of(&|kind| composite.together.iter().any(|k| k == kind)),
            Counted::Facts(names) => {
                let counted = |name: &String| names.iter().any(|n| *n == name.as_str());
                total(transactions().flat_map(|t| &t.1.facts).filter(|fact| counted(fact.0)).map(|fact| *fact.1))
            }
            // Only published studies have it, and they have no records.
            Counted::Published => 0,
        }
    }
}
