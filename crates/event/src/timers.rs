//! A heap of deadlines.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::clock;
use crate::moment::Moment;

/// Deadlines in order; of equal ones the first that was asked for.
#[derive(Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Moment, u64, usize)>>,
    asked: u64,
}

impl Timers {
    pub(crate) fn add(&mut self, at: Moment, task: usize) {
        self.asked += 1;
        self.heap.push(Reverse((at, self.asked, task)));
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Option<Moment> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Marks every task as ready whose time has come.
    #[inline]
    pub(crate) fn fire(&mut self, ready: &mut VecDeque<usize>) {
        while let Some(Reverse((at, _, task))) = self.heap.peek().copied() {
            if !clock::has_come(at) {
                break;
            }
            self.heap.pop();
            ready.push_back(task);
        }
    }
}
