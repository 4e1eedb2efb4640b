//! The socket: the only file of this module that does input or output, so that it can be replaced by a leaner loop.
//!
//! Every call tries the socket first and waits only when the socket says so. With tokio a short read also tells that
//! the socket is drained, so a statement costs one write and one read, never a read that finds nothing.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::watchdog::Watchdog;

/// Reads that find bytes at once do not look at the limit, except one in this many: an endless answer ends, too.
const READS_PER_LOOK: u32 = 100;

/// How a read or write went wrong.
#[derive(Debug)]
pub(super) enum SocketFault {
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
    Tls(Box<TlsStream<TcpStream>>),
    /// Between the two, while TLS is being negotiated; for good where that failed.
    Negotiating,
}

/// A connected socket with the limit for answers.
pub(super) struct Socket {
    transport: Transport,
    watchdog: Watchdog,
    ready_reads: u32,
}

impl Socket {
    pub(super) async fn connect(host: &str, port: u16, read_timeout: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect((host, port)).await?;
        // A statement is one small segment that must not wait for the acknowledgement of the one before.
        stream.set_nodelay(true)?;
        Ok(Self { transport: Transport::Plain(stream), watchdog: Watchdog::new(read_timeout), ready_reads: 0 })
    }

    /// Another limit for all further answers.
    pub(super) fn set_read_timeout(&mut self, limit: Duration) {
        self.watchdog.set_limit(limit);
    }

    /// Negotiates TLS. Without a name the peer's address stands in for it, which sends no name either.
    pub(super) async fn start_tls(&mut self, config: Arc<ClientConfig>, name: Option<ServerName<'static>>) -> io::Result<()> {
        let Transport::Plain(stream) = std::mem::replace(&mut self.transport, Transport::Negotiating) else {
            return Err(io::Error::other("TLS is on already"));
        };
        let name = match name {
            Some(name) => name,
            None => ServerName::IpAddress(stream.peer_addr()?.ip().into()),
        };
        let stream = TlsConnector::from(config).connect(name, stream).await?;
        self.transport = Transport::Tls(Box::new(stream));
        Ok(())
    }

    pub(super) fn is_encrypted(&self) -> bool {
        matches!(self.transport, Transport::Tls(_))
    }

    /// Whether the server shares this machine: then both ends of the connection have the same address, and a
    /// connection to a loopback address never leaves. (A forwarded port on this machine looks the same.)
    pub(super) fn peer_is_local(&self) -> bool {
        let stream = match &self.transport {
            Transport::Plain(stream) => stream,
            Transport::Tls(stream) => stream.get_ref().0,
            Transport::Negotiating => return false,
        };
        match (stream.local_addr(), stream.peer_addr()) {
            (Ok(local), Ok(peer)) => peer.ip().is_loopback() || local.ip() == peer.ip(),
            _ => false,
        }
    }

    /// A new answer is waited for; its limit begins now.
    #[inline]
    pub(super) fn expect_answer(&mut self) {
        self.watchdog.rearm();
    }

    /// Reads what is there into `room`, at least one byte.
    #[inline]
    pub(super) async fn read(&mut self, room: &mut [u8]) -> Result<usize, SocketFault> {
        self.ready_reads += 1;
        if self.ready_reads >= READS_PER_LOOK {
            self.ready_reads = 0;
            if poll_fn(|cx| Poll::Ready(self.watchdog.poll_overdue(cx).is_ready())).await {
                return Err(SocketFault::Overdue);
            }
        }
        poll_fn(|cx| match self.transport.poll_read(cx, room) {
            Poll::Ready(Ok(0)) => Poll::Ready(Err(SocketFault::Closed)),
            Poll::Ready(result) => Poll::Ready(result.map_err(SocketFault::from)),
            Poll::Pending => self.watchdog.poll_overdue(cx).map(|()| Err(SocketFault::Overdue)),
        })
        .await
    }

    /// Writes all of `bytes`.
    #[inline]
    pub(super) async fn write_all(&mut self, mut bytes: &[u8]) -> Result<(), SocketFault> {
        poll_fn(|cx| {
            while !bytes.is_empty() {
                match self.transport.poll_write(cx, bytes) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(SocketFault::Closed)),
                    Poll::Ready(Ok(written)) => bytes = &bytes[written..],
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                    Poll::Pending => return self.watchdog.poll_overdue(cx).map(|()| Err(SocketFault::Overdue)),
                }
            }
            match self.transport.poll_flush(cx) {
                Poll::Ready(result) => Poll::Ready(result.map_err(SocketFault::from)),
                Poll::Pending => self.watchdog.poll_overdue(cx).map(|()| Err(SocketFault::Overdue)),
            }
        })
        .await
    }
}

fn negotiating<T>() -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::Error::from(io::ErrorKind::ConnectionAborted)))
}

impl Transport {
    #[inline]
    fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut room = ReadBuf::new(room);
        ready!(match self {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, &mut room),
            Self::Tls(stream) => Pin::new(&mut **stream).poll_read(cx, &mut room),
            Self::Negotiating => return negotiating(),
        })?;
        Poll::Ready(Ok(room.filled().len()))
    }

    #[inline]
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(&mut **stream).poll_write(cx, bytes),
            Self::Negotiating => negotiating(),
        }
    }

    #[inline]
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            // The kernel has it already.
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(&mut **stream).poll_flush(cx),
            Self::Negotiating => negotiating(),
        }
    }
}
