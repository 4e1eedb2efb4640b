//! TLS over a socket of the event loop: rustls does the cryptography, this file carries its bytes.

use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::task::{Poll, ready};

use perbuck_event::tcp::TcpStream;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection};

pub(crate) struct TlsStream {
    tls: ClientConnection,
    tcp: TcpStream,
}

/// A socket as rustls needs it: an operation that would wait returns the error `WouldBlock`.
struct Nonblocking<'a>(&'a mut TcpStream);

fn now<T>(polled: Poll<io::Result<T>>) -> io::Result<T> {
    match polled {
        Poll::Ready(result) => result,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

fn later<T>(result: io::Result<T>) -> Poll<io::Result<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
        result => Poll::Ready(result),
    }
}

impl Read for Nonblocking<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        now(self.0.poll_read(room))
    }
}

impl Write for Nonblocking<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        now(self.0.poll_write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TlsStream {
    /// Negotiates.
    ///
    /// # Errors
    /// The socket's, or a [`rustls::Error`] within an [`io::Error`].
    pub(crate) async fn connect(config: Arc<ClientConfig>, name: ServerName<'static>, tcp: TcpStream) -> io::Result<Self> {
        let mut tls = ClientConnection::new(config, name).map_err(io::Error::other)?;
        // A whole statement is taken at once, however long; it is sent before the next.
        tls.set_buffer_limit(None);
        let mut stream = Self { tls, tcp };
        poll_fn(|_| {
            loop {
                ready!(stream.poll_flush())?;
                if !stream.tls.is_handshaking() {
                    return Poll::Ready(Ok(()));
                }
                if ready!(stream.poll_receive())? == 0 {
                    return Poll::Ready(Err(io::Error::from(io::ErrorKind::UnexpectedEof)));
                }
            }
        })
        .await?;
        Ok(stream)
    }

    pub(crate) fn get_ref(&self) -> &TcpStream {
        &self.tcp
    }

    /// The certificate that the server has shown.
    pub(crate) fn certificate(&self) -> Option<&CertificateDer<'static>> {
        self.tls.peer_certificates()?.first()
    }

    /// Takes one read of encrypted bytes; 0 is their end.
    fn poll_receive(&mut self) -> Poll<io::Result<usize>> {
        let count = ready!(later(self.tls.read_tls(&mut Nonblocking(&mut self.tcp))))?;
        if let Err(error) = self.tls.process_new_packets() {
            // The alert for the server is sent if the socket has room. perbuck reports the error itself.
            let _ = self.poll_flush();
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
        }
        Poll::Ready(Ok(count))
    }

    /// Ready when decrypted bytes, an end or an error are there for [`Self::poll_read`]. As all that is polled here, apart from the
    /// code of connections that are not encrypted, which is then the shorter.
    #[inline(never)]
    pub(crate) fn poll_readable(&mut self) -> Poll<()> {
        // An answer may have been decrypted together with the one before.
        match self.tls.process_new_packets() {
            Ok(state) if state.plaintext_bytes_to_read() == 0 && !state.peer_has_closed() => self.tcp.poll_readable(),
            _ => Poll::Ready(()),
        }
    }

    #[inline(never)]
    pub(crate) fn poll_read(&mut self, room: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            // Tickets and key updates need an answer. It does not wait for room: a server that cannot send takes nothing.
            if self.tls.wants_write()
                && let Poll::Ready(flushed) = self.poll_flush()
            {
                flushed?;
            }
            match later(self.tls.reader().read(room)) {
                Poll::Ready(result) => return Poll::Ready(result),
                Poll::Pending => {
                    if ready!(self.poll_receive())? == 0 {
                        return Poll::Ready(Ok(0));
                    }
                }
            }
        }
    }

    #[inline(never)]
    pub(crate) fn poll_write(&mut self, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.tls.writer().write(bytes))
    }

    #[inline(never)]
    pub(crate) fn poll_flush(&mut self) -> Poll<io::Result<()>> {
        while self.tls.wants_write() {
            if ready!(later(self.tls.write_tls(&mut Nonblocking(&mut self.tcp))))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
        }
        Poll::Ready(Ok(()))
    }
}
