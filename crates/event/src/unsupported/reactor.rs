//! Sockets that wait, on a system without epoll: there are none, and whoever asks for a loop with sockets is told so.

use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;

use crate::moment::Moment;

/// None can be made.
pub(crate) struct Reactor(Infallible);

impl Reactor {
    /// No queue.
    pub(crate) fn new() -> io::Result<(Self, OwnedFd)> {
        let why = "perbuck drives load on Linux alone; run it in a container or on a Linux machine";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }

    pub(crate) fn wait(&self, _idle: bool, _until: Option<Moment>, _woken: &mut Vec<usize>) -> io::Result<bool> {
        match self.0 {}
    }
}
