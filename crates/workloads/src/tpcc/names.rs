//! Last names (4.3.2.3): three syllables, one for each digit of a number.

const SYLLABLES: [&[u8]; 10] = [b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING"];

/// Appends the last name of `number`, which is 0..=999.
pub(super) fn write_last_name(out: &mut Vec<u8>, number: i64) {
    for digit in [number / 100, number / 10, number] {
        out.extend_from_slice(SYLLABLES[digit.rem_euclid(10) as usize]);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn name(number: i64) -> String {
        let mut out = Vec::new();
        write_last_name(&mut out, number);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn names_follow_the_digits_and_a_thousand_fit_the_column() {
        assert_eq!(name(371), "PRICALLYOUGHT"); // the example of 4.3.2.3
        assert_eq!(name(40), "BARPRESBAR"); // and its second, with leading zeros
        assert_eq!((name(0), name(999)), ("BARBARBAR".to_owned(), "EINGEINGEING".to_owned()));
        let all: BTreeSet<String> = (0..1000).map(name).collect();
        assert_eq!(all.len(), 1000);
        assert!(all.iter().all(|n| n.len() <= 16));
    }
}
