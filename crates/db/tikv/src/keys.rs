//! Keys as TiKV orders them: with the prefix of a keyspace, and in PD's words where regions are cut by them.

use perbuck_grpc::{Malformed, Parsed};

const GROUP: usize = 8;
const MARKER: u8 = 0xff;

/// A border of a region is no key in that form. It is one of raw data, which PD has as they are.
pub(crate) const RAW_BORDER: Malformed = Malformed("the border of a region is not a key of transactions");

/// Appends a key in the form that keeps its order whatever follows it: groups of eight bytes, each with a byte after it that
/// says how many zeros were added (TiKV's `codec::bytes`).
pub(crate) fn encode(out: &mut Vec<u8>, key: &[u8]) {
    for group in key.chunks_exact(GROUP) {
        out.extend_from_slice(group);
        out.push(MARKER);
    }
    let rest = key.chunks_exact(GROUP).remainder();
    let zeros = GROUP - rest.len();
    out.extend_from_slice(rest);
    out.extend(std::iter::repeat_n(0, zeros));
    out.push(MARKER - zeros as u8);
}

/// The key of such a form; bytes after its end, a timestamp, are left out.
pub(crate) fn decode(encoded: &[u8]) -> Parsed<Vec<u8>> {
    let mut key = Vec::with_capacity(encoded.len());
    for group in encoded.chunks(GROUP + 1) {
        let (bytes, marker) = group.split_first_chunk::<GROUP>().ok_or(RAW_BORDER)?;
        let zeros = usize::from(MARKER - marker.first().ok_or(RAW_BORDER)?);
        if zeros > GROUP {
            return Err(RAW_BORDER);
        }
        key.extend_from_slice(&bytes[..GROUP - zeros]);
        if zeros > 0 {
            break;
        }
    }
    Ok(key)
}

/// The first key after all that start with these bytes; empty is the end of all.
pub(crate) fn after(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < 0xff {
            end.push(last + 1);
            break;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_tikv() {
        for (key, encoded) in [
            (&b""[..], &b"\0\0\0\0\0\0\0\0\xf7"[..]),
            (b"\x01\x02\x03", b"\x01\x02\x03\0\0\0\0\0\xfa"),
            (b"\x01\x02\x03\x04\x05\x06\x07\x08", b"\x01\x02\x03\x04\x05\x06\x07\x08\xff\0\0\0\0\0\0\0\0\xf7"),
        ] {
            let mut out = Vec::new();
            encode(&mut out, key);
            assert_eq!((out.as_slice(), decode(encoded).unwrap().as_slice()), (encoded, key));
        }
        assert_eq!((after(b"t:"), after(b"a\xff"), after(b"\xff")), (b"t;".to_vec(), b"b".to_vec(), Vec::new()));
    }

    proptest! {
        #[test]
        fn order_is_kept(a in proptest::collection::vec(any::<u8>(), 0..40), b in proptest::collection::vec(any::<u8>(), 0..40)) {
            let (mut x, mut y) = (Vec::new(), Vec::new());
            encode(&mut x, &a);
            encode(&mut y, &b);
            prop_assert_eq!(a.cmp(&b), x.cmp(&y));
            prop_assert_eq!(decode(&x).unwrap(), a);
        }
    }
}
