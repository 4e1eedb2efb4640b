//! Which record an operation is about, and how much it reads or writes.

mod lengths;
mod zipfian;

#[cfg(test)]
mod tests;

use perbuck_core::rng::OpRng;

pub(super) use lengths::Drawn;
pub(crate) use lengths::Lengths;
pub(super) use zipfian::{Gray, THETA};

use super::keys::hash;
use super::options::{Compat, Options, Request};
use crate::sysbench::Zipfian;

/// Ranks of the scrambled generator, and the sum that belongs to them; both are constants of YCSB. So the most frequent record
/// has 1 / 26.5 = 3.8 % of the requests, however many records there are.
const SCRAMBLED_RANKS: u64 = 10_000_000_000;
const SCRAMBLED_ZETA: f64 = 26.469_028_201_783_02;

/// Which law "zipfian" and "latest" follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Law {
    /// As YCSB draws.
    Ycsb,
    /// Zipf's law itself, by rejection-inversion.
    Exact,
}

/// Ranks from 0 by one of the two.
#[derive(Debug, Clone, Copy)]
enum Ranks {
    Ycsb(Gray),
    Exact(Zipfian),
}

impl Ranks {
    fn new(law: Law, ranks: u64) -> Self {
        match law {
            Law::Ycsb if ranks == SCRAMBLED_RANKS => Self::Ycsb(Gray::with_zeta(ranks, SCRAMBLED_ZETA)),
            Law::Ycsb => Self::Ycsb(Gray::new(ranks)),
            Law::Exact => Self::Exact(Zipfian::new(ranks.max(1), THETA)),
        }
    }

    /// The same law over another number of ranks.
    fn resized(&self, ranks: u64) -> Self {
        match self {
            Self::Ycsb(gray) => Self::Ycsb(gray.resized(ranks)),
            Self::Exact(_) => Self::new(Law::Exact, ranks),
        }
    }

    #[inline]
    fn draw(&self, rng: &mut OpRng) -> u64 {
        match self {
            Self::Ycsb(gray) => gray.draw(rng),
            Self::Exact(zipfian) => zipfian.draw(rng) - 1,
        }
    }
}

/// Draws the record of an operation. Only records that are known to be there are drawn: one after the last acknowledged
/// is drawn again, as in YCSB.
#[derive(Debug, Clone)]
pub(super) struct Records {
    way: Way,
    compat: Compat,
}

#[derive(Debug, Clone)]
enum Way {
    Uniform { first: u64, count: u64 },
    Sequential { first: u64, count: u64 },
    Scrambled { first: u64, count: u64, ranks: Ranks },
    Latest { ranks: Ranks, of: u64 },
    Hotspot { first: u64, hot: u64, cold: u64, share: f64 },
    Exponential { gamma: f64 },
}

impl Records {
    pub(super) fn new(options: &Options) -> Self {
        let (first, count) = (options.insertstart, options.insertcount.max(1));
        let way = match options.request {
            Request::Uniform => Way::Uniform { first, count },
            Request::Sequential => Way::Sequential { first, count },
            Request::Zipfian => {
                // Room for the records that will be inserted, so that the popular ones stay the same; both ends of the range
                // belong to it, as in YCSB.
                let new = (options.operationcount.unwrap_or(0) as f64 * options.inserts() * 2.0) as u64;
                let ranks = Ranks::new(options.law, SCRAMBLED_RANKS);
                Way::Scrambled { first, count: count + new + 1, ranks }
            }
            Request::Latest => Way::Latest { ranks: Ranks::new(options.law, 1), of: 1 },
            Request::Hotspot { data, share } => {
                let hot = (count as f64 * data) as u64;
                Way::Hotspot { first, hot, cold: count - hot.min(count), share }
            }
            Request::Exponential { percentile, fraction } => {
                let gamma = -(1.0 - percentile / 100.0).ln() / (options.recordcount as f64 * fraction);
                Way::Exponential { gamma }
            }
        };
        Self { way, compat: options.compat }
    }

    /// The record of an operation; `end` is the number after the last record that is there, `number` that of the operation
    /// among those of all terminals.
    #[inline]
    pub(super) fn draw(&mut self, rng: &mut OpRng, end: u64, number: u64) -> u64 {
        loop {
            let record = self.attempt(rng, end, number);
            // Of no record nothing can be drawn; the operation then finds nothing.
            if record < end || end == 0 {
                return record;
            }
        }
    }

    #[inline]
    fn attempt(&mut self, rng: &mut OpRng, end: u64, number: u64) -> u64 {
        match &mut self.way {
            Way::Uniform { first, count } => *first + rng.below(*count),
            Way::Sequential { first, count } => *first + number % *count,
            Way::Scrambled { first, count, ranks } => *first + hash(self.compat, ranks.draw(rng)) % *count,
            Way::Latest { ranks, of } => {
                // The number of ranks is that of the last record, as in YCSB: record 0 is never drawn.
                let last = end.saturating_sub(1);
                if *of != last {
                    (*ranks, *of) = (ranks.resized(last), last);
                }
                last - ranks.draw(rng).min(last)
            }
            Way::Hotspot { first, hot, cold, share } => {
                let in_hot = *cold == 0 || (*hot > 0 && rng.unit_f64() < *share);
                *first + if in_hot { rng.below(*hot) } else { *hot + rng.below(*cold) }
            }
            Way::Exponential { gamma } => {
                let last = end.saturating_sub(1);
                // 1 − U, because U may be 0 and its logarithm is not.
                let back = -(1.0 - rng.unit_f64()).ln() / *gamma;
                // A record before the first one is drawn again, as in YCSB.
                if back < last as f64 + 1.0 { last - (back as u64).min(last) } else { u64::MAX }
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ScanLengths {
    low: u64,
    ranks: u64,
    zipfian: Option<Gray>,
}

impl ScanLengths {
    pub(super) fn new(options: &Options) -> Self {
        let (low, high) = (u64::from(options.minscanlength), u64::from(options.maxscanlength));
        let ranks = high - low + 1;
        Self { low, ranks, zipfian: options.zipfian_scans.then(|| Gray::new(ranks)) }
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut OpRng) -> u64 {
        self.low
            + match &self.zipfian {
                Some(zipfian) => zipfian.draw(rng),
                None => rng.below(self.ranks),
            }
    }
}

/// Chooses among kinds of operation by their weights.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mix {
    /// The share of each kind and of all before it.
    up_to: [f64; 5],
}

impl Mix {
    pub(super) fn new(weights: [f64; 5]) -> Self {
        let all: f64 = weights.iter().sum();
        let mut up_to = [0.0; 5];
        let mut sum = 0.0;
        for (edge, weight) in up_to.iter_mut().zip(weights) {
            sum += weight;
            *edge = sum / all;
        }
        // Rounding must not leave a draw to a kind that has no weight.
        if let Some(last) = weights.iter().rposition(|w| *w > 0.0) {
            up_to[last..].fill(1.0);
        }
        Self { up_to }
    }

    /// The kind, as a position in [`super::KINDS`].
    #[inline]
    pub(super) fn draw(&self, rng: &mut OpRng) -> u8 {
        let u = rng.unit_f64();
        self.up_to.iter().position(|edge| u < *edge).unwrap_or(0) as u8
    }
}
