//! The kernel's queue of events: epoll, edge-triggered, by bare system calls. The C library makes waiting a point where the thread
//! could be cancelled, which costs two locked instructions and a few lines of memory for each answer.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::time::Timespec;

/// Events taken by one system call. Many connections become ready while one batch is served, so a large batch is a
/// cheap one.
pub(crate) const BATCH: usize = 1024;

/// What was heard of something that was added to a queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heard {
    /// Under which it was added.
    pub(crate) token: usize,
    /// A read may find something.
    pub(crate) readable: bool,
    /// The other side sends no more, or the connection failed.
    pub(crate) closed: bool,
}

/// An epoll with the events that it gave last.
pub(crate) struct Queue {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Queue {
    /// A queue, and what ends its waits from another thread, heard under `token`.
    pub(crate) fn new(token: usize) -> io::Result<(Self, LoopWaker)> {
        let queue = Self { epoll: epoll::create(CreateFlags::CLOEXEC)?, events: Vec::with_capacity(BATCH) };
        let waker = LoopWaker(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        queue.add(&waker.0, token, false)?;
        Ok((queue, waker))
    }

    /// Adds what can be read; `room` asks for news of room for writes too.
    pub(crate) fn add(&self, source: &impl AsFd, token: usize, room: bool) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, source, EventData::new_u64(token as u64), interest(room))?)
    }

    /// Changes whether room is news.
    pub(crate) fn change(&self, source: &impl AsFd, token: usize, room: bool) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, source, EventData::new_u64(token as u64), interest(room))?)
    }

    pub(crate) fn remove(&self, source: &impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, source)?)
    }

    /// Waits for events, however long or so long.
    #[inline]
    pub(crate) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.events.clear();
        let timeout =
            timeout.map(|t| Timespec { tv_sec: t.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: t.subsec_nanos().into() });
        epoll::wait(&self.epoll, spare_capacity(&mut self.events), timeout.as_ref())?;
        Ok(())
    }

    /// What the last wait heard.
    #[inline]
    pub(crate) fn heard(&self) -> impl Iterator<Item = Heard> {
        self.events.iter().map(|event| {
            let flags = event.flags;
            let closed = flags.intersects(EventFlags::HUP | EventFlags::RDHUP | EventFlags::ERR);
            Heard { token: event.data.u64() as usize, readable: closed || flags.contains(EventFlags::IN), closed }
        })
    }
}

fn interest(room: bool) -> EventFlags {
    let readable = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
    if room { readable | EventFlags::OUT } else { readable }
}

/// A counter of the kernel that is never read: each time it is added to is a new edge.
#[derive(Debug)]
pub(crate) struct LoopWaker(OwnedFd);

impl LoopWaker {
    /// Ends the wait at hand, or the next one.
    pub(crate) fn wake(&self) -> io::Result<()> {
        // Full after 2^64 - 2 wake-ups.
        rustix::io::write(&self.0, &1_u64.to_ne_bytes())?;
        Ok(())
    }
}
