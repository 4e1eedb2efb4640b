//! Rare stalls and labels of outliers, on simulated studies whose truth is known.
//! `PERBUCK_STUDIES=20000 cargo test -p perbuck-core --release --test stalls -- --nocapture` prints the tables of docs/method.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod simulated;

use perbuck_core::histogram::Histogram;
use perbuck_core::rng::OpRng;
use perbuck_core::stats::{self, Design, Summarise, label_outliers, median};
use perbuck_core::units::Seed;
use simulated::{covers, normal, point, share, studies, table, within};

/// One trial in ten loses 30 %.
const STALLED: f64 = 0.1;
const LOSS: f64 = 0.3;
const MARGIN: f64 = 0.03;
const COUNTS: [usize; 9] = [3, 4, 5, 6, 8, 10, 12, 15, 20];

/// As the comparison flags a point: a labelled trial more than the margin below the middle.
fn flagged(values: &[f64]) -> bool {
    let middle = median(values);
    label_outliers(values).iter().any(|l| values[l.index] * (1.0 + MARGIN) < middle)
}

/// What became of simulated studies, as shares of all.
#[derive(Debug, Default)]
struct Outcomes {
    covered: f64,
    /// Not covered, and flagged.
    flagged: f64,
    /// Not covered and not flagged, though a trial stalled.
    silent: f64,
    /// Not covered, and no trial stalled: nothing in the data tells.
    unseen: f64,
}

/// The contender is seen at so many points; a trial that stalls at any of them flags it.
fn outcomes(trials: usize, points: usize, scatter: f64, count: usize) -> Outcomes {
    let mut rng = OpRng::at(Seed(21), (scatter * 1e3) as u64, trials as u64);
    let mut found = Outcomes::default();
    for _ in 0..count {
        let base: Vec<f64> = (0..trials).map(|_| 1000.0 * (1.0 + scatter * normal(&mut rng))).collect();
        let others: Vec<Vec<(bool, f64)>> = (0..points).map(|_| stalling(trials, scatter, &mut rng)).collect();
        let values = |point: &Vec<(bool, f64)>| point.iter().map(|(_, value)| *value).collect::<Vec<f64>>();
        let stalls = others.iter().flatten().any(|(stalls, _)| *stalls);
        let sides = [&base, &values(&others[0])].map(|values| vec![point(values.iter().copied())]);
        let ratio = stats::ratio(&sides[0], &sides[1], Summarise::Mean, 0.95, Design::Blocks).unwrap().ratio;
        let outcome = if covers(ratio.interval, 1.2 * (1.0 - STALLED * LOSS)) {
            &mut found.covered
        } else if flagged(&base) || others.iter().any(|o| flagged(&values(o))) {
            &mut found.flagged
        } else if stalls {
            &mut found.silent
        } else {
            &mut found.unseen
        };
        *outcome += 1.0 / count as f64;
    }
    found
}

/// Trials with whether they stalled.
fn stalling(trials: usize, scatter: f64, rng: &mut OpRng) -> Vec<(bool, f64)> {
    let one = |_| {
        let stalls = rng.unit_f64() < STALLED;
        (stalls, 1200.0 * if stalls { 1.0 - LOSS } else { 1.0 } * (1.0 + scatter * normal(rng)))
    };
    (0..trials).map(one).collect()
}

#[test]
fn a_study_with_a_stall_is_covered_or_flagged_and_one_without_cannot_tell() {
    let count = studies(1_000);
    for (points, scatter) in [(1, 0.01), (1, 0.02), (5, 0.02)] {
        let all = COUNTS.map(|n| outcomes(n, points, scatter, count));
        let row = |name: &str, of: &dyn Fn(&Outcomes) -> f64| (name.to_owned(), all.iter().map(of).collect::<Vec<f64>>());
        let rows = [
            row("covered", &|o| o.covered),
            row("not covered, flagged", &|o| o.flagged),
            row("silent", &|o| o.silent),
            row("no trial stalled", &|o| o.unseen),
        ];
        table(&format!("stalls, {points} points, scatter {} %, {COUNTS:?} trials", scatter * 100.0), &rows);
        for (n, found) in COUNTS.iter().zip(&all) {
            // Of three trials at a point, two alike do not tell that the third stalled.
            assert!(found.silent <= if points > 1 && *n < 6 { 0.08 } else { 0.01 }, "{n}: {found:?}");
            // Whoever is told how rare a stall can go unseen is told of one trial in ten.
            let told = stats::share_interval(0, *n * points, 0.95).high >= STALLED;
            assert!(found.unseen <= 0.05 || told, "{n}: {found:?}");
        }
    }
}

#[test]
fn normal_trials_are_flagged_seldom_and_labelled_in_5_percent_of_points() {
    let count = studies(20_000);
    let counts = [3usize, 4, 5, 6, 7, 8, 10, 15, 20, 30, 60];
    let rates = |is: &dyn Fn(&[f64]) -> bool| {
        counts.map(|n| {
            let mut rng = OpRng::at(Seed(22), 0, n as u64);
            share(count, || is(&(0..n).map(|_| 100.0 + normal(&mut rng)).collect::<Vec<f64>>()))
        })
    };
    let labelled = rates(&|values| !label_outliers(values).is_empty());
    let rows = [("labelled".to_owned(), labelled.to_vec()), ("flagged".to_owned(), rates(&flagged).to_vec())];
    table(&format!("normal trials of 1 %, {counts:?} of them"), &rows);
    assert!(labelled.iter().all(|s| within(*s, 0.045, 0.055, count)), "{labelled:?}");
    assert!(rows[1].1.iter().all(|s| *s <= 0.035), "{rows:?}");
}

/// What a stall does to the requests of a trial.
#[derive(Debug, Clone, Copy)]
enum Stall {
    /// All take as much longer as the throughput falls.
    Slow,
    /// 3 % of them take twenty times as long.
    Tail,
}

/// A trial of 2,000 requests.
fn run(stall: Option<Stall>, rng: &mut OpRng) -> Histogram {
    let scale = 2e6 * (0.02 * normal(rng)).exp();
    let mut h = Histogram::new();
    for i in 0..2_000 {
        let long = match stall {
            Some(Stall::Slow) => 1.0 / (1.0 - LOSS),
            Some(Stall::Tail) if i % 33 == 0 => 20.0,
            _ => 1.0,
        };
        h.record((-(1.0 - (f64::from(i) + 0.5) / 2_000.0).ln() * scale * long) as u64);
    }
    h
}

/// docs/method/latency.md gives these as a limit.
#[test]
fn the_interval_of_p99_covers_less_where_few_trials_stall() {
    let (count, trials) = (studies(300), [3, 5, 10, 20]);
    for stall in [Stall::Slow, Stall::Tail] {
        let mut rng = OpRng::at(Seed(23), 0, 0);
        let drawn = |rng: &mut OpRng| (rng.unit_f64() < STALLED).then_some(stall);
        let mut all = Histogram::new();
        (0..3_000).for_each(|i| all.merge(&run((i % 10 == 0).then_some(stall), &mut rng)));
        let truth = all.percentile_ns(99.0).unwrap() as f64;
        let mut rows = vec![("covered".to_owned(), Vec::new()), ("no trial stalled".to_owned(), Vec::new())];
        for n in trials {
            let mut unseen = 0;
            let covered = share(count, || {
                let mut merged = stats::Merged::default();
                let stalls: Vec<Option<Stall>> = (0..n).map(|_| drawn(&mut rng)).collect();
                stalls.iter().for_each(|s| merged.add(&run(*s, &mut rng)));
                let covers = covers(merged.percentiles(&[99.0], 0.95)[0].interval, truth);
                unseen += usize::from(!covers && stalls.iter().all(Option::is_none));
                covers
            });
            rows[0].1.push(covered);
            rows[1].1.push(unseen as f64 / count as f64);
            // Nearly all that is not covered is a study in which no trial stalled.
            assert!(covered + unseen as f64 / count as f64 > 0.9, "{stall:?} {n}: {covered} {unseen}");
        }
        table(&format!("p99, {stall:?}, {trials:?} trials"), &rows);
    }
}
