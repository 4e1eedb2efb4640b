//! The socket: the only file of this module that does input or output.
//!
//! A write is tried at once; a read only after the event loop has heard of something, and one that does not fill its
//! room has emptied the socket. So a statement costs one write and one read, never a read that finds nothing.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use perbuck_database::endpoint::is_socket;
use perbuck_event::tcp::TcpStream;
use perbuck_event::{dns, wake_current};
use rustls::ClientConfig;
use rustls::pki_types::{CertificateDer, ServerName};

use super::tls::TlsStream;
use super::watchdog::Watchdog;

/// So many reads that find bytes at once are done without a look at the limit: an endless answer ends, too.
const READS_PER_LOOK: u32 = 100;

/// How a read or write went wrong.
#[derive(Debug)]
pub enum SocketFault {
    /// The answer took longer than the limit.
    Overdue,
    /// The server closed the connection.
    Closed,
    /// The operating system's or the TLS library's word.
    Io(io::Error),
}

impl From<io::Error> for SocketFault {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        match error.kind() {
            BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => Self::Closed,
            _ => Self::Io(error),
        }
    }
}

enum Transport {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
    /// In memory.
    #[cfg(feature = "canned")]
    Canned(Box<super::canned::Canned>),
    /// Between the two, while TLS is being negotiated; for good where that failed.
    Negotiating,
}

/// A connected socket with the limit for answers.
pub struct Socket {
    transport: Transport,
    /// The limit for an answer.
    pub watchdog: Watchdog,
    ready_reads: u32,
}

impl Socket {
    /// Connects.
    ///
    /// # Errors
    /// Those of the system.
    pub async fn connect(host: &str, port: u16, read_timeout: Duration) -> io::Result<Self> {
        let stream = match is_socket(host) {
            true => TcpStream::connect_to_path(Path::new(host)).await?,
            false => TcpStream::connect(&dns::resolve(host, port).await?).await?,
        };
        Ok(Self { transport: Transport::Plain(stream), watchdog: Watchdog::new(read_timeout), ready_reads: 0 })
    }

    /// The socket of a server in memory.
    #[cfg(feature = "canned")]
    pub fn canned(server: super::canned::Canned) -> Self {
        let transport = Transport::Canned(Box::new(server));
        Self { transport, watchdog: Watchdog::new(Duration::from_secs(60)), ready_reads: 0 }
    }

    /// Negotiates TLS. Without a name the peer's address stands in for it, which sends no name either.
    pub async fn start_tls(&mut self, config: Arc<ClientConfig>, name: Option<ServerName<'static>>) -> io::Result<()> {
        let Transport::Plain(stream) = std::mem::replace(&mut self.transport, Transport::Negotiating) else {
            return Err(io::Error::other("TLS is on already"));
        };
        let name = match name {
            Some(name) => name,
            None => ServerName::IpAddress(stream.addresses()?.1.ip().into()),
        };
        let stream = TlsStream::connect(config, name, stream).await?;
        self.transport = Transport::Tls(Box::new(stream));
        Ok(())
    }

    /// Whether it is under TLS.
    pub fn is_encrypted(&self) -> bool {
        matches!(self.transport, Transport::Tls(_))
    }

    /// The certificate that the server has shown.
    pub fn certificate(&self) -> Option<&CertificateDer<'static>> {
        match &self.transport {
            Transport::Tls(stream) => stream.certificate(),
            _ => None,
        }
    }

    /// Whether the connection goes to a loopback address or to a socket in the file system.
    pub fn is_loopback(&self) -> bool {
        self.is_path() || self.addresses().is_some_and(|(_, peer)| peer.ip().to_canonical().is_loopback())
    }

    /// Whether the server shares this machine: then both ends of the connection have the same address, and a
    /// connection to a loopback address never leaves. (A forwarded port on this machine looks the same.)
    pub fn peer_is_local(&self) -> bool {
        self.is_path() || self.addresses().is_some_and(|(local, peer)| peer.ip().is_loopback() || local.ip() == peer.ip())
    }

    fn is_path(&self) -> bool {
        self.tcp().is_some_and(TcpStream::is_path)
    }

    fn addresses(&self) -> Option<(SocketAddr, SocketAddr)> {
        self.tcp()?.addresses().ok()
    }

    /// Lets the server take bytes up to ten minutes late, where its protocol sends them before it can say that it waits.
    pub fn let_it_read_late(&self) {
        self.tcp().into_iter().for_each(TcpStream::let_it_read_late);
    }

    fn tcp(&self) -> Option<&TcpStream> {
        match &self.transport {
            Transport::Plain(stream) => Some(stream),
            Transport::Tls(stream) => Some(stream.get_ref()),
            #[cfg(feature = "canned")]
            Transport::Canned(_) => None,
            Transport::Negotiating => None,
        }
    }

    /// A new answer is waited for; its limit starts now.
    #[inline]
    pub fn expect_answer(&mut self) {
        self.watchdog.rearm();
        self.ready_reads = 0;
    }

    /// Ready when a read is worth trying.
    #[inline]
    pub fn poll_readable(&mut self) -> Poll<Result<(), SocketFault>> {
        if self.transport.poll_readable().is_ready() {
            self.ready_reads += 1;
            if self.ready_reads < READS_PER_LOOK {
                return Poll::Ready(Ok(()));
            }
            // Other tasks go on first, and the loop looks at the clock.
            self.ready_reads = 0;
            wake_current();
        }
        self.watchdog.poll_overdue().map(|()| Err(SocketFault::Overdue))
    }

    /// Reads what is there into `room`, at least one byte, after [`Self::poll_readable`] was ready; `None` where there is nothing
    /// yet.
    #[inline]
    pub fn try_read(&mut self, room: &mut [u8]) -> Result<Option<usize>, SocketFault> {
        match self.transport.poll_read_ready(room) {
            Poll::Ready(Ok(0)) => Err(SocketFault::Closed),
            Poll::Ready(Ok(count)) => Ok(Some(count)),
            Poll::Ready(Err(error)) => Err(error.into()),
            Poll::Pending => Ok(None),
        }
    }

    /// Writes `bytes` from `sent` on, and counts there what was taken; ready when all is.
    #[inline]
    pub fn poll_write_all(&mut self, bytes: &[u8], sent: &mut usize) -> Poll<Result<(), SocketFault>> {
        while let Some(rest) = bytes.get(*sent..).filter(|rest| !rest.is_empty()) {
            match self.transport.poll_write(rest) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(SocketFault::Closed)),
                Poll::Ready(Ok(written)) => *sent += written,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                Poll::Pending => return self.watchdog.poll_overdue().map(|()| Err(SocketFault::Overdue)),
            }
        }
        match self.transport.poll_flush() {
            Poll::Ready(result) => Poll::Ready(result.map_err(SocketFault::from)),
            Poll::Pending => self.watchdog.poll_overdue().map(|()| Err(SocketFault::Overdue)),
        }
    }
}

fn negotiating<T>() -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::Error::from(io::ErrorKind::ConnectionAborted)))
}

impl Transport {
    #[inline]
    fn poll_readable(&mut self) -> Poll<()> {
        match self {
            Self::Plain(stream) => stream.poll_readable(),
            Self::Tls(stream) => stream.poll_readable(),
            #[cfg(feature = "canned")]
            Self::Canned(_) => Poll::Ready(()),
            Self::Negotiating => Poll::Ready(()),
        }
    }

    #[inline]
    fn poll_read_ready(&mut self, room: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => stream.poll_read_ready(room),
            Self::Tls(stream) => stream.poll_read(room),
            #[cfg(feature = "canned")]
            Self::Canned(server) => Poll::Ready(Ok(server.say(room))),
            Self::Negotiating => negotiating(),
        }
    }

    #[inline]
    fn poll_write(&mut self, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => stream.poll_write(bytes),
            Self::Tls(stream) => stream.poll_write(bytes),
            #[cfg(feature = "canned")]
            Self::Canned(server) => Poll::Ready(Ok(server.hear(bytes))),
            Self::Negotiating => negotiating(),
        }
    }

    #[inline]
    fn poll_flush(&mut self) -> Poll<io::Result<()>> {
        match self {
            // The kernel has it already.
            Self::Plain(_) => Poll::Ready(Ok(())),
            #[cfg(feature = "canned")]
            Self::Canned(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => stream.poll_flush(),
            Self::Negotiating => negotiating(),
        }
    }
}
