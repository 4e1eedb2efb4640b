//! The loop of this thread, as everything that runs in it sees it: tasks, what is ready, timers, sockets.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use pin_project_lite::pin_project;
use slab::Slab;

use crate::reactor::Reactor;
use crate::timers::Timers;
use crate::wake::Remote;

/// The future given to `block_on`; all others have smaller numbers.
pub(crate) const MAIN: usize = u32::MAX as usize;

pub(crate) type Task = Pin<Box<dyn Run>>;

pub(crate) trait Run {
    fn run(self: Pin<&mut Self>) -> Poll<()>;
}

pin_project! {
    /// A future and what wakes it, side by side: they are fetched together.
    struct Spawned<F> {
        waker: Waker,
        #[pin]
        future: F,
    }
}

impl<F: Future<Output = ()>> Run for Spawned<F> {
    #[inline]
    fn run(self: Pin<&mut Self>) -> Poll<()> {
        let this = self.project();
        this.future.poll(&mut Context::from_waker(this.waker))
    }
}

/// The state of a loop, shared by everything that runs in it.
pub(crate) struct Loop {
    /// `None` inside while a task is being polled.
    pub(crate) tasks: RefCell<Slab<Option<Task>>>,
    pub(crate) ready: RefCell<VecDeque<usize>>,
    /// The batch of tasks whose sockets have news; kept for its memory.
    pub(crate) woken: RefCell<Vec<usize>>,
    pub(crate) timers: RefCell<Timers>,
    pub(crate) reactor: Option<Reactor>,
    pub(crate) remote: Arc<Remote>,
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<Loop>>> = const { RefCell::new(None) };
    /// The task that is being polled. Apart from the loop, because what needs no destructor is read without a look whether it lives.
    static TASK: Cell<usize> = const { Cell::new(MAIN) };
}

/// Calls `f` with the loop of this thread.
///
/// # Panics
/// Outside a loop, which is a defect of the caller.
#[inline]
pub(crate) fn with<T>(f: impl FnOnce(&Rc<Loop>) -> T) -> T {
    CURRENT.with_borrow(|current| match current {
        Some(this) => f(this),
        None => panic!("sockets, sleeps and tasks of perbuck-event work only inside block_on"),
    })
}

/// Marks a task as ready if its loop is the one of this thread.
pub(crate) fn wake_here(remote: &Arc<Remote>, task: usize) -> bool {
    let here = CURRENT.try_with(|current| match current.try_borrow().as_deref() {
        Ok(Some(this)) if Arc::ptr_eq(&this.remote, remote) => {
            this.ready.borrow_mut().push_back(task);
            true
        }
        _ => false,
    });
    here.unwrap_or(false)
}

#[inline]
pub(crate) fn task() -> usize {
    TASK.get()
}

#[inline]
pub(crate) fn set_task(task: usize) {
    TASK.set(task);
}

/// Marks the task that is being polled as ready, so that it is polled again after the others have run.
#[inline]
pub fn wake_current() {
    with(|this| this.wake(task()));
}

/// Lets everything else that is ready run first.
#[inline]
pub fn yield_now() -> impl Future<Output = ()> {
    let mut yielded = false;
    poll_fn(move |_| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        wake_current();
        Poll::Pending
    })
}

/// Drops a task of the loop of this thread, if that still runs.
pub(crate) fn kill(id: usize) {
    let this = CURRENT.try_with(|current| current.try_borrow().ok().and_then(|c| c.clone()));
    if let Ok(Some(this)) = this {
        this.kill(id);
    }
}

/// Makes a loop the one of this thread, or none.
///
/// # Panics
/// Where there is one already.
pub(crate) fn enter(this: Option<Rc<Loop>>) {
    assert!(this.is_none() || CURRENT.with_borrow(Option::is_none), "a loop within a loop would never hear its sockets");
    CURRENT.set(this);
    TASK.set(MAIN);
}

impl Loop {
    pub(crate) fn new(reactor: Option<Reactor>, waker: Option<OwnedFd>) -> Self {
        Self {
            tasks: RefCell::default(),
            ready: RefCell::default(),
            woken: RefCell::default(),
            timers: RefCell::default(),
            reactor,
            remote: Arc::new(Remote::new(waker)),
        }
    }

    #[inline]
    pub(crate) fn wake(&self, task: usize) {
        self.ready.borrow_mut().push_back(task);
    }

    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + 'static) -> usize {
        let mut tasks = self.tasks.borrow_mut();
        let entry = tasks.vacant_entry();
        let id = entry.key();
        let waker = Waker::from(Arc::new(TaskWaker { task: id, remote: self.remote.clone() }));
        entry.insert(Some(Box::pin(Spawned { waker, future })));
        self.wake(id);
        id
    }

    /// Drops a task, unless it is the one that is being polled.
    pub(crate) fn kill(&self, id: usize) {
        let mut tasks = self.tasks.borrow_mut();
        let killed = if matches!(tasks.get(id), Some(Some(_))) { tasks.try_remove(id) } else { None };
        // Its parts may use the loop while they are dropped.
        drop(tasks);
        drop(killed);
    }

    pub(crate) fn take_any(&self) -> Option<Option<Task>> {
        let mut tasks = self.tasks.borrow_mut();
        let id = tasks.iter().next().map(|(id, _)| id)?;
        tasks.try_remove(id)
    }
}

/// What a task's waker points to.
#[derive(Debug)]
pub(crate) struct TaskWaker {
    pub(crate) task: usize,
    pub(crate) remote: Arc<Remote>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !wake_here(&self.remote, self.task) {
            self.remote.wake(self.task);
        }
    }
}
