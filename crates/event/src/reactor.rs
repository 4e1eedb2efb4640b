//! Sockets that wait, in the kernel's queue of events: epoll, edge-triggered, by bare system calls. The C library makes waiting a point
//! where the thread could be cancelled, which costs two locked instructions and a few lines of memory for each answer.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime};
use slab::Slab;

use crate::moment::Moment;
use crate::segments::Segments;
use crate::tcp_info;

/// Events taken by one system call. Many connections become ready while one batch is served, so a large batch is a
/// cheap one.
const BATCH: usize = 1024;
const WAKER: usize = usize::MAX;
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
    epoll: OwnedFd,
    /// What the last wait heard; kept for its memory.
    events: RefCell<Vec<Event>>,
    sources: RefCell<Slab<Readiness>>,
    /// The descriptor of each token, or -1. Apart, because only the edges of a window need it.
    descriptors: RefCell<Vec<RawFd>>,
    /// What sockets that are closed sent.
    closed: Cell<Segments>,
    /// epoll counts milliseconds, which would make every timed send late by up to one; a timer descriptor is exact.
    timer: OwnedFd,
    /// The deadline for which it will go off, or has just done so.
    armed: Cell<Option<Moment>>,
}

impl Reactor {
    /// A queue, and the counter of the kernel by which another thread ends its waits.
    pub(crate) fn new() -> io::Result<(Self, OwnedFd)> {
        let reactor = Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            events: RefCell::new(Vec::with_capacity(BATCH)),
            sources: RefCell::default(),
            descriptors: RefCell::default(),
            closed: Cell::default(),
            timer: timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?,
            armed: Cell::new(None),
        };
        let waker = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        // Neither is ever read: adding to the counter and arming the timer again make a new edge.
        for (fd, token) in [(&waker, WAKER), (&reactor.timer, TIMER)] {
            epoll::add(&reactor.epoll, fd, EventData::new_u64(token as u64), interest(false))?;
        }
        Ok((reactor, waker))
    }

    /// Waits: not at all unless `idle`, and not beyond `until`. Appends the tasks whose sockets have news. Whether a deadline may
    /// have come: not where the timer is armed for the first one and has not gone off.
    #[inline]
    pub(crate) fn wait(&self, idle: bool, until: Option<Moment>, woken: &mut Vec<usize>) -> io::Result<bool> {
        let mut due = !idle || self.arm(until)?;
        let timeout = due.then_some(Timespec { tv_sec: 0, tv_nsec: 0 });
        let mut events = self.events.borrow_mut();
        events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout.as_ref()) {
            Ok(_) => {}
            // A signal; its handler has set a flag.
            Err(rustix::io::Errno::INTR) => return Ok(due),
            Err(error) => return Err(error.into()),
        }
        let sources = self.sources.borrow();
        for event in events.iter() {
            let (token, flags) = (event.data.u64() as usize, event.flags);
            let Some(source) = sources.get(token) else {
                due |= self.is_timer(token);
                continue;
            };
            let closed = flags.intersects(EventFlags::HUP | EventFlags::RDHUP | EventFlags::ERR);
            if closed {
                source.closed.set(true);
            }
            if closed || flags.contains(EventFlags::IN) {
                source.readable.set(true);
            }
            woken.push(source.task.get() as usize);
        }
        // After a full batch the timer may wait in the kernel's queue.
        Ok(due || events.len() >= BATCH)
    }

    /// Neither the waker nor the timer is a socket; both have done their work by ending the wait.
    #[cold]
    fn is_timer(&self, token: usize) -> bool {
        if token == TIMER {
            self.armed.set(None);
        }
        token == TIMER
    }

    /// Makes the timer end the wait at a deadline; true where it has come already.
    #[inline]
    fn arm(&self, until: Option<Moment>) -> io::Result<bool> {
        match until {
            Some(at) if self.armed.get() != Some(at) => self.rearm(at),
            _ => Ok(false),
        }
    }

    #[cold]
    fn rearm(&self, at: Moment) -> io::Result<bool> {
        let wait = at - Moment::of_machine();
        if wait.is_zero() {
            return Ok(true);
        }
        let seconds = i64::try_from(wait.as_secs()).unwrap_or(i64::MAX);
        let it_value = Timespec { tv_sec: seconds, tv_nsec: wait.subsec_nanos().into() };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval, it_value })?;
        self.armed.set(Some(at));
        Ok(false)
    }

    /// Enters a socket; `room` asks for news of room for writes too.
    pub(crate) fn register(&self, io: &TcpStream, room: bool) -> io::Result<usize> {
        let token = self.sources.borrow_mut().insert(Readiness::default());
        if let Err(error) = epoll::add(&self.epoll, io, EventData::new_u64(token as u64), interest(room)) {
            self.sources.borrow_mut().try_remove(token);
            return Err(error.into());
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
        Ok(epoll::modify(&self.epoll, io, EventData::new_u64(token as u64), interest(room))?)
    }

    pub(crate) fn deregister(&self, io: &TcpStream, token: usize) {
        // Closing the descriptor removes it in any case.
        let _ = epoll::delete(&self.epoll, io);
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

    /// The shortest round trip of the open socket where it is longest.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        let descriptors = self.descriptors.borrow();
        descriptors.iter().filter(|descriptor| **descriptor >= 0).filter_map(|descriptor| tcp_info::round_trip(*descriptor)).max()
    }
}

fn interest(room: bool) -> EventFlags {
    let readable = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
    if room { readable | EventFlags::OUT } else { readable }
}
