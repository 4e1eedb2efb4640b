//! The random values of sysbench: ids by a distribution, and text of digits.

mod scramble;
mod text;
mod zipfian;

#[cfg(test)]
mod tests;

use perbuck_core::rng::OpRng;

use super::compat::Compat;
use super::options::{Options, RandType};

pub(super) use scramble::Scramble;
pub(crate) use zipfian::Zipfian;

pub(super) use text::{C_GROUPS, PAD_GROUPS, write_groups};

/// Draws ids of one range by one law; everything that the law needs is worked out before.
#[derive(Debug, Clone, Copy)]
pub struct Ids {
    first: i64,
    n: u64,
    shape: Shape,
    scramble: Option<Scramble>,
}

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
    /// Numbers of `first..=last` by a law, with the shapes that the options give it; `first` alone where `last` is less. Of more than 2³²
    /// numbers those after them are never drawn.
    pub fn of(options: &Options, rand_type: RandType, first: i64, last: i64) -> Self {
        Self::new((options, rand_type), first, last.clamp(first, first.saturating_add(i64::from(u32::MAX))))
    }

    /// Ids of `first..=last`, with at least one and at most 2³² of them, by the law of the options. The hot ids of `pareto` and
    /// `zipfian` are the lowest, those of `gaussian` and `special` the middle ones; `rand_scramble` spreads them evenly over the
    /// whole range, by a bijection that depends on the number of ids alone.
    pub(super) fn new((options, rand_type): (&Options, RandType), first: i64, last: i64) -> Self {
        debug_assert!(first <= last && last - first <= i64::from(u32::MAX));
        let n = (last - first + 1).max(1) as u64;
        let (band_percent, share_percent, averaged) = (options.rand_spec_pct, options.rand_spec_res, options.rand_spec_iter);
        let shape = match rand_type {
            RandType::Uniform => Shape::Uniform,
            RandType::Gaussian => Shape::Gaussian { averaged },
            // The number that chose the band, which is at least 1 − share, also gives the position within the band.
            RandType::Special if options.compat == Some(Compat::Sysbench10) => {
                // Its arithmetic leaves one id out of the spread, hence n − 1.
                let spread = (n - 1) as f64;
                let band = spread * f64::from(band_percent) / 100.0;
                let gaussian_below = f64::from(100 - share_percent.min(100)) / 100.0;
                let (band_start, band_width) = (spread / 2.0 - band / 2.0, band + 1.0);
                Shape::SpecialOfSysbench10 { averaged, spread, gaussian_below, band_start, band_width }
            }
            RandType::Special => {
                // Never none, or small tables would have no band.
                let band_width = (n * u64::from(band_percent) / 100).max(1);
                let band_start = (n - band_width) / 2;
                Shape::Special { share_percent: share_percent.into(), band_start, band_width, averaged }
            }
            RandType::Pareto => Shape::Pareto { power: options.rand_pareto_h.ln() / (1.0 - options.rand_pareto_h).ln() },
            RandType::Zipfian => Shape::Zipfian(Zipfian::new(n, options.rand_zipfian_exp)),
        };
        // Even draws stay even however they are moved.
        let scramble = (options.rand_scramble && rand_type != RandType::Uniform).then(|| Scramble::new(n));
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
