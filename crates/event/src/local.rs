//! The loop itself: run what is ready, wait, poll the tasks whose sockets or timers came.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use pin_project_lite::pin_project;
use slab::Slab;

use crate::fetch;
use crate::moment::Moment;
use crate::queue::Alarm;
use crate::reactor::Reactor;
use crate::timer::Timers;
use crate::wake::{Remote, TaskWaker};

/// The future given to [`block_on`]; all others have smaller numbers.
const MAIN: usize = u32::MAX as usize;

/// A spawned task.
type Task = Pin<Box<dyn Run>>;

/// What a task can do.
trait Run {
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
    tasks: RefCell<Slab<Option<Task>>>,
    ready: RefCell<VecDeque<usize>>,
    /// The batch of tasks whose sockets have news; kept for its memory.
    woken: RefCell<Vec<usize>>,
    pub(crate) timers: RefCell<Timers>,
    pub(crate) reactor: Option<Reactor>,
    remote: Arc<Remote>,
}

/// Where the loop of this thread is. Apart from it, because what needs no destructor is read without a look whether it lives.
struct Turn {
    /// The task that is being polled.
    task: Cell<usize>,
    /// When the last wait ended that a timer could have ended; under a simulated clock, the time.
    woke_at: Cell<Option<Moment>>,
    simulated: Cell<bool>,
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<Loop>>> = const { RefCell::new(None) };
    static TURN: Turn = const { Turn { task: Cell::new(MAIN), woke_at: Cell::new(None), simulated: Cell::new(false) } };
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

/// The time: the machine's, or that of a simulated loop.
#[inline]
pub fn now() -> Moment {
    TURN.with(|turn| if turn.simulated.get() { turn.woke_at.get() } else { None }).unwrap_or_else(Moment::of_machine)
}

/// The task that is being polled.
#[inline]
pub(crate) fn current() -> usize {
    TURN.with(|turn| turn.task.get())
}

/// Whether that time had come when the last wait ended that a timer could have ended. That may be a while ago; what has come
/// since and is not queued yet is found at the next wait.
#[inline]
pub(crate) fn has_come(at: Moment) -> bool {
    TURN.with(|turn| turn.woke_at.get().is_some_and(|woke_at| at <= woke_at))
}

/// Marks the task that is being polled as ready, so that it is polled again after the others had their turn.
#[inline]
pub fn wake_current() {
    with(|this| this.wake(current()));
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

/// Runs a future, and the tasks that it spawns, on this thread until the future ends. Tasks that are left are dropped.
///
/// # Errors
/// When the operating system gives no event queue (file descriptors), or waiting on it fails.
pub fn block_on<F: Future>(future: F) -> io::Result<F::Output> {
    let (reactor, alarm) = Reactor::new()?;
    run(Loop::new(Some(reactor), Some(alarm)), future)
}

/// As [`block_on`] under a clock that stands still while anything is ready and then jumps to the next timer. There are
/// no sockets.
///
/// # Panics
/// When everything waits and no timer is left: nothing would ever happen again.
pub fn block_on_simulated<F: Future>(future: F) -> F::Output {
    match run(Loop::new(None, None), future) {
        Ok(output) => output,
        Err(error) => panic!("a simulated loop does no input or output, yet: {error}"),
    }
}

/// Makes the loop the one of this thread until dropped, and then drops its tasks, which may use it.
struct Entered(Rc<Loop>);

impl Drop for Entered {
    fn drop(&mut self) {
        loop {
            let Some(task) = self.0.take_any() else { break };
            drop(task);
        }
        CURRENT.set(None);
        TURN.with(|turn| {
            turn.task.set(MAIN);
            turn.woke_at.set(None);
            turn.simulated.set(false);
        });
    }
}

fn run<F: Future>(this: Loop, future: F) -> io::Result<F::Output> {
    let this = Rc::new(this);
    assert!(CURRENT.with_borrow(Option::is_none), "a loop within a loop would never hear its sockets");
    CURRENT.set(Some(this.clone()));
    TURN.with(|turn| turn.simulated.set(this.reactor.is_none()));
    woke(Moment::of_machine());
    let entered = Entered(this.clone());
    let main_waker = Waker::from(Arc::new(TaskWaker { task: MAIN, remote: this.remote.clone() }));
    let mut main = pin!(future);
    this.wake(MAIN);
    loop {
        // Only what is ready now: what these tasks wake waits for its turn behind the sockets.
        let due = this.ready.borrow().len();
        for _ in 0..due {
            let next = this.ready.borrow_mut().pop_front();
            match next {
                Some(MAIN) => {
                    TURN.with(|turn| turn.task.set(MAIN));
                    if let Poll::Ready(output) = main.as_mut().poll(&mut Context::from_waker(&main_waker)) {
                        drop(entered);
                        return Ok(output);
                    }
                }
                Some(task) => this.poll(task),
                None => break,
            }
        }
        this.remote.take(&mut *this.ready.borrow_mut());
        this.wait()?;
    }
}

impl Loop {
    fn new(reactor: Option<Reactor>, alarm: Option<Alarm>) -> Self {
        Self {
            tasks: RefCell::default(),
            ready: RefCell::default(),
            woken: RefCell::default(),
            timers: RefCell::default(),
            reactor,
            remote: Arc::new(Remote::new(alarm)),
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

    fn take_any(&self) -> Option<Option<Task>> {
        let mut tasks = self.tasks.borrow_mut();
        let id = tasks.iter().next().map(|(id, _)| id)?;
        tasks.try_remove(id)
    }

    #[inline]
    fn poll(&self, id: usize) {
        let taken = self.tasks.borrow_mut().get_mut(id).and_then(Option::take);
        // A wake-up may come for a task that has ended.
        let Some(mut task) = taken else { return };
        TURN.with(|turn| turn.task.set(id));
        if task.as_mut().run().is_ready() {
            self.tasks.borrow_mut().try_remove(id);
        } else if let Some(place) = self.tasks.borrow_mut().get_mut(id) {
            *place = Some(task);
        }
    }

    /// Begins to fetch a task that will be polled soon.
    #[inline]
    fn fetch(&self, id: usize) {
        if let Some(Some(task)) = self.tasks.borrow().get(id) {
            fetch::ahead(&**task);
        }
    }

    /// Polls the tasks whose sockets have news, and fetches each while the one before is at work.
    #[inline]
    fn poll_woken(&self, woken: &[usize]) {
        if let Some(first) = woken.first() {
            self.fetch(*first);
        }
        for (place, task) in woken.iter().enumerate() {
            if let Some(next) = woken.get(place + 1) {
                self.fetch(*next);
            }
            match *task {
                MAIN => self.wake(MAIN),
                task => self.poll(task),
            }
        }
    }

    /// Waits for a socket, a timer or another thread, and polls or marks who waited for it.
    fn wait(&self) -> io::Result<()> {
        let idle = self.ready.borrow().is_empty();
        let next = self.timers.borrow_mut().next();
        match &self.reactor {
            Some(reactor) => {
                let mut woken = self.woken.take();
                let waited = reactor.wait(idle, next, &mut woken);
                // The clock is read only where a deadline may have come: not for every answer of a server.
                let due = *waited.as_ref().unwrap_or(&true);
                if due {
                    woke(Moment::of_machine());
                }
                self.poll_woken(&woken);
                woken.clear();
                self.woken.replace(woken);
                waited?;
                if !due {
                    return Ok(());
                }
            }
            None if idle => match next {
                Some(at) => woke(now().max(at)),
                None => panic!("everything waits and no timer is left"),
            },
            None => {}
        }
        self.timers.borrow_mut().fire(&mut self.ready.borrow_mut());
        Ok(())
    }
}

/// A wait has ended, or a simulated one would have.
fn woke(at: Moment) {
    TURN.with(|turn| turn.woke_at.set(Some(at)));
}

/// Drops a task of the loop of this thread, if that still runs.
pub(crate) fn kill(id: usize) {
    let this = CURRENT.try_with(|current| current.try_borrow().ok().and_then(|c| c.clone()));
    if let Ok(Some(this)) = this {
        this.kill(id);
    }
}

/// How long from now to `at`; zero in the past.
pub(crate) fn until(at: Moment) -> Duration {
    at - Moment::of_machine()
}

#[cfg(test)]
mod tests;
