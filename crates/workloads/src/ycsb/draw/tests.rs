//! Every law against its closed form. Draws are seeded, so a test that holds once holds always.

use std::collections::HashMap;

use perbuck_core::units::Seed;

use super::zipfian::zeta;
use super::*;
use crate::ycsb::options::tests::options;

const MILLION: u64 = 1_000_000;
/// So many that the tenth of a Zipfian million comes 26 000 times: 2 % are three standard deviations then.
const MANY: u64 = 4_000_000;
const DRAWS: u64 = 1_000_000;

fn count(mut draw: impl FnMut(&mut OpRng) -> u64) -> HashMap<u64, u64> {
    let mut rng = OpRng::new(Seed(11));
    let mut counts = HashMap::new();
    (0..DRAWS).for_each(|_| *counts.entry(draw(&mut rng)).or_default() += 1);
    counts
}

/// Shares of ten values among many draws.
fn top(values: [u64; 10], mut draw: impl FnMut(&mut OpRng) -> u64) -> [f64; 10] {
    let (mut rng, mut counts) = (OpRng::new(Seed(11)), [0u64; 10]);
    for _ in 0..MANY {
        let drawn = draw(&mut rng);
        if let Some(i) = values.iter().position(|v| *v == drawn) {
            counts[i] += 1;
        }
    }
    counts.map(|n| n as f64 / MANY as f64)
}

/// The first ten ranks.
fn ten(of: impl Fn(u64) -> u64) -> [u64; 10] {
    std::array::from_fn(|i| of(i as u64))
}

fn share(counts: &HashMap<u64, u64>, value: u64) -> f64 {
    counts.get(&value).copied().unwrap_or(0) as f64 / DRAWS as f64
}

/// The share is within 2 % of what theory says.
#[track_caller]
fn agrees(found: f64, theory: f64) {
    assert!((found / theory - 1.0).abs() < 0.02, "{found} where theory says {theory}");
}

/// The shares of ten ranks are within 2 % of what theory says.
#[track_caller]
fn all_agree(shares: [f64; 10], theory: impl Fn(u64) -> f64) {
    shares.into_iter().zip(0..).for_each(|(share, rank)| agrees(share, theory(rank)));
}

/// What Zipf's law gives a rank, but for the sum of all.
fn zipf(rank: u64) -> f64 {
    ((rank + 1) as f64).powf(-THETA)
}

/// Draws from a million records that are all there.
fn million(properties: &[(&str, &str)]) -> impl FnMut(&mut OpRng) -> u64 {
    let all: Vec<(&str, &str)> = properties.iter().copied().chain([("recordcount", "1000000")]).collect();
    let mut records = Records::new(&options(&all));
    move |rng| records.draw(rng, MILLION, 0)
}

fn records(properties: &[(&str, &str)]) -> HashMap<u64, u64> {
    count(million(properties))
}

#[test]
fn sums_agree_with_those_added_term_by_term_and_with_the_constant_of_ycsb() {
    for n in [1, 2, 4096, 4097, 5_000, MILLION] {
        let added: f64 = (1..=n).rev().map(|i| (i as f64).powf(-THETA)).sum();
        assert!((zeta(n) / added - 1.0).abs() < 1e-12, "{n}: {} and {added}", zeta(n));
    }
    assert!((zeta(SCRAMBLED_RANKS) / SCRAMBLED_ZETA - 1.0).abs() < 1e-9, "{}", zeta(SCRAMBLED_RANKS));
}

#[test]
fn a_law_that_grew_is_that_of_its_size() {
    let mut gray = Gray::new(1);
    for ranks in [2, 3, 60, 124, 125, 4_096, 4_097, 4_150, 1_000_000, 1_000_003, 17] {
        gray = gray.resized(ranks);
        let fresh = Gray::new(ranks);
        for rank in 0..ranks.min(20) {
            assert!((gray.share(rank) - fresh.share(rank)).abs() < 1e-12 || ranks < 4, "{ranks} {rank}");
        }
    }
}

#[test]
fn the_exact_law_is_that_of_zipf() {
    let law = Ranks::new(Law::Exact, MILLION);
    let shares = top(ten(|rank| rank), |rng| law.draw(rng));
    all_agree(shares, |rank| zipf(rank) / zeta(MILLION));
}

#[test]
fn the_law_of_ycsb_is_that_of_its_formula_and_exact_for_two_ranks() {
    let gray = Gray::new(MILLION);
    let shares = top(ten(|rank| rank), |rng| gray.draw(rng));
    all_agree(shares, |rank| gray.share(rank));
    for (rank, off) in [(0, 0.0), (1, 0.0), (2, 0.194), (9, 0.036), (99, -0.0115)] {
        let times = gray.share(rank) / (zipf(rank) / zeta(MILLION));
        assert!((times - 1.0 - off).abs() < 0.001, "rank {rank}: {times}");
    }
    let sum: f64 = (0..1000).map(|rank| Gray::new(1000).share(rank)).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
}

#[test]
fn few_ranks_are_drawn_without_a_gap() {
    for ranks in [1, 2, 3, 10] {
        let gray = Gray::new(ranks);
        let counts = count(|rng| gray.draw(rng));
        assert_eq!(counts.len() as u64, ranks);
        assert!(counts.keys().all(|rank| *rank < ranks), "{counts:?}");
    }
}

#[test]
fn zipfian_requests_are_frequent_where_the_hash_puts_their_rank() {
    let theory = Gray::with_zeta(SCRAMBLED_RANKS, SCRAMBLED_ZETA);
    for compat in [Compat::Ycsb, Compat::GoYcsb] {
        let hot = ten(|rank| hash(compat, rank) % (MILLION + 1));
        let shares = top(hot, million(&[("requestdistribution", "zipfian"), ("compat", compat.name())]));
        all_agree(shares, |rank| theory.share(rank));
        agrees(shares[0], 0.037_78);
    }
}

#[test]
fn exact_zipfian_requests_follow_zipf_over_as_many_ranks() {
    let hot = ten(|rank| hash(Compat::Ycsb, rank) % (MILLION + 1));
    let shares = top(hot, million(&[("requestdistribution", "zipfian"), ("zipfian.law", "exact")]));
    all_agree(shares, |rank| zipf(rank) / SCRAMBLED_ZETA);
}

#[test]
fn latest_requests_count_from_the_newest_record() {
    for (law, of) in [("ycsb", None), ("exact", Some(zeta(MILLION - 1)))] {
        let newest = ten(|rank| MILLION - 1 - rank);
        let shares = top(newest, million(&[("requestdistribution", "latest"), ("zipfian.law", law)]));
        let gray = Gray::new(MILLION - 1);
        all_agree(shares, |rank| of.map_or_else(|| gray.share(rank), |zeta| zipf(rank) / zeta));
    }
}

#[test]
fn latest_follows_the_end_of_the_records() {
    let mut records = Records::new(&options(&[("recordcount", "1000"), ("requestdistribution", "latest")]));
    let mut rng = OpRng::new(Seed(1));
    for end in [1_000, 1_001, 1_500, 1_499, 2] {
        let drawn: Vec<u64> = (0..10_000).map(|_| records.draw(&mut rng, end, 0)).collect();
        assert!(drawn.iter().all(|r| *r < end));
        assert!(drawn.iter().filter(|r| **r == end - 1).count() > 1_000, "end {end}");
    }
    assert_eq!(records.draw(&mut rng, 1, 0), 0);
}

#[test]
fn hotspot_requests_fall_evenly_into_both_sets() {
    let counts = records(&[("requestdistribution", "hotspot"), ("hotspotdatafraction", "0.1"), ("hotspotopnfraction", "0.7")]);
    let within = |from: u64, to: u64| (from..to).map(|r| share(&counts, r)).sum::<f64>();
    agrees(within(0, 100_000), 0.7);
    for tenth in 0..10 {
        agrees(within(tenth * 10_000, (tenth + 1) * 10_000), 0.07);
        agrees(within(100_000 + tenth * 90_000, 100_000 + (tenth + 1) * 90_000), 0.03);
    }
    assert!(counts.keys().all(|r| *r < MILLION));
    for hot in ["0", "1"] {
        let counts = records(&[("requestdistribution", "hotspot"), ("hotspotdatafraction", hot)]);
        assert!(counts.keys().all(|r| *r < MILLION), "{hot}");
    }
}

#[test]
fn exponential_requests_decay_from_the_newest_record() {
    let counts = records(&[("requestdistribution", "exponential")]);
    let gamma = 20f64.ln() / (MILLION as f64 * 0.857_142_857_1);
    // What would lie before the first record is drawn again.
    let up_to = |back: u64| (1.0 - (-gamma * back as f64).exp()) / (1.0 - (-gamma * MILLION as f64).exp());
    for tenth in 0..10 {
        let (from, to) = (tenth * 100_000, (tenth + 1) * 100_000);
        let found: f64 = (from..to).map(|back| share(&counts, MILLION - 1 - back)).sum();
        agrees(found, up_to(to) - up_to(from));
    }
}

#[test]
fn uniform_and_sequential_requests_cover_the_records() {
    let counts = records(&[("requestdistribution", "uniform"), ("insertstart", "10"), ("insertcount", "1000")]);
    assert_eq!(counts.len(), 1_000);
    // Five standard deviations of 1 000 draws for each.
    assert!(counts.iter().all(|(r, n)| (10..1_010).contains(r) && n.abs_diff(1_000) < 160), "{counts:?}");
    let mut sequential =
        Records::new(&options(&[("recordcount", "5"), ("requestdistribution", "sequential"), ("insertstart", "2")]));
    let mut rng = OpRng::new(Seed(1));
    let drawn: Vec<u64> = (0..7).map(|number| sequential.draw(&mut rng, 5, number)).collect();
    assert_eq!(drawn, [2, 3, 4, 2, 3, 4, 2]);
}

#[test]
fn no_law_draws_a_record_that_is_not_there() {
    for law in ["uniform", "sequential", "zipfian", "latest", "hotspot", "exponential"] {
        let properties =
            [("recordcount", "100"), ("requestdistribution", law), ("insertproportion", "1"), ("operationcount", "1000")];
        let mut records = Records::new(&options(&properties));
        let mut rng = OpRng::new(Seed(2));
        for end in 100..400 {
            for number in 0..50 {
                let record = records.draw(&mut rng, end, number);
                assert!(record < end, "{law} drew {record} of {end}");
            }
        }
    }
}

#[test]
fn new_records_leave_the_popular_ones_where_they_are() {
    let properties =
        [("recordcount", "1000"), ("requestdistribution", "zipfian"), ("insertproportion", "0.05"), ("operationcount", "10000")];
    let mut records = Records::new(&options(&properties));
    let mut rng = OpRng::new(Seed(2));
    let mut most = |end| {
        let mut counts: HashMap<u64, u64> = HashMap::new();
        (0..50_000).for_each(|_| *counts.entry(records.draw(&mut rng, end, 0)).or_default() += 1);
        counts.into_iter().filter(|(record, _)| *record < 1_000).max_by_key(|(_, n)| *n).unwrap().0
    };
    assert_eq!(most(1_000), most(1_900));
}

#[test]
fn scans_and_fields_have_lengths_by_their_law() {
    let lengths = |law: &str| {
        let properties = [("recordcount", "1"), ("minscanlength", "3"), ("maxscanlength", "12"), ("scanlengthdistribution", law)];
        let scans = ScanLengths::new(&options(&properties));
        count(|rng| scans.draw(rng))
    };
    let even = lengths("uniform");
    assert_eq!(even.len(), 10);
    (3..13).for_each(|n| agrees(share(&even, n), 0.1));
    let short = lengths("zipfian");
    agrees(share(&short, 3), 1.0 / zeta(10));
    assert!(short.keys().all(|n| (3..13).contains(n)));
    let field = |lengths: Lengths| {
        let drawn = Drawn::new(&lengths);
        count(|rng| drawn.draw(rng) as u64)
    };
    assert_eq!(field(Lengths::Constant(7)), HashMap::from([(7, DRAWS)]));
    let even = field(Lengths::Uniform(2, 5));
    (2..6).for_each(|n| agrees(share(&even, n), 0.25));
    agrees(share(&field(Lengths::Zipfian(2, 11)), 2), 1.0 / zeta(10));
    let histogram = Lengths::parse_histogram("10: 1 0 3").unwrap();
    assert_eq!(histogram.longest(), 30);
    let weighted = field(histogram);
    agrees(share(&weighted, 10), 0.25);
    agrees(share(&weighted, 30), 0.75);
    assert_eq!(weighted.len(), 2);
    for odd in ["", "10", "0: 1", "10:", "10: 0 0", "10: 1 x", "x: 1", "10: -1"] {
        assert_eq!(Lengths::parse_histogram(odd), None, "{odd}");
    }
}

#[test]
fn operations_come_in_their_proportions() {
    let mix = Mix::new([1.0, 2.0, 0.0, 4.0, 1.0]);
    let counts = count(|rng| u64::from(mix.draw(rng)));
    for (kind, theory) in [(0, 0.125), (1, 0.25), (3, 0.5), (4, 0.125)] {
        agrees(share(&counts, kind), theory);
    }
    assert_eq!(share(&counts, 2), 0.0);
    let only = Mix::new([0.0, 0.0, 0.3, 0.0, 0.0]);
    assert_eq!(count(|rng| u64::from(only.draw(rng))), HashMap::from([(2, DRAWS)]));
}
