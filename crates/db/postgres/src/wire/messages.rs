//! Messages ("Message Formats"): a byte that says what it is, four of length, and the rest. Numbers are big-endian.

use std::ops::Range;

use smallvec::SmallVec;

use perbuck_net::buffer::Buffer;
use perbuck_net::reader::Reader;
use perbuck_net::{Malformed, Parsed};

/// What a server says.
pub(crate) mod kind {
    pub(crate) const AUTHENTICATION: u8 = b'R';
    pub(crate) const BACKEND_KEY_DATA: u8 = b'K';
    pub(crate) const BIND_COMPLETE: u8 = b'2';
    pub(crate) const CLOSE_COMPLETE: u8 = b'3';
    pub(crate) const COMMAND_COMPLETE: u8 = b'C';
    pub(crate) const COPY_IN: u8 = b'G';
    pub(crate) const COPY_OUT: u8 = b'H';
    pub(crate) const COPY_BOTH: u8 = b'W';
    pub(crate) const DATA_ROW: u8 = b'D';
    pub(crate) const EMPTY_QUERY: u8 = b'I';
    pub(crate) const ERROR: u8 = b'E';
    pub(crate) const NEGOTIATE_VERSION: u8 = b'v';
    pub(crate) const NO_DATA: u8 = b'n';
    pub(crate) const NOTICE: u8 = b'N';
    pub(crate) const NOTIFICATION: u8 = b'A';
    pub(crate) const PARAMETER_DESCRIPTION: u8 = b't';
    pub(crate) const PARAMETER_STATUS: u8 = b'S';
    pub(crate) const PARSE_COMPLETE: u8 = b'1';
    pub(crate) const READY: u8 = b'Z';
    pub(crate) const ROW_DESCRIPTION: u8 = b'T';
}

/// What ReadyForQuery says of the transaction.
pub(crate) mod status {
    pub(crate) const IDLE: u8 = b'I';
    pub(crate) const IN_TRANSACTION: u8 = b'T';
    pub(crate) const FAILED: u8 = b'E';
}

/// The byte and the length.
pub(crate) const HEADER: usize = 5;

/// A message that has arrived: what it is, and where its body lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: u8,
    pub(crate) body: Range<usize>,
}

/// The next whole message, if it has arrived.
#[inline]
pub(crate) fn take(buffer: &mut Buffer) -> Parsed<Option<Message>> {
    let arrived = buffer.arrived();
    let Some(&[kind, a, b, c, d]) = arrived.first_chunk() else { return Ok(None) };
    let length = length_of([a, b, c, d])?;
    if arrived.len() < HEADER + length {
        return Ok(None);
    }
    Ok(Some(Message { kind, body: buffer.take(HEADER, length) }))
}

/// The length of a body, which is four less than what is written.
#[inline]
fn length_of(bytes: [u8; 4]) -> Parsed<usize> {
    match u32::from_be_bytes(bytes) {
        length @ 4..=0x7fff_ffff => Ok(length as usize - 4),
        _ => Err(Malformed("a message has an impossible length")),
    }
}

/// The message at `at`: what it is, its body, and where the next one begins. `None` where it is not all there.
#[inline]
pub(crate) fn message_at(bytes: &[u8], at: usize) -> Option<(u8, &[u8], usize)> {
    let &[kind, a, b, c, d] = bytes.get(at..)?.first_chunk()?;
    let begin = at + HEADER;
    let end = begin + length_of([a, b, c, d]).ok()?;
    Some((kind, bytes.get(begin..end)?, end))
}

/// Appends a message whose body `write` adds.
pub(crate) fn put_message(out: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    put_sized(out, write);
}

/// Appends a body with its length before it, which counts itself.
pub(crate) fn put_sized(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    set_length(out, at);
}

/// Writes the length of what follows at `at`, which counts itself.
#[inline]
pub(crate) fn set_length(out: &mut [u8], at: usize) {
    let length = (out.len() - at) as u32;
    if let Some(length_bytes) = out.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *length_bytes = length.to_be_bytes();
    }
}

/// Appends text and the NUL after it. What holds a NUL itself would end there; no name of a catalogue does.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
    out.push(0);
}

/// Reads a value of a row; `None` is NULL, whose length is -1.
#[inline]
pub(crate) fn value<'a>(r: &mut Reader<'a>) -> Parsed<Option<&'a [u8]>> {
    match r.be_u32()? {
        u32::MAX => Ok(None),
        length => r.take(length as usize).map(Some),
    }
}

/// Reads text that must end with a NUL.
pub(crate) fn text<'a>(r: &mut Reader<'a>) -> Parsed<&'a [u8]> {
    let before = r.left();
    let text = r.nul_bytes();
    if before - r.left() == text.len() {
        return Err(Malformed("a text has no end"));
    }
    Ok(text)
}

/// What CommandComplete says: the rows that were changed, where it counts any (`INSERT 0 3`, `UPDATE 3`, `COPY 3`).
#[inline]
pub(crate) fn rows_of(tag: &[u8]) -> Parsed<u64> {
    let Some((0, tag)) = tag.split_last() else { return Err(Malformed("the end of a statement has no tag")) };
    let mut rows: u64 = 0;
    let mut scale: u64 = 1;
    for byte in tag.iter().rev() {
        match byte {
            b'0'..=b'9' => {
                rows = rows.saturating_add(scale.saturating_mul(u64::from(byte - b'0')));
                scale = scale.saturating_mul(10);
            }
            b' ' => return Ok(rows),
            // `BEGIN`, `CREATE TABLE`.
            _ => break,
        }
    }
    Ok(0)
}

/// ReadyForQuery's byte.
#[inline]
pub(crate) fn ready_status(body: &[u8]) -> Parsed<u8> {
    match body {
        &[byte @ (status::IDLE | status::IN_TRANSACTION | status::FAILED)] => Ok(byte),
        _ => Err(Malformed("the transaction state is unknown")),
    }
}

/// The OIDs of a ParameterDescription.
pub(crate) fn parameter_types(body: &[u8]) -> Parsed<SmallVec<[u32; 16]>> {
    let mut r = Reader::new(body);
    let count = r.be_u16()?;
    (0..count).map(|_| r.be_u32()).collect()
}

/// The OIDs of the columns in a RowDescription.
pub(crate) fn column_types(body: &[u8]) -> Parsed<SmallVec<[u32; 16]>> {
    let mut r = Reader::new(body);
    let count = r.be_u16()?;
    let mut one = || {
        text(&mut r)?;
        // Table and column number before the type; its size, its modifier and the form of values after it.
        r.take(6)?;
        let oid = r.be_u32()?;
        r.take(8)?;
        Ok(oid)
    };
    (0..count).map(|_| one()).collect()
}

/// The names of the columns in a RowDescription.
pub(crate) fn column_names(body: &[u8]) -> Parsed<Vec<String>> {
    let mut r = Reader::new(body);
    let count = r.be_u16()?;
    let mut one = || {
        let name = String::from_utf8_lossy(text(&mut r)?).into_owned();
        r.take(18)?;
        Ok(name)
    };
    (0..count).map(|_| one()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_are_cut_where_their_lengths_say() {
        let mut buffer = Buffer::default();
        buffer.feed(b"Z\0\0\0\x05IC\0\0\0\x08abc\0n\0\0\0");
        let first = take(&mut buffer).unwrap().unwrap();
        assert_eq!((first.kind, ready_status(buffer.get(&first.body))), (kind::READY, Ok(status::IDLE)));
        let second = take(&mut buffer).unwrap().unwrap();
        assert_eq!((second.kind, buffer.get(&second.body)), (kind::COMMAND_COMPLETE, &b"abc\0"[..]));
        assert_eq!(take(&mut buffer), Ok(None));
        buffer.feed(b"\x04");
        assert!(take(&mut buffer).unwrap().unwrap().body.is_empty() && buffer.is_empty());
        for length in [b"D\0\0\0\x03", b"D\xff\xff\xff\xff", b"D\x80\0\0\0"] {
            let mut buffer = Buffer::default();
            buffer.feed(length);
            assert!(take(&mut buffer).is_err());
            assert_eq!(message_at(length, 0), None);
        }
    }

    #[test]
    fn tags_say_how_many_rows_were_changed() {
        for (tag, rows) in [
            (&b"INSERT 0 12\0"[..], 12),
            (b"UPDATE 0\0", 0),
            (b"COPY 1000000\0", 1_000_000),
            (b"BEGIN\0", 0),
            (b"CREATE TABLE\0", 0),
            (b"SELECT 99999999999999999999999\0", u64::MAX),
            (b"\0", 0),
        ] {
            assert_eq!(rows_of(tag), Ok(rows), "{}", String::from_utf8_lossy(tag));
        }
        assert!(rows_of(b"UPDATE 1").is_err() && rows_of(b"").is_err());
    }

    #[test]
    fn descriptions_are_read_byte_by_byte() {
        assert_eq!(parameter_types(b"\0\x02\0\0\0\x17\0\0\x04\x12").unwrap()[..], [23, 1042]);
        let columns = b"\0\x02id\0\0\0\x40\0\0\x01\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0c\0\0\0\x40\0\0\x02\0\0\x04\x12\xff\xff\0\0\0\x7c\0\0";
        assert_eq!(column_types(columns).unwrap()[..], [23, 1042]);
        assert!(column_types(&columns[..20]).is_err() && parameter_types(b"\0\x02\0\0\0\x17").is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), at in 0usize..70) {
            let _ = (parameter_types(&bytes), column_types(&bytes), rows_of(&bytes), ready_status(&bytes));
            let _ = message_at(&bytes, at);
            let mut r = Reader::new(&bytes);
            while r.left() > 0 && (value(&mut r).is_ok() || text(&mut r).is_ok()) {}
        }
    }
}
