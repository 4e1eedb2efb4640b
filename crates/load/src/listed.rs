//! Transactions one by one, for an observer that asks for them: sent in portions, so that no transaction waits for a reader.

use std::sync::mpsc::Sender;

use crate::error::{ErrorClass, ErrorCode};
use crate::recorder::{Report, Sample};
use crate::window::SECOND_NS;

/// Transactions that are sent together, at most.
const TOGETHER: usize = 1024;

/// A transaction that ended in the window.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// Its terminal, from 0.
    pub terminal: u32,
    /// Its number at its terminal, from 0.
    pub number: u64,
    /// What it was; times in nanoseconds relative to the window.
    pub sample: Sample,
    /// Attempts beyond the first.
    pub retries: u32,
    /// The last error that it met, if it was given up because of one.
    pub error: Option<(ErrorClass, ErrorCode)>,
}

/// Those of one worker that are not sent yet.
#[derive(Debug)]
pub(crate) struct List {
    reports: Sender<Report>,
    window_ns: i64,
    all: Vec<Listed>,
}

impl List {
    /// An empty one of a window of that length.
    pub(crate) fn new(reports: Sender<Report>, window_ns: i64) -> Self {
        Self { reports, window_ns, all: Vec::with_capacity(TOGETHER) }
    }

    /// Adds one; what ended outside of the window is no part of it.
    pub(crate) fn add(&mut self, listed: Listed) {
        let ended_ns = listed.sample.finished_ns;
        if ended_ns < 0 || ended_ns >= self.window_ns {
            return;
        }
        self.all.push(listed);
        if self.all.len() == TOGETHER {
            self.send();
        }
    }

    /// Sends what has waited for a second.
    pub(crate) fn send_old(&mut self, now_ns: i64) {
        if self.all.first().is_some_and(|first| now_ns - first.sample.finished_ns >= SECOND_NS) {
            self.send();
        }
    }

    /// Sends what there is.
    pub(crate) fn send(&mut self) {
        if !self.all.is_empty() {
            let all = std::mem::replace(&mut self.all, Vec::with_capacity(TOGETHER));
            // The receiver is gone only when the run was given up.
            let _ = self.reports.send(Report::Listed(all));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::connection::Counts;
    use crate::recorder::Outcome;

    fn listed(finished_ns: i64) -> Listed {
        let (outcome, statements) = (Outcome::Committed, Counts::default());
        let sample = Sample { kind: 0, outcome, intended_ns: 0, started_ns: 0, finished_ns, statements, facts: [0; 4] };
        Listed { terminal: 0, number: 0, sample, retries: 0, error: None }
    }

    #[test]
    fn portions_hold_what_ended_in_the_window() {
        let (send, receive) = channel();
        let mut list = List::new(send, 10 * SECOND_NS);
        let sent = || match receive.try_recv() {
            Ok(Report::Listed(all)) => all.iter().map(|listed| listed.sample.finished_ns).collect(),
            _ => Vec::new(),
        };
        [-1, 0, 5, 10 * SECOND_NS - 1, 10 * SECOND_NS].into_iter().for_each(|at| list.add(listed(at)));
        list.send_old(SECOND_NS - 1);
        assert_eq!(sent(), Vec::<i64>::new());
        list.send_old(SECOND_NS);
        assert_eq!(sent(), [0, 5, 10 * SECOND_NS - 1]);
        (0..1500).for_each(|at| list.add(listed(at)));
        assert_eq!(sent().len(), TOGETHER);
        list.send();
        assert_eq!(sent().len(), 1500 - TOGETHER);
        list.send();
        assert!(sent().is_empty());
    }
}
