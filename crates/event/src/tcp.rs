//! A connection of the loop, by TCP or by a socket in the file system. Bytes travel by system calls without what the C library puts around them: a point where the
//! thread could be cancelled, a place for the last error. Each is a few more lines of code and data that the database has pushed
//! out of the caches.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::Path;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};

use crate::current::{self, Loop};
use crate::reactor::{Reactor, Readiness};
use crate::segments::Segments;
use crate::timer::sleep;

/// What all connections of this thread's loop sent since it began. It asks the kernel once for each, so it is no question for each
/// operation.
pub fn segments() -> Segments {
    current::with(|owner| owner.reactor.as_ref().map(Reactor::segments)).unwrap_or_default()
}

/// The shortest round trip of a packet on each open connection of this thread's loop, as the kernel measured it; that of the connection where
/// it is longest.
pub fn round_trip() -> Option<Duration> {
    current::with(|owner| owner.reactor.as_ref().and_then(Reactor::round_trip))
}

/// How long what was sent may stay without the other side's acknowledgement before the connection counts as lost. The system's own limit
/// is a quarter of an hour.
const LOST_AFTER: Duration = Duration::from_secs(60);
/// So long a server may leave bytes unread that wait for a lock of another session.
const READ_LATE: Duration = Duration::from_secs(600);
/// How long a connection is idle before the system asks whether the other side is there, and how often it asks again.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(15), Duration::from_secs(10), 4);

/// How long a server with a full queue of connections is left alone.
const FULL_QUEUE: Duration = Duration::from_millis(1);

/// A connection. It belongs to the task that used it last.
pub struct TcpStream {
    io: std::net::TcpStream,
    token: usize,
    owner: Rc<Loop>,
    /// A write found no room, so the loop tells when there is some.
    waits_for_room: bool,
}

impl std::fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.io.fmt(f)
    }
}

impl TcpStream {
    /// Connects to the first of the addresses that answers.
    ///
    /// # Errors
    /// That of the last address.
    pub async fn connect(addresses: &[SocketAddr]) -> io::Result<Self> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in addresses {
            match Self::connect_to(*address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Connects to a socket in the file system of this machine, which carries bytes as TCP does.
    ///
    /// # Errors
    /// The operating system's, such as that no server listens there.
    pub async fn connect_to_path(path: &Path) -> io::Result<Self> {
        let address = SocketAddrUnix::new(path)?;
        loop {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let io = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            match net::connect(&io, &address) {
                Ok(()) => return Self::registered(io.into(), false),
                // No event tells when the server has taken a connection from its full queue.
                Err(Errno::WOULDBLOCK) => sleep(FULL_QUEUE).await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn connect_to(address: SocketAddr) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let io = net::socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?;
        notice_loss(&io)?;
        // A statement is one small segment that must not wait for the acknowledgement of the one before.
        sockopt::set_tcp_nodelay(&io, true)?;
        match net::connect(&io, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let mut stream = Self::registered(io.into(), true)?;
        poll_fn(|_| stream.poll_connected()).await?;
        Ok(stream)
    }

    fn registered(io: std::net::TcpStream, waits_for_room: bool) -> io::Result<Self> {
        let owner = current::with(Rc::clone);
        let Some(reactor) = &owner.reactor else { return Err(io::ErrorKind::Unsupported.into()) };
        let token = reactor.register(&io, waits_for_room)?;
        Ok(Self { io, token, owner, waits_for_room })
    }

    /// Whether it goes through a socket in the file system, and so never leaves this machine.
    pub fn is_path(&self) -> bool {
        sockopt::socket_domain(&self.io) == Ok(AddressFamily::UNIX)
    }

    fn poll_connected(&mut self) -> Poll<io::Result<()>> {
        if let Some(error) = self.io.take_error()? {
            return Poll::Ready(Err(error));
        }
        match self.io.peer_addr() {
            // From now on only what can be read is news, see `poll_write`.
            Ok(_) => Poll::Ready(self.wait_for_room(false)),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => self.pending(),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Asks what is known of the socket. It is registered as long as it lives.
    #[inline]
    fn readiness<T: Default>(&self, f: impl FnOnce(&Readiness) -> T) -> T {
        self.owner.reactor.as_ref().and_then(|reactor| reactor.with_readiness(self.token, f)).unwrap_or_default()
    }

    #[inline]
    fn pending<T>(&self) -> Poll<T> {
        self.readiness(|r| r.belongs_to(current::task()));
        Poll::Pending
    }

    #[cold]
    fn wait_for_room(&mut self, wait: bool) -> io::Result<()> {
        self.waits_for_room = wait;
        match &self.owner.reactor {
            Some(reactor) => reactor.reregister(&self.io, self.token, wait),
            None => Ok(()),
        }
    }

    /// Ready when a read is worth trying.
    #[inline]
    pub fn poll_readable(&mut self) -> Poll<()> {
        if self.readiness(|r| r.readable.get()) { Poll::Ready(()) } else { self.pending() }
    }

    /// Reads what is there; 0 is the end. A read is tried only after the loop has heard of something, and one that
    /// leaves room in the buffer has emptied the socket: so an answer costs one system call.
    #[inline]
    pub fn poll_read(&mut self, room: &mut [u8]) -> Poll<io::Result<usize>> {
        if self.readiness(|r| r.readable.get()) { self.poll_read_ready(room) } else { self.pending() }
    }

    /// As [`Self::poll_read`], where [`Self::poll_readable`] was just ready.
    #[inline]
    pub fn poll_read_ready(&mut self, room: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            match net::recv(&self.io, &mut *room, RecvFlags::empty()) {
                Ok((count, _)) => {
                    self.readiness(|r| r.readable.set(count == room.len() || r.closed.get()));
                    return Poll::Ready(Ok(count));
                }
                Err(Errno::WOULDBLOCK) => {
                    self.readiness(|r| r.readable.set(false));
                    return self.pending();
                }
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    /// Writes what finds room. As a rule everything does, and then the loop need not watch for room: otherwise every
    /// acknowledgement would be an event.
    #[inline]
    pub fn poll_write(&mut self, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            match net::send(&self.io, bytes, SendFlags::NOSIGNAL) {
                Ok(count) => {
                    if self.waits_for_room {
                        self.wait_for_room(false)?;
                    }
                    return Poll::Ready(Ok(count));
                }
                Err(Errno::WOULDBLOCK) => {
                    // Asked for again each time: the edge comes once.
                    self.wait_for_room(true)?;
                    return self.pending();
                }
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    /// The addresses of this end and of the other.
    ///
    /// # Errors
    /// The operating system's.
    pub fn addresses(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        Ok((self.io.local_addr()?, self.io.peer_addr()?))
    }

    /// Lets the other side take bytes up to ten minutes late: while its window is closed, TCP_USER_TIMEOUT counts although it acknowledges
    /// every probe.
    pub fn let_it_read_late(&self) {
        // Without it the shorter limit stays, which is no error of this connection.
        let _ = sockopt::set_tcp_user_timeout(&self.io, READ_LATE.as_millis() as u32);
    }
}

/// Lets the system notice that the network or the other machine is gone, also while an answer is waited for.
fn notice_loss(io: &impl AsFd) -> io::Result<()> {
    let (idle, interval, count) = KEEPALIVE;
    sockopt::set_socket_keepalive(io, true)?;
    sockopt::set_tcp_keepidle(io, idle)?;
    sockopt::set_tcp_keepintvl(io, interval)?;
    sockopt::set_tcp_keepcnt(io, count)?;
    sockopt::set_tcp_user_timeout(io, LOST_AFTER.as_millis() as u32)?;
    Ok(())
}

impl Drop for TcpStream {
    fn drop(&mut self) {
        if let Some(reactor) = &self.owner.reactor {
            reactor.deregister(&self.io, self.token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_on;

    #[test]
    fn a_connection_notices_that_the_other_side_is_gone() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = block_on(async { TcpStream::connect(&[listener.local_addr().unwrap()]).await }).unwrap().unwrap();
        let (idle, interval, count) = KEEPALIVE;
        assert!(sockopt::socket_keepalive(&stream.io).unwrap());
        assert_eq!(sockopt::tcp_keepidle(&stream.io).unwrap(), idle);
        assert_eq!(sockopt::tcp_keepintvl(&stream.io).unwrap(), interval);
        assert_eq!(sockopt::tcp_keepcnt(&stream.io).unwrap(), count);
        assert_eq!(u128::from(sockopt::tcp_user_timeout(&stream.io).unwrap()), LOST_AFTER.as_millis());
        stream.let_it_read_late();
        assert_eq!(u128::from(sockopt::tcp_user_timeout(&stream.io).unwrap()), READ_LATE.as_millis());
        assert!(!stream.is_path());
    }

    #[test]
    fn a_socket_in_the_file_system_carries_bytes_and_a_full_queue_is_waited_for() {
        use std::io::{Read, Write};
        let path = std::env::temp_dir().join(format!("perbuck-event-{}.sock", std::process::id()));
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        // More than the queue of the listener holds, so that some find it full.
        const MANY: usize = 200;
        let server = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            for _ in 0..MANY {
                let (mut client, _) = listener.accept().unwrap();
                let mut question = [0; 2];
                client.read_exact(&mut question).unwrap();
                client.write_all(&question).unwrap();
            }
        });
        let asked = path.clone();
        block_on(async move {
            for number in 0..MANY as u16 {
                let mut stream = TcpStream::connect_to_path(&asked).await.unwrap();
                assert!(stream.is_path() && segments() == Segments::default());
                let mut answer = [0; 2];
                assert_eq!(poll_fn(|_| stream.poll_write(&number.to_be_bytes())).await.unwrap(), 2);
                assert_eq!(poll_fn(|_| stream.poll_read(&mut answer)).await.unwrap(), 2);
                assert_eq!(u16::from_be_bytes(answer), number);
            }
        })
        .unwrap();
        server.join().unwrap();
        std::fs::remove_file(&path).unwrap();
        let gone = block_on(async move { TcpStream::connect_to_path(&path).await.map(|_| ()) }).unwrap();
        assert_eq!(gone.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
