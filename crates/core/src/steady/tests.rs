//! Known answers of the verdict on steadiness, and how often it is wrong on noise.

use super::*;
use crate::rng::{OpRng, tests::normal};
use crate::units::Seed;

/// `n` seconds of a level of 1,000 with a coefficient of variation, each second alike to the one before by `phi`.
fn noise(rng: &mut OpRng, n: usize, cv: f64, phi: f64) -> Vec<f64> {
    let mut state = normal(rng);
    let step = (1.0 - phi * phi).sqrt();
    let mut next = || {
        let value = 1_000.0 * (1.0 + cv * state);
        state = phi * state + step * normal(rng);
        value
    };
    (0..n).map(|_| next()).collect()
}

/// Series that are flat but for `shape`, a factor by second, and two percent of noise.
fn shaped(seed: u64, n: usize, shape: impl Fn(f64) -> f64) -> Vec<f64> {
    let flat = noise(&mut OpRng::new(Seed(seed)), n, 0.02, 0.0);
    flat.iter().enumerate().map(|(i, y)| y * shape(i as f64)).collect()
}

#[test]
fn a_constant_is_settled_and_has_no_slope() {
    for level in [1_000.0, 0.1] {
        let s = judge(&[level; 70], 10);
        assert_eq!((s.mser5_truncation_s, s.slope_p_value, s.verdict), (Some(0), Some(1.0), Settled::Settled));
        assert!(s.slope_percent.unwrap().abs() < 1e-9);
    }
}

#[test]
fn zeros_have_no_slope_and_do_not_move() {
    let s = judge(&[0.0; 70], 10);
    assert_eq!((s.mser5_truncation_s, s.slope_percent, s.slope_p_value, s.verdict), (Some(0), None, None, Settled::Settled));
}

#[test]
fn short_trials_are_too_short_unless_they_drift() {
    for (n, warmup) in [(0, 0), (3, 1), (3, 9), (39, 10), (70, 51)] {
        assert_eq!(judge(&shaped(1, n, |_| 1.0), warmup).verdict, Settled::TooShortToTell, "{n} {warmup}");
    }
    assert_eq!(judge(&[5.0; 19], 0).slope_percent, None);
    assert_eq!(judge(&[5.0; 39], 0).mser5_truncation_s, None);
    assert_eq!(judge(&shaped(1, 35, |t| 1.0 - t / 100.0), 10).verdict, Settled::Drifting);
    assert_eq!(judge(&shaped(1, 40, |_| 1.0), 10).verdict, Settled::Settled);
}

#[test]
fn a_line_has_the_slope_of_the_line() {
    // 1,000 to 1,200 over 100 s, without noise: 2/s · 100 s of a mean of 1,099.
    let line: Vec<f64> = (0..110).map(|i| 980.0 + 2.0 * f64::from(i)).collect();
    let s = judge(&line, 10);
    assert!((s.slope_percent.unwrap() - 200.0 / 1_099.0 * 100.0).abs() < 1e-9);
    assert_eq!((s.slope_p_value, s.verdict, s.mser5_truncation_s), (Some(0.0), Settled::Drifting, None));
    for seed in 0..20 {
        for change in [-0.15, 0.15] {
            let s = judge(&shaped(seed, 130, |t| 1.0 + change * (t - 10.0) / 120.0), 10);
            assert_eq!(s.verdict, Settled::Drifting, "{seed}");
            let percent = change * 100.0 / (1.0 + change / 2.0);
            assert!((s.slope_percent.unwrap() - percent).abs() < 3.0, "{s:?}");
        }
    }
    // Two percent are real but do not matter.
    let s = judge(&shaped(1, 630, |t| 1.0 + 0.02 * t / 600.0), 30);
    assert!(s.slope_p_value.unwrap() < 0.01);
    assert_eq!(s.verdict, Settled::Settled);
}

#[test]
fn a_step_is_found_where_it_is() {
    let step = |t: f64| if t < 25.0 { 0.8 } else { 1.0 };
    for seed in 0..20 {
        let series = shaped(seed, 130, step);
        let s = judge(&series, 10);
        assert_eq!(s.verdict, Settled::WarmupTooShort, "{seed}");
        assert!(s.mser5_truncation_s.is_none_or(|cut| cut >= 25), "{s:?}");
        // A warm-up that holds all of it is long enough.
        assert_eq!(judge(&series, 25).verdict, Settled::Settled, "{seed}");
    }
    // By hand: five batches of 800, then 1,000 without noise; everything before second 25 is worth cutting, nothing after.
    let exact: Vec<f64> = (0..130).map(|t| 1_000.0 * step(f64::from(t))).collect();
    assert_eq!(judge(&exact, 10).mser5_truncation_s, Some(25));
    // A step of one percent is found, but does not matter.
    let small: Vec<f64> = (0..130).map(|t| if t < 25 { 990.0 } else { 1_000.0 }).collect();
    let s = judge(&small, 10);
    assert_eq!((s.mser5_truncation_s, s.verdict), (Some(25), Settled::Settled));
}

#[test]
fn a_decaying_transient_asks_for_a_longer_warm_up() {
    for seed in 0..20 {
        let series = shaped(seed, 190, |t| 1.0 - 0.6 * (-t / 15.0).exp());
        assert_eq!(judge(&series, 5).verdict, Settled::WarmupTooShort, "{seed}");
        assert_eq!(judge(&series, 70).verdict, Settled::Settled, "{seed}");
    }
}

#[test]
fn a_late_fall_is_a_drift() {
    for seed in 0..20 {
        let series = shaped(seed, 130, |t| if t > 100.0 { 0.7 } else { 1.0 });
        assert_eq!(judge(&series, 10).verdict, Settled::Drifting, "{seed}");
    }
}

#[test]
fn checkpoints_every_ten_seconds_are_no_drift() {
    for seed in 0..10 {
        for start in 0..10 {
            for n in [40, 67, 130, 330] {
                let dip = |t: f64| if (t as usize + start) % 10 < 2 { 0.6 } else { 1.0 };
                let s = judge(&shaped(seed, n, dip), 10);
                assert_eq!(s.verdict, Settled::Settled, "{seed} {start} {n}: {s:?}");
            }
        }
    }
}

#[test]
fn flat_noise_seldom_has_another_verdict() {
    let trials = 500;
    for (n, warmup) in [(40, 10), (70, 10), (130, 10), (330, 30)] {
        for (cv, phi) in [(0.02, 0.0), (0.05, 0.0), (0.05, 0.5), (0.05, 0.7), (0.15, 0.5)] {
            let mut rng = OpRng::new(Seed(3));
            let (mut short, mut drifting) = (0, 0);
            for _ in 0..trials {
                match judge(&noise(&mut rng, n, cv, phi), warmup).verdict {
                    Settled::Settled => {}
                    Settled::WarmupTooShort => short += 1,
                    Settled::Drifting => drifting += 1,
                    Settled::TooShortToTell => panic!("{n} seconds are enough"),
                }
            }
            assert!(short * 100 < trials * 5, "{n} s, cv {cv}, alike {phi}: {short} of {trials} too short");
            assert!(drifting * 1_000 < trials * 65, "{n} s, cv {cv}, alike {phi}: {drifting} of {trials} drifting");
        }
    }
}

#[test]
fn stored_as_words() {
    let s = judge(&[7.0; 10], 2);
    let text = serde_json::to_string(&s).unwrap();
    let expected = r#"{"mser5_truncation_s":null,"slope_percent":null,"slope_p_value":null,"verdict":"too-short-to-tell"}"#;
    assert_eq!(text, expected);
    assert_eq!(serde_json::from_str::<Steadiness>(&text).unwrap(), s);
}
