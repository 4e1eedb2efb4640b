//! Incoming bytes. Protocols read them where they lie.

use std::cell::RefCell;
use std::ops::Range;

use super::{Malformed, Parsed};

/// What a session borrows; a full network buffer of a server (16 KiB) fits with room to spare, so that one read
/// takes the whole answer and is seen to have drained the socket.
const INITIAL: usize = 32 * 1024;
/// A buffer that a large answer or statement has grown beyond this is freed before the next statement.
const KEPT: usize = 1024 * 1024;
/// How many buffers a thread keeps for its sessions: as many answers as have usually come in part.
const SPARES: usize = 64;
/// Until the login is done no server has a reason to send more.
const LIMIT_AT_LOGIN: usize = 128 * 1024;
/// MySQL's `max_allowed_packet` cannot exceed 1 GiB, and neither can a message of PostgreSQL.
const LIMIT: usize = 1024 * 1024 * 1024 + 64 * 1024;

thread_local! {
    /// Buffers that no session holds. A session that waits for an answer needs none, so that thousands of connections
    /// use the memory of a few, and the kernel writes into memory that the processor has at hand.
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    /// Send buffers that no session holds: one is needed from the first word of a statement until the socket has taken it.
    static SPARE_OUT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A send buffer.
#[inline]
pub fn spare_out() -> Vec<u8> {
    SPARE_OUT.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// The send buffer is not needed any more.
#[inline]
pub fn recycle(out: &mut Vec<u8>) {
    SPARE_OUT.with_borrow_mut(|spare| keep(spare, std::mem::take(out)));
}

/// Keeps a buffer for the next session, unless it is large or there are enough.
#[inline]
fn keep(spare: &mut Vec<Vec<u8>>, bytes: Vec<u8>) {
    if bytes.capacity() <= KEPT && spare.len() < SPARES {
        spare.push(bytes);
    }
}

/// The receive buffer. It grows with the bytes that arrive, never with the lengths that a server claims.
pub struct Buffer {
    /// Empty between the sending of a statement and the first byte of its answer.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    limit: usize,
}

impl Default for Buffer {
    fn default() -> Self {
        Self { bytes: Vec::new(), start: 0, end: 0, limit: LIMIT_AT_LOGIN }
    }
}

impl Buffer {
    /// From now on answers may be large.
    pub fn logged_in(&mut self) {
        self.limit = LIMIT;
    }

    /// Whether answers may be large.
    #[inline]
    pub fn is_logged_in(&self) -> bool {
        self.limit == LIMIT
    }

    /// Whether nothing is left that was not taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// What has arrived and was not taken.
    #[inline]
    pub fn arrived(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// The bytes of a message that was taken; valid until the next [`Self::room`], [`Self::rest`] or [`Self::take_all`].
    #[inline]
    pub fn get(&self, message: &Range<usize>) -> &[u8] {
        self.bytes.get(message.clone()).unwrap_or_default()
    }

    /// Takes a message with its header of `header` bytes, both of which have arrived; where its `length` bytes are.
    #[inline]
    pub fn take(&mut self, header: usize, length: usize) -> Range<usize> {
        let body = self.start + header;
        self.start = body + length;
        body..self.start
    }

    /// Takes a message in parts, given from the first byte that was not taken on; what is between them is squeezed out.
    #[cold]
    pub fn take_joined(&mut self, parts: &[Range<usize>]) -> Range<usize> {
        let first = self.start + parts.first().map_or(0, |part| part.start);
        let (mut joined, mut after) = (first, first);
        for part in parts {
            self.bytes.copy_within(self.start + part.start..self.start + part.end, joined);
            joined += part.len();
            after = self.start + part.end;
        }
        self.start = after;
        first..joined
    }

    /// All that has arrived was a whole answer, and is not needed any more.
    #[inline]
    pub fn take_all(&mut self) {
        self.start = self.end;
        self.rest();
    }

    /// Returns the memory if nothing is in it: what comes next may take a while.
    #[inline]
    pub fn rest(&mut self) {
        if self.start == self.end && !self.bytes.is_empty() {
            (self.start, self.end) = (0, 0);
            SPARE.with_borrow_mut(|spare| keep(spare, std::mem::take(&mut self.bytes)));
        }
    }

    /// Where the next bytes go.
    #[inline]
    pub fn room(&mut self) -> Parsed<&mut [u8]> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.bytes.is_empty() {
                // A spare one may have grown beyond what a server may send before the login.
                let spare = if self.limit == LIMIT { SPARE.with_borrow_mut(Vec::pop) } else { None };
                self.bytes = spare.unwrap_or_else(|| vec![0; INITIAL]);
            }
        } else {
            self.make_room()?;
        }
        Ok(&mut self.bytes[self.end..])
    }

    /// Room after a message that has come in part.
    #[cold]
    fn make_room(&mut self) -> Parsed<()> {
        // Moving the start of one message to the front is cheaper than a read cut short.
        if self.start > 0 && self.bytes.len() - self.end < self.bytes.len() / 2 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.bytes.len() {
            if self.bytes.len() >= self.limit {
                return Err(Malformed("it is larger than anything that a server may send"));
            }
            self.bytes.resize((self.bytes.len() * 2).min(self.limit), 0);
        }
        Ok(())
    }

    /// `count` bytes were written to the room.
    #[inline]
    pub fn filled(&mut self, count: usize) {
        self.end = self.bytes.len().min(self.end + count);
    }

    /// Writes bytes as if they had arrived.
    #[cfg(any(test, feature = "canned"))]
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = self.room().unwrap_or_default();
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            self.filled(count);
            bytes = &bytes[count..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_the_login_little_is_taken() {
        let mut buffer = Buffer::default();
        buffer.feed(&vec![0; LIMIT_AT_LOGIN]);
        assert!(buffer.room().is_err());
    }

    #[test]
    fn the_memory_of_a_large_answer_is_freed_and_that_of_a_small_one_kept() {
        let mut buffer = Buffer::default();
        buffer.logged_in();
        for (length, room) in [(KEPT + 1, INITIAL), (INITIAL + 1, 2 * INITIAL)] {
            buffer.feed(&vec![7; length]);
            assert_eq!(buffer.take(1, length - 1), 1..length);
            assert!(buffer.is_empty());
            buffer.rest();
            assert_eq!(buffer.room().map(|room| room.len()), Ok(room));
            buffer.rest();
        }
    }

    #[test]
    fn the_send_buffer_of_a_small_statement_is_reused_and_that_of_a_large_one_freed() {
        for (capacity, kept) in [(64, true), (KEPT + 1, false)] {
            let mut out = Vec::with_capacity(capacity);
            out.push(1);
            let address = out.as_ptr();
            recycle(&mut out);
            assert_eq!(out.capacity(), 0);
            let next = spare_out();
            assert_eq!(next.as_ptr() == address, kept);
        }
    }
}
