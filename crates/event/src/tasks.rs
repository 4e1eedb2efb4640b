//! Tasks that belong together.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use pin_project_lite::pin_project;

use crate::current;

/// Tasks with results of one type; they run on the loop of this thread and end with the set.
#[derive(Debug)]
pub struct TaskSet<T> {
    shared: Rc<RefCell<Shared<T>>>,
}

#[derive(Debug)]
struct Shared<T> {
    ended: VecDeque<T>,
    running: Vec<usize>,
    waiting: Option<Waker>,
}

pin_project! {
    /// A task of a set. Written by hand, because an `async` block that awaits a captured future holds it twice.
    struct Member<F, T> {
        #[pin]
        future: F,
        shared: Rc<RefCell<Shared<T>>>,
    }
}

impl<T, F: Future<Output = T>> Future for Member<F, T> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let output = ready!(this.future.poll(cx));
        hand_in(this.shared, output);
        Poll::Ready(())
    }
}

/// Once per task, so away from what is polled for every answer.
#[cold]
fn hand_in<T>(shared: &RefCell<Shared<T>>, output: T) {
    let me = current::task();
    let mut shared = shared.borrow_mut();
    shared.running.retain(|id| *id != me);
    shared.ended.push_back(output);
    if let Some(waiting) = shared.waiting.take() {
        waiting.wake();
    }
}

/// A future of something rare, in a box, made and polled outside of its caller's code: a hot loop that awaits it has neither
/// room for it in its frame (which would be touched page by page at every poll) nor its instructions among its own.
#[cold]
#[inline(never)]
pub fn rarely<'a, F: Future + 'a>(make: impl FnOnce() -> F) -> Pin<Box<dyn Future<Output = F::Output> + 'a>> {
    Box::pin(make())
}

impl<T: 'static> Default for TaskSet<T> {
    fn default() -> Self {
        let shared = Shared { ended: VecDeque::new(), running: Vec::new(), waiting: None };
        Self { shared: Rc::new(RefCell::new(shared)) }
    }
}

impl<T: 'static> TaskSet<T> {
    /// Starts a task; it is polled first after this call.
    pub fn spawn(&mut self, future: impl Future<Output = T> + 'static) {
        let task = Member { future, shared: self.shared.clone() };
        let id = current::with(|this| this.spawn(task));
        self.shared.borrow_mut().running.push(id);
    }

    /// Tasks that have not ended.
    pub fn running(&self) -> usize {
        self.shared.borrow().running.len()
    }

    /// The result of the next task to end; `None` when none is left.
    pub async fn next(&mut self) -> Option<T> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// As [`Self::next`], for a future that waits for other things as well.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut shared = self.shared.borrow_mut();
        match shared.ended.pop_front() {
            Some(output) => Poll::Ready(Some(output)),
            None if shared.running.is_empty() => Poll::Ready(None),
            None => {
                shared.waiting = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> TaskSet<T> {
    /// Drops all tasks that have not ended.
    pub fn abort_all(&mut self) {
        let running = std::mem::take(&mut self.shared.borrow_mut().running);
        running.into_iter().for_each(current::kill);
    }
}

impl<T> Drop for TaskSet<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}
