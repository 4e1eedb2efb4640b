//! A connection: what is to be sent, what came in, whether an answer is outstanding, and what silence of the server means.

use std::io;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use perbuck_load::error::{Cause, DriverError, ErrorClass};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::Malformed;
use super::buffer::{self, Buffer};
use super::certificates::distrust;
use super::stream::{Socket, SocketFault};
use perbuck_database::endpoint::{host_text, is_socket};
use perbuck_database::server::TlsMode;

/// One connection at the level of bytes.
pub struct Link {
    /// What carries them.
    pub socket: Socket,
    /// What came in.
    pub inbox: Buffer,
    /// What is to be sent.
    pub out: Vec<u8>,
    /// How many bytes of it the socket took.
    sent: usize,
    /// Only messages need it, so it is boxed: a small session stays in the cache of the processor.
    peer: Box<Peer>,
    /// An answer is outstanding. It stays so when a future is dropped half way or the connection fails; the connection
    /// is then unusable, because the next answer would be taken for that of another statement.
    busy: bool,
}

/// The numbers of the errors that say that this process, or this machine, gives no more file descriptors.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// Who is at the other end.
struct Peer {
    /// `host:port`.
    address: String,
    protocol: &'static str,
}

/// That no connection can be opened, and why: the server, or this process.
pub fn unreachable(address: &str, why: &io::Error) -> DriverError {
    if matches!(why.raw_os_error(), Some(EMFILE | ENFILE)) {
        let message = format!("no connection to {address} can be opened: {why} on this machine");
        return DriverError::client(ErrorClass::Lost, "descriptors", message);
    }
    let right = if is_socket(address) { "is this its socket" } else { "are host and port right" };
    let message = format!("{address} cannot be reached: {why}; is the server up, and {right}?");
    DriverError::client(ErrorClass::Lost, "unreachable", message)
}

impl Link {
    /// Connects. An answer is then outstanding: a greeting, or that to the first thing said.
    pub async fn connect(host: &str, port: u16, read_timeout: Duration, protocol: &'static str) -> Result<Self, DriverError> {
        let address = host_text(host, port);
        let socket = Socket::connect(host, port, read_timeout).await.map_err(|why| unreachable(&address, &why))?;
        Ok(Self::over(socket, Peer { address, protocol }, true))
    }

    /// A connection to a server in memory that is past the login.
    #[cfg(feature = "canned")]
    pub fn canned(server: super::canned::Canned, protocol: &'static str) -> Self {
        let socket = Socket::canned(server);
        let mut link = Self::over(socket, Peer { address: "memory".to_owned(), protocol }, false);
        link.inbox.logged_in();
        link
    }

    fn over(socket: Socket, peer: Peer, busy: bool) -> Self {
        Self { socket, inbox: Buffer::default(), out: Vec::new(), sent: 0, peer: Box::new(peer), busy }
    }

    /// The name of `host` for its certificate; `None` stands for its address.
    ///
    /// # Errors
    /// A name that no certificate can carry, where `mode` compares names.
    pub fn tls_name(host: &str, mode: TlsMode) -> Result<Option<ServerName<'static>>, DriverError> {
        let name = ServerName::try_from(host.to_owned()).ok();
        if name.is_none() && mode == TlsMode::VerifyIdentity {
            let message = format!("no certificate can carry the name `{host}`; write the host's name, or `tls=verify-ca`");
            return Err(tls_refused(message));
        }
        Ok(name)
    }

    /// The error of a server without TLS, where the target requires it.
    pub fn offers_no_tls(&self) -> DriverError {
        tls_refused(format!("{} offers no TLS; configure it there, or write `tls=disabled`", self.peer.address))
    }

    /// Goes on under TLS.
    ///
    /// # Errors
    /// A handshake that fails, or bytes that came before it.
    pub async fn start_tls(&mut self, config: Arc<ClientConfig>, name: Option<ServerName<'static>>) -> Result<(), DriverError> {
        if !self.inbox.is_empty() {
            // An attacker may have sent these bytes without TLS, so that they are taken for the server's bytes under TLS.
            return Err(self.malformed(Malformed("bytes follow its answer before TLS begins")));
        }
        let started = self.socket.start_tls(config, name).await;
        started.map_err(|error| tls_failure(&self.peer.address, &error))
    }

    /// `host:port`, for messages.
    pub fn address(&self) -> &str {
        &self.peer.address
    }

    /// Whether no answer is outstanding, and no byte is left that belongs to none.
    #[inline]
    pub fn is_idle(&self) -> bool {
        !self.busy && self.inbox.is_empty()
    }

    /// Whether an answer is outstanding.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.busy
    }

    /// Marks the connection as unusable.
    pub fn give_up(&mut self) {
        self.busy = true;
    }

    /// The send buffer, emptied.
    #[inline]
    pub fn begin(&mut self) -> &mut Vec<u8> {
        if self.out.capacity() == 0 {
            self.out = buffer::spare_out();
        }
        self.out.clear();
        &mut self.out
    }

    /// What is in the buffer is to be sent; the answer is then outstanding, and its limit starts now.
    #[inline]
    pub fn ask(&mut self) {
        self.busy = true;
        self.sent = 0;
        self.inbox.rest();
        self.socket.expect_answer();
    }

    /// Sends the buffer, as the socket takes it.
    #[inline]
    pub fn poll_send(&mut self) -> Poll<Result<(), DriverError>> {
        let sent = ready!(self.socket.poll_write_all(&self.out, &mut self.sent));
        // Until then it may hold a password, see `scrub`.
        if self.inbox.is_logged_in() {
            buffer::recycle(&mut self.out);
        }
        Poll::Ready(sent.map_err(|fault| self.lost(fault)))
    }

    /// Takes the next bytes of the answer, at least one.
    #[inline]
    pub fn poll_receive(&mut self) -> Poll<Result<(), DriverError>> {
        loop {
            if let Err(fault) = ready!(self.socket.poll_readable()) {
                return Poll::Ready(Err(self.lost(fault)));
            }
            let room = match self.inbox.room() {
                Ok(room) => room,
                Err(why) => return Poll::Ready(Err(self.malformed(why))),
            };
            match self.socket.try_read(room) {
                Ok(Some(count)) => {
                    self.inbox.filled(count);
                    return Poll::Ready(Ok(()));
                }
                Ok(None) => {}
                Err(fault) => return Poll::Ready(Err(self.lost(fault))),
            }
        }
    }

    /// The answer is complete, and the next thing may be sent.
    #[inline]
    pub fn answered(&mut self) {
        self.busy = false;
    }

    /// The login is done: answers may be large now, and nothing of it stays in memory.
    pub fn logged_in(&mut self) {
        self.inbox.logged_in();
        self.inbox.rest();
        self.scrub();
        self.answered();
    }

    /// Overwrites what was sent, which held a password or an answer to a challenge; the end of a longer packet before it, too.
    pub fn scrub(&mut self) {
        self.out.clear();
        self.out.resize(self.out.capacity(), 0);
    }

    /// The error of a command after an answer that was given up.
    #[cold]
    pub fn given_up(&self) -> DriverError {
        self.closed("is closed: perbuck had stopped waiting for an earlier answer")
    }

    /// The error of bytes that belong to no answer; the connection is unusable after it.
    #[cold]
    pub fn unasked(&mut self) -> DriverError {
        self.give_up();
        self.malformed(Malformed("it sent an answer without a request"))
    }

    /// The server does not speak the protocol.
    #[cold]
    pub fn malformed(&self, why: Malformed) -> DriverError {
        let message =
            format!("{} does not speak the {} protocol: {}; check the port", self.peer.address, self.peer.protocol, why.0);
        // Before the login another server may listen there.
        let class = if self.inbox.is_logged_in() { ErrorClass::Fatal } else { ErrorClass::Refused };
        DriverError::client(class, "protocol", message)
    }

    #[cold]
    fn closed(&self, how: &str) -> DriverError {
        DriverError::client(ErrorClass::Lost, "closed", format!("the connection to {} {how}", self.peer.address))
    }

    #[cold]
    fn lost(&self, fault: SocketFault) -> DriverError {
        match fault {
            SocketFault::Closed => self.closed("was closed by the server"),
            SocketFault::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
                self.closed("is lost: the server's machine has acknowledged or accepted no bytes for a minute")
            }
            SocketFault::Io(error) => self.closed(&format!("failed: {error}")),
            SocketFault::Overdue => {
                // A server of another protocol may listen there, and wait for the client to speak.
                let who = if self.inbox.is_logged_in() { "" } else { "; check the port" };
                let message = format!("{} did not answer within the limit{who}", self.peer.address);
                DriverError::client(ErrorClass::Lost, "timeout", message).because(Some(Cause::Timeout))
            }
        }
    }
}

/// The error of a connection that TLS refuses, or of a server that refuses TLS.
pub(crate) fn tls_refused(message: String) -> DriverError {
    DriverError::client(ErrorClass::Refused, "tls", message)
}

/// A failed negotiation. An error of TLS itself is not retried: it would come again.
pub fn tls_failure(address: &str, error: &io::Error) -> DriverError {
    if let Some(of_tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return tls_refused(match distrust(of_tls) {
            Some(why) => format!("{address} shows a certificate that the target does not accept: {why}"),
            None => format!("TLS with {address} failed: {of_tls}; check `tls` and `ca` of the target"),
        });
    }
    let message = format!("{address} closed the connection while TLS was being negotiated: {error}");
    DriverError::client(ErrorClass::Lost, "closed", message)
}
