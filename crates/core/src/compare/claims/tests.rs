//! Claims on simulated trials whose truth is known.

use super::*;
use crate::audit::Facts;
use crate::compare::points::{compare, of_values};
use crate::compare::{TrialPosition, workload};
use crate::metric::TPS;
use crate::rng::{OpRng, tests::normal};
use crate::stats::Design;
use crate::units::Seed;

struct NoFacts;

impl Facts for NoFacts {}

const LEVELS: [u32; 4] = [1, 4, 16, 64];
/// Where arm passes x86, and how the logarithm of their ratio rises with that of the connections.
const CROSSING: f64 = 20.0;
const RISE: f64 = 0.03;
/// What a patch gives arm.
const PATCH: f64 = 1.05;
const BLOCKS: u32 = 5;

fn study(claims: &str) -> Study {
    let contender = |name| format!("[[contender]]\nname = \"{name}\"\n");
    let workload = |name| format!("[[workload]]\nname = \"{name}\"\nkind = \"k\"\ndatabase = \"{name}\"\n");
    let text = format!(
        "schema = 1\nname = \"s\"\n{}{}{}{}{}[sweep]\nconnections = [1, 4, 16, 64]\n[summary]\nover = [1, 4, 16, 64]\n{claims}",
        contender("x86"),
        contender("arm"),
        contender("patched"),
        workload("reads"),
        workload("writes"),
    );
    Study::read("s.toml", &text, &[]).unwrap()
}

/// The true value of a contender at a load.
fn truth(contender: &str, level: u32) -> f64 {
    let level = f64::from(level);
    let base = 1000.0 * level.powf(0.7);
    let ratio = (RISE * (level.ln() - CROSSING.ln())).exp();
    match contender {
        "x86" => base,
        "arm" => base * ratio,
        _ => base * ratio * PATCH,
    }
}

/// One study of that truth: 2 % of scatter, and 5 % between blocks.
fn measured(study: &Study, seed: u64) -> Vec<WorkloadResult> {
    let mut rng = OpRng::new(Seed(seed));
    let drift: Vec<f64> = (0..BLOCKS).map(|_| 0.05 * normal(&mut rng)).collect();
    let mut all = Vec::new();
    for spec in &study.workloads {
        let mut points = Vec::new();
        for level in LEVELS {
            let first = points.len();
            for contender in &study.contenders {
                let noise: Vec<f64> = (0..BLOCKS).map(|_| 0.02 * normal(&mut rng)).collect();
                let value = |block: u32| truth(&contender.name, level) * (drift[block as usize] + noise[block as usize]).exp();
                let values = (0..BLOCKS).map(|block| (value(block), TrialPosition { deployment: 1, trial: block + 1 }));
                points.push(of_values(&contender.name, level, values, 0.95));
            }
            compare(study, &spec.name, &mut points[first..], TPS.better, Design::Blocks);
        }
        all.push(workload::judged(study, spec, TPS.clone(), points, &LEVELS, &[], Design::Blocks).result);
    }
    all
}

/// How often each claim holds, and fails, in so many studies.
fn outcomes(claims_text: &str, runs: u64) -> Vec<(f64, f64)> {
    let study = study(claims_text);
    let ground = Ground { study: &study, bills: &[], facts: &NoFacts };
    let mut counts = vec![(0u32, 0u32); study.audit.claims.len()];
    for seed in 0..runs {
        for (count, found) in counts.iter_mut().zip(claims(&ground, &measured(&study, seed), false)) {
            assert!(found.outcome != Outcome::NotMeasured, "{}: {}", found.text, found.note);
            count.0 += u32::from(found.outcome == Outcome::Holds);
            count.1 += u32::from(found.outcome == Outcome::Fails);
        }
    }
    counts.into_iter().map(|(holds, fails)| (f64::from(holds) / runs as f64, f64::from(fails) / runs as f64)).collect()
}

fn claim(formula: &str, bounds: &str) -> String {
    format!("[[claim]]\ntext = \"c\"\nformula = \"{formula}\"\n{bounds}\n")
}

const RATIO: &str = "summary('reads', 'arm') / summary('reads', 'x86')";

/// The true ratio of the means over all points.
fn true_ratio() -> f64 {
    let sum = |contender| LEVELS.iter().map(|level| truth(contender, *level)).sum::<f64>();
    sum("arm") / sum("x86")
}

/// Every form of a claim with its true value.
fn forms() -> Vec<(String, f64)> {
    let at = |level: u32, a: &str, b: &str| truth(a, level) / truth(b, level);
    vec![
        (RATIO.to_owned(), true_ratio()),
        ("result('reads', 'arm', 64) / result('reads', 'x86', 64)".to_owned(), at(64, "arm", "x86")),
        ("percent(result('reads', 'arm', 64) / result('reads', 'x86', 64) - 1)".to_owned(), 100.0 * (at(64, "arm", "x86") - 1.0)),
        (format!("mean({RATIO}, {})", RATIO.replace("reads", "writes")), true_ratio()),
        (format!("min({RATIO}, {})", RATIO.replace("reads", "writes")), true_ratio()),
        (format!("max({RATIO}, {})", RATIO.replace("reads", "writes")), true_ratio()),
        ("slope('reads', 'arm') - slope('reads', 'x86')".to_owned(), RISE),
        ("result('reads', 'patched', 16) / result('reads', 'arm', 16)".to_owned(), PATCH),
        ("crossing('reads', 'arm')".to_owned(), CROSSING),
    ]
}

/// Digits that a formula reader takes, so close to the truth that nothing can tell them apart.
fn beside_truth(truth: f64, share: f64) -> String {
    format!("{:.9}", truth + share * truth.abs())
}

#[test]
fn no_form_of_a_claim_is_decided_wrongly_in_more_than_one_of_twenty_studies() {
    let runs = 600;
    let text: String = forms()
        .iter()
        .flat_map(|(formula, truth)| {
            // Just false, just true, and false from both sides: an equivalence whose bound lies at the truth.
            [
                claim(formula, &format!("at_least = {}", beside_truth(*truth, 1e-6))),
                claim(formula, &format!("at_most = {}", beside_truth(*truth, -1e-6))),
                claim(formula, &format!("at_least = {}", beside_truth(*truth, -1e-6))),
                claim(formula, &format!("at_most = {}", beside_truth(*truth, 1e-6))),
                claim(formula, &format!("at_least = {}\nat_most = {}", beside_truth(*truth, -0.5), beside_truth(*truth, -1e-6))),
            ]
        })
        .collect();
    let found = outcomes(&text, runs);
    for ((formula, _), rates) in forms().iter().zip(found.chunks(5)) {
        let wrong = [rates[0].0, rates[1].0, rates[2].1, rates[3].1, rates[4].0];
        assert!(wrong.iter().all(|share| *share <= 0.05), "{formula}: {wrong:?}");
    }
}

#[test]
fn claims_that_are_far_from_their_bounds_are_decided() {
    let text =
        claim(RATIO, "at_least = 0.5") + &claim(RATIO, "at_least = 1.5") + &claim("crossing('reads', 'arm')", "at_most = 60");
    let found = outcomes(&text, 50);
    assert!(found[0].0 == 1.0 && found[1].1 == 1.0 && found[2].0 > 0.5, "{found:?}");
}

#[test]
fn the_interval_of_a_crossing_covers_what_it_says() {
    let study = study(&claim("crossing('reads', 'arm')", "at_most = 1"));
    let ground = Ground { study: &study, bills: &[], facts: &NoFacts };
    let (mut covered, runs) = (0u32, 1500);
    for seed in 0..runs {
        // An interval that is open above covers what lies above its lower end.
        let measured = Measured { ground: &ground, workloads: &measured(&study, 10_000 + seed), independent: false };
        let interval = measured.assess(&study.audit.claims[0].rule.formula).unwrap().interval.unwrap();
        covered += u32::from(interval.low <= CROSSING && interval.high >= CROSSING);
    }
    let share = f64::from(covered) / runs as f64;
    assert!((0.93..=0.97).contains(&share), "{share}");
}

#[test]
fn what_was_not_measured_is_told() {
    let text = claim("result('reads', 'arm', 8)", "at_least = 1")
        + &claim("result('reads', 'arm', 4, 'p95_ms')", "at_least = 1")
        + &claim("1 + crossing('reads', 'arm')", "at_least = 1");
    let study = study(&text);
    let ground = Ground { study: &study, bills: &[], facts: &NoFacts };
    let found = claims(&ground, &measured(&study, 1), false);
    let notes: Vec<&str> = found.iter().map(|c| c.note.as_str()).collect();
    let expected = ["at 8 connections", "is not what is compared", "whole formula"];
    assert!(found.iter().all(|c| c.outcome == Outcome::NotMeasured));
    assert!(notes.iter().zip(expected).all(|(note, says)| note.contains(says)), "{notes:?}");
}

#[test]
fn a_contender_that_is_surely_behind_at_the_end_never_stays_ahead() {
    use super::crossing::crossing;
    use super::linear::Linear;
    let point = |mean: f64| {
        let trial = |(block, off): (u32, f64)| crate::stats::Trial { deployment: 1, block, value: mean + off };
        Linear::mean(&[(1, -0.02), (2, 0.0), (3, 0.02)].map(trial), 0).unwrap()
    };
    let lost = crossing(&[(1.0, point(0.01)), (128.0, point(-0.3))], 0.95).unwrap();
    assert!(lost.from.is_infinite() && lost.interval.unwrap().low.is_infinite(), "no bound from above can hold");
    // Ahead everywhere, and hardly in the middle: the interval holds the value.
    let ahead = crossing(&[(1.0, point(0.3)), (16.0, point(0.01)), (128.0, point(0.3))], 0.95).unwrap();
    let interval = ahead.interval.unwrap();
    assert!(ahead.from == 1.0 && interval.low == 1.0 && (16.0..128.0).contains(&interval.high), "{interval:?}");
}
