//! A connection of the loop, on a system whose loop has none.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::task::Poll;
use std::time::Duration;

use crate::segments::Segments;

/// None was sent.
pub fn segments() -> Segments {
    Segments::default()
}

/// None was measured.
pub fn round_trip() -> Option<Duration> {
    None
}

/// A connection; none can be made.
#[derive(Debug)]
pub struct TcpStream(Infallible);

impl TcpStream {
    /// Connects to nothing.
    ///
    /// # Errors
    /// Always: a loop with sockets cannot be entered here, and a simulated one has none.
    pub async fn connect(_addresses: &[SocketAddr]) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Connects to nothing.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub async fn connect_to_path(_path: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Whether it goes through a socket in the file system.
    pub fn is_path(&self) -> bool {
        match self.0 {}
    }

    /// Ready when a read is worth trying.
    pub fn poll_readable(&mut self) -> Poll<()> {
        match self.0 {}
    }

    /// Reads what is there.
    pub fn poll_read(&mut self, _room: &mut [u8]) -> Poll<io::Result<usize>> {
        match self.0 {}
    }

    /// Reads what is there.
    pub fn poll_read_ready(&mut self, _room: &mut [u8]) -> Poll<io::Result<usize>> {
        match self.0 {}
    }

    /// Writes what finds room.
    pub fn poll_write(&mut self, _bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.0 {}
    }

    /// The addresses of this end and of the other.
    ///
    /// # Errors
    /// None.
    pub fn addresses(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        match self.0 {}
    }

    /// Lets the other side take bytes late.
    pub fn let_it_read_late(&self) {
        match self.0 {}
    }
}
