//! Sleeps. One that is dropped leaves its deadline, which then wakes its task for nothing.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::clock;
use crate::current;
use crate::moment::Moment;

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
        if clock::has_come(self.at) {
            return Poll::Ready(());
        }
        // Another task than before, if what holds the sleep was handed over.
        let task = current::task() as u32;
        if self.queued != Some(task) {
            self.queued = Some(task);
            current::with(|this| this.timers.borrow_mut().add(self.at, task as usize));
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
    sleep_until(clock::now() + time)
}

/// The time of a [`timeout_at`] came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed;

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
