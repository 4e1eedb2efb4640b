//! A row as go-ycsb stores it: for each field its number and its bytes, in any order, in the words of TiDB's old row format
//! (flag 8 and a signed number; flag 2, a signed length and the bytes). A row without fields is one zero byte.

use perbuck_grpc::proto::{put_varint, take_varint};
use perbuck_grpc::{Malformed, Parsed};

const NUMBER: u8 = 8;
const BYTES: u8 = 2;
const EMPTY: [u8; 1] = [0];

#[inline]
pub(crate) fn put_field(row: &mut Vec<u8>, field: u64, value: &[u8]) {
    row.push(NUMBER);
    // Signed numbers are folded: 1 is 2, and -1 would be 1.
    put_varint(row, field << 1);
    row.push(BYTES);
    put_varint(row, (value.len() as u64) << 1);
    row.extend_from_slice(value);
}

/// Marks a row that has no field.
pub(crate) fn finish(row: &mut Vec<u8>) {
    if row.is_empty() {
        row.push(0);
    }
}

/// The fields of a row, in its own order.
#[derive(Debug, Clone)]
pub(crate) struct Row<'a>(&'a [u8]);

impl<'a> Row<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(if bytes == EMPTY { &[] } else { bytes })
    }

    /// The bytes of a field, if it is there. Looks at fields in the order in which they are asked for first.
    #[inline]
    pub(crate) fn find(&self, field: u64) -> Parsed<Option<&'a [u8]>> {
        for one in self.clone() {
            let (number, value) = one?;
            if number == field {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    fn read(&mut self) -> Parsed<(u64, &'a [u8])> {
        let number = self.signed(NUMBER)?;
        let length = usize::try_from(self.signed(BYTES)?).unwrap_or(usize::MAX);
        let (value, rest) = self.0.split_at_checked(length).ok_or(Malformed("a row is cut off"))?;
        self.0 = rest;
        Ok((number, value))
    }

    #[inline]
    fn signed(&mut self, flag: u8) -> Parsed<u64> {
        let (first, mut rest) = self.0.split_first().ok_or(Malformed("a row is cut off"))?;
        if *first != flag {
            return Err(Malformed("a row is none of go-ycsb's"));
        }
        let folded = take_varint(&mut rest)?;
        self.0 = rest;
        if folded & 1 == 0 { Ok(folded >> 1) } else { Err(Malformed("a row has a negative number")) }
    }
}

impl<'a> Iterator for Row<'a> {
    type Item = Parsed<(u64, &'a [u8])>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let read = self.read();
        if read.is_err() {
            self.0 = &[];
        }
        Some(read)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_row_of_go_ycsb_is_read_and_written_byte_for_byte() {
        // EncodeRow of {1: "ab", 0: ""}, as the Go program writes it.
        let bytes = b"\x08\x02\x02\x04ab\x08\x00\x02\x00";
        let mut row = Vec::new();
        put_field(&mut row, 1, b"ab");
        put_field(&mut row, 0, b"");
        assert_eq!(row, bytes);
        let read = Row::new(bytes);
        assert_eq!((read.find(0), read.find(1), read.find(2)), (Ok(Some(&b""[..])), Ok(Some(&b"ab"[..])), Ok(None)));
        let mut none = Vec::new();
        finish(&mut none);
        assert_eq!((none.as_slice(), Row::new(&none).count()), (&[0][..], 0));
        assert!(Row::new(b"\x08\x02\x02\x40ab").find(1).is_err() && Row::new(b"corrupt").find(1).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            prop_assert!(Row::new(&bytes).count() <= bytes.len());
        }
    }
}
