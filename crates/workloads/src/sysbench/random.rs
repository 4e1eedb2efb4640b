//! The random values of sysbench: ids by a distribution, and text of digits.

use perbuck_core::rng::OpRng;

/// How ids are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// Every id alike.
    Uniform,
    /// A share of the draws falls evenly into a band in the middle of the range; each of the others is the mean of some
    /// uniform draws over the whole range (nearly Gaussian).
    ///
    /// This is what the documentation of sysbench 1.0.20 promises. Its code draws one number, takes the band when the
    /// number is at least `1 − share`, and then uses that same number for the place within the band, so that the first
    /// quarter of the band (by default) is never picked. Ours draws a second number; throughput measured with the two
    /// differs a little where the working set matters.
    Special {
        /// Width of the band in percent of the range (`rand-spec-pct`).
        band_percent: u32,
        /// Percent of the draws that fall into it (`rand-spec-res`).
        share_percent: u32,
        /// How many uniform draws are averaged for the others (`rand-spec-iter`).
        averaged: u32,
    },
}

impl Distribution {
    /// One of `1..=n`.
    #[inline]
    pub fn draw(self, rng: &mut OpRng, n: u32) -> i64 {
        let n = u64::from(n);
        let offset = match self {
            Self::Uniform => rng.below(n),
            Self::Special { band_percent, share_percent, averaged } => {
                if rng.below(100) < u64::from(share_percent) {
                    let width = band_width(n, band_percent);
                    (n - width) / 2 + rng.below(width)
                } else {
                    let sum: f64 = (0..averaged).map(|_| rng.unit_f64()).sum();
                    // A sum of numbers below 1 can round up to their count.
                    ((sum / f64::from(averaged) * n as f64) as u64).min(n - 1)
                }
            }
        };
        1 + offset as i64
    }
}

/// Ids in the middle band; never none, or small tables would have no band.
fn band_width(n: u64, percent: u32) -> u64 {
    (n * u64::from(percent) / 100).max(1)
}

const GROUP_DIGITS: usize = 11;
const GROUP_VALUES: u64 = 100_000_000_000;

/// Groups in column `c`: 119 characters.
pub(super) const C_GROUPS: usize = 10;
/// Groups in column `pad`: 59 characters.
pub(super) const PAD_GROUPS: usize = 5;

/// Appends groups of eleven random digits joined by `-`. One draw gives a whole group: its digits are uniform and
/// independent to within 10¹¹/2⁶⁴, at an eleventh of the cost of a draw for each.
#[inline]
pub(super) fn write_groups(out: &mut Vec<u8>, rng: &mut OpRng, groups: usize) {
    for group in 0..groups {
        if group > 0 {
            out.push(b'-');
        }
        let mut digits = [b'0'; GROUP_DIGITS];
        let mut rest = rng.below(GROUP_VALUES);
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        out.extend_from_slice(&digits);
    }
}

#[cfg(test)]
mod tests {
    use perbuck_core::units::Seed;

    use super::*;

    const DRAWS: u32 = 200_000;
    /// The 99.99 % point of chi-square with 99 degrees of freedom.
    const LIMIT_99: f64 = 161.3;

    /// Draws into 100 equal bins of `1..=n` against the expected share of each bin.
    fn chi_square(distribution: Distribution, n: u32, expected: impl Fn(usize) -> f64) -> f64 {
        let mut rng = OpRng::new(Seed(20));
        let mut counts = [0u32; 100];
        for _ in 0..DRAWS {
            let id = distribution.draw(&mut rng, n);
            assert!((1..=i64::from(n)).contains(&id));
            counts[((id - 1) * 100 / i64::from(n)) as usize] += 1;
        }
        let mut sum = 0.0;
        // Bins that would hold fewer than five draws are pooled, as the test demands.
        let (mut pooled_count, mut pooled_expected) = (0.0, 0.0);
        for (bin, count) in counts.into_iter().enumerate() {
            let want = expected(bin) * f64::from(DRAWS);
            if want < 5.0 {
                pooled_count += f64::from(count);
                pooled_expected += want;
            } else {
                sum += (f64::from(count) - want).powi(2) / want;
            }
        }
        if pooled_expected > 0.0 {
            sum += (pooled_count - pooled_expected).powi(2) / pooled_expected.max(1.0);
        }
        sum
    }

    /// Distribution function of the mean of `m` uniforms (Irwin and Hall).
    fn bates_cdf(x: f64, m: u32) -> f64 {
        let (mut sum, mut choose) = (0.0, 1.0);
        for k in 0..=m {
            let t = f64::from(m) * x - f64::from(k);
            if t <= 0.0 {
                break;
            }
            sum += if k % 2 == 0 { choose } else { -choose } * t.powi(m as i32);
            choose *= f64::from(m - k) / f64::from(k + 1);
        }
        sum / (1..=m).map(f64::from).product::<f64>()
    }

    fn special(share_percent: u32, band_percent: u32) -> Distribution {
        Distribution::Special { band_percent, share_percent, averaged: 12 }
    }

    #[test]
    fn uniform_fits() {
        let found = chi_square(Distribution::Uniform, 10_000, |_| 0.01);
        assert!(found < LIMIT_99, "{found}");
    }

    #[test]
    fn the_gaussian_part_is_the_mean_of_twelve_uniforms() {
        let share = |bin: usize| bates_cdf((bin + 1) as f64 / 100.0, 12) - bates_cdf(bin as f64 / 100.0, 12);
        assert!(((0..100).map(share).sum::<f64>() - 1.0).abs() < 1e-9);
        let found = chi_square(special(0, 1), 10_000, share);
        assert!(found < LIMIT_99, "{found}");
    }

    #[test]
    fn special_puts_three_quarters_into_the_central_percent() {
        // With 10 000 ids the band is 4951..=5050: the upper half of bin 49 and the lower half of bin 50.
        let share = |bin: usize| {
            let gauss = bates_cdf((bin + 1) as f64 / 100.0, 12) - bates_cdf(bin as f64 / 100.0, 12);
            0.25 * gauss + if bin == 49 || bin == 50 { 0.375 } else { 0.0 }
        };
        let found = chi_square(special(75, 1), 10_000, share);
        assert!(found < LIMIT_99, "{found}");
    }

    #[test]
    fn every_hundredth_of_the_band_is_picked_alike() {
        let mut rng = OpRng::new(Seed(21));
        let mut counts = [0u32; 100];
        for _ in 0..DRAWS {
            counts[(special(100, 1).draw(&mut rng, 10_000) - 4_951) as usize] += 1;
        }
        let want = f64::from(DRAWS) / 100.0;
        let found: f64 = counts.iter().map(|c| (f64::from(*c) - want).powi(2) / want).sum();
        assert!(found < LIMIT_99, "{found} {counts:?}");
    }

    #[test]
    fn small_ranges_stay_within_their_bounds() {
        let mut rng = OpRng::new(Seed(22));
        for n in [1, 2, 3, 99, 100, 101, i32::MAX as u32] {
            for distribution in [Distribution::Uniform, special(75, 1), special(75, 100)] {
                for _ in 0..1_000 {
                    assert!((1..=i64::from(n)).contains(&distribution.draw(&mut rng, n)));
                }
            }
        }
    }

    #[test]
    fn text_has_sysbenchs_form_and_even_digits() {
        let mut rng = OpRng::new(Seed(23));
        let mut counts = [0u32; 10];
        let mut text = Vec::new();
        for _ in 0..1_000 {
            text.clear();
            write_groups(&mut text, &mut rng, C_GROUPS);
            assert_eq!(text.len(), 119);
            for (at, byte) in text.iter().enumerate() {
                match byte {
                    b'-' => assert_eq!(at % 12, 11),
                    digit => counts[usize::from(digit - b'0')] += 1,
                }
            }
        }
        // 110 000 digits: 11 000 of each, standard deviation 99.5.
        assert!(counts.iter().all(|c| c.abs_diff(11_000) < 5 * 100), "{counts:?}");
        text.clear();
        write_groups(&mut text, &mut rng, PAD_GROUPS);
        assert_eq!(text.len(), 59);
    }
}
