//! The seeded random stream of every operation: xoshiro256++ (Blackman and Vigna, 2019), seeded through SplitMix64.
//!
//! Our own forty lines, because the stream is part of what a record promises: the same seed must give the same
//! operations in every later version, which libraries reserve the right to change.

use crate::units::Seed;

/// The SplitMix64 finaliser: a bijection of 64 bits that spreads every input bit.
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Seed {
    /// A seed for a named purpose, so that two streams of one study never share numbers.
    /// FNV-1a over the label, mixed into the seed by the SplitMix64 finaliser.
    pub fn derive(self, label: &str) -> Self {
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in label.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Self(mix(self.0 ^ mix(hash)))
    }
}

/// As [`mix`], once in memory: eight copies of it in a row are five more cache lines of code per operation.
#[inline(never)]
fn mix_apart(x: u64) -> u64 {
    mix(x)
}

/// The random numbers of one operation (or of one row of generated data).
#[derive(Debug, Clone)]
pub struct OpRng([u64; 4]);

impl OpRng {
    /// The stream of a seed.
    pub fn new(seed: Seed) -> Self {
        Self::at(seed, 0, 0)
    }

    /// The stream of operation `sequence` of a connection: a function of its arguments alone, so both contenders
    /// see the same work and a stored row can be verified later.
    pub fn at(seed: Seed, connection: u64, sequence: u64) -> Self {
        Streams::new(seed, connection).at(sequence)
    }

    /// 64 uniform bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in `[0, 1)` with 53 bits.
    #[inline]
    pub fn unit_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `0..n` by Lemire's multiplication without a bias worth naming (below 2⁻³² for n < 2³²).
    ///
    /// `n` must not be 0; 0 gives 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in `low..=high`.
    #[inline]
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        debug_assert!(low <= high);
        low + self.below((high - low + 1) as u64) as i64
    }

    /// Shuffles in place (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.below(i as u64 + 1) as usize;
            items.swap(i, j);
        }
    }
}

/// What the streams of all operations on one connection have in common: see [`OpRng::at`].
#[derive(Debug, Clone, Copy)]
pub struct Streams(u64);

impl Streams {
    /// Of a connection under a seed.
    pub fn new(seed: Seed, connection: u64) -> Self {
        Self(mix_apart(seed.0 ^ mix_apart(connection)))
    }

    /// The stream of its operation `sequence`.
    #[inline]
    pub fn at(self, sequence: u64) -> OpRng {
        let b = mix_apart(self.0 ^ mix_apart(sequence.wrapping_add(0x5bf0_3635)));
        // SplitMix64 from `b` fills the state; it cannot give four zeros, the one state that xoshiro must not have.
        OpRng([b, b.wrapping_add(1), b.wrapping_add(2), b.wrapping_add(3)].map(mix_apart))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A standard normal number by Box and Muller.
    pub(crate) fn normal(rng: &mut OpRng) -> f64 {
        (-2.0 * (1.0 - rng.unit_f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.unit_f64()).cos()
    }

    #[test]
    fn xoshiro_gives_the_published_sequence() {
        // First outputs of the reference C code for the state 1, 2, 3, 4.
        let mut rng = OpRng([1, 2, 3, 4]);
        let first = [(); 4].map(|()| rng.next_u64());
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn streams_differ_by_connection_and_sequence_and_repeat() {
        let first = |connection, seq| OpRng::at(Seed(42), connection, seq).next_u64();
        assert_eq!(first(1, 1), first(1, 1));
        assert_ne!(first(1, 1), first(1, 2));
        assert_ne!(first(1, 1), first(2, 1));
        assert_ne!(first(0, 1), first(1, 0));
        // What a record promises. Numbers of the same formulas in Python.
        let known = [0_u64, 1, 2].map(|seq| OpRng::at(Seed(42), 7, seq).next_u64());
        assert_eq!(known, [12_721_322_336_054_203_139, 14_323_115_478_973_652_029, 8_568_419_369_074_691_844]);
    }

    #[test]
    fn between_is_uniform_within_five_sigma() {
        let mut rng = OpRng::new(Seed(7));
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[rng.between(0, 9) as usize] += 1;
        }
        for count in counts {
            assert!((f64::from(count) - 10_000.0).abs() < 5.0 * 94.9, "{counts:?}");
        }
    }
}
