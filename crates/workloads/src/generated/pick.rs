//! Which one of many a row has.

use std::sync::Arc;

use perbuck_core::rng::OpRng;

use crate::script::random::{exponential_position, gaussian_position};
use crate::sysbench::Zipfian;

/// How positions are drawn.
#[derive(Debug, Clone)]
pub(super) enum Law {
    Uniform,
    /// In their order, again and again, each so many times in a row.
    Sequential(u64),
    Gaussian(f64),
    Exponential(f64),
    Zipfian(f64),
    /// By the sums of the weights up to each position.
    Weighted(Arc<[f64]>),
}

/// One of `n`, by a law.
#[derive(Debug, Clone)]
pub(super) struct Pick {
    pub(super) n: u64,
    drawn: Drawn,
}

/// A law with what follows from `n`.
#[derive(Debug, Clone)]
enum Drawn {
    Of(Law),
    Zipfian(Zipfian),
}

impl Pick {
    /// Of at least one.
    pub(super) fn new(n: u64, law: Law) -> Self {
        let drawn = match law {
            Law::Zipfian(exponent) => Drawn::Zipfian(Zipfian::new(n, exponent)),
            law => Drawn::Of(law),
        };
        Self { n, drawn }
    }

    /// A position in `0..n` for the row with that number, from 0.
    #[inline]
    pub(super) fn position(&self, rng: &mut OpRng, row: u64) -> u64 {
        match &self.drawn {
            Drawn::Of(Law::Sequential(repeat)) => row / repeat % self.n,
            Drawn::Of(Law::Gaussian(parameter)) => gaussian_position(rng, self.n, *parameter),
            Drawn::Of(Law::Exponential(parameter)) => exponential_position(rng, self.n, *parameter),
            Drawn::Of(Law::Weighted(sums)) => {
                let drawn = rng.unit_f64() * sums.last().copied().unwrap_or(0.0);
                (sums.partition_point(|sum| *sum <= drawn) as u64).min(self.n - 1)
            }
            Drawn::Of(Law::Uniform | Law::Zipfian(_)) => rng.below(self.n),
            Drawn::Zipfian(zipfian) => zipfian.draw(rng) - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use perbuck_core::units::Seed;

    use super::*;
    use crate::testing::near;

    /// How often each of ten positions comes in a hundred thousand rows.
    fn counts(law: Law) -> [u32; 10] {
        let (pick, mut counts) = (Pick::new(10, law), [0; 10]);
        (0..100_000).for_each(|row| counts[pick.position(&mut OpRng::at(Seed(3), 1, row), row) as usize] += 1);
        counts
    }

    #[test]
    fn every_law_has_its_shape() {
        near(counts(Law::Uniform), |_| 0.1);
        let all = |exponent: f64| (1..=10).map(|i| f64::from(i).powf(-exponent)).sum::<f64>();
        for exponent in [0.0, 0.5, 1.0, 1.2, 3.0] {
            near(counts(Law::Zipfian(exponent)), |i| ((i + 1) as f64).powf(-exponent) / all(exponent));
        }
        let at = |i: usize| (-4.0 * i as f64 / 10.0_f64).exp();
        near(counts(Law::Exponential(4.0)), |i| (at(i) - at(i + 1)) / (1.0 - at(10)));
        // Φ at 0.5, 1, 1.5, 2 and 2.5.
        let phi = [0.5, 0.691_462_46, 0.841_344_75, 0.933_192_8, 0.977_249_87, 0.993_790_33];
        near(counts(Law::Gaussian(2.5)), |i| {
            let middle = if i < 5 { 4 - i } else { i - 5 };
            (phi[middle + 1] - phi[middle]) / (phi[5] - phi[0]) / 2.0
        });
        let sums: Vec<f64> = [1.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0, 0.0]
            .iter()
            .scan(0.0, |sum, weight| {
                *sum += weight;
                Some(*sum)
            })
            .collect();
        near(counts(Law::Weighted(sums.into())), |i| [0.1, 0.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.6, 0.0][i]);
    }

    #[test]
    fn in_their_order_each_comes_as_often_in_a_row_as_asked() {
        let pick = Pick::new(3, Law::Sequential(2));
        let rows: Vec<u64> = (0..8).map(|row| pick.position(&mut OpRng::new(Seed(1)), row)).collect();
        assert_eq!(rows, [0, 0, 1, 1, 2, 2, 0, 0]);
    }
}
