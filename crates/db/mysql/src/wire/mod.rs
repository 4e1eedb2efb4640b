//! Packets over a connection: what one side says, and whether an answer is outstanding.

pub(crate) mod answer;
pub(crate) mod auth;
pub(crate) mod bytes;
#[cfg(any(test, feature = "canned"))]
pub mod canned;
pub(crate) mod cells;
pub(crate) mod cutter;
pub(crate) mod execute;
pub(crate) mod login;
pub(crate) mod packets;
pub(crate) mod protocol;

use std::future::poll_fn;
use std::ops::{Deref, DerefMut, Range};
use std::time::Duration;

use perbuck_load::error::{DriverError, ErrorClass};

use crate::errors;
use crate::wire::cutter::{Cutter, MAX_CHUNK};
use perbuck_net::link::Link;

const PROTOCOL: &str = "MySQL";

/// One connection at the level of packets.
pub(crate) struct Wire {
    /// Its send buffer holds four bytes for a header, and then the packet to be sent.
    link: Link,
    cutter: Cutter,
}

impl Deref for Wire {
    type Target = Link;

    #[inline]
    fn deref(&self) -> &Link {
        &self.link
    }
}

impl DerefMut for Wire {
    #[inline]
    fn deref_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

impl Wire {
    /// Connects; the greeting is then outstanding.
    pub(crate) async fn connect(host: &str, port: u16, read_timeout: Duration) -> Result<Self, DriverError> {
        let link = Link::connect(host, port, read_timeout, PROTOCOL).await?;
        Ok(Self { link, cutter: Cutter::default() })
    }

    /// Begins a command; its payload is appended to the buffer.
    ///
    /// # Errors
    /// When an answer is still outstanding, or the server has said something unasked (that it is shutting down).
    #[inline]
    pub(crate) fn command(&mut self) -> Result<&mut Vec<u8>, DriverError> {
        if !self.link.is_idle() {
            return Err(self.not_idle());
        }
        Ok(self.reply())
    }

    /// Begins a packet within a dialogue, such as the login.
    #[inline]
    pub(crate) fn reply(&mut self) -> &mut Vec<u8> {
        let out = self.link.begin();
        out.extend_from_slice(&[0; 4]);
        out
    }

    #[cold]
    fn not_idle(&mut self) -> DriverError {
        if self.link.is_busy() {
            return self.link.given_up();
        }
        let unasked = self.link.unasked();
        match self.cutter.take(&mut self.link.inbox) {
            Ok(Some(packet)) => errors::from_packet(self.bytes(&packet)).unwrap_or(unasked),
            _ => unasked,
        }
    }

    /// Sends the command; an answer is then outstanding, until [`Link::answered`].
    pub(crate) async fn send_command(&mut self) -> Result<(), DriverError> {
        self.frame_command();
        poll_fn(|_| self.link.poll_send()).await
    }

    /// Makes the command ready to be sent.
    #[inline]
    pub(crate) fn frame_command(&mut self) {
        self.cutter.sequence = 0;
        self.frame();
    }

    /// Sends a command that has no answer (closing a statement, quitting).
    pub(crate) async fn send_unanswered(&mut self) -> Result<(), DriverError> {
        self.send_command().await?;
        self.link.answered();
        Ok(())
    }

    /// Sends the next packet of a dialogue.
    pub(crate) async fn send_reply(&mut self) -> Result<(), DriverError> {
        self.frame();
        poll_fn(|_| self.link.poll_send()).await
    }

    /// Puts the header before what is to be sent; the answer is then outstanding.
    #[inline]
    fn frame(&mut self) {
        let payload = self.link.out.len() - 4;
        let mut sequence = self.cutter.sequence;
        if payload < MAX_CHUNK {
            let length = (payload as u32).to_le_bytes();
            if let Some(header) = self.link.out.first_chunk_mut() {
                *header = [length[0], length[1], length[2], sequence];
            }
            sequence = sequence.wrapping_add(1);
        } else {
            sequence = split(&mut self.link.out, sequence);
        }
        self.cutter.sequence = sequence;
        self.link.ask();
    }

    /// The next packet of the answer, if it has arrived.
    #[inline]
    pub(crate) fn take(&mut self) -> Result<Option<Range<usize>>, DriverError> {
        self.cutter.take(&mut self.link.inbox).map_err(|why| self.link.malformed(why))
    }

    /// The next packet of the answer.
    pub(crate) async fn packet(&mut self) -> Result<Range<usize>, DriverError> {
        loop {
            match self.take()? {
                Some(packet) => return Ok(packet),
                None => poll_fn(|_| self.link.poll_receive()).await?,
            }
        }
    }

    /// The bytes of a packet; valid until the next one is asked for.
    #[inline]
    pub(crate) fn bytes(&self, packet: &Range<usize>) -> &[u8] {
        self.link.inbox.get(packet)
    }

    /// What has arrived and was not taken, and the sequence number that comes next.
    #[inline]
    pub(crate) fn arrived(&self) -> (&[u8], u8) {
        (self.link.inbox.arrived(), self.cutter.sequence)
    }

    /// All that has arrived was a whole answer.
    #[inline]
    pub(crate) fn take_all(&mut self) {
        self.link.inbox.take_all();
        self.link.answered();
    }

    /// The error in an ERR packet. After it the connection goes on, unless it says that it does not.
    #[cold]
    pub(crate) fn server_error(&mut self, packet: &Range<usize>) -> DriverError {
        match errors::from_packet(self.bytes(packet)) {
            Ok(error) => {
                if error.class == ErrorClass::Lost {
                    self.link.give_up();
                } else {
                    self.link.answered();
                }
                error
            }
            Err(why) => self.link.malformed(why),
        }
    }
}

/// Puts a header before every part of a payload of 16 MiB or more; the last part is shorter than the maximum,
/// empty if need be. Returns the sequence number of the packet after it.
#[cold]
fn split(out: &mut Vec<u8>, mut sequence: u8) -> u8 {
    let mut framed = Vec::with_capacity(out.len() + out.len() / MAX_CHUNK * 4 + 4);
    let payload = out.get(4..).unwrap_or_default();
    let last = payload.len().is_multiple_of(MAX_CHUNK).then_some(&b""[..]);
    for part in payload.chunks(MAX_CHUNK).chain(last) {
        let length = (part.len() as u32).to_le_bytes();
        framed.extend_from_slice(&[length[0], length[1], length[2], sequence]);
        framed.extend_from_slice(part);
        sequence = sequence.wrapping_add(1);
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
