//! Incoming bytes, cut into packets where they lie ("MySQL Packets": three bytes of length, one of sequence).

use std::ops::Range;

use perbuck_net::buffer::Buffer;
use perbuck_net::{Malformed, Parsed};

/// A packet of this length is continued by the next one.
pub(crate) const MAX_CHUNK: usize = 0xff_ffff;

/// Knows where a packet ends, and which number it must carry.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    /// The sequence number of the next packet, whichever side sends it.
    pub(crate) sequence: u8,
}

impl Cutter {
    /// The next whole packet, if it has arrived.
    #[inline]
    pub(crate) fn take(&mut self, buffer: &mut Buffer) -> Parsed<Option<Range<usize>>> {
        let arrived = buffer.arrived();
        let Some(&[a, b, c, sequence]) = arrived.first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        if length == MAX_CHUNK {
            return self.take_joined(buffer);
        }
        if arrived.len() < 4 + length {
            return Ok(None);
        }
        if sequence != self.sequence && arrived.get(4) != Some(&0xff) {
            // A server that gives a connection up (idle too long, killed) says so unasked, with a number of its own.
            return Err(Malformed("a packet is out of sequence"));
        }
        self.sequence = sequence.wrapping_add(1);
        Ok(Some(buffer.take(4, length)))
    }

    /// As [`Self::take`] for a packet in parts: once all are here, the headers between them are squeezed out.
    #[cold]
    fn take_joined(&mut self, buffer: &mut Buffer) -> Parsed<Option<Range<usize>>> {
        let (arrived, mut at, mut parts) = (buffer.arrived(), 0, Vec::new());
        loop {
            let Some(&[a, b, c, sequence]) = arrived.get(at..).and_then(|rest| rest.first_chunk()) else { return Ok(None) };
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            if sequence != self.sequence.wrapping_add(parts.len() as u8) {
                return Err(Malformed("a part of a large packet is out of sequence"));
            }
            parts.push(at + 4..at + 4 + length);
            at += 4 + length;
            if at > arrived.len() {
                return Ok(None);
            }
            if length < MAX_CHUNK {
                break;
            }
        }
        self.sequence = self.sequence.wrapping_add(parts.len() as u8);
        Ok(Some(buffer.take_joined(&parts)))
    }
}

/// Whether a packet ends a result set: EOF, the OK that stands for it, or an error. A text row may begin with 0xFE, too,
/// but is then longer than a packet in one part.
#[inline]
pub(crate) fn ends_rows(payload: &[u8]) -> bool {
    match payload.first() {
        Some(0xfe) => payload.len() < MAX_CHUNK,
        Some(0xff) => true,
        // A packet without a byte is no row; whoever reads it as an end will say so.
        first => first.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn packets_are_cut_where_their_lengths_say() {
        let (mut cutter, mut buffer) = (Cutter::default(), Buffer::default());
        buffer.feed(&[3, 0, 0, 0, b'a', b'b', b'c', 0, 0, 0, 1, 1, 0, 0]);
        let first = cutter.take(&mut buffer).unwrap().unwrap();
        assert_eq!(buffer.get(&first), b"abc");
        assert!(cutter.take(&mut buffer).unwrap().unwrap().is_empty());
        assert_eq!(cutter.take(&mut buffer), Ok(None));
        buffer.feed(&[2, b'x']);
        let last = cutter.take(&mut buffer).unwrap().unwrap();
        assert_eq!((buffer.get(&last), buffer.is_empty()), (&b"x"[..], true));
    }

    #[test]
    fn a_wrong_number_is_refused_unless_it_is_an_error() {
        for (packet, taken) in [(&[1, 0, 0, 5, 0][..], false), (&[3, 0, 0, 5, 0xff, 1, 2], true)] {
            let mut buffer = Buffer::default();
            buffer.feed(packet);
            assert_eq!(Cutter::default().take(&mut buffer).is_ok(), taken);
        }
    }

    #[test]
    fn a_packet_in_parts_becomes_one() {
        let (mut cutter, mut buffer) = (Cutter::default(), Buffer::default());
        buffer.logged_in();
        let part = |number: u8, length: usize| {
            let mut bytes = (length as u32).to_le_bytes().to_vec();
            bytes[3] = number;
            bytes.extend((0..length).map(|i| i as u8 ^ number));
            bytes
        };
        for bytes in [part(0, MAX_CHUNK), part(1, MAX_CHUNK)] {
            buffer.feed(&bytes);
            assert_eq!(cutter.take(&mut buffer), Ok(None));
        }
        buffer.feed(&[part(2, 0), part(3, 3)].concat());
        let large = cutter.take(&mut buffer).unwrap().unwrap();
        assert_eq!(large.len(), 2 * MAX_CHUNK);
        assert_eq!(buffer.get(&large)[MAX_CHUNK..MAX_CHUNK + 3], [1, 0, 3]);
        let small = cutter.take(&mut buffer).unwrap().unwrap();
        assert_eq!(buffer.get(&small), [3, 2, 1]);
        assert!(buffer.is_empty());
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
            let (mut cutter, mut buffer) = (Cutter::default(), Buffer::default());
            let mut seen = Vec::new();
            for piece in bytes.chunks(step) {
                buffer.feed(piece);
                while let Some(packet) = cutter.take(&mut buffer).unwrap() {
                    prop_assert!(buffer.get(&packet).iter().all(|b| *b == seen.len() as u8));
                    seen.push(packet.len());
                }
            }
            prop_assert_eq!(seen, lengths);
        }
    }
}
