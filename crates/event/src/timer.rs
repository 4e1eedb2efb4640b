//! Sleeps: a heap of deadlines. A sleep that is dropped leaves its entry, which then wakes its task for nothing.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::local;
use crate::moment::Moment;

/// Deadlines in order; of equal ones the first that was asked for.
#[derive(Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Moment, u64, usize)>>,
    asked: u64,
}

impl Timers {
    fn add(&mut self, at: Moment, task: usize) {
        self.asked += 1;
        self.heap.push(Reverse((at, self.asked, task)));
    }

    /// The first deadline.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Moment> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Marks every task as ready whose time has come.
    #[inline]
    pub(crate) fn fire(&mut self, ready: &mut VecDeque<usize>) {
        while let Some(Reverse((at, _, task))) = self.heap.peek().copied() {
            if !local::has_come(at) {
                break;
            }
            self.heap.pop();
            ready.push_back(task);
        }
    }
}

/// Waits until a time has come.
#[derive(Debug, Clone)]
pub struct Sleep {
    at: Moment,
    /// The task that is polled then.
    queued: Option<u32>,
}

impl Sleep {
    /// Whether the time has come, without a look at the clock: as of the last wait that a timer could have ended.
    /// Otherwise the task is polled when it has.
    #[inline]
    pub fn poll_passed(&mut self) -> Poll<()> {
        if local::has_come(self.at) {
            return Poll::Ready(());
        }
        // Another task than before, if what holds the sleep was handed over.
        let task = local::current() as u32;
        if self.queued != Some(task) {
            self.queued = Some(task);
            local::with(|this| this.timers.borrow_mut().add(self.at, task as usize));
        }
        Poll::Pending
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.poll_passed()
    }
}

/// Waits until `at`. The task that polls it last is the one that is woken.
pub fn sleep_until(at: Moment) -> Sleep {
    Sleep { at, queued: None }
}

/// Waits for a time.
pub fn sleep(time: Duration) -> Sleep {
    sleep_until(local::now() + time)
}

/// The time of a [`timeout_at`] came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time is over")
    }
}

impl std::error::Error for Elapsed {}

/// Waits for a future, but not beyond `at`; the future is then dropped.
///
/// # Errors
/// [`Elapsed`] when the time came first.
pub async fn timeout_at<F: Future>(at: Moment, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    let mut limit = sleep_until(at);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Ok(output)),
        Poll::Pending => limit.poll_passed().map(|()| Err(Elapsed)),
    })
    .await
}
