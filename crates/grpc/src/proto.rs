//! The wire format of protocol buffers (protobuf.dev, "Encoding"). Fields that are zero or empty are left out, as proto3 does.

use crate::{Malformed, Parsed};

/// A field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// Any integer, bool or enumeration.
    Varint(u64),
    /// Bytes, text, a message, or packed numbers.
    Bytes(&'a [u8]),
    /// Four or eight bytes, least byte first.
    Fixed(u64),
}

/// Bytes that a number takes.
#[inline]
pub fn varint_length(value: u64) -> usize {
    (value | 1).ilog2() as usize / 7 + 1
}

/// Appends a number.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// What stands before a field that holds bytes: its number and their kind.
#[inline]
pub const fn bytes_tag(field: u32) -> u64 {
    (field as u64) << 3 | 2
}

/// Appends a field that holds a number, unless it is 0.
#[inline]
pub fn put_uint(out: &mut Vec<u8>, field: u32, value: u64) {
    if value != 0 {
        put_varint(out, u64::from(field) << 3);
        put_varint(out, value);
    }
}

/// Appends a field that holds bytes, unless there are none.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    if !bytes.is_empty() {
        put_element(out, field, bytes);
    }
}

/// Appends an element of a repeated field of bytes, or a message that was written before; also an empty one.
#[inline]
pub fn put_element(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_varint(out, bytes_tag(field));
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a field that holds the message which `write` appends.
#[inline]
pub fn put_message(out: &mut Vec<u8>, field: u32, write: impl FnOnce(&mut Vec<u8>)) {
    put_varint(out, bytes_tag(field));
    let start = out.len();
    out.push(0);
    write(out);
    let length = out.len() - start - 1;
    let more = varint_length(length as u64) - 1;
    if more > 0 {
        out.resize(out.len() + more, 0);
        out.copy_within(start + 1..start + 1 + length, start + 1 + more);
    }
    let mut rest = length;
    for byte in &mut out[start..start + more] {
        *byte = rest as u8 | 0x80;
        rest >>= 7;
    }
    out[start + more] = rest as u8;
}

/// The fields of a message, in order.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

/// The fields of a message.
#[inline]
pub fn fields(message: &[u8]) -> Fields<'_> {
    Fields { rest: message }
}

/// Takes a number from the front.
///
/// # Errors
/// It does not end, or is longer than ten bytes.
#[inline]
pub fn take_varint(rest: &mut &[u8]) -> Parsed<u64> {
    let mut value = 0;
    for (i, byte) in rest.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if *byte < 0x80 {
            *rest = &rest[i + 1..];
            return Ok(value);
        }
    }
    Err(Malformed("a number of a message does not end"))
}

impl<'a> Fields<'a> {
    #[inline]
    fn take(&mut self, length: usize) -> Parsed<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Malformed("a field of a message is cut off"))?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn read(&mut self) -> Parsed<(u32, Value<'a>)> {
        let tag = take_varint(&mut self.rest)?;
        let field = u32::try_from(tag >> 3).map_err(|_| Malformed("a message has a field with an impossible number"))?;
        let value = match tag & 7 {
            0 => Value::Varint(take_varint(&mut self.rest)?),
            1 => Value::Fixed(self.take(8)?.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))),
            2 => {
                let length = usize::try_from(take_varint(&mut self.rest)?).unwrap_or(usize::MAX);
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Fixed(self.take(4)?.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))),
            _ => return Err(Malformed("a field of a message has an unknown type")),
        };
        Ok((field, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Parsed<(u32, Value<'a>)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let read = self.read();
        if read.is_err() {
            self.rest = &[];
        }
        Some(read)
    }
}

/// The last value of each of these fields that hold numbers; 0 where there is none.
///
/// # Errors
/// Those of the bytes.
pub fn uints<const N: usize>(message: &[u8], wanted: [u32; N]) -> Parsed<[u64; N]> {
    let mut found = [0; N];
    for field in fields(message) {
        let (number, Value::Varint(value)) = field? else { continue };
        found.iter_mut().zip(wanted).filter(|(_, field)| *field == number).for_each(|(found, _)| *found = value);
    }
    Ok(found)
}

/// The last value of each of these fields that hold bytes; empty where there is none.
///
/// # Errors
/// Those of the bytes.
pub fn bytes<const N: usize>(message: &[u8], wanted: [u32; N]) -> Parsed<[&[u8]; N]> {
    let mut found = [&[][..]; N];
    for field in fields(message) {
        let (number, Value::Bytes(value)) = field? else { continue };
        found.iter_mut().zip(wanted).filter(|(_, field)| *field == number).for_each(|(found, _)| *found = value);
    }
    Ok(found)
}

/// Every value of a repeated field of bytes, in order.
#[inline]
pub fn elements(message: &[u8], wanted: u32) -> impl Iterator<Item = Parsed<&[u8]>> {
    fields(message).filter_map(move |field| match field {
        Ok((number, Value::Bytes(value))) => (number == wanted).then_some(Ok(value)),
        Ok(_) => None,
        Err(why) => Some(Err(why)),
    })
}

/// Calls `each` with every number of a repeated field, packed or not.
///
/// # Errors
/// Those of the bytes.
pub fn numbers(value: Value<'_>, mut each: impl FnMut(u64)) -> Parsed<()> {
    match value {
        Value::Varint(number) | Value::Fixed(number) => each(number),
        Value::Bytes(mut packed) => {
            while !packed.is_empty() {
                each(take_varint(&mut packed)?);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_the_specification() {
        let mut out = Vec::new();
        put_uint(&mut out, 1, 150);
        put_bytes(&mut out, 2, b"testing");
        put_message(&mut out, 3, |m| put_uint(m, 1, 150));
        assert_eq!(out, b"\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01");
        let read: Vec<_> = fields(&out).map(Result::unwrap).collect();
        let expected = [(1, Value::Varint(150)), (2, Value::Bytes(b"testing")), (3, Value::Bytes(b"\x08\x96\x01"))];
        assert_eq!(read, expected);
        assert_eq!((uints(&out, [2, 1, 7]), bytes(&out, [2, 9])), (Ok([0, 150, 0]), Ok([&b"testing"[..], b""])));
        assert_eq!(elements(&out, 3).collect::<Vec<_>>(), [Ok(&b"\x08\x96\x01"[..])]);
        assert!(uints(b"\x08", [1]).is_err() && bytes(b"\x08", [1]).is_err() && elements(b"\x08", 1).any(|e| e.is_err()));
        let mut packed = Vec::new();
        numbers(Value::Bytes(&[0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]), |n| packed.push(n)).unwrap();
        assert_eq!(packed, [3, 270, 86_942]);
    }

    proptest! {
        #[test]
        fn messages_of_any_length_come_back(length in 0usize..40_000, number in any::<u64>()) {
            let bytes = vec![7; length];
            let mut out = vec![1, 2, 3];
            put_message(&mut out, 9, |m| { put_uint(m, 1, number); put_element(m, 2, &bytes); });
            let (field, value) = fields(&out[3..]).next().unwrap().unwrap();
            let Value::Bytes(inner) = value else { panic!("{value:?}") };
            prop_assert_eq!(field, 9);
            let last = fields(inner).last().unwrap().unwrap();
            prop_assert_eq!(last, (2, Value::Bytes(&bytes[..])));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(fields(&bytes).count() <= bytes.len());
        }
    }
}
