//! The value of a field: random characters, or in data-integrity mode a function of key and field.

use perbuck_core::rng::OpRng;

use super::keys::{DIGITS, FNV_OFFSET, decimal, fnv};
use super::options::Compat;
use crate::characters::{Pairs, pairs, write_chars};

/// 64 characters, so that six bits of a draw give one. YCSB takes 64 of the printable ones, go-ycsb the 52 letters; what the
/// bytes are has no effect but on compression, and these need no escaping in any protocol.
const CHARACTERS: [u8; 64] = *b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static PAIRS: Pairs = pairs(&CHARACTERS);

#[inline]
pub(super) fn random(out: &mut Vec<u8>, rng: &mut OpRng, length: usize) {
    write_chars(out, rng, &PAIRS, length);
}

/// Appends the one value that a field of a record has in data-integrity mode: `key:field`, then `:` and a hash of all before
/// it, again and again, cut at `length`. The hash is that of Java's strings in YCSB, and FNV-1a in go-ycsb. Both can go on from
/// the last one, so that the cost is linear.
#[inline]
pub(super) fn deterministic(out: &mut Vec<u8>, compat: Compat, key: &[u8], field: &[u8], length: usize) {
    let start = out.len();
    out.extend_from_slice(key);
    out.push(b':');
    match compat {
        Compat::Ycsb => out.extend_from_slice(field),
        // It writes the field in lower case, whatever the column is called.
        Compat::GoYcsb => out.extend(field.iter().map(u8::to_ascii_lowercase)),
    }
    let (mut hash, mut hashed) = (FNV_OFFSET, start);
    let mut java = 0i32;
    while out.len() - start < length {
        out.push(b':');
        let mut digits = [0; DIGITS];
        // YCSB and go-ycsb both hash after the colon.
        match compat {
            Compat::Ycsb => {
                java = out[hashed..].iter().fold(java, |h, c| h.wrapping_mul(31).wrapping_add(i32::from(*c)));
                hashed = out.len();
                if java < 0 {
                    out.push(b'-');
                }
                out.extend_from_slice(decimal(&mut digits, u64::from(java.unsigned_abs())));
            }
            Compat::GoYcsb => {
                hash = fnv(hash, &out[hashed..]);
                hashed = out.len();
                out.extend_from_slice(decimal(&mut digits, hash));
            }
        }
    }
    out.truncate(start + length);
}

#[cfg(test)]
mod tests {
    use perbuck_core::units::Seed;

    use super::*;

    /// Computed apart from this code, by the definitions of both programs.
    const GOLDEN_YCSB: &str =
        "user6284781860667377211:field0:-56807877:2032869390:-165488160:1762371712:-169193395:-1039977118:-10";
    const GOLDEN_GO: &str =
        "user6284781860667377211:field0:8980977323673753606:16867828776479423555:7920111348627871679:46702032";

    fn integrity(compat: Compat, key: &str, field: &str, length: usize) -> String {
        let mut out = b"before".to_vec();
        deterministic(&mut out, compat, key.as_bytes(), field.as_bytes(), length);
        String::from_utf8(out[6..].to_vec()).unwrap()
    }

    #[test]
    fn integrity_values_are_a_function_of_key_and_field() {
        let of = |compat, field| integrity(compat, "user6284781860667377211", field, 100);
        assert_eq!(of(Compat::Ycsb, "field0"), GOLDEN_YCSB);
        assert_eq!(of(Compat::GoYcsb, "field0"), GOLDEN_GO);
        assert_eq!(of(Compat::GoYcsb, "FIELD0"), GOLDEN_GO);
        assert_ne!(of(Compat::Ycsb, "field0"), of(Compat::Ycsb, "field1"));
        assert_eq!(integrity(Compat::Ycsb, "user12", "field0", 4), "user");
        assert_eq!(integrity(Compat::GoYcsb, "user12", "field0", 0), "");
    }

    #[test]
    fn random_values_have_their_length_and_use_every_character_equally() {
        let mut out = Vec::new();
        let mut rng = OpRng::new(Seed(3));
        for length in [0, 1, 9, 10, 11, 100] {
            let before = out.len();
            random(&mut out, &mut rng, length);
            assert_eq!(out.len() - before, length);
        }
        out.clear();
        random(&mut out, &mut rng, 640_000);
        for c in CHARACTERS {
            let n = out.iter().filter(|o| **o == c).count() as f64;
            // Five standard deviations of a binomial.
            assert!((n - 10_000.0).abs() < 5.0 * 99.2, "{} came {n} times", char::from(c));
        }
    }
}
