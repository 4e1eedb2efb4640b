//! Record numbers as keys: `user` and a number, which is that of the record or its hash.

use super::options::Compat;

/// Offset basis and prime of the 64-bit FNV hash (Fowler, Noll and Vo; draft-eastlake-fnv).
pub(super) const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 1_099_511_628_211;

/// FNV-1a over some bytes, going on from `hash`.
#[inline]
pub(super) fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

/// The hash of a record number: the absolute value of FNV-1a over its eight bytes, which YCSB takes from the lowest on and
/// go-ycsb from the highest. So the same record has another key in either, but for record 0.
#[inline]
pub(super) fn hash(compat: Compat, number: u64) -> u64 {
    let hash = match compat {
        Compat::Ycsb => fnv(FNV_OFFSET, &number.to_le_bytes()),
        Compat::GoYcsb => fnv(FNV_OFFSET, &number.to_be_bytes()),
    };
    (hash as i64).unsigned_abs()
}

/// How record numbers become keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) compat: Compat,
    /// Whether keys are the numbers themselves, so that records lie in the order of their insertion.
    pub(super) ordered: bool,
    pub(super) prefix: String,
    /// Shorter numbers get zeros in front.
    pub(super) zero_padding: usize,
}

impl Keys {
    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>, record: u64) {
        out.extend_from_slice(self.prefix.as_bytes());
        let number = if self.ordered { record } else { hash(self.compat, record) };
        let mut digits = [0; DIGITS];
        let digits = decimal(&mut digits, number);
        out.extend(std::iter::repeat_n(b'0', self.zero_padding.saturating_sub(digits.len())));
        out.extend_from_slice(digits);
    }

    pub(super) fn text(&self, record: u64) -> String {
        let mut out = Vec::new();
        self.write(&mut out, record);
        String::from_utf8_lossy(&out).into_owned()
    }

    pub(super) fn longest(&self) -> usize {
        self.prefix.len() + self.zero_padding.max(DIGITS)
    }
}

/// Digits of the largest number.
pub(super) const DIGITS: usize = 20;

#[inline]
pub(super) fn decimal(buffer: &mut [u8; DIGITS], mut number: u64) -> &[u8] {
    let mut at = DIGITS;
    loop {
        at -= 1;
        buffer[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 || at == 0 {
            return &buffer[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(compat: Compat, ordered: bool, zero_padding: usize) -> Keys {
        Keys { compat, ordered, prefix: "user".to_owned(), zero_padding }
    }

    #[test]
    fn hashed_keys_are_those_of_the_two_programs() {
        // Computed apart from this code by the definition of FNV-1a; those of go-ycsb were also seen in tables that it loaded.
        for (record, ycsb, go) in [
            (0, "user6284781860667377211", "user6284781860667377211"),
            (1, "user8517097267634966620", "user6284782960179005422"),
            (2, "user1820151046732198393", "user6284784059690633633"),
            (3, "user4052466453699787802", "user6284785159202261844"),
            (999, "user2071219101098386137", "user6283716433899829977"),
            (123_456_789, "user2350796791908741607", "user6352291977467012831"),
        ] {
            assert_eq!(keys(Compat::Ycsb, false, 1).text(record), ycsb);
            assert_eq!(keys(Compat::GoYcsb, false, 1).text(record), go);
        }
    }

    #[test]
    fn numbers_are_padded_and_never_cut() {
        assert_eq!(keys(Compat::Ycsb, true, 1).text(5), "user5");
        assert_eq!(keys(Compat::Ycsb, true, 8).text(5), "user00000005");
        assert_eq!(keys(Compat::GoYcsb, true, 3).text(12_345), "user12345");
        assert_eq!(keys(Compat::Ycsb, false, 25).text(0), "user0000006284781860667377211");
        assert_eq!(keys(Compat::Ycsb, true, 1).text(u64::MAX), format!("user{}", u64::MAX));
        assert_eq!(keys(Compat::Ycsb, true, 30).longest(), 34);
    }
}
