//! The text columns: groups of digits.

use perbuck_core::rng::OpRng;

const GROUP_DIGITS: usize = 11;
const GROUP_VALUES: u64 = 100_000_000_000;

/// Groups in column `c`: 119 characters.
pub(crate) const C_GROUPS: usize = 10;
/// Groups in column `pad`: 59 characters.
pub(crate) const PAD_GROUPS: usize = 5;

/// The longest run of groups, with what joins them.
const LONGEST: usize = C_GROUPS * (GROUP_DIGITS + 1);

/// All pairs of digits: two digits for one division.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut i = 0;
    while i < 100 {
        pairs[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    pairs
};

/// Appends groups of eleven random digits joined by `-`. One draw gives a whole group: its digits are uniform and
/// independent to within 10¹¹/2⁶⁴, at an eleventh of the cost of a draw for each.
#[inline]
pub(crate) fn write_groups(out: &mut Vec<u8>, rng: &mut OpRng, groups: usize) {
    let mut text = [b'-'; LONGEST];
    for group in text.as_chunks_mut::<{ GROUP_DIGITS + 1 }>().0.iter_mut().take(groups) {
        put_digits(group, rng.below(GROUP_VALUES));
    }
    let length = (groups * (GROUP_DIGITS + 1)).saturating_sub(1);
    out.extend_from_slice(text.get(..length).unwrap_or_default());
}

/// Puts eleven digits before what joins them. The divisions do not wait for each other, as those by ten would.
#[inline]
fn put_digits(group: &mut [u8; GROUP_DIGITS + 1], value: u64) {
    let (high, low) = ((value / 100_000_000) as u32, (value % 100_000_000) as u32);
    let (middle, last) = (low / 10_000, low % 10_000);
    group[0] = b'0' + (high / 100) as u8;
    let mut pair = |at: usize, value: u32| group[at..at + 2].copy_from_slice(&PAIRS[value as usize % 100]);
    pair(1, high % 100);
    pair(3, middle / 100);
    pair(5, middle % 100);
    pair(7, last / 100);
    pair(9, last % 100);
}

#[cfg(test)]
mod tests {
    use perbuck_core::units::Seed;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn groups_are_the_digits_of_the_draws() {
        let mut out = b"before".to_vec();
        write_groups(&mut out, &mut OpRng::new(Seed(5)), C_GROUPS);
        write_groups(&mut out, &mut OpRng::new(Seed(5)), PAD_GROUPS);
        let mut rng = OpRng::new(Seed(5));
        let groups: Vec<String> = (0..C_GROUPS).map(|_| format!("{:011}", rng.below(GROUP_VALUES))).collect();
        let expected = format!("before{}{}", groups.join("-"), groups[..PAD_GROUPS].join("-"));
        assert_eq!(String::from_utf8(out), Ok(expected));
    }

    proptest! {
        #[test]
        fn every_value_is_written_in_eleven_digits(value in 0..GROUP_VALUES) {
            let mut group = [b'-'; GROUP_DIGITS + 1];
            put_digits(&mut group, value);
            prop_assert_eq!(std::str::from_utf8(&group).unwrap(), format!("{value:011}-"));
        }
    }
}
