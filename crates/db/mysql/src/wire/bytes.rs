//! The basic data types of the protocol ("Protocol Basics: Basic Data Types").

use perbuck_net::reader::Reader;
use perbuck_net::{Malformed, Parsed};

/// Reads `int<lenenc>`. 0xFB (NULL of a text row) and 0xFF (the header of an error) are no integers.
#[inline]
pub(crate) fn lenenc(r: &mut Reader<'_>) -> Parsed<u64> {
    match r.u8()? {
        short @ 0..=0xfa => Ok(u64::from(short)),
        0xfc => r.le_u16().map(u64::from),
        0xfd => r.array::<3>().map(|[a, b, c]| u64::from(u32::from_le_bytes([a, b, c, 0]))),
        0xfe => r.le_u64(),
        _ => Err(Malformed("a length starts with an invalid byte")),
    }
}

/// Reads `string<lenenc>`.
#[inline]
pub(crate) fn lenenc_bytes<'a>(r: &mut Reader<'a>) -> Parsed<&'a [u8]> {
    let length = lenenc(r)?;
    r.take(usize::try_from(length).map_err(|_| Malformed("a length is larger than memory"))?)
}

/// Appends `int<lenenc>`.
#[inline]
pub(crate) fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    let (mark, length) = match value {
        0..=0xfa => return out.push(value as u8),
        0xfb..=0xffff => (0xfc, 2),
        0x1_0000..=0xff_ffff => (0xfd, 3),
        _ => (0xfe, 8),
    };
    out.push(mark);
    out.extend_from_slice(&value.to_le_bytes()[..length]);
}

/// Appends `string<lenenc>`.
#[inline]
pub(crate) fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lengths_are_encoded_as_the_protocol_page_says() {
        for (value, bytes) in [
            (0, &[0][..]),
            (250, &[250]),
            (251, &[0xfc, 251, 0]),
            (65_535, &[0xfc, 0xff, 0xff]),
            (65_536, &[0xfd, 0, 0, 1]),
            (0xff_ffff, &[0xfd, 0xff, 0xff, 0xff]),
            (0x100_0000, &[0xfe, 0, 0, 0, 1, 0, 0, 0, 0]),
            (u64::MAX, &[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]),
        ] {
            let mut out = Vec::new();
            put_lenenc(&mut out, value);
            assert_eq!(out, bytes);
            assert_eq!(lenenc(&mut Reader::new(bytes)), Ok(value));
        }
        for broken in [&[0xfb][..], &[0xff, 1], &[0xfd, 1], &[]] {
            assert!(lenenc(&mut Reader::new(broken)).is_err());
        }
    }

    #[test]
    fn a_string_ends_at_its_nul_or_with_the_packet() {
        let mut r = Reader::new(b"ab\0cd");
        assert_eq!((r.nul_bytes(), r.left()), (&b"ab"[..], 2));
        assert_eq!((r.nul_bytes(), r.left()), (&b"cd"[..], 0));
        assert_eq!((r.nul_bytes(), r.rest()), (&b""[..], &b""[..]));
    }

    proptest! {
        #[test]
        fn no_bytes_lead_beyond_the_packet(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut r = Reader::new(&bytes);
            while r.left() > 0 {
                let before = r.left();
                if lenenc_bytes(&mut r).is_err() {
                    let _ = r.nul_bytes();
                }
                prop_assert!(r.left() < before);
            }
        }
    }
}
