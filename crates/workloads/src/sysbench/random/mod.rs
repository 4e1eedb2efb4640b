//! The random values of sysbench: ids by a distribution, and text of digits.

mod scramble;
mod text;
mod zipfian;

#[cfg(test)]
mod fit;
#[cfg(test)]
mod tests;

use perbuck_core::rng::OpRng;

pub(super) use scramble::Scramble;
pub(crate) use zipfian::Zipfian;

pub(super) use text::{C_GROUPS, PAD_GROUPS, write_groups};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Distribution {
    /// Every id alike.
    Uniform,
    /// The mean of so many uniform draws over the whole range (`rand_spec_iter`, at least 1): nearly Gaussian, hottest in the
    /// middle.
    Gaussian { averaged: u32 },
    /// A share of the draws (`rand_spec_res`, in percent) falls evenly into a band in the middle of the range. Its width is
    /// `rand_spec_pct` percent of the range, at least one id. The other draws are as in [`Self::Gaussian`]. This is what
    /// the documentation of sysbench 1.0 promises.
    Special { band_percent: u32, share_percent: u32, averaged: u32 },
    /// `special` as the code of sysbench 1.0 draws it: the number that chose the band, which is at least `1 − share`,
    /// also gives the position within the band, so that the first part of the band is never picked.
    SpecialOfSysbench10 { band_percent: u32, share_percent: u32, averaged: u32 },
    /// The share of the draws that fall among the first `x` of `n` ids is `(x / n)^(ln(1 − h) / ln h)`: the first `h · n` ids
    /// get the share `1 − h` (`rand_pareto_h`, between 0 and 1).
    Pareto { h: f64 },
    /// The id of rank `r` is drawn in proportion to `r^−exponent` (`rand_zipfian_exp`, at least 0).
    Zipfian { exponent: f64 },
}

/// Draws ids of one range by one law; everything that the law needs is worked out before.
#[derive(Debug, Clone, Copy)]
pub struct Ids {
    first: i64,
    n: u64,
    shape: Shape,
    scramble: Option<Scramble>,
}

/// A law with its constants.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Uniform,
    Gaussian { averaged: u32 },
    Special { share_percent: u64, band_start: u64, band_width: u64, averaged: u32 },
    SpecialOfSysbench10 { averaged: u32, spread: f64, gaussian_below: f64, band_start: f64, band_width: f64 },
    Pareto { power: f64 },
    Zipfian(Zipfian),
}

impl Ids {
    /// Ids of `first..=last`, with at least one and at most 2³² of them. The hot ids of `pareto` and `zipfian` are the
    /// lowest, those of `gaussian` and `special` the middle ones; `scrambled` spreads them evenly over the whole range, by a
    /// bijection that depends on the number of ids alone.
    pub(super) fn new(law: Distribution, first: i64, last: i64, scrambled: bool) -> Self {
        debug_assert!(first <= last && last - first <= i64::from(u32::MAX));
        let n = (last - first + 1).max(1) as u64;
        let shape = match law {
            Distribution::Uniform => Shape::Uniform,
            Distribution::Gaussian { averaged } => Shape::Gaussian { averaged },
            Distribution::Special { band_percent, share_percent, averaged } => {
                // Never none, or small tables would have no band.
                let band_width = (n * u64::from(band_percent) / 100).max(1);
                let band_start = (n - band_width) / 2;
                Shape::Special { share_percent: share_percent.into(), band_start, band_width, averaged }
            }
            Distribution::SpecialOfSysbench10 { band_percent, share_percent, averaged } => {
                // Its arithmetic leaves one id out of the spread, hence n − 1.
                let spread = (n - 1) as f64;
                let band = spread * f64::from(band_percent) / 100.0;
                let gaussian_below = f64::from(100 - share_percent.min(100)) / 100.0;
                let (band_start, band_width) = (spread / 2.0 - band / 2.0, band + 1.0);
                Shape::SpecialOfSysbench10 { averaged, spread, gaussian_below, band_start, band_width }
            }
            Distribution::Pareto { h } => Shape::Pareto { power: h.ln() / (1.0 - h).ln() },
            Distribution::Zipfian { exponent } => Shape::Zipfian(Zipfian::new(n, exponent)),
        };
        // Even draws stay even however they are moved.
        let scramble = (scrambled && law != Distribution::Uniform).then(|| Scramble::new(n));
        Self { first, n, shape, scramble }
    }

    /// The next id.
    #[inline]
    pub fn draw(&self, rng: &mut OpRng) -> i64 {
        // In line for the law that needs no more than a multiplication, a call for all others.
        let rank = if matches!(self.shape, Shape::Uniform) { rng.below(self.n) } else { self.uneven(rng) };
        self.first + rank as i64
    }

    #[inline(never)]
    fn uneven(&self, rng: &mut OpRng) -> u64 {
        let rank = match self.shape {
            Shape::Uniform => rng.below(self.n),
            Shape::Gaussian { averaged } => self.gaussian(rng, averaged),
            Shape::Special { share_percent, band_start, band_width, averaged } => {
                if rng.below(100) < share_percent {
                    band_start + rng.below(band_width)
                } else {
                    self.gaussian(rng, averaged)
                }
            }
            Shape::SpecialOfSysbench10 { averaged, spread, gaussian_below, band_start, band_width } => {
                let number = rng.unit_f64();
                let rank = if number < gaussian_below { mean(rng, averaged) * spread } else { number * band_width + band_start };
                (rank as u64).min(self.n - 1)
            }
            Shape::Pareto { power } => ((rng.unit_f64().powf(power) * self.n as f64) as u64).min(self.n - 1),
            Shape::Zipfian(ref zipfian) => zipfian.draw(rng) - 1,
        };
        self.scramble.map_or(rank, |s| s.of(rank))
    }

    #[inline]
    fn gaussian(&self, rng: &mut OpRng, averaged: u32) -> u64 {
        // A sum of numbers below 1 can round up to their count.
        ((mean(rng, averaged) * self.n as f64) as u64).min(self.n - 1)
    }
}

#[inline]
fn mean(rng: &mut OpRng, averaged: u32) -> f64 {
    (0..averaged).map(|_| rng.unit_f64()).sum::<f64>() / f64::from(averaged)
}
