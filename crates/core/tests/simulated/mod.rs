//! What the simulations of this folder share: how many studies, normal values, and the tables that they print.
#![allow(unreachable_pub, dead_code, clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests, which print tables")]

use perbuck_core::rng::OpRng;
use perbuck_core::stats::{Interval, Trial};

/// Simulated studies for each entry of a table: `few`, or those of `PERBUCK_STUDIES`, with which the tables of docs/method were made.
pub fn studies(few: usize) -> usize {
    std::env::var("PERBUCK_STUDIES").ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}

/// Whether a share of so many studies is within these bounds, give or take three of its standard errors.
pub fn within(share: f64, low: f64, high: f64, studies: usize) -> bool {
    let error = |bound: f64| 3.0 * (bound * (1.0 - bound) / studies as f64).sqrt();
    share >= low - error(low) && share <= high + error(high)
}

/// The share of studies for which a simulation holds.
pub fn share(studies: usize, mut holds: impl FnMut() -> bool) -> f64 {
    (0..studies).filter(|_| holds()).count() as f64 / studies as f64
}

pub fn normal(rng: &mut OpRng) -> f64 {
    (-2.0 * (1.0 - rng.unit_f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.unit_f64()).cos()
}

pub fn exponential(rng: &mut OpRng) -> f64 {
    -(1.0 - rng.unit_f64()).ln()
}

/// One trial for each block.
pub fn point(values: impl Iterator<Item = f64>) -> Vec<Trial> {
    values.zip(1..).map(|(value, block)| Trial { deployment: 1, block, value }).collect()
}

pub fn covers(interval: Option<Interval>, truth: f64) -> bool {
    interval.is_some_and(|i| i.low <= truth && truth <= i.high)
}

pub fn table(title: &str, rows: &[(String, Vec<f64>)]) {
    println!("{title}");
    for (name, shares) in rows {
        let points: Vec<String> = shares.iter().map(|s| format!("{:.1}", s * 100.0)).collect();
        println!("  {name:<26} {}", points.join(" | "));
    }
}
