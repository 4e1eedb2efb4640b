//! Statistics of ranks beside the ratio of means: they need no shape of noise and hardly feel an outlier.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use super::Interval;

/// Samples beyond this have Mann and Whitney's statistic taken as normal, which it then is to less than one place in a hundred.
const EXACT: usize = 100;

/// What ranks say of two samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// Hodges and Lehmann's ratio: the median of all quotients of a value of the contender and one of the baseline.
    pub hodges_lehmann: f64,
    /// Its interval by the distribution of Mann and Whitney's statistic, exact for up to 100 trials; `None` where the samples are too small to carry
    /// one of this confidence (three against three at 95 %).
    pub interval: Option<Interval>,
    /// Vargha and Delaney's A: how often a value of the contender is above one of the baseline, ties counted half.
    pub superiority: f64,
}

/// Compares two samples by ranks; `None` where one is empty or has a value that is not above 0.
pub fn rank(base: &[f64], other: &[f64], confidence: f64) -> Option<Rank> {
    if base.is_empty() || other.is_empty() || base.iter().chain(other).any(|v| *v <= 0.0) {
        return None;
    }
    let mut quotients: Vec<f64> = other.iter().flat_map(|a| base.iter().map(move |x| a / x)).collect();
    let count = quotients.len();
    let above = |a: &f64, x: &f64| match a.total_cmp(x) {
        Ordering::Greater => 1.0,
        Ordering::Equal => 0.5,
        Ordering::Less => 0.0,
    };
    let wins: f64 = other.iter().flat_map(|a| base.iter().map(move |x| above(a, x))).sum();
    let mut sorted_at = |k: usize| *quotients.select_nth_unstable_by(k, f64::total_cmp).1;
    // The median of logarithms, which is halfway between two of them on that scale.
    let middle = (sorted_at((count - 1) / 2) * sorted_at(count / 2)).sqrt();
    let interval =
        cut(base.len(), other.len(), confidence).map(|k| Interval { low: sorted_at(k), high: sorted_at(count - 1 - k) });
    Some(Rank { hodges_lehmann: middle, interval, superiority: wins / count as f64 })
}

/// How many of the sorted quotients lie outside of the interval on each side; `None` where even none is too many.
fn cut(n: usize, m: usize, confidence: f64) -> Option<usize> {
    let tail = (1.0 - confidence) / 2.0;
    if n.max(m) > EXACT {
        let (n, m) = (n as f64, m as f64);
        let z = Normal::new(0.0, 1.0).ok()?.inverse_cdf(1.0 - tail);
        let k = n * m / 2.0 - 0.5 - z * (n * m * (n + m + 1.0) / 12.0).sqrt();
        return (k >= 0.0).then_some(k as usize);
    }
    let ways = mann_whitney(n, m);
    let all: f64 = ways.iter().sum();
    let mut below = 0.0;
    let outside = ways.iter().take_while(|count| {
        below += **count / all;
        below <= tail
    });
    outside.count().checked_sub(1)
}

/// In how many orders of n + m values Mann and Whitney's statistic is 0, 1, … n·m: the coefficients of a Gaussian binomial. The
/// numbers are exact up to 2⁵³ and good to fifteen digits beyond.
fn mann_whitney(n: usize, m: usize) -> Vec<f64> {
    let top = n * m;
    let mut ways = vec![0.0; top + 1];
    ways[0] = 1.0;
    for i in 1..=n {
        // Times (1 − q^(m+i)), divided by (1 − q^i).
        for u in (m + i..=top).rev() {
            ways[u] -= ways[u - m - i];
        }
        for u in i..=top {
            ways[u] += ways[u - i];
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_counted_as_in_the_tables() {
        assert_eq!(mann_whitney(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0]);
        // The approximation for large samples meets the exact one.
        assert!(cut(100, 100, 0.95).unwrap().abs_diff(cut(101, 100, 0.95).unwrap()) < 70);
        assert_eq!(mann_whitney(5, 7).iter().sum::<f64>(), 792.0);
        // Critical values of the two-sided test at 5 % (Mann and Whitney 1947, and every table since).
        for (n, m, critical) in [(4, 4, 0), (5, 5, 2), (6, 6, 5), (8, 8, 13), (10, 10, 23), (20, 20, 127)] {
            assert_eq!(cut(n, m, 0.95), Some(critical), "{n} {m}");
        }
    }

    #[test]
    fn three_against_three_carry_no_interval_at_95_percent() {
        let found = rank(&[100.0, 101.0, 99.0], &[110.0, 112.0, 111.0], 0.95).unwrap();
        assert_eq!((found.interval, found.superiority), (None, 1.0));
        assert!((found.hodges_lehmann - 1.11).abs() < 0.001, "{found:?}");
        assert!(rank(&[100.0, 101.0, 99.0], &[110.0, 112.0, 111.0], 0.85).unwrap().interval.is_some());
    }

    #[test]
    fn four_against_four_do_and_an_outlier_moves_little() {
        let found = rank(&[100.0, 101.0, 99.0, 100.0], &[110.0, 112.0, 111.0, 20.0], 0.95).unwrap();
        let i = found.interval.unwrap();
        assert!((i.low - 20.0 / 101.0).abs() < 1e-12 && (i.high - 112.0 / 99.0).abs() < 1e-12, "{i:?}");
        assert!(found.hodges_lehmann > 1.09 && found.superiority == 0.75, "{found:?}");
        assert_eq!(rank(&[1.0, 2.0], &[1.0, 2.0], 0.95).unwrap().superiority, 0.5);
        assert!(rank(&[0.0], &[1.0], 0.95).is_none() && rank(&[], &[1.0], 0.95).is_none());
    }
}
