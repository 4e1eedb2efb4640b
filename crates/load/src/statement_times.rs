//! How long each kind of statement took, if the trial asks for it: two more readings of the clock per statement.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use perbuck_core::histogram::Histogram;

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
}

const OTHERS: [&str; 5] = ["begin", "commit", "rollback", "insert of many rows", "text"];

/// Histograms of one worker, by label of the catalogue. The sessions of the worker share it, by one word of each.
#[derive(Debug, Clone)]
pub(crate) struct StatementTimes(Rc<Shared>);

#[derive(Debug)]
struct Shared {
    window: Cell<Window>,
    by_label: RefCell<Vec<Histogram>>,
}

impl StatementTimes {
    pub(crate) fn new(window: Window, catalogue: &Catalogue) -> Self {
        let histograms = OTHERS.iter().chain(catalogue.labels()).map(|_| Histogram::new()).collect();
        Self(Rc::new(Shared { window: Cell::new(window), by_label: RefCell::new(histograms) }))
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

    /// Only what ends in the window counts.
    fn record(&self, index: usize, sent_ns: i64) {
        let (now_ns, window) = (self.now_ns(), self.0.window.get());
        if now_ns >= 0
            && now_ns < window.length_ns
            && let Some(histogram) = self.0.by_label.borrow_mut().get_mut(index)
        {
            histogram.record((now_ns - sent_ns).max(0) as u64);
        }
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
