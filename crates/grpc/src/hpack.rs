//! Header blocks (RFC 7541). What we write has no Huffman code and enters nothing into the table of the other side: a block is
//! copied from one that was made before. What we read may use all of HPACK.

use std::collections::VecDeque;
use std::sync::LazyLock;

use crate::{Malformed, Parsed, huffman};

/// The fields that both sides know (appendix A), from index 1 on, and the names after them that have no value.
const FIELDS: [(&str, &str); 16] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
];
const NAMES: &str = "accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control \
    content-disposition content-encoding content-language content-length content-location content-range \
    content-type cookie date etag expect expires from host if-match if-modified-since if-none-match if-range \
    if-unmodified-since last-modified link location max-forwards proxy-authenticate proxy-authorization range \
    referer refresh retry-after server set-cookie strict-transport-security transfer-encoding user-agent vary via \
    www-authenticate";
static TABLE: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| FIELDS.into_iter().chain(NAMES.split(' ').map(|name| (name, ""))).collect());
/// What the other side may keep in the table of what it said, in bytes as the RFC counts them: the default of HTTP/2.
const TABLE_BYTES: usize = 4096;
/// What an entry counts beyond its text (section 4.1).
const ENTRY_BYTES: usize = 32;

const NO_ENTRY: Malformed = Malformed("a header has an index without an entry");

/// Appends a field that enters no table.
pub fn put(out: &mut Vec<u8>, name: &str, value: &str) {
    let pair = TABLE.iter().position(|pair| *pair == (name, value));
    if let Some(index) = pair {
        return put_number(out, 0x80, 7, index + 1);
    }
    match TABLE.iter().position(|(known, _)| *known == name) {
        Some(index) => put_number(out, 0, 4, index + 1),
        None => {
            out.push(0);
            put_text(out, name);
        }
    }
    put_text(out, value);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, 0, 7, text.len());
    out.extend_from_slice(text.as_bytes());
}

/// A number in the low `bits` of a byte, and the bytes after it (section 5.1).
fn put_number(out: &mut Vec<u8>, high: u8, bits: u32, number: usize) {
    let most = (1 << bits) - 1;
    if number < most {
        return out.push(high | number as u8);
    }
    out.push(high | most as u8);
    let mut rest = number - most;
    while rest >= 128 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Reads header blocks of one connection, which build upon each other.
#[derive(Debug, Default)]
pub struct Decoder {
    /// What was entered, the newest first.
    table: VecDeque<(Vec<u8>, Vec<u8>)>,
    bytes: usize,
    /// What the other side wants to use of it; 0 is all, until it says so.
    limit: Option<usize>,
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Decoder {
    /// Calls `each` with every name and value of a block.
    ///
    /// # Errors
    /// What is no header block.
    pub fn read(&mut self, mut block: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Parsed<()> {
        while let Some(first) = block.first().copied() {
            match first {
                0x80.. => {
                    let index = take_number(&mut block, 7)?;
                    let (name, value) = entry(&self.table, index)?;
                    each(name, value);
                }
                0x40.. => {
                    self.literal(&mut block, 6)?;
                    each(&self.name, &self.value);
                    self.enter();
                }
                0x20.. => {
                    let limit = take_number(&mut block, 5)?;
                    if limit > TABLE_BYTES {
                        return Err(Malformed("a header table is larger than allowed"));
                    }
                    self.limit = Some(limit);
                    self.shrink(limit);
                }
                _ => {
                    self.literal(&mut block, 4)?;
                    each(&self.name, &self.value);
                }
            }
        }
        Ok(())
    }

    /// Reads a name, by its index or as text, and a value.
    fn literal(&mut self, block: &mut &[u8], bits: u32) -> Parsed<()> {
        let index = take_number(block, bits)?;
        self.name.clear();
        if index == 0 {
            take_text(block, &mut self.name)?;
        } else {
            self.name.extend_from_slice(entry(&self.table, index)?.0);
        }
        self.value.clear();
        take_text(block, &mut self.value)
    }

    fn enter(&mut self) {
        let (limit, needed) = (self.limit.unwrap_or(TABLE_BYTES), self.name.len() + self.value.len() + ENTRY_BYTES);
        self.shrink(limit.saturating_sub(needed));
        if needed <= limit {
            self.bytes += needed;
            self.table.push_front((self.name.clone(), self.value.clone()));
        }
    }

    fn shrink(&mut self, limit: usize) {
        while self.bytes > limit {
            let Some((name, value)) = self.table.pop_back() else { break };
            self.bytes -= name.len() + value.len() + ENTRY_BYTES;
        }
    }
}

/// Name and value at an index, of the static table or of what was entered after it.
fn entry(entered: &VecDeque<(Vec<u8>, Vec<u8>)>, index: usize) -> Parsed<(&[u8], &[u8])> {
    let position = index.checked_sub(1).ok_or(NO_ENTRY)?;
    match TABLE.get(position) {
        Some((name, value)) => Ok((name.as_bytes(), value.as_bytes())),
        None => entered.get(position - TABLE.len()).map(|(name, value)| (&name[..], &value[..])).ok_or(NO_ENTRY),
    }
}

fn take_number(block: &mut &[u8], bits: u32) -> Parsed<usize> {
    let (first, mut rest) = block.split_first().ok_or(Malformed("a header block is cut off"))?;
    let most = (1usize << bits) - 1;
    let mut number = usize::from(*first) & most;
    if number == most {
        for offset in (0..).step_by(7) {
            let (byte, after) =
                rest.split_first().filter(|_| offset < 28).ok_or(Malformed("a number of a header does not end"))?;
            number += usize::from(byte & 0x7f) << offset;
            rest = after;
            if *byte < 0x80 {
                break;
            }
        }
    }
    *block = rest;
    Ok(number)
}

fn take_text(block: &mut &[u8], out: &mut Vec<u8>) -> Parsed<()> {
    let coded = block.first().is_some_and(|first| *first >= 0x80);
    let length = take_number(block, 7)?;
    let (text, rest) = block.split_at_checked(length).ok_or(Malformed("the text of a header is cut off"))?;
    *block = rest;
    if coded {
        return huffman::decode(text, out);
    }
    out.extend_from_slice(text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(decoder: &mut Decoder, block: &[u8]) -> Vec<String> {
        let mut all = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        decoder.read(block, |name, value| all.push(format!("{}: {}", text(name), text(value)))).unwrap();
        all
    }

    #[test]
    fn the_requests_of_the_specification() {
        // RFC 7541, C.4: three requests on one connection, with Huffman codes and a growing table.
        let mut decoder = Decoder::default();
        let first = b"\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff";
        let common = [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"];
        assert_eq!(read(&mut decoder, first), common);
        let second = b"\x82\x86\x84\xbe\x58\x86\xa8\xeb\x10\x64\x9c\xbf";
        assert_eq!(read(&mut decoder, second), [&common[..], &["cache-control: no-cache"]].concat());
        let third = b"\x82\x87\x85\xbf\x40\x88\x25\xa8\x49\xe9\x5b\xa9\x7d\x7f\x89\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf";
        let expected =
            [":method: GET", ":scheme: https", ":path: /index.html", ":authority: www.example.com", "custom-key: custom-value"];
        assert_eq!(read(&mut decoder, third), expected);
        assert_eq!(decoder.bytes, 164);
    }

    #[test]
    fn what_is_written_is_read() {
        let mut block = Vec::new();
        let long = "x".repeat(300);
        for (name, value) in
            [(":method", "POST"), (":path", "/a.B/C"), ("te", "trailers"), ("content-type", "application/grpc"), ("long", &long)]
        {
            put(&mut block, name, value);
        }
        let expected =
            [":method: POST", ":path: /a.B/C", "te: trailers", "content-type: application/grpc", &format!("long: {long}")];
        assert_eq!(read(&mut Decoder::default(), &block), expected);
    }

    #[test]
    fn a_table_forgets_what_has_no_room() {
        let mut decoder = Decoder::default();
        read(&mut decoder, b"\x3f\x25\x40\x01a\x01b");
        assert_eq!((decoder.limit, decoder.table.len(), decoder.bytes), (Some(68), 1, 34));
        read(&mut decoder, b"\x40\x01c\x01d\x40\x01e\x01f");
        assert_eq!(read(&mut decoder, b"\xbe\xbf"), ["e: f", "c: d"]);
        assert!(decoder.read(b"\xc0", |_, _| {}).is_err());
        read(&mut decoder, b"\x20");
        assert!(decoder.table.is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(blocks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 1..8)) {
            let mut decoder = Decoder::default();
            for block in blocks {
                let _ = decoder.read(&block, |_, _| {});
            }
            prop_assert!(decoder.bytes <= TABLE_BYTES);
        }
    }
}
