//! Simulated studies whose warm-up is known: a window that pilot trials find is biased by at most one percent.
//!
//! `PERBUCK_STUDIES=2000 cargo test --release -p perbuck-core --test windows -- --nocapture` makes the table of docs/method/windows.md.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod simulated;

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_core::windows::{Windows, find};
use simulated::{normal, studies, table};

const PILOT_S: u32 = 300;

/// The level by second since the start; 1 is where it settles, or what it has in the mean.
type Shape = fn(f64) -> f64;

fn none(_: f64) -> f64 {
    1.0
}

fn step(s: f64) -> f64 {
    if s < 40.0 { 0.6 } else { 1.0 }
}

fn exponential(s: f64) -> f64 {
    1.0 - 0.5 * (-s / 20.0).exp()
}

/// Checkpoints: it falls by a fifth each 40 s, and recovers.
fn sawtooth(s: f64) -> f64 {
    0.9 + 0.2 * (s / 40.0).fract()
}

fn cold_sawtooth(s: f64) -> f64 {
    exponential(s) * sawtooth(s)
}

const SHAPES: [(&str, Shape); 5] = [
    ("none", none),
    ("step", step),
    ("exponential", exponential),
    ("sawtooth", sawtooth),
    ("exponential, sawtooth", cold_sawtooth),
];

/// Noise of a second, and how it is autocorrelated with the second before.
const NOISES: [(f64, f64); 3] = [(0.02, 0.0), (0.03, 0.3), (0.05, 0.5)];

/// A pilot trial of a server whose trials differ by one percent.
fn pilot(rng: &mut OpRng, shape: Shape, (cv, phi): (f64, f64)) -> Vec<f64> {
    let level = 1_000.0 * (1.0 + 0.01 * normal(rng));
    let (mut state, step) = (normal(rng), (1.0 - phi * phi).sqrt());
    let mut next = || {
        let now = state;
        state = phi * now + step * normal(rng);
        now
    };
    (0..PILOT_S).map(|s| level * shape(f64::from(s)) * (1.0 + cv * next())).collect()
}

/// Two contenders, each with three pilot trials.
fn study(number: usize, shape: Shape, noise: (f64, f64)) -> Vec<Vec<Vec<f64>>> {
    let mut rng = OpRng::new(Seed(number as u64));
    (0..2).map(|_| (0..3).map(|_| pilot(&mut rng, shape, noise)).collect()).collect()
}

/// By what share the mean of a window is off the true level, apart from noise.
fn bias(shape: Shape, warmup_s: u32, duration_s: u32) -> f64 {
    (warmup_s..warmup_s + duration_s).map(|s| shape(f64::from(s))).sum::<f64>() / f64::from(duration_s) - 1.0
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = values.collect();
    all.iter().sum::<f64>() / all.len() as f64
}

#[test]
fn what_pilot_trials_find_is_biased_by_at_most_one_percent() {
    let count = studies(40);
    let mut rows = Vec::new();
    for (name, shape) in SHAPES {
        for noise in NOISES {
            let found: Vec<Windows> = (0..count).filter_map(|number| find(&study(number, shape, noise)).ok()).collect();
            let refused = 1.0 - found.len() as f64 / count as f64;
            assert!(refused <= 0.08, "{name} {noise:?}: {refused} of the studies found nothing");
            let biases: Vec<f64> = found.iter().map(|w| bias(shape, w.warmup_s, w.duration_s)).collect();
            let off = mean(biases.iter().copied());
            let worst = biases.iter().fold(0.0_f64, |worst, bias| worst.max(bias.abs()));
            let beyond = mean(biases.iter().map(|bias| f64::from(u8::from(bias.abs() > 0.01))));
            let lengths =
                [mean(found.iter().map(|w| f64::from(w.warmup_s))), mean(found.iter().map(|w| f64::from(w.duration_s)))];
            let fixed = bias(shape, 10, 60);
            rows.push((format!("{name} {noise:?}"), vec![off, worst, beyond, lengths[0] / 100.0, lengths[1] / 100.0, fixed]));
            assert!(off.abs() <= 0.01, "{name} {noise:?}: bias {off}");
            assert!(beyond <= 0.10, "{name} {noise:?}: {beyond} of the studies are off by more than 1 %, the worst by {worst}");
        }
    }
    table("bias % | largest | studies above 1 % | warm-up s | window s | bias of 10 s + 60 s, fixed", &rows);
}

#[test]
fn a_short_fixed_warm_up_would_be_biased_by_more() {
    assert!(bias(step, 10, 60).abs() > 0.1 && bias(exponential, 10, 60).abs() > 0.05);
    assert!(bias(none, 10, 60) == 0.0);
}

#[test]
fn a_server_without_a_transient_waits_for_none() {
    let count = studies(40);
    for noise in NOISES {
        let all = (0..count).filter_map(|number| find(&study(number, none, noise)).ok());
        let warmup = mean(all.map(|w| f64::from(w.warmup_s)));
        assert!(warmup <= 30.0, "{noise:?}: {warmup} s in the mean");
    }
}

#[test]
fn what_is_unsettled_after_a_third_is_refused() {
    let late: [(&str, Shape); 3] = [
        ("ramp", |s| 0.7 + 0.001 * s),
        ("late step", |s| if s < 200.0 { 0.8 } else { 1.0 }),
        ("slow exponential", |s| 1.0 - 0.5 * (-s / 120.0).exp()),
    ];
    for (name, shape) in late {
        let refused = (0..40).filter(|number| find(&study(*number, shape, NOISES[1])).is_err()).count();
        assert!(refused >= 38, "{name}: {refused} of 40");
    }
}
