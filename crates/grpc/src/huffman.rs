//! The Huffman code of HPACK (RFC 7541, appendix B). It is canonical: codes of one length follow each other in the order of
//! their bytes, so that the lengths say everything.

use std::sync::LazyLock;

use crate::{Malformed, Parsed};

/// Bits of the code of each byte.
const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7,
    6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24,
    23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22,
    23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27,
    26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25,
    24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];
const LONGEST: usize = 30;

/// For each length: the first code, the index of its byte in `order`, and how many codes there are.
struct Code {
    rows: [(u32, usize, u32); LONGEST + 1],
    order: Vec<u8>,
}

static CODE: LazyLock<Code> = LazyLock::new(|| {
    let (mut rows, mut order, mut next) = ([(0, 0, 0); LONGEST + 1], Vec::new(), 0);
    for (length, row) in rows.iter_mut().enumerate().skip(1) {
        next <<= 1;
        let before = order.len();
        order.extend((0..=255u8).filter(|byte| usize::from(LENGTHS[usize::from(*byte)]) == length));
        let count = (order.len() - before) as u32;
        *row = (next, before, count);
        next += count;
    }
    Code { rows, order }
});

/// Appends the text of some coded bytes.
pub(crate) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Parsed<()> {
    let (mut bits, mut length) = (0u32, 0);
    for byte in coded {
        for i in (0..8).rev() {
            bits = bits << 1 | u32::from(byte >> i & 1);
            length += 1;
            let Some((first, start, count)) = CODE.rows.get(length) else {
                return Err(Malformed("a Huffman code is invalid"));
            };
            if let Some(index) = bits.checked_sub(*first).filter(|index| index < count) {
                out.push(CODE.order[start + index as usize]);
                (bits, length) = (0, 0);
            }
        }
    }
    // What is left is the beginning of the code of the end: ones, less than a byte.
    if length > 7 || bits != (1u32 << length) - 1 {
        return Err(Malformed("a Huffman code is cut off"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification() {
        // RFC 7541, C.4 and C.6.
        for (coded, text) in [
            (&b"\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"[..], "www.example.com"),
            (b"\xa8\xeb\x10\x64\x9c\xbf", "no-cache"),
            (b"\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf", "custom-value"),
            (
                b"\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff",
                "Mon, 21 Oct 2013 20:13:21 GMT",
            ),
        ] {
            let mut out = Vec::new();
            decode(coded, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
        assert!(decode(b"\xff\xff\xff\xff", &mut Vec::new()).is_err());
        assert!(decode(b"\x00\xff\xff", &mut Vec::new()).is_err());
    }
}
