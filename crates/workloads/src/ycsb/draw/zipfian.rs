//! Zipf's law as YCSB draws it: J. Gray et al., "Quickly generating billion-record synthetic databases", SIGMOD 1994, section
//! 3.2.
//!
//! The method is exact for the two most frequent ranks and takes a continuous law for all others. With an exponent of 0.99 and
//! a million ranks it draws the third 19 % more often than Zipf's law would, the tenth 4 %, and the hundredth 1 % less often.
//! Published numbers of YCSB were measured so; [`super::Law::Exact`] draws by the law itself.

use std::sync::LazyLock;

use perbuck_core::rng::OpRng;

/// The exponent of YCSB ("zipfian constant").
pub(in crate::ycsb) const THETA: f64 = 0.99;
/// Up to here sums are added up term by term.
const ADDED: u64 = 4096;
/// So many more terms are added to a sum that is known.
const FEW: u64 = 64;

/// The constants of the method for some number of ranks.
#[derive(Debug, Clone, Copy)]
pub(in crate::ycsb) struct Gray {
    ranks: f64,
    zeta: f64,
    eta: f64,
}

/// Σ i^−θ for i from 1 to n. Beyond some thousand terms by Euler's and Maclaurin's formula, whose error is below the rounding
/// of a sum, so that a billion ranks take no time and one more costs no sum.
pub(in crate::ycsb) fn zeta(n: u64) -> f64 {
    static BEGINNING: LazyLock<f64> = LazyLock::new(|| terms(1, ADDED));
    if n <= ADDED {
        return terms(1, n);
    }
    let (a, b) = (ADDED as f64, n as f64);
    let integral = (b.powf(1.0 - THETA) - a.powf(1.0 - THETA)) / (1.0 - THETA);
    let edges = (b.powf(-THETA) - a.powf(-THETA)) / 2.0;
    let slopes = THETA * (a.powf(-THETA - 1.0) - b.powf(-THETA - 1.0)) / 12.0;
    *BEGINNING + integral + edges + slopes
}

fn terms(first: u64, last: u64) -> f64 {
    (first..=last).map(|i| (i as f64).powf(-THETA)).sum()
}

impl Gray {
    /// Ranks 0 to `ranks` − 1, at least one.
    pub(in crate::ycsb) fn new(ranks: u64) -> Self {
        Self::with_zeta(ranks, zeta(ranks.max(1)))
    }

    /// The same where the sum is known.
    pub(in crate::ycsb) fn with_zeta(ranks: u64, zeta: f64) -> Self {
        let ranks = ranks.max(1) as f64;
        let eta = (1.0 - (2.0 / ranks).powf(1.0 - THETA)) / (1.0 - terms(1, 2) / zeta);
        Self { ranks, zeta, eta }
    }

    /// The same law over another number of ranks. A few more, which is what inserts bring, cost a few terms.
    pub(in crate::ycsb) fn resized(&self, ranks: u64) -> Self {
        let before = self.ranks as u64;
        match ranks.checked_sub(before) {
            Some(more) if more <= FEW => Self::with_zeta(ranks, self.zeta + terms(before + 1, ranks)),
            _ => Self::new(ranks),
        }
    }

    /// The next rank, from 0.
    #[inline]
    pub(in crate::ycsb) fn draw(&self, rng: &mut OpRng) -> u64 {
        let u = rng.unit_f64();
        let uz = u * self.zeta;
        if uz < 1.0 {
            return 0;
        }
        // With two ranks rounding must not lead to the formula, whose η is 0 by 0 there.
        if uz < 1.0 + 0.5f64.powf(THETA) || self.ranks <= 2.0 {
            return 1.min(self.ranks as u64 - 1);
        }
        let rank = self.ranks * (self.eta * u - self.eta + 1.0).powf(1.0 / (1.0 - THETA));
        (rank as u64).min(self.ranks as u64 - 1)
    }

    /// The share of a rank, from 0, among the draws.
    #[cfg(test)]
    pub(in crate::ycsb) fn share(&self, rank: u64) -> f64 {
        // The u from which on the formula gives at least this rank.
        let from = |rank: u64| ((rank as f64 / self.ranks).powf(1.0 - THETA) - 1.0 + self.eta) / self.eta;
        match rank {
            0 => 1.0 / self.zeta,
            1 => 0.5f64.powf(THETA) / self.zeta,
            2 => from(3) - zeta(2) / self.zeta,
            _ => from(rank + 1) - from(rank),
        }
    }
}
