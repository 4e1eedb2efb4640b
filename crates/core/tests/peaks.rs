//! Intervals of peaks, on simulated studies whose truth is known: the best point is chosen by the trials that give its value.
//! `PERBUCK_STUDIES=20000 cargo test -p perbuck-core --release --test peaks -- --nocapture` prints the table of docs/method/intervals.md.

mod simulated;

use perbuck_core::rng::OpRng;
use perbuck_core::stats::{self, Design, Summarise, Trial};
use perbuck_core::units::Seed;
use simulated::{covers, normal, point, share, studies, table, within};

const TRUTH: f64 = 1.2;
const BLOCKS: [u32; 7] = [3, 4, 5, 8, 10, 15, 20];

/// The true means of up to eight points.
type Curve = Vec<f64>;

fn sharp() -> Curve {
    vec![1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
}

fn flat(points: usize) -> Curve {
    vec![1.0; points]
}

/// A top as of a real sweep: points near the peak lie a few percent below it.
fn round() -> Curve {
    vec![0.82, 0.93, 0.98, 1.0, 0.99, 0.96, 0.92, 0.88]
}

/// Scatter of a trial's value, baseline and contender; both share a block's 3 %.
type Scatter = (f64, f64);

/// The trials of a contender at each point of its curve; blocks move all of them.
fn trials(curve: &Curve, scatter: f64, blocks: &[f64], rng: &mut OpRng) -> Vec<Vec<Trial>> {
    let at = |mean: &f64, rng: &mut OpRng| {
        point(blocks.iter().map(|block| 1000.0 * mean * (1.0 + block + scatter * normal(rng))).collect::<Vec<_>>().into_iter())
    };
    curve.iter().map(|mean| at(mean, rng)).collect()
}

/// Coverage of the ratio of peaks, and of the contender's own peak, by the number of blocks.
fn coverage(base: &Curve, other: &Curve, scatter: Scatter, count: usize) -> [Vec<f64>; 2] {
    let higher: Curve = other.iter().map(|m| m * TRUTH).collect();
    let one = |n: &u32| {
        let mut rng = OpRng::at(Seed(16), other.len() as u64, u64::from(*n));
        let mut own = 0;
        let ratio = share(count, || {
            let blocks: Vec<f64> = (0..*n).map(|_| 0.03 * normal(&mut rng)).collect();
            let below = trials(base, scatter.0, &blocks, &mut rng);
            let above = trials(&higher, scatter.1, &blocks, &mut rng);
            own += usize::from(covers(stats::summary_interval(&above, Summarise::Max, 0.95), 1000.0 * TRUTH));
            let found = stats::ratio(&below, &above, Summarise::Max, 0.95, Design::Blocks);
            covers(found.and_then(|e| e.ratio.interval), TRUTH)
        });
        (ratio, own as f64 / count as f64)
    };
    let (ratios, own) = BLOCKS.iter().map(one).unzip();
    [ratios, own]
}

#[test]
fn intervals_of_peaks_cover_93_to_97_percent_over_1_to_8_points() {
    let count = studies(600);
    let (mut rows, mut owns) = (Vec::new(), Vec::new());
    let even = (0.05, 0.05);
    let named = [("sharp", sharp()), ("round", round())];
    let curves = (1..=8).map(|k| (format!("flat over {k}"), flat(k))).chain(named.map(|(name, c)| (name.to_owned(), c)));
    for (name, curve) in curves {
        let [ratio, own] = coverage(&sharp(), &curve, even, count);
        rows.push((format!("sharp, {name}"), ratio));
        owns.push((format!("peak itself, {name}"), own));
        if curve.len() > 1 && name.starts_with("flat") {
            rows.push((format!("{name}, sharp"), coverage(&curve, &sharp(), even, count)[0].clone()));
        }
    }
    let mut both: Vec<(String, Vec<f64>)> = [(2, 2), (3, 3), (8, 8), (3, 8)]
        .map(|(a, b)| (format!("flat over {a}, flat over {b}"), coverage(&flat(a), &flat(b), even, count)[0].clone()))
        .into();
    for (name, a, b) in
        [("round, flat over 8", round(), flat(8)), ("flat over 2, round", flat(2), round()), ("round, round", round(), round())]
    {
        both.push((name.to_owned(), coverage(&a, &b, even, count)[0].clone()));
    }
    let unlike: Vec<(String, Vec<f64>)> = [(sharp(), flat(8)), (flat(8), sharp()), (flat(8), flat(8))]
        .map(|(a, b)| coverage(&a, &b, (0.01, 0.1), count)[0].clone())
        .into_iter()
        .zip(["sharp, flat", "flat, sharp", "flat, flat"])
        .map(|(shares, name)| (format!("{name}; 1 % and 10 %"), shares))
        .collect();
    for (title, rows) in [("ratio", &rows), ("both flat", &both), ("unlike scatter", &unlike), ("peaks", &owns)] {
        table(&format!("{title}, by {BLOCKS:?} blocks"), rows);
    }
    // The points of a round top count as equal, and of equal points some do not: both make intervals wider than they need be.
    let high = |name: &str| match name {
        "flat over 8, flat over 8" | "round, round" => 0.99,
        _ if name.contains("round") => 0.975,
        _ => 0.97,
    };
    for (name, shares) in rows.iter().chain(&both).chain(&unlike).chain(&owns) {
        assert!(shares.iter().all(|s| within(*s, 0.93, high(name), count)), "{name}: {shares:?}");
    }
}
