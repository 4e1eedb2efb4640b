//! How long each kind of statement took, if the trial asks for it: two more readings of the clock per statement.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use perbuck_core::histogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::statement::Catalogue;
use crate::window::Window;

/// What else is timed than the statements of the catalogue, at its position in [`OTHERS`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Other {
    Begin,
    Commit,
    Rollback,
    InsertRows,
    Text,
    Batch,
}

const OTHERS: [&str; 6] = ["begin", "commit", "rollback", "insert of many rows", "text", "batch"];

/// One step of a workload, such as a command of a script, in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTotals {
    /// How often it ended well.
    pub count: u64,
    /// How long it took all these times together, in nanoseconds.
    pub sum_ns: u64,
    /// Transactions that were given up because it met an error that may be retried.
    pub failures: u64,
    /// Attempts that followed such an error.
    pub retries: u64,
}

impl StepTotals {
    /// Adds another worker's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.failures += other.failures;
        self.retries += other.retries;
    }
}

/// Histograms of one worker, by label of the catalogue. The sessions of the worker share it, by one word of each.
#[derive(Debug, Clone)]
pub(crate) struct StatementTimes(Rc<Shared>);

#[derive(Debug)]
struct Shared {
    window: Cell<Window>,
    by_label: RefCell<Vec<Histogram>>,
    by_step: RefCell<Vec<StepTotals>>,
}

impl StatementTimes {
    pub(crate) fn new(window: Window, catalogue: &Catalogue) -> Self {
        let histograms = OTHERS.iter().chain(catalogue.labels()).map(|_| Histogram::new()).collect();
        let steps = vec![StepTotals::default(); catalogue.steps() as usize];
        Self(Rc::new(Shared { window: Cell::new(window), by_label: RefCell::new(histograms), by_step: RefCell::new(steps) }))
    }

    /// The window is known; before, no statement is timed.
    pub(crate) fn start(&self, window: Window) {
        self.0.window.set(window);
    }

    #[inline]
    pub(crate) fn now_ns(&self) -> i64 {
        self.0.window.get().now_ns()
    }

    /// A statement of the label that was sent then has ended.
    #[inline]
    pub(crate) fn ended(&self, label: u8, sent_ns: i64) {
        self.record(OTHERS.len() + usize::from(label), sent_ns);
    }

    /// Something else that the engine sent then has ended.
    #[inline]
    pub(crate) fn other_ended(&self, other: Other, sent_ns: i64) {
        self.record(other as usize, sent_ns);
    }

    /// What began then has ended: how long it took, in nanoseconds. Only what ends in the window counts.
    #[inline]
    fn took_ns(&self, began_ns: i64) -> Option<u64> {
        let (now_ns, window) = (self.now_ns(), self.0.window.get());
        (now_ns >= 0 && now_ns < window.length_ns).then(|| (now_ns - began_ns).max(0) as u64)
    }

    fn record(&self, index: usize, sent_ns: i64) {
        if let Some(took_ns) = self.took_ns(sent_ns)
            && let Some(histogram) = self.0.by_label.borrow_mut().get_mut(index)
        {
            histogram.record(took_ns);
        }
    }

    /// A step of the workload that began then has ended.
    #[inline]
    pub(crate) fn step_ended(&self, step: u32, began_ns: i64) {
        if let Some(took_ns) = self.took_ns(began_ns)
            && let Some(totals) = self.0.by_step.borrow_mut().get_mut(step as usize)
        {
            totals.count += 1;
            totals.sum_ns += took_ns;
        }
    }

    /// A step has met an error that may be retried, and is.
    pub(crate) fn step_failed(&self, step: u32, retried: bool) {
        if let (Some(_), Some(totals)) = (self.took_ns(0), self.0.by_step.borrow_mut().get_mut(step as usize)) {
            totals.failures += u64::from(!retried);
            totals.retries += u64::from(retried);
        }
    }

    /// What was seen of the steps, by number.
    pub(crate) fn steps(&self) -> Vec<StepTotals> {
        self.0.by_step.borrow().clone()
    }

    /// Takes what was seen, by the names of the labels; adds it to `all`.
    pub(crate) fn add_to(&self, catalogue: &Catalogue, all: &mut BTreeMap<String, Histogram>) {
        for (label, histogram) in OTHERS.iter().chain(catalogue.labels()).zip(&*self.0.by_label.borrow()) {
            if histogram.count() > 0 {
                all.entry((*label).to_owned()).or_default().merge(histogram);
            }
        }
    }
}
