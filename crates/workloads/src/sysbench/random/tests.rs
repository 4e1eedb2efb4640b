//! Every law against its closed form, on small and large ranges: 50 000 draws of a fixed seed, chi-square at 0.01 %.

use perbuck_core::units::Seed;

use super::*;
use crate::sysbench::options::tests::options;
use crate::testing::chi_square;

const DRAWS: u32 = 50_000;
const SIZES: [i64; 6] = [2, 7, 100, 1_001, 1_000_000, i32::MAX as i64];
const BINS: i64 = 200;

fn of(rand_type: RandType) -> Options {
    Options { rand_type, ..options("oltp_read_write", &[]) }
}

/// How far draws are from a law, whose distribution function is given over the number of ids from the first:
/// 1 is the limit. Small ranges have a bin for each id, large ones even bins and fine ones at both hot places.
fn misfit_of(law: &Options, n: i64, below: impl Fn(f64) -> f64) -> f64 {
    let mut ends: Vec<i64> = (1..=BINS).map(|bin| (n as f64 * bin as f64 / BINS as f64) as i64).collect();
    ends.extend(1..=100.min(n));
    ends.extend((0..100).map(|i| n / 2 - 50 + i).filter(|end| *end > 0));
    // Powers of 1.2, for laws whose mass lies at the beginning.
    ends.extend((1..130).map(|e| 1.2f64.powi(e) as i64).filter(|end| *end < n));
    ends.extend([n / 2 - n / 200, n / 2 - n / 400, n / 2 + n / 400, n / 2 + n / 200]);
    ends.retain(|end| *end > 0 && *end <= n);
    ends.push(n);
    ends.sort_unstable();
    ends.dedup();
    let (ids, mut rng) = (Ids::new((law, law.rand_type), 1, n), OpRng::new(Seed(20)));
    let mut counts = vec![0.0; ends.len()];
    for _ in 0..DRAWS {
        let id = ids.draw(&mut rng);
        assert!((1..=n).contains(&id), "{law:?} gives {id} of {n}");
        counts[ends.partition_point(|end| *end < id)] += 1.0;
    }
    let whole = below(n as f64);
    assert!((whole - 1.0).abs() < 1e-9, "{law:?} of {n}: the closed form comes to {whole}");
    let mut before = 0.0;
    let share = |end: &i64| {
        let upto = below(*end as f64);
        (upto - std::mem::replace(&mut before, upto)) * f64::from(DRAWS)
    };
    let expected: Vec<f64> = ends.iter().map(share).collect();
    misfit(&counts, &expected)
}

fn fits(law: &Options, below: impl Fn(f64, f64) -> f64) {
    for n in SIZES {
        let misfit = misfit_of(law, n, |x| below(x, n as f64));
        assert!(misfit < 1.0, "{law:?} of {n} ids is {misfit} times as far as chance allows");
    }
}

/// Distribution function of the mean of `m` uniforms (Irwin and Hall), for x in 0 to 1. The alternating sum loses its
/// digits above one half, where the law is the mirror image of that below.
fn bates(x: f64, m: u32) -> f64 {
    if x > 0.5 {
        return 1.0 - bates(1.0 - x, m);
    }
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

#[test]
fn uniform_fits() {
    fits(&of(RandType::Uniform), |x, n| x / n);
}

#[test]
fn gaussian_is_the_mean_of_uniforms() {
    for averaged in [1, 2, 12] {
        let law = Options { rand_spec_iter: averaged, ..of(RandType::Gaussian) };
        fits(&law, |x, n| bates(x / n, averaged));
    }
}

#[test]
fn special_has_an_even_band_in_the_middle() {
    for (band_percent, share_percent) in [(1, 75), (10, 50), (0, 75), (100, 75), (1, 0), (1, 100)] {
        let law = Options { rand_spec_pct: band_percent, rand_spec_res: share_percent, ..of(RandType::Special) };
        let share = f64::from(share_percent) / 100.0;
        let below = |x: f64, n: f64| {
            let width = (n * f64::from(band_percent) / 100.0).floor().max(1.0);
            let start = ((n - width) / 2.0).floor();
            share * ((x - start) / width).clamp(0.0, 1.0) + (1.0 - share) * bates(x / n, 12)
        };
        fits(&law, below);
    }
}

#[test]
fn special_of_sysbench_leaves_out_the_first_part_of_its_band() {
    for (band_percent, share_percent) in [(1, 75), (10, 50), (0, 75), (100, 75), (1, 0), (1, 100)] {
        let documented = Options { rand_spec_pct: band_percent, rand_spec_res: share_percent, ..of(RandType::Special) };
        let law = Options { compat: Some(Compat::Sysbench10), ..documented };
        let share = f64::from(share_percent) / 100.0;
        let below = |x: f64, n: f64| {
            let (spread, rest) = (n - 1.0, 1.0 - share);
            let width = spread * f64::from(band_percent) / 100.0 + 1.0;
            let start = spread / 2.0 - (width - 1.0) / 2.0;
            // The position is the whole part of a number, and numbers of the band start at `rest` of it.
            let number = ((x - start) / width).clamp(rest, 1.0) - rest;
            number + rest * bates((x / spread).min(1.0), 12)
        };
        fits(&law, below);
    }
}

#[test]
fn pareto_fits() {
    for h in [0.05f64, 0.2, 0.5, 0.9] {
        let power = (1.0 - h).ln() / h.ln();
        fits(&Options { rand_pareto_h: h, ..of(RandType::Pareto) }, |x, n| (x / n).powf(power));
    }
    // What gives the parameter its meaning: the first fifth of the ids has four fifths of the draws.
    assert!((0.2f64.powf(0.8f64.ln() / 0.2f64.ln()) - 0.8).abs() < 1e-12);
}

/// Sums of `rank^-exponent` over the first ranks.
struct Zeta {
    exponent: f64,
    /// Exactly, by the number of ranks.
    first: Vec<f64>,
}

impl Zeta {
    fn new(exponent: f64) -> Self {
        let mut first = vec![0.0];
        for rank in 1..=5_000 {
            first.push(first[rank - 1] + (rank as f64).powf(-exponent));
        }
        Self { exponent, first }
    }

    /// After the exact ones by Euler and Maclaurin.
    fn of(&self, ranks: f64) -> f64 {
        let exact = (self.first.len() - 1) as f64;
        if ranks <= exact {
            return self.first[ranks as usize];
        }
        let (term, rest) = (|x: f64| x.powf(-self.exponent), 1.0 - self.exponent);
        let integral = if rest == 0.0 { (ranks / exact).ln() } else { (ranks.powf(rest) - exact.powf(rest)) / rest };
        let slopes = term(ranks) / ranks - term(exact) / exact;
        self.first[exact as usize] + integral + (term(ranks) - term(exact)) / 2.0 - self.exponent / 12.0 * slopes
    }
}

#[test]
fn zipfian_fits_for_every_exponent() {
    for exponent in [0.0, 0.5, 0.8, 1.0, 1.0 + 1e-12, 1.2, 2.0, 5.0] {
        let zeta = Zeta::new(exponent);
        fits(&Options { rand_zipfian_exp: exponent, ..of(RandType::Zipfian) }, |x, n| zeta.of(x) / zeta.of(n));
    }
}

#[test]
fn a_wrong_law_does_not_fit() {
    let zipfian = of(RandType::Zipfian);
    let zeta = Zeta::new(0.84);
    assert!(misfit_of(&zipfian, 1_000_000, |x| zeta.of(x) / zeta.of(1_000_000.0)) > 1.0);
    assert!(misfit_of(&of(RandType::Pareto), 1_000, |x| (x / 1_000.0).powf(0.9)) > 1.0);
    let gaussian = Options { rand_spec_iter: 10, ..of(RandType::Gaussian) };
    assert!(misfit_of(&gaussian, 1_000, |x| bates(x / 1_000.0, 12)) > 1.0);
    let special = Options { compat: Some(Compat::Sysbench10), ..of(RandType::Special) };
    let documented = |x: f64| 0.75 * ((x - 49_500.0) / 1_000.0).clamp(0.0, 1.0) + 0.25 * bates(x / 100_000.0, 12);
    assert!(misfit_of(&special, 100_000, documented) > 10.0);
}

#[test]
fn a_scrambled_law_has_the_same_shares_on_other_ids() {
    for law in [Options { rand_zipfian_exp: 1.0, ..of(RandType::Zipfian) }, of(RandType::Pareto)] {
        let n = 1_000;
        let (plain, scrambled) = (
            Ids::new((&law, law.rand_type), 1, n),
            Ids::new((&Options { rand_scramble: true, ..law.clone() }, law.rand_type), 1, n),
        );
        let (mut a, mut b) = (OpRng::new(Seed(3)), OpRng::new(Seed(3)));
        let scramble = Scramble::new(n as u64);
        let mut tenths = [0u32; 10];
        for _ in 0..DRAWS {
            let (id, other) = (plain.draw(&mut a), scrambled.draw(&mut b));
            assert_eq!(other, 1 + scramble.of(id as u64 - 1) as i64);
            tenths[((other - 1) / 100) as usize] += 1;
        }
        // In order the first tenth has more than half of the draws, and the last less than one in fifty.
        assert!(tenths.iter().all(|t| *t > DRAWS / 50), "{law:?}: {tenths:?}");
    }
}

#[test]
fn ranges_start_where_they_should() {
    let mut rng = OpRng::new(Seed(22));
    let old = Options { compat: Some(Compat::Sysbench10), rand_spec_pct: 100, ..of(RandType::Special) };
    let types = [RandType::Uniform, RandType::Gaussian, RandType::Special, RandType::Pareto, RandType::Zipfian];
    for law in types.map(of).into_iter().chain([old]) {
        for (first, last) in [(1, 1), (0, 0), (0, 3), (500, 502), (1, i64::from(i32::MAX))] {
            for scrambled in [false, true] {
                let ids = Ids::new((&Options { rand_scramble: scrambled, ..law.clone() }, law.rand_type), first, last);
                assert!((0..1_000).all(|_| (first..=last).contains(&ids.draw(&mut rng))), "{law:?} {first} {last}");
            }
        }
    }
}

#[test]
fn the_stream_of_an_id_is_kept_by_later_versions() {
    let mut rng = OpRng::new(Seed(1));
    let uniform: Vec<i64> =
        (0..5).map(|_| Ids::new((&of(RandType::Uniform), RandType::Uniform), 1, 10_000).draw(&mut rng)).collect();
    let mut rng = OpRng::new(Seed(1));
    let special: Vec<i64> =
        (0..5).map(|_| Ids::new((&of(RandType::Special), RandType::Special), 1, 10_000).draw(&mut rng)).collect();
    assert_eq!(uniform, [9_903, 4_083, 8_455, 8_929, 9_485]);
    assert_eq!(special, [5_602, 5_037, 2_553, 4_969, 5_031]);
}

/// Chi-square over the value that one of 10 000 right samples exceeds: above 1 the law is not the one expected.
fn misfit(counts: &[f64], expected: &[f64]) -> f64 {
    let (sum, freedom) = chi_square(counts, expected);
    sum / limit(freedom)
}

/// The 99.99 % point of chi-square, by Wilson and Hilferty's cube.
fn limit(freedom: f64) -> f64 {
    let ninth = 2.0 / (9.0 * freedom.max(1.0));
    freedom.max(1.0) * (1.0 - ninth + 3.719 * ninth.sqrt()).powi(3)
}

#[test]
fn the_limit_is_that_of_the_tables() {
    for (freedom, known) in [(10.0, 35.564), (99.0, 161.319), (999.0, 1_175.3)] {
        assert!((limit(freedom) / known - 1.0).abs() < 0.015, "{freedom}: {}", limit(freedom));
    }
}
