//! Packets over a socket: what one side says, whose turn it is, and what it means when the other side falls silent.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use perbuck_load::error::{DriverError, ErrorClass};
use rustls::pki_types::ServerName;
use rustls::{self, ClientConfig};

use super::bytes::Malformed;
use super::errors;
use super::inbox::{Inbox, MAX_CHUNK};
use super::stream::{Socket, SocketFault};
use crate::target::host_text;

/// A send buffer that a large statement has grown beyond this is given back after it.
const KEPT: usize = 1024 * 1024;

/// One connection at the level of packets.
pub(super) struct Wire {
    socket: Socket,
    inbox: Inbox,
    /// The packet to be sent, behind four bytes for its header.
    out: Vec<u8>,
    /// How many bytes of it the socket took.
    sent: usize,
    /// `host:port`, for messages.
    place: String,
    /// An answer is outstanding. It stays so when a future is dropped half way or the connection fails; the connection
    /// is then good for nothing, since the next answer would be taken for that of another statement.
    busy: bool,
}

impl Wire {
    /// Another limit for all further answers.
    pub(super) fn set_read_timeout(&mut self, limit: Duration) {
        self.socket.set_read_timeout(limit);
    }

    pub(super) async fn connect(host: &str, port: u16, read_timeout: Duration) -> Result<Self, DriverError> {
        let place = host_text(host, port);
        let socket = Socket::connect(host, port, read_timeout).await.map_err(|why| {
            let message = format!("{place} cannot be reached: {why}; is the server up, and are host and port right?");
            DriverError::client(ErrorClass::Lost, "unreachable", message)
        })?;
        // The greeting is outstanding.
        Ok(Self { socket, inbox: Inbox::new(), out: vec![0; 4], sent: 0, place, busy: true })
    }

    #[cfg(any(test, feature = "canned"))]
    pub(super) fn canned(answers: super::canned::Answers, read_timeout: Duration) -> Self {
        let socket = Socket::canned(super::canned::Canned::new(answers), read_timeout);
        let mut inbox = Inbox::new();
        inbox.logged_in();
        Self { socket, inbox, out: vec![0; 4], sent: 0, place: "memory".to_owned(), busy: false }
    }

    pub(super) async fn start_tls(
        &mut self,
        config: Arc<ClientConfig>,
        name: Option<ServerName<'static>>,
    ) -> Result<(), DriverError> {
        if !self.inbox.is_empty() {
            return Err(self.malformed(Malformed("bytes follow the greeting before TLS begins")));
        }
        let started = self.socket.start_tls(config, name).await;
        started.map_err(|error| tls_failure(&self.place, &error))
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.socket.is_encrypted()
    }

    pub(super) fn peer_is_local(&self) -> bool {
        self.socket.peer_is_local()
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Begins a command; its payload is appended to the buffer.
    ///
    /// # Errors
    /// When an answer is still outstanding, or the server has said something unasked (that it is shutting down).
    #[inline]
    pub(super) fn command(&mut self) -> Result<&mut Vec<u8>, DriverError> {
        if self.busy || !self.inbox.is_empty() {
            return Err(self.not_idle());
        }
        Ok(self.reply())
    }

    /// Begins a packet within a dialogue, such as the login.
    #[inline]
    pub(super) fn reply(&mut self) -> &mut Vec<u8> {
        self.out.clear();
        self.out.extend_from_slice(&[0; 4]);
        &mut self.out
    }

    #[cold]
    fn not_idle(&mut self) -> DriverError {
        if self.busy {
            return self.closed("was given up before: an answer stayed out, or was not waited for");
        }
        self.busy = true;
        match self.inbox.take() {
            Ok(Some(packet)) => match errors::from_packet(self.inbox.bytes(&packet)) {
                Ok(error) => error,
                Err(_) => self.malformed(Malformed("it sends what nobody asked for")),
            },
            _ => self.malformed(Malformed("it sends what nobody asked for")),
        }
    }

    /// Sends the command; an answer is then outstanding, until [`Self::answered`].
    pub(super) async fn send_command(&mut self) -> Result<(), DriverError> {
        self.frame_command();
        poll_fn(|_| self.poll_send()).await
    }

    /// Makes the command ready to be sent.
    #[inline]
    pub(super) fn frame_command(&mut self) {
        self.inbox.expect(0);
        self.frame();
    }

    /// Sends what is framed, as the socket takes it.
    #[inline]
    pub(super) fn poll_send(&mut self) -> Poll<Result<(), DriverError>> {
        let sent = ready!(self.socket.poll_write_all(&self.out, &mut self.sent));
        if self.out.capacity() > KEPT {
            self.out = Vec::with_capacity(KEPT / 64);
        }
        Poll::Ready(sent.map_err(|fault| self.lost(fault)))
    }

    /// Sends a command that has no answer (closing a statement, quitting).
    pub(super) async fn send_unanswered(&mut self) -> Result<(), DriverError> {
        self.send_command().await?;
        self.answered();
        Ok(())
    }

    /// Sends the next packet of a dialogue.
    pub(super) async fn send_reply(&mut self) -> Result<(), DriverError> {
        self.frame();
        poll_fn(|_| self.poll_send()).await
    }

    /// Puts the header in front of what is to be sent; the answer is then outstanding.
    #[inline]
    fn frame(&mut self) {
        self.busy = true;
        self.sent = 0;
        let payload = self.out.len() - 4;
        let mut sequence = self.inbox.sequence();
        if payload < MAX_CHUNK {
            let length = (payload as u32).to_le_bytes();
            if let Some(header) = self.out.first_chunk_mut() {
                *header = [length[0], length[1], length[2], sequence];
            }
            sequence = sequence.wrapping_add(1);
        } else {
            sequence = split(&mut self.out, sequence);
        }
        self.inbox.expect(sequence);
        self.inbox.rest();
        self.socket.expect_answer();
    }

    /// The answer is complete, and the next command may be sent.
    #[inline]
    pub(super) fn answered(&mut self) {
        self.busy = false;
    }

    /// The login is done: answers may be large now, and nothing of it stays in memory.
    pub(super) fn logged_in(&mut self) {
        self.inbox.logged_in();
        self.scrub();
        self.answered();
    }

    /// Overwrites what was sent last, which held an answer to a password challenge.
    pub(super) fn scrub(&mut self) {
        self.out.fill(0);
    }

    /// The next packet of the answer, if it has arrived.
    #[inline]
    pub(super) fn take(&mut self) -> Result<Option<Range<usize>>, DriverError> {
        self.inbox.take().map_err(|why| self.malformed(why))
    }

    /// The next packet of the answer.
    pub(super) async fn packet(&mut self) -> Result<Range<usize>, DriverError> {
        loop {
            match self.inbox.take() {
                Ok(Some(packet)) => return Ok(packet),
                Ok(None) => poll_fn(|_| self.poll_receive()).await?,
                Err(why) => return Err(self.malformed(why)),
            }
        }
    }

    /// Takes the next bytes of the answer, at least one.
    #[inline]
    pub(super) fn poll_receive(&mut self) -> Poll<Result<(), DriverError>> {
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

    /// The bytes of a packet; valid until the next one is asked for.
    #[inline]
    pub(super) fn bytes(&self, packet: &Range<usize>) -> &[u8] {
        self.inbox.bytes(packet)
    }

    /// What has arrived and was not taken, and the sequence number that comes next.
    #[inline]
    pub(super) fn arrived(&self) -> (&[u8], u8) {
        self.inbox.arrived()
    }

    /// All that has arrived was a whole answer.
    #[inline]
    pub(super) fn take_all(&mut self) {
        self.inbox.take_all();
        self.busy = false;
    }

    /// Whether a packet ends a result set.
    #[inline]
    pub(super) fn ends_rows(&self, packet: &Range<usize>) -> bool {
        self.inbox.ends_rows(packet)
    }

    /// The error in an ERR packet. After it the connection goes on, unless it says that it does not.
    #[cold]
    pub(super) fn server_error(&mut self, packet: &Range<usize>) -> DriverError {
        match errors::from_packet(self.inbox.bytes(packet)) {
            Ok(error) => {
                self.busy = error.class == ErrorClass::Lost;
                error
            }
            Err(why) => self.malformed(why),
        }
    }

    /// The server does not speak the protocol.
    #[cold]
    pub(super) fn malformed(&self, why: Malformed) -> DriverError {
        let message = format!("what {} answers is not the MySQL protocol: {}; is this its port?", self.place, why.0);
        DriverError::client(ErrorClass::Fatal, "protocol", message)
    }

    #[cold]
    fn closed(&self, how: &str) -> DriverError {
        DriverError::client(ErrorClass::Lost, "closed", format!("the connection to {} {how}", self.place))
    }

    #[cold]
    fn lost(&self, fault: SocketFault) -> DriverError {
        match fault {
            SocketFault::Closed => self.closed("was closed by the server"),
            SocketFault::Io(error) => self.closed(&format!("failed: {error}")),
            SocketFault::Overdue => {
                let message = format!("{} did not answer within the limit; see `read_timeout` of the target", self.place);
                DriverError::client(ErrorClass::Lost, "timeout", message)
            }
        }
    }
}

/// A failed negotiation. Whatever TLS itself complains about will not get better by trying again.
fn tls_failure(place: &str, error: &io::Error) -> DriverError {
    let of_tls = matches!(error.get_ref(), Some(inner) if inner.is::<rustls::Error>());
    if of_tls {
        let message = format!("TLS with {place} failed: {error}; check `tls` and `ca` of the target");
        return DriverError::client(ErrorClass::Refused, "tls", message);
    }
    let message = format!("{place} closed the connection while TLS was being negotiated: {error}");
    DriverError::client(ErrorClass::Lost, "closed", message)
}

/// Puts a header in front of every part of a payload of 16 MiB or more; the last part is shorter than the maximum,
/// empty if need be. Returns the sequence number of the packet after it.
#[cold]
fn split(out: &mut Vec<u8>, mut sequence: u8) -> u8 {
    let mut framed = Vec::with_capacity(out.len() + out.len() / MAX_CHUNK * 4 + 4);
    let mut rest = out.get(4..).unwrap_or_default();
    loop {
        let (part, behind) = rest.split_at(rest.len().min(MAX_CHUNK));
        let length = (part.len() as u32).to_le_bytes();
        framed.extend_from_slice(&[length[0], length[1], length[2], sequence]);
        framed.extend_from_slice(part);
        sequence = sequence.wrapping_add(1);
        rest = behind;
        if part.len() < MAX_CHUNK {
            break;
        }
    }
    *out = framed;
    sequence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_payload_is_sent_in_parts_that_end_with_a_short_one() {
        for (length, parts) in [(MAX_CHUNK, vec![MAX_CHUNK, 0]), (2 * MAX_CHUNK + 5, vec![MAX_CHUNK, MAX_CHUNK, 5])] {
            let mut out = vec![0; 4];
            out.extend((0..length).map(|i| i as u8));
            assert_eq!(split(&mut out, 0), parts.len() as u8);
            let (mut at, mut payload) = (0, Vec::new());
            for (number, part) in parts.iter().enumerate() {
                let header = (*part as u32 | (number as u32) << 24).to_le_bytes();
                assert_eq!(out[at..at + 4], header);
                payload.extend_from_slice(&out[at + 4..at + 4 + part]);
                at += 4 + part;
            }
            assert_eq!((at, payload.len()), (out.len(), length));
            assert!(payload.iter().enumerate().all(|(i, b)| *b == i as u8));
        }
    }
}
