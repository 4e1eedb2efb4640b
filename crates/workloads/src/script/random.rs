//! The random and pseudorandom functions of scripts, by the algorithms that pgbench's documentation names.

use perbuck_core::rng::{OpRng, mix};

use super::value::Outcome;

/// How many whole numbers lie in `low..=high`, as pgbench limits them.
fn span(low: i64, high: i64) -> Outcome<i64> {
    if low > high {
        return Err("empty range given to random".to_owned());
    }
    high.checked_sub(low).and_then(|span| span.checked_add(1)).ok_or_else(|| "random range is too large".to_owned())
}

/// Uniform in `low..=high`.
pub(super) fn uniform(rng: &mut OpRng, low: i64, high: i64) -> Outcome<i64> {
    let span = span(low, high)?;
    Ok(low + rng.below(span as u64) as i64)
}

/// By the inverse of the truncated exponential distribution.
pub(super) fn exponential(rng: &mut OpRng, low: i64, high: i64, parameter: f64) -> Outcome<i64> {
    let span = span(low, high)?;
    if parameter.is_nan() || parameter <= 0.0 {
        return Err(format!("exponential parameter must be greater than zero (not {parameter})"));
    }
    Ok(low + exponential_position(rng, span as u64, parameter) as i64)
}

/// The same in `0..n`, for a parameter above 0 and at least one position.
pub(crate) fn exponential_position(rng: &mut OpRng, n: u64, parameter: f64) -> u64 {
    let cut = (-parameter).exp();
    let uniform = 1.0 - rng.unit_f64();
    let share = -(cut + (1.0 - cut) * uniform).ln() / parameter;
    ((n as f64 * share) as u64).min(n - 1)
}

/// By Box and Muller's transform, drawn again where it lies outside of the range.
pub(super) fn gaussian(rng: &mut OpRng, low: i64, high: i64, parameter: f64) -> Outcome<i64> {
    let span = span(low, high)?;
    if parameter.is_nan() || parameter < 2.0 {
        return Err(format!("gaussian parameter must be at least 2.0 (not {parameter})"));
    }
    Ok(low + gaussian_position(rng, span as u64, parameter) as i64)
}

/// The same in `0..n`, for a parameter of at least 2 and at least one position.
pub(crate) fn gaussian_position(rng: &mut OpRng, n: u64, parameter: f64) -> u64 {
    let normal = loop {
        let radius = (-2.0 * (1.0 - rng.unit_f64()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * rng.unit_f64()).sin();
        if (-parameter..parameter).contains(&normal) {
            break normal;
        }
    };
    let share = (normal + parameter) / (parameter * 2.0);
    ((n as f64 * share) as u64).min(n - 1)
}

/// By rejection (Devroye, Non-Uniform Random Variate Generation, 1986, page 551), for any parameter above 1.
pub(super) fn zipfian(rng: &mut OpRng, low: i64, high: i64, parameter: f64) -> Outcome<i64> {
    let span = span(low, high)?;
    if !(1.001..=1000.0).contains(&parameter) {
        return Err(format!("zipfian parameter must be in range [1.001, 1000] (not {parameter})"));
    }
    if span == 1 {
        return Ok(low);
    }
    let (power, b) = (parameter - 1.0, 2f64.powf(parameter - 1.0));
    loop {
        let (u, v) = (1.0 - rng.unit_f64(), rng.unit_f64());
        let x = u.powf(-1.0 / power).floor();
        let t = (1.0 + 1.0 / x).powf(power);
        if v * x * (t - 1.0) / (b - 1.0) <= t / b && x <= span as f64 {
            return Ok(low + (x as i64 - 1));
        }
    }
}

/// FNV-1a of the eight bytes of a number, the least significant first (Fowler, Noll and Vo).
pub(super) fn fnv1a(value: i64, seed: i64) -> i64 {
    let start = 0xcbf2_9ce4_8422_2325_u64 ^ seed as u64;
    value.to_le_bytes().iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)) as i64
}

/// `MurmurHash64A` of the eight bytes of a number (Appleby).
pub(super) fn murmur2(value: i64, seed: i64) -> i64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    const R: u32 = 47;
    let mut k = (value as u64).wrapping_mul(M);
    k = (k ^ (k >> R)).wrapping_mul(M);
    let mut hash = ((seed as u64 ^ M.wrapping_mul(8)) ^ k).wrapping_mul(M);
    hash = (hash ^ (hash >> R)).wrapping_mul(M);
    (hash ^ (hash >> R)) as i64
}

/// Where a number of `0..size` goes in a permutation that the seed decides: a bijection of the next power of two, applied until the
/// result lies below `size`.
pub(super) fn permute(value: i64, size: i64, seed: i64) -> Outcome<i64> {
    if size <= 0 {
        return Err("permute size parameter must be greater than zero".to_owned());
    }
    let mask = (size as u64).next_power_of_two() - 1;
    let half = (mask.count_ones() / 2).max(1);
    let mut at = value.rem_euclid(size) as u64;
    loop {
        for round in 0..4 {
            let key = mix(seed as u64 ^ (round << 56));
            at = at.wrapping_mul(key | 1).wrapping_add(key >> 32) & mask;
            at ^= at >> half;
        }
        if at < size as u64 {
            return Ok(at as i64);
        }
    }
}

#[cfg(test)]
mod tests {
    use perbuck_core::units::Seed;

    use super::*;
    use crate::testing::near;

    #[test]
    fn hashes_are_the_published_ones() {
        // What PostgreSQL's pgbench gives for them.
        assert_eq!(murmur2(10, 5432), -5_817_877_081_768_721_676);
        assert_eq!(fnv1a(10, 5432), -7_793_829_335_365_542_153);
    }

    #[test]
    fn every_size_is_permuted() {
        for size in [1, 2, 3, 5, 16, 1000] {
            for seed in [0, 1, 5432] {
                let mut seen: Vec<i64> = (0..size).map(|i| permute(i, size, seed).unwrap()).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..size).collect::<Vec<_>>());
            }
        }
        assert_eq!(permute(7, 5, 1), permute(2, 5, 1));
        assert!(permute(0, 0, 1).is_err() && permute(i64::MAX - 1, i64::MAX, 3).is_ok());
        assert_ne!(
            (0..100).map(|i| permute(i, 1000, 1).unwrap()).collect::<Vec<_>>(),
            (0..100).map(|i| permute(i, 1000, 2).unwrap()).collect::<Vec<_>>()
        );
    }

    /// How often each of ten numbers came.
    fn counts(mut draw: impl FnMut(&mut OpRng) -> i64) -> [u32; 10] {
        let mut rng = OpRng::new(Seed(1));
        let mut counts = [0; 10];
        (0..100_000).for_each(|_| counts[draw(&mut rng) as usize - 1] += 1);
        counts
    }

    #[test]
    fn distributions_are_those_of_their_formulas() {
        near(counts(|rng| uniform(rng, 1, 10).unwrap()), |_| 0.1);
        // e^(-p(i)/n) between two neighbours, cut at the range.
        let at = |i: usize| (-2.5 * i as f64 / 10.0_f64).exp();
        near(counts(|rng| exponential(rng, 1, 10, 2.5).unwrap()), |i| (at(i) - at(i + 1)) / (1.0 - at(10)));
        let all: f64 = (1..=10).map(|i| f64::from(i).powf(-1.3)).sum();
        near(counts(|rng| zipfian(rng, 1, 10, 1.3).unwrap()), |i| ((i + 1) as f64).powf(-1.3) / all);
        // The normal distribution between -2.5 and 2.5, in ten equal parts: Φ at 0.5, 1, 1.5, 2 and 2.5.
        let phi = [0.5, 0.691_462_46, 0.841_344_75, 0.933_192_8, 0.977_249_87, 0.993_790_33];
        let half = phi[5] - phi[0];
        near(counts(|rng| gaussian(rng, 1, 10, 2.5).unwrap()), |i| {
            let from_middle = if i < 5 { 4 - i } else { i - 5 };
            (phi[from_middle + 1] - phi[from_middle]) / half / 2.0
        });
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let mut rng = OpRng::new(Seed(1));
        assert_eq!(uniform(&mut rng, 5, 3).unwrap_err(), "empty range given to random");
        assert_eq!(uniform(&mut rng, i64::MIN, i64::MAX).unwrap_err(), "random range is too large");
        assert!(exponential(&mut rng, 0, 10, 0.0).is_err() && gaussian(&mut rng, 0, 10, 1.0).is_err());
        assert!([1.0, 1_000_000.0, f64::NAN].iter().all(|p| zipfian(&mut rng, 0, 10, *p).is_err()));
        assert_eq!(zipfian(&mut rng, 7, 7, 1.5), Ok(7));
    }
}
