//! The random numbers of a script: sysbench's distributions, drawn from the stream of the operation.

use std::sync::Arc;

use perbuck_core::rng::{OpRng, mix};
use perbuck_core::units::Seed;
use perbuck_workloads::sysbench::{Ids, Options, RandType};

/// Ranges whose laws are kept; scripts draw from a few.
const KEPT: usize = 8;

/// A law of a range.
type Kept = (RandType, i64, i64, Ids);

/// What the functions of a script draw from.
#[derive(Debug)]
pub(crate) struct Draws {
    rng: OpRng,
    options: Arc<Options>,
    kept: Vec<Kept>,
    /// Where the next law replaces one that is kept.
    next: usize,
    /// Text that was drawn last.
    text: Vec<u8>,
    /// Of `unique`: how many were drawn, and what tells this terminal from the others.
    drawn: u64,
    terminal: (u64, u64),
}

impl Draws {
    /// The draws of a terminal, one of so many.
    pub(crate) fn new(options: Arc<Options>, seed: Seed, (terminal, of): (u32, u32)) -> Self {
        let rng = OpRng::at(seed, u64::from(terminal), u64::MAX);
        let terminal = (u64::from(terminal), u64::from(of.max(1)));
        Self { rng, options, kept: Vec::with_capacity(KEPT), next: 0, text: Vec::new(), drawn: 0, terminal }
    }

    /// From now on they come from this stream.
    pub(crate) fn draw_from(&mut self, rng: OpRng) {
        self.rng = rng;
    }

    /// A number of `first..=last` by a law; `None` is that of the options.
    pub(crate) fn number(&mut self, law: Option<RandType>, first: i64, last: i64) -> i64 {
        let law = law.unwrap_or(self.options.rand_type);
        if law == RandType::Uniform {
            return first + self.rng.below((last.saturating_sub(first)).max(0) as u64 + 1) as i64;
        }
        let known = self.kept.iter().position(|(l, f, t, _)| (*l, *f, *t) == (law, first, last));
        let at = known.unwrap_or_else(|| self.keep(law, first, last));
        self.kept[at].3.draw(&mut self.rng)
    }

    fn keep(&mut self, law: RandType, first: i64, last: i64) -> usize {
        let kept = (law, first, last, Ids::of(&self.options, law, first, last));
        if self.kept.len() < KEPT {
            self.kept.push(kept);
            return self.kept.len() - 1;
        }
        let at = self.next;
        self.kept[at] = kept;
        self.next = (at + 1) % KEPT;
        at
    }

    /// Uniform in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        self.rng.unit_f64()
    }

    /// 32 uniform bits.
    pub(crate) fn bits(&mut self) -> u32 {
        (self.rng.next_u64() >> 32) as u32
    }

    /// A number of `first..=last` that no terminal of the run has drawn, until all of the range have been.
    pub(crate) fn unique(&mut self, first: i64, last: i64) -> i64 {
        let (terminal, of) = self.terminal;
        let span = (last.saturating_sub(first)).clamp(0, i64::from(u32::MAX)) as u64 + 1;
        let position = (self.drawn * of + terminal) % span;
        self.drawn += 1;
        // The bijection is of at most four times as many numbers. One beyond the range would come twice if it were folded into it, so the
        // walk goes on to one within.
        let half = (64 - (span - 1).leading_zeros()).div_ceil(2).max(1);
        let mut x = shuffled(position, half);
        while x >= span {
            x = shuffled(x, half);
        }
        first + x as i64
    }

    /// Text of a format: `#` is a digit, `@` a letter.
    pub(crate) fn text(&mut self, format: &[u8]) -> &[u8] {
        self.text.clear();
        let (mut digits, mut left) = (0, 0);
        for byte in format {
            self.text.push(match byte {
                b'#' => {
                    if left == 0 {
                        (digits, left) = (self.rng.below(1_000_000_000_000_000_000), 18);
                    }
                    let digit = (digits % 10) as u8;
                    (digits, left) = (digits / 10, left - 1);
                    b'0' + digit
                }
                b'@' => b'a' + self.rng.below(26) as u8,
                other => *other,
            });
        }
        &self.text
    }

    /// So many letters and digits.
    pub(crate) fn letters(&mut self, length: usize) -> &[u8] {
        const SET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        self.text.clear();
        for _ in 0..length {
            self.text.push(SET[self.rng.below(62) as usize]);
        }
        &self.text
    }
}

/// A bijection of the numbers of twice `half` bits: four rounds of Feistel's network.
fn shuffled(x: u64, half: u32) -> u64 {
    let mask = (1 << half) - 1;
    let (mut left, mut right) = (x >> half, x & mask);
    for round in 0..4 {
        (left, right) = (right, left ^ (mix(right ^ round << 32) & mask));
    }
    left << half | right
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use perbuck_workloads::Benchmark;

    use super::*;

    fn draws(terminal: u32, of: u32) -> Draws {
        let options = Options::checked(&BTreeMap::new()).unwrap();
        Draws::new(Arc::new(options), Seed(7), (terminal, of))
    }

    #[test]
    fn numbers_lie_in_their_range_by_every_law() {
        let mut draws = draws(0, 1);
        let laws = [RandType::Uniform, RandType::Gaussian, RandType::Special, RandType::Pareto, RandType::Zipfian];
        for law in laws.into_iter().map(Some).chain([None]) {
            for (first, last) in [(0, 9), (5, 5), (1, 100_000), (0, i64::from(u32::MAX)), (7, 3)] {
                assert!((0..200).all(|_| (first..=last.max(first)).contains(&draws.number(law, first, last))), "{law:?}");
            }
        }
        assert!((0..1_000).all(|_| (0.0..1.0).contains(&draws.unit())));
    }

    #[test]
    fn unique_numbers_of_all_terminals_differ() {
        let mut seen = BTreeSet::new();
        for terminal in 0..4 {
            let mut draws = draws(terminal, 4);
            for _ in 0..2_500 {
                assert!(seen.insert(draws.unique(0, i64::from(u32::MAX))));
            }
        }
        let mut small = draws(0, 1);
        let mut all: Vec<i64> = (0..1_000).map(|_| small.unique(1, 1_000_000_000)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 1_000);
        assert!(all[0] >= 1 && all[999] <= 1_000_000_000);
        for last in [1, 2, 3, 5, 64, 100] {
            let mut few = draws(0, 1);
            let all: BTreeSet<i64> = (0..last).map(|_| few.unique(1, last)).collect();
            assert_eq!(all.into_iter().collect::<Vec<_>>(), (1..=last).collect::<Vec<_>>());
        }
    }

    #[test]
    fn text_follows_its_format() {
        let mut draws = draws(0, 1);
        let text = draws.text(b"abc-###-@@@-xyz").to_vec();
        assert!(text.starts_with(b"abc-") && text.ends_with(b"-xyz") && text[4..7].iter().all(u8::is_ascii_digit));
        assert!(text[8..11].iter().all(u8::is_ascii_lowercase));
        assert_eq!(draws.text(&[b'#'; 119]).iter().filter(|b| b.is_ascii_digit()).count(), 119);
        assert_eq!(draws.letters(23).len(), 23);
    }
}
