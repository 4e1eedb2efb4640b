//! Sockets that wait.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use slab::Slab;

use crate::clock;
use crate::moment::Moment;
use crate::queue::{BATCH, LoopWaker, Queue};
use crate::tcp_info::{self, Segments};

/// The token of wake-ups from other threads.
const WAKER: usize = usize::MAX;
/// The token of the timer.
const TIMER: usize = usize::MAX - 1;

/// What is known of a socket. It lies in the table itself: a pointer to it would be one more line of memory per event. Small, so
/// that a line holds several.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    /// A read may find something.
    pub(crate) readable: Cell<bool>,
    /// The other side sends no more, so every read finds its end; an edge will not tell again.
    pub(crate) closed: Cell<bool>,
    /// The task that is polled when something comes.
    task: Cell<u32>,
}

impl Readiness {
    /// From now on that task is polled.
    #[inline]
    pub(crate) fn belongs_to(&self, task: usize) {
        // A task takes hundreds of bytes: no memory holds as many as would not fit.
        self.task.set(task as u32);
    }
}

pub(crate) struct Reactor {
    queue: RefCell<Queue>,
    sources: RefCell<Slab<Readiness>>,
    /// The descriptor of each token, or -1. Apart, because only the edges of a window need it.
    descriptors: RefCell<Vec<RawFd>>,
    /// What sockets that are closed sent.
    closed: Cell<Segments>,
    timer: timer::PreciseTimer,
}

impl Reactor {
    pub(crate) fn new() -> io::Result<(Self, LoopWaker)> {
        let (queue, waker) = Queue::new(WAKER)?;
        let timer = timer::PreciseTimer::new(&queue, TIMER)?;
        let reactor = Self {
            queue: RefCell::new(queue),
            sources: RefCell::default(),
            descriptors: RefCell::default(),
            closed: Cell::default(),
            timer,
        };
        Ok((reactor, waker))
    }

    /// Waits: not at all unless `idle`, and not beyond `until`. Appends the tasks whose sockets have news. Whether a deadline may
    /// have come: not where the timer is armed for the first one and has not gone off.
    #[inline]
    pub(crate) fn wait(&self, idle: bool, until: Option<Moment>, woken: &mut Vec<usize>) -> io::Result<bool> {
        let (timeout, mut due) = if idle { self.timeout(until)? } else { (Some(Duration::ZERO), true) };
        let mut queue = self.queue.borrow_mut();
        match queue.wait(timeout) {
            Ok(()) => {}
            // A signal; its handler has set a flag.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(due),
            Err(error) => return Err(error),
        }
        let sources = self.sources.borrow();
        let mut count = 0;
        for heard in queue.heard() {
            count += 1;
            match sources.get(heard.token) {
                Some(source) => {
                    if heard.readable {
                        source.readable.set(true);
                    }
                    if heard.closed {
                        source.closed.set(true);
                    }
                    woken.push(source.task.get() as usize);
                }
                None => due |= self.is_timer(heard.token),
            }
        }
        // After a full batch the timer may wait in the kernel's queue.
        Ok(due || count >= BATCH)
    }

    /// Neither the waker nor the timer is a socket; both have done their work by ending the wait.
    #[cold]
    fn is_timer(&self, token: usize) -> bool {
        if token == TIMER {
            self.timer.fired();
            return true;
        }
        false
    }

    /// How long to wait, and whether the end of that may be a deadline. epoll counts milliseconds, which would make every timed
    /// send late by up to one; a timer descriptor is exact.
    #[inline]
    fn timeout(&self, until: Option<Moment>) -> io::Result<(Option<Duration>, bool)> {
        match until {
            Some(at) if self.timer.is_armed_for(at) => Ok((None, false)),
            Some(at) => self.arm(at),
            None => Ok((None, false)),
        }
    }

    #[cold]
    fn arm(&self, at: Moment) -> io::Result<(Option<Duration>, bool)> {
        if clock::until(at).is_zero() {
            return Ok((Some(Duration::ZERO), true));
        }
        self.timer.arm(at).map(|()| (None, false))
    }

    /// Enters a socket; `room` asks for news of room for writes too.
    pub(crate) fn register(&self, io: &TcpStream, room: bool) -> io::Result<usize> {
        let token = self.sources.borrow_mut().insert(Readiness::default());
        let entered = self.queue.borrow().add(io, token, room);
        if let Err(error) = entered {
            self.sources.borrow_mut().try_remove(token);
            return Err(error);
        }
        let mut descriptors = self.descriptors.borrow_mut();
        if descriptors.len() <= token {
            descriptors.resize(token + 1, -1);
        }
        descriptors[token] = io.as_raw_fd();
        Ok(token)
    }

    /// What is known of a socket that is registered.
    #[inline]
    pub(crate) fn with_readiness<T>(&self, token: usize, f: impl FnOnce(&Readiness) -> T) -> Option<T> {
        self.sources.borrow().get(token).map(f)
    }

    /// Changes whether a socket waits for room.
    pub(crate) fn reregister(&self, io: &TcpStream, token: usize, room: bool) -> io::Result<()> {
        self.queue.borrow().change(io, token, room)
    }

    pub(crate) fn deregister(&self, io: &TcpStream, token: usize) {
        // Closing the descriptor removes it in any case.
        let _ = self.queue.borrow().remove(io);
        self.sources.borrow_mut().try_remove(token);
        if let Some(descriptor) = self.descriptors.borrow_mut().get_mut(token) {
            *descriptor = -1;
        }
        self.closed.set(self.closed.get().plus(tcp_info::of(io.as_raw_fd())));
    }

    /// What all sockets sent since the loop began: one system call for each that is open.
    pub(crate) fn segments(&self) -> Segments {
        let descriptors = self.descriptors.borrow();
        let open = descriptors.iter().filter(|descriptor| **descriptor >= 0).map(|descriptor| tcp_info::of(*descriptor));
        open.fold(self.closed.get(), Segments::plus)
    }
}

mod timer {
    use std::cell::Cell;
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime};

    use crate::moment::Moment;
    use crate::queue::Queue;

    /// A timer descriptor, armed for one deadline at a time.
    pub(super) struct PreciseTimer {
        fd: OwnedFd,
        armed: Cell<Option<Moment>>,
    }

    impl PreciseTimer {
        pub(super) fn new(queue: &Queue, token: usize) -> io::Result<Self> {
            let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
            // Edge-triggered: arming it again makes a new edge, so that it is never read.
            queue.add(&fd, token, false)?;
            Ok(Self { fd, armed: Cell::new(None) })
        }

        /// Whether it will go off then, or has just done so.
        #[inline]
        pub(super) fn is_armed_for(&self, at: Moment) -> bool {
            self.armed.get() == Some(at)
        }

        pub(super) fn arm(&self, at: Moment) -> io::Result<()> {
            // A time of zero would disarm it.
            let wait = crate::clock::until(at).max(std::time::Duration::from_nanos(1));
            let seconds = i64::try_from(wait.as_secs()).unwrap_or(i64::MAX);
            let value = Timespec { tv_sec: seconds, tv_nsec: wait.subsec_nanos().into() };
            let never = Timespec { tv_sec: 0, tv_nsec: 0 };
            timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: never, it_value: value })?;
            self.armed.set(Some(at));
            Ok(())
        }

        pub(super) fn fired(&self) {
            self.armed.set(None);
        }
    }
}
