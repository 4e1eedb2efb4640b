//! Sockets that wait: epoll (kqueue, …) by way of mio, edge-triggered.

use std::cell::{Cell, RefCell};
use std::io;
use std::time::{Duration, Instant};

use mio::event::Source;
use mio::{Events, Interest, Poll, Token};
use slab::Slab;

use crate::local;

/// Events taken by one system call. Many connections become ready while one batch is served, so a large batch is a
/// cheap one.
const BATCH: usize = 1024;
/// Ends a wait for another thread's sake.
const ALARM: Token = Token(usize::MAX);
/// Ends a wait for a timer's sake.
#[cfg(target_os = "linux")]
const TIMER: Token = Token(usize::MAX - 1);

/// What is known of a socket. It lies in the table itself: a pointer to it would be one more line of memory per event.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    /// A read may find something.
    pub(crate) readable: Cell<bool>,
    /// The other side sends no more, so every read finds its end; an edge will not tell again.
    pub(crate) closed: Cell<bool>,
    /// The task that is polled when something comes.
    pub(crate) task: Cell<usize>,
}

pub(crate) struct Reactor {
    poll: RefCell<Poll>,
    events: RefCell<Events>,
    sources: RefCell<Slab<Readiness>>,
    #[cfg(target_os = "linux")]
    timer: timer::PreciseTimer,
}

impl Reactor {
    pub(crate) fn new() -> io::Result<(Self, mio::Waker)> {
        let poll = Poll::new()?;
        let alarm = mio::Waker::new(poll.registry(), ALARM)?;
        #[cfg(target_os = "linux")]
        let timer = timer::PreciseTimer::new(poll.registry(), TIMER)?;
        let reactor = Self {
            poll: RefCell::new(poll),
            events: RefCell::new(Events::with_capacity(BATCH)),
            sources: RefCell::default(),
            #[cfg(target_os = "linux")]
            timer,
        };
        Ok((reactor, alarm))
    }

    /// Waits: not at all unless `idle`, and not beyond `until`. Appends the tasks whose sockets have news. Whether a deadline may
    /// have come: not where the timer is armed for the first one and has not gone off.
    #[inline]
    pub(crate) fn wait(&self, idle: bool, until: Option<Instant>, woken: &mut Vec<usize>) -> io::Result<bool> {
        let (timeout, mut due) = if idle { self.timeout(until)? } else { (Some(Duration::ZERO), true) };
        let mut events = self.events.borrow_mut();
        match self.poll.borrow_mut().poll(&mut events, timeout) {
            Ok(()) => {}
            // A signal; its handler has set a flag that somebody will look at.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(due),
            Err(error) => return Err(error),
        }
        let sources = self.sources.borrow();
        let mut count = 0;
        for event in &*events {
            count += 1;
            match sources.get(event.token().0) {
                Some(source) => {
                    let closed = event.is_read_closed() || event.is_error();
                    if event.is_readable() || closed {
                        source.readable.set(true);
                    }
                    if closed {
                        source.closed.set(true);
                    }
                    woken.push(source.task.get());
                }
                None => due |= self.is_timer(event.token()),
            }
        }
        // Behind a full batch the timer may wait in the kernel's queue.
        Ok(due || count >= BATCH)
    }

    /// Neither the alarm nor the timer is a socket; both have done their work by ending the wait.
    #[cold]
    fn is_timer(&self, _token: Token) -> bool {
        #[cfg(target_os = "linux")]
        if _token == TIMER {
            self.timer.fired();
            return true;
        }
        false
    }

    /// How long to wait, and whether the end of that may be a deadline. epoll counts milliseconds, which would make every timed
    /// send late by up to one; a timer descriptor is exact.
    #[cfg(target_os = "linux")]
    #[inline]
    fn timeout(&self, until: Option<Instant>) -> io::Result<(Option<Duration>, bool)> {
        match until {
            Some(at) if self.timer.is_armed_for(at) => Ok((None, false)),
            Some(at) => self.arm(at),
            None => Ok((None, false)),
        }
    }

    #[cfg(target_os = "linux")]
    #[cold]
    fn arm(&self, at: Instant) -> io::Result<(Option<Duration>, bool)> {
        if local::until(at).is_zero() {
            return Ok((Some(Duration::ZERO), true));
        }
        self.timer.arm(at).map(|()| (None, false))
    }

    #[cfg(not(target_os = "linux"))]
    fn timeout(&self, until: Option<Instant>) -> io::Result<(Option<Duration>, bool)> {
        Ok((until.map(local::until), true))
    }

    /// Enters a socket that is being connected.
    pub(crate) fn register(&self, io: &mut impl Source, interest: Interest) -> io::Result<usize> {
        let token = self.sources.borrow_mut().insert(Readiness::default());
        let entered = self.poll.borrow().registry().register(io, Token(token), interest);
        if let Err(error) = entered {
            self.sources.borrow_mut().try_remove(token);
            return Err(error);
        }
        Ok(token)
    }

    /// What is known of a socket that is registered.
    #[inline]
    pub(crate) fn with_readiness<T>(&self, token: usize, f: impl FnOnce(&Readiness) -> T) -> Option<T> {
        self.sources.borrow().get(token).map(f)
    }

    /// Changes what a socket waits for.
    pub(crate) fn reregister(&self, io: &mut impl Source, token: usize, interest: Interest) -> io::Result<()> {
        self.poll.borrow().registry().reregister(io, Token(token), interest)
    }

    /// Removes a socket.
    pub(crate) fn deregister(&self, io: &mut impl Source, token: usize) {
        // Closing the descriptor removes it in any case.
        let _ = self.poll.borrow().registry().deregister(io);
        self.sources.borrow_mut().try_remove(token);
    }
}

#[cfg(target_os = "linux")]
mod timer {
    use std::cell::Cell;
    use std::io;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::time::Instant;

    use mio::unix::SourceFd;
    use mio::{Interest, Registry, Token};
    use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime};

    /// A timer descriptor, armed for one deadline at a time.
    pub(super) struct PreciseTimer {
        fd: OwnedFd,
        armed: Cell<Option<Instant>>,
    }

    impl PreciseTimer {
        pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
            let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
            // Edge-triggered: arming it anew makes a new edge, so that it is never read.
            registry.register(&mut SourceFd(&fd.as_raw_fd()), token, Interest::READABLE)?;
            Ok(Self { fd, armed: Cell::new(None) })
        }

        /// Whether it will go off then, or has just done so.
        #[inline]
        pub(super) fn is_armed_for(&self, at: Instant) -> bool {
            self.armed.get() == Some(at)
        }

        pub(super) fn arm(&self, at: Instant) -> io::Result<()> {
            // A time of zero would disarm it.
            let wait = crate::local::until(at).max(std::time::Duration::from_nanos(1));
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
