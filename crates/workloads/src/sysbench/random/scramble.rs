//! A bijection of 0..n that looks random: hot ids that a law makes neighbours come to lie all over the table.

/// Odd, so that multiplying by them is a bijection of the bits kept (the constants of MurmurHash3's 64-bit finaliser).
const FACTORS: [u64; 2] = [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53];
/// Moves 0, which multiplying and right_bying leave where it is; the fraction of the golden ratio.
const START: u64 = 0x9e37_79b9_7f4a_7c15;

/// The bijection for one `n`. It has no key: the same ids are hot in every run, on every contender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scramble {
    n: u64,
    mask: u64,
    right_by: u32,
}

impl Scramble {
    /// For `0..n`; `n` at least 1 and at most 2⁶³.
    pub(crate) fn new(n: u64) -> Self {
        let bits = u64::BITS - (n.max(1) - 1).leading_zeros();
        Self { n: n.max(1), mask: (1 << bits) - 1, right_by: (bits / 2).max(1) }
    }

    /// Where `rank` goes. Adding, multiplying by an odd number and folding the upper half of the bits onto the lower are
    /// bijections of the power of two that covers `n`; what falls outside goes round again until it is inside, less than
    /// once on average, and a bijection of the larger set stays one of the smaller.
    #[inline]
    pub(crate) fn of(self, rank: u64) -> u64 {
        debug_assert!(rank < self.n);
        let mut x = rank;
        loop {
            x = x.wrapping_add(START) & self.mask;
            for factor in FACTORS {
                x ^= x >> self.right_by;
                x = x.wrapping_mul(factor) & self.mask;
            }
            x ^= x >> self.right_by;
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_bijection(n: u64) -> bool {
        let scramble = Scramble::new(n);
        let mut hit = vec![false; n as usize];
        (0..n).all(|rank| {
            let to = scramble.of(rank) as usize;
            to < hit.len() && !std::mem::replace(&mut hit[to], true)
        })
    }

    #[test]
    fn every_rank_is_hit_once() {
        assert!((1..=300).all(is_bijection));
        for n in [1_023, 1_024, 1_025, 65_536, 65_537, 100_003] {
            assert!(is_bijection(n), "{n}");
        }
    }

    proptest! {
        #[test]
        fn no_two_ranks_of_any_table_meet(n in 2..=1u64 << 32, a in any::<u64>(), b in any::<u64>()) {
            let (scramble, a, b) = (Scramble::new(n), a % n, b % n);
            prop_assert!(scramble.of(a) < n);
            prop_assert_eq!(scramble.of(a) == scramble.of(b), a == b);
        }
    }

    #[test]
    fn the_largest_tables_stay_within_their_bounds() {
        for n in [i32::MAX as u64, (1 << 30) + 1, 1 << 31] {
            let scramble = Scramble::new(n);
            assert!((0..10_000).chain(n - 10_000..n).all(|rank| scramble.of(rank) < n));
        }
    }

    #[test]
    fn neighbours_are_parted() {
        for n in [10_000u64, 1_000_000, i32::MAX as u64] {
            let scramble = Scramble::new(n);
            let mut bins = [0u32; 20];
            for rank in 0..2_000 {
                bins[(scramble.of(rank) * 20 / n) as usize] += 1;
            }
            // 100 each if they fell at random, with a standard deviation of 9.7.
            assert!(bins.iter().all(|b| b.abs_diff(100) < 50), "{n}: {bins:?}");
            let near = (1..2_000).filter(|p| scramble.of(*p).abs_diff(scramble.of(p - 1)) < n / 100).count();
            assert!(near < 100, "{n}: {near} of 2000 neighbours stayed together; 40 would at random");
        }
    }
}
