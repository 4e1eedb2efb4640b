//! Intervals that hold however often a study is looked at.
//!
//! Each look takes Student's interval at one and the same higher confidence (Pocock 1977, with significance levels in place of normal
//! quantiles: Jennison and Turnbull 2000, section 4.4). Over all looks together the intervals then have the confidence of the study.
//! docs/adr/0004-looks.md says why, and tests/looks.rs measures it.

use statrs::distribution::{ContinuousCDF, Normal};

/// The error level of each look, so that intervals of looks after every block from `least` to `most` miss the truth anywhere with a
/// probability of at most `error`.
///
/// Later looks share most of their data with earlier ones, so that they cost less than as many tests would. The quotient of the two
/// levels grows with the logarithm of the number of blocks. Its coefficients are fitted to simulations of Student's statistic with 3, 5 and
/// 10 blocks at the first look, up to 200 at the last, and levels from 0.2 to 0.002. It is 1 % too small to 15 % too large, which is the safe side.
pub fn level_of_each_look(error: f64, least: u32, most: u32) -> f64 {
    let Ok(normal) = Normal::new(0.0, 1.0) else { return error };
    let quantile = normal.inverse_cdf(1.0 - error / 2.0);
    let growth = ((f64::from(most.max(least)) + 2.3) / (f64::from(least) + 2.3)).ln();
    error / (1.0 + (2.1 + 0.46 * quantile * quantile) * growth.powf(1.07))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_look_costs_nothing_and_more_of_them_cost_less_than_they_count() {
        assert_eq!(level_of_each_look(0.05, 5, 5), 0.05);
        let mut last = 0.05;
        for most in 6..200 {
            let each = level_of_each_look(0.05, 5, most);
            assert!(each < last && each > 0.05 / f64::from(most - 4), "{most}: {each}");
            last = each;
        }
    }

    #[test]
    fn levels_are_those_of_the_simulation() {
        // The share of 400,000 studies without a difference, by the quantile of their smallest error level over all looks.
        for (error, least, most, quotient) in [
            (0.05, 3, 5, 2.16),
            (0.05, 3, 20, 6.46),
            (0.05, 3, 200, 15.72),
            (0.01, 5, 50, 10.95),
            (0.2, 10, 100, 6.38),
            (0.002, 3, 30, 12.09),
        ] {
            let found = error / level_of_each_look(error, least, most);
            assert!((0.985..1.17).contains(&(found / quotient)), "{error} {least} {most}: {found} {quotient}");
        }
    }
}
