//! Running a loop: run what is ready, wait, poll the tasks whose sockets or timers came.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use crate::clock::{self, now};
use crate::current::{self, Loop, MAIN, TaskWaker};
use crate::fetch;
use crate::moment::Moment;
use crate::reactor::Reactor;

/// Runs a future, and the tasks that it spawns, on this thread until the future ends. Tasks that are left are dropped.
///
/// # Errors
/// When the operating system gives no event queue (file descriptors), or waiting on it fails.
pub fn block_on<F: Future>(future: F) -> io::Result<F::Output> {
    let (reactor, waker) = Reactor::new()?;
    run_to_end(Loop::new(Some(reactor), Some(waker)), future)
}

/// As [`block_on`] under a clock that stands still while anything is ready and then jumps to the next timer. There are
/// no sockets.
///
/// # Panics
/// When everything waits and no timer is left: nothing would ever happen again.
pub fn block_on_simulated<F: Future>(future: F) -> F::Output {
    match run_to_end(Loop::new(None, None), future) {
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
        current::enter(None);
        clock::stop();
    }
}

fn run_to_end<F: Future>(this: Loop, future: F) -> io::Result<F::Output> {
    let mut output = None;
    run(this, pin!(async { output = Some(future.await) }))?;
    Ok(output.expect("the loop ran to the end of the future"))
}

/// One copy for all futures: there are hundreds of them.
fn run(this: Loop, mut main: Pin<&mut dyn Future<Output = ()>>) -> io::Result<()> {
    let this = Rc::new(this);
    current::enter(Some(this.clone()));
    clock::start(this.reactor.is_none());
    let entered = Entered(this.clone());
    let main_waker = Waker::from(Arc::new(TaskWaker { task: MAIN, remote: this.remote.clone() }));
    this.wake(MAIN);
    loop {
        // Only what is ready now: what these tasks wake comes after the sockets.
        let due = this.ready.borrow().len();
        for _ in 0..due {
            let next = this.ready.borrow_mut().pop_front();
            match next {
                Some(MAIN) => {
                    current::set_task(MAIN);
                    if main.as_mut().poll(&mut Context::from_waker(&main_waker)).is_ready() {
                        drop(entered);
                        return Ok(());
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
    #[inline]
    fn poll(&self, id: usize) {
        let taken = self.tasks.borrow_mut().get_mut(id).and_then(Option::take);
        // A wake-up may come for a task that has ended.
        let Some(mut task) = taken else { return };
        current::set_task(id);
        if task.as_mut().run().is_ready() {
            self.tasks.borrow_mut().try_remove(id);
        } else if let Some(slot) = self.tasks.borrow_mut().get_mut(id) {
            *slot = Some(task);
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
        for (i, task) in woken.iter().enumerate() {
            if let Some(next) = woken.get(i + 1) {
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
                    clock::woke(Moment::of_machine());
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
                Some(at) => clock::woke(now().max(at)),
                None => panic!("everything waits and no timer is left"),
            },
            None => {}
        }
        self.timers.borrow_mut().fire(&mut self.ready.borrow_mut());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
