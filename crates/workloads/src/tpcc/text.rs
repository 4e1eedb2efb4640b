//! Random strings of 4.3.2.2.

use perbuck_core::rng::OpRng;

use crate::characters::{Pairs, pairs, write_chars};

/// Letters and digits. Two occur twice, so that six random bits choose one; the specification fixes the set of
/// characters and the mean length of a string but not the frequency of each character.
const ALPHANUMERIC: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz09";
/// Letters alone, for "24 letters" and "2 letters" of 4.3.3.1; twelve occur twice.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyzABCDEFabcdef";
/// What 4.3.3.1 hides in 10 % of I_DATA and S_DATA.
const ORIGINAL: &[u8] = b"ORIGINAL";

static ALPHANUMERIC_PAIRS: Pairs = pairs(ALPHANUMERIC);
static LETTER_PAIRS: Pairs = pairs(LETTERS);

/// An a-string [x .. y].
pub(super) fn a_string(out: &mut Vec<u8>, rng: &mut OpRng, low: i64, high: i64) {
    let length = rng.between(low, high) as usize;
    write_chars(out, rng, &ALPHANUMERIC_PAIRS, length);
}

/// An a-string of exactly `length` letters.
pub(super) fn letters(out: &mut Vec<u8>, rng: &mut OpRng, length: usize) {
    write_chars(out, rng, &LETTER_PAIRS, length);
}

/// An n-string of exactly `length` digits, at most 19.
pub(super) fn digits(out: &mut Vec<u8>, rng: &mut OpRng, length: usize) {
    debug_assert!(length <= 19);
    // The draw is a binary fraction; each multiplication by ten pushes one decimal digit over its point.
    let mut fraction = rng.next_u64();
    for _ in 0..length {
        let product = u128::from(fraction) * 10;
        out.push(b'0' + (product >> 64) as u8);
        fraction = product as u64;
    }
}

/// A ZIP code (4.3.2.7).
pub(super) fn zip(out: &mut Vec<u8>, rng: &mut OpRng) {
    digits(out, rng, 4);
    out.extend_from_slice(b"11111");
}

/// I_DATA or S_DATA: an a-string [26 .. 50], and ORIGINAL at a random position in one row of ten.
pub(super) fn item_data(out: &mut Vec<u8>, rng: &mut OpRng) {
    let start = out.len();
    a_string(out, rng, 26, 50);
    if rng.below(10) == 0 {
        let positions = out.len() - start - ORIGINAL.len() + 1;
        let at = start + rng.below(positions as u64) as usize;
        out[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}

/// Whether I_DATA or S_DATA holds ORIGINAL (2.4.2.2).
pub(super) fn is_original(data: &[u8]) -> bool {
    data.windows(ORIGINAL.len()).any(|w| w == ORIGINAL)
}

#[cfg(test)]
mod tests {
    use perbuck_core::units::Seed;

    use super::*;

    #[test]
    fn alphabets_hold_every_character_that_the_specification_names() {
        let all = ('0'..='9').chain('A'..='Z').chain('a'..='z');
        assert!(all.clone().all(|c| ALPHANUMERIC.contains(&(c as u8))));
        assert!(ALPHANUMERIC.iter().all(u8::is_ascii_alphanumeric));
        assert!(all.filter(|c| c.is_alphabetic()).all(|c| LETTERS.contains(&(c as u8))));
        assert!(LETTERS.iter().all(u8::is_ascii_alphabetic));
    }

    #[test]
    fn digits_are_uniform_and_zips_end_in_ones() {
        let mut rng = OpRng::new(Seed(2));
        let mut seen = [0u32; 10];
        for _ in 0..10_000 {
            let mut out = Vec::new();
            digits(&mut out, &mut rng, 16);
            assert_eq!(out.len(), 16);
            for d in out {
                seen[usize::from(d - b'0')] += 1;
            }
        }
        assert!(seen.iter().all(|n| n.abs_diff(16_000) < 600), "{seen:?}");
        let mut out = Vec::new();
        zip(&mut out, &mut rng);
        assert!(out.len() == 9 && out.ends_with(b"11111") && out[..4].iter().all(u8::is_ascii_digit));
    }

    #[test]
    fn original_is_in_a_tenth_of_the_rows_and_anywhere() {
        let mut rng = OpRng::new(Seed(3));
        let (mut hits, mut starts, mut ends) = (0, false, false);
        for _ in 0..50_000 {
            let mut out = Vec::new();
            item_data(&mut out, &mut rng);
            assert!((26..=50).contains(&out.len()));
            hits += u32::from(is_original(&out));
            starts |= out.starts_with(ORIGINAL);
            ends |= out.ends_with(ORIGINAL);
        }
        assert!(hits.abs_diff(5_000) < 5 * 67, "{hits}");
        assert!(starts && ends);
    }
}
