//! Incoming bytes, cut into packets in place ("MySQL Packets": three bytes of length, one of sequence).

use std::cell::RefCell;
use std::ops::Range;

use super::bytes::{Malformed, Parsed};

/// A packet of this length is continued by the next one.
pub(super) const MAX_CHUNK: usize = 0xff_ffff;
/// What a session borrows; a full network buffer of the server (16 KiB) fits with room to spare, so that one read
/// takes the whole answer and is seen to have drained the socket.
const INITIAL: usize = 32 * 1024;
/// A buffer that a large answer has grown beyond this is freed before the next statement.
const KEPT: usize = 1024 * 1024;
/// How many buffers a thread keeps for its sessions: as many answers as are usually under way in parts.
const SPARES: usize = 64;
/// Until the login is done nobody has a reason to send more.
const LIMIT_AT_LOGIN: usize = 128 * 1024;
/// `max_allowed_packet` cannot exceed 1 GiB.
const LIMIT: usize = 1024 * 1024 * 1024 + 64 * 1024;

thread_local! {
    /// Buffers that no session holds. A session that waits for an answer needs none, so that thousands of connections
    /// use the memory of a few, and the kernel writes into memory that the processor has at hand.
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// The receive buffer. It grows with the bytes that arrive, never with the lengths that a server claims.
pub(super) struct Inbox {
    /// Empty between the sending of a statement and the first byte of its answer.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The sequence number that the next packet must carry.
    sequence: u8,
    limit: usize,
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self { buffer: Vec::new(), start: 0, end: 0, sequence: 0, limit: LIMIT_AT_LOGIN }
    }

    pub(super) fn logged_in(&mut self) {
        self.limit = LIMIT;
    }

    /// The sequence number of the next packet, whichever side sends it.
    pub(super) fn sequence(&self) -> u8 {
        self.sequence
    }

    /// A packet was sent whose last part had the number before this one.
    #[inline]
    pub(super) fn expect(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Whether bytes are left that belong to no answer asked for.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The bytes of a packet that [`Self::take`] gave; valid until the next [`Self::room`].
    #[inline]
    pub(super) fn bytes(&self, packet: &Range<usize>) -> &[u8] {
        self.buffer.get(packet.clone()).unwrap_or_default()
    }

    /// What has arrived and was not taken, and the sequence number that comes next.
    #[inline]
    pub(super) fn arrived(&self) -> (&[u8], u8) {
        (self.buffer.get(self.start..self.end).unwrap_or_default(), self.sequence)
    }

    /// All that has arrived was a whole answer.
    #[inline]
    pub(super) fn take_all(&mut self) {
        self.start = self.end;
    }

    /// Gives the buffer back if nothing is in it: what comes next is an answer, and that may take a while.
    #[inline]
    pub(super) fn rest(&mut self) {
        if self.start == self.end && !self.buffer.is_empty() {
            (self.start, self.end) = (0, 0);
            let buffer = std::mem::take(&mut self.buffer);
            SPARE.with_borrow_mut(|spare| {
                if buffer.len() <= KEPT && spare.len() < SPARES {
                    spare.push(buffer);
                }
            });
        }
    }

    /// Where the next bytes go.
    #[inline]
    pub(super) fn room(&mut self) -> Parsed<&mut [u8]> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.buffer.is_empty() {
                // A spare one may have grown beyond what a server may send before the login.
                let spare = if self.limit == LIMIT { SPARE.with_borrow_mut(Vec::pop) } else { None };
                self.buffer = spare.unwrap_or_else(|| vec![0; INITIAL]);
            }
        }
        // Moving the beginning of one packet to the front is cheaper than a read cut short.
        if self.start > 0 && self.buffer.len() - self.end < self.buffer.len() / 2 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.buffer.len() {
            if self.buffer.len() >= self.limit {
                return Err(Malformed("a packet is larger than any server may send"));
            }
            self.buffer.resize((self.buffer.len() * 2).min(self.limit), 0);
        }
        Ok(&mut self.buffer[self.end..])
    }

    /// `count` bytes were written to the room.
    #[inline]
    pub(super) fn filled(&mut self, count: usize) {
        self.end = self.buffer.len().min(self.end + count);
    }

    /// The next whole packet, if it has arrived.
    #[inline]
    pub(super) fn take(&mut self) -> Parsed<Option<Range<usize>>> {
        let Some(&[a, b, c, sequence]) = self.buffer[self.start..self.end].first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        if length == MAX_CHUNK {
            return self.take_joined();
        }
        let packet = self.start + 4..self.start + 4 + length;
        if packet.end > self.end {
            return Ok(None);
        }
        if sequence != self.sequence && self.buffer.get(packet.start) != Some(&0xff) {
            // A server that gives a connection up (idle too long, killed) says so unasked, with a number of its own.
            return Err(Malformed("a packet is out of sequence"));
        }
        self.sequence = sequence.wrapping_add(1);
        self.start = packet.end;
        Ok(Some(packet))
    }

    /// As [`Self::take`] for a packet in parts: once all are here, the headers between them are squeezed out.
    #[cold]
    fn take_joined(&mut self) -> Parsed<Option<Range<usize>>> {
        let (mut at, mut parts) = (self.start, Vec::new());
        loop {
            let Some(&[a, b, c, sequence]) = self.buffer[at..self.end].first_chunk() else { return Ok(None) };
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            if sequence != self.sequence.wrapping_add(parts.len() as u8) {
                return Err(Malformed("a part of a large packet is out of sequence"));
            }
            parts.push(at + 4..at + 4 + length);
            at += 4 + length;
            if at > self.end {
                return Ok(None);
            }
            if length < MAX_CHUNK {
                break;
            }
        }
        let first = self.start + 4;
        let mut joined = first;
        for part in &parts {
            self.buffer.copy_within(part.clone(), joined);
            joined += part.len();
        }
        self.sequence = self.sequence.wrapping_add(parts.len() as u8);
        self.start = at;
        Ok(Some(first..joined))
    }

    /// Whether the packet ends a result set: EOF, the OK that stands for it, or an error. A text row may begin with
    /// 0xFE, too, but is then longer than a packet in one part.
    #[inline]
    pub(super) fn ends_rows(&self, packet: &Range<usize>) -> bool {
        match self.buffer.get(packet.start) {
            Some(0xfe) => packet.len() < MAX_CHUNK,
            Some(0xff) => true,
            // A packet without a byte is no row; whoever reads it as an end will say so.
            _ => packet.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn feed(inbox: &mut Inbox, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = inbox.room().unwrap();
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            inbox.filled(count);
            bytes = &bytes[count..];
        }
    }

    #[test]
    fn packets_are_cut_where_their_lengths_say() {
        let mut inbox = Inbox::new();
        feed(&mut inbox, &[3, 0, 0, 0, b'a', b'b', b'c', 0, 0, 0, 1, 1, 0, 0]);
        let first = inbox.take().unwrap().unwrap();
        assert_eq!(inbox.bytes(&first), b"abc");
        assert!(inbox.take().unwrap().unwrap().is_empty());
        assert_eq!(inbox.take(), Ok(None));
        feed(&mut inbox, &[2, b'x']);
        let last = inbox.take().unwrap().unwrap();
        assert_eq!((inbox.bytes(&last), inbox.is_empty()), (&b"x"[..], true));
    }

    #[test]
    fn a_wrong_number_is_refused_unless_it_is_an_error() {
        let mut inbox = Inbox::new();
        feed(&mut inbox, &[1, 0, 0, 5, 0]);
        assert!(inbox.take().is_err());
        let mut inbox = Inbox::new();
        feed(&mut inbox, &[3, 0, 0, 5, 0xff, 1, 2]);
        assert!(inbox.take().unwrap().is_some());
    }

    #[test]
    fn a_packet_in_parts_becomes_one_and_the_buffer_is_given_back() {
        let mut inbox = Inbox::new();
        inbox.logged_in();
        let part = |number: u8, length: usize| {
            let mut bytes = (length as u32).to_le_bytes().to_vec();
            bytes[3] = number;
            bytes.extend((0..length).map(|i| i as u8 ^ number));
            bytes
        };
        for bytes in [part(0, MAX_CHUNK), part(1, MAX_CHUNK)] {
            feed(&mut inbox, &bytes);
            assert_eq!(inbox.take(), Ok(None));
        }
        feed(&mut inbox, &[part(2, 0), part(3, 3)].concat());
        let large = inbox.take().unwrap().unwrap();
        assert_eq!(large.len(), 2 * MAX_CHUNK);
        assert_eq!(inbox.bytes(&large)[MAX_CHUNK..MAX_CHUNK + 3], [1, 0, 3]);
        let small = inbox.take().unwrap().unwrap();
        assert_eq!(inbox.bytes(&small), [3, 2, 1]);
        inbox.rest();
        assert_eq!(inbox.room().map(|room| room.len()), Ok(INITIAL));
    }

    #[test]
    fn before_the_login_little_is_taken() {
        let mut inbox = Inbox::new();
        feed(&mut inbox, &[0xfe, 0xff, 0xff, 0]);
        feed(&mut inbox, &vec![0; LIMIT_AT_LOGIN - 4]);
        assert_eq!(inbox.take(), Ok(None));
        assert!(inbox.room().is_err());
    }

    proptest! {
        #[test]
        fn however_the_bytes_arrive_the_packets_are_the_same(
            lengths in proptest::collection::vec(0_usize..5_000, 1..60), step in 1_usize..9_000,
        ) {
            let mut bytes = Vec::new();
            for (number, length) in lengths.iter().enumerate() {
                bytes.extend_from_slice(&[*length as u8, (*length >> 8) as u8, 0, number as u8]);
                bytes.extend(std::iter::repeat_n(number as u8, *length));
            }
            let mut inbox = Inbox::new();
            let mut seen = Vec::new();
            for piece in bytes.chunks(step) {
                feed(&mut inbox, piece);
                while let Some(packet) = inbox.take().unwrap() {
                    prop_assert!(inbox.bytes(&packet).iter().all(|b| *b == seen.len() as u8));
                    seen.push(packet.len());
                }
            }
            prop_assert_eq!(seen, lengths);
        }
    }
}
