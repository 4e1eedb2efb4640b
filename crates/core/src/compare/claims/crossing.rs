//! From how many connections on a contender stays ahead: where the logarithm of its ratio crosses zero for the last time.
//!
//! Between two measured points the logarithm of the ratio is taken as a line over the logarithm of the connections. The interval holds
//! every load at which a test of "the ratio is 1" does not reject: where the true curve crosses, the test rejects with the error level
//! that was asked for, so the interval misses that load as often and no more (inversion of a test, as in Fieller's interval).

use super::linear::Linear;
use crate::stats::Interval;

/// Where a contender passes another.
pub(super) struct Crossing {
    /// Connections from which it stays ahead; infinite where it is not ahead at the last point.
    pub(super) from: f64,
    /// The interval; an infinite end lies beyond the last point. `None` where a point has a single trial.
    pub(super) interval: Option<Interval>,
}

/// The crossing of logarithms of ratios at ascending loads, at least two.
pub(super) fn crossing(points: &[(f64, Linear)], confidence: f64) -> Option<Crossing> {
    let (first, last) = (points.first()?, points.last()?);
    if points.len() < 2 {
        return None;
    }
    let crossed = points.windows(2).rev().find(|pair| pair[0].1.value <= 0.0 && pair[1].1.value > 0.0);
    let from = match crossed {
        _ if last.1.value <= 0.0 => f64::INFINITY,
        None => first.0,
        Some(pair) => {
            let (a, b) = (&pair[0], &pair[1]);
            let share = -a.1.value / (b.1.value - a.1.value);
            (a.0.ln() + share * (b.0.ln() - a.0.ln())).exp()
        }
    };
    if points.iter().any(|(_, ratio)| !ratio.is_known()) {
        return Some(Crossing { from, interval: None });
    }
    let spans: Vec<(f64, f64)> = points.windows(2).flat_map(|pair| equal(&pair[0], &pair[1], confidence)).collect();
    let inside = spans.iter().fold(None, |hull: Option<(f64, f64)>, (low, high)| {
        Some(hull.map_or((*low, *high), |(a, b)| (a.min(*low), b.max(*high))))
    });
    let (mut low, mut high) = inside.unwrap_or((from, from));
    // A curve that may be zero at an end of what was measured may cross beyond it.
    if high >= last.0 || (inside.is_none() && from.is_infinite()) {
        high = f64::INFINITY;
    }
    low = low.max(first.0);
    if from.is_infinite() && high.is_finite() {
        // Surely not ahead at the last point, wherever it may have been before.
        (low, high) = (from, from);
    } else if from.is_finite() {
        (low, high) = (low.min(from), high.max(from));
    }
    Some(Crossing { from, interval: Some(Interval { low, high: high.max(low) }) })
}

/// The loads between two points at which the ratio may be 1: where the square of the logarithm is at most that of its half-width.
fn equal(a: &(f64, Linear), b: &(f64, Linear), confidence: f64) -> Vec<(f64, f64)> {
    let q = a.1.quantile(confidence).max(b.1.quantile(confidence)).powi(2);
    let (aa, ab, bb) = (a.1.covariance(&a.1), a.1.covariance(&b.1), b.1.covariance(&b.1));
    let rise = b.1.value - a.1.value;
    // c₂ t² + c₁ t + c₀ ≤ 0 for a share t of the way from a to b.
    let c2 = rise.powi(2) - q * (aa - 2.0 * ab + bb);
    let c1 = 2.0 * a.1.value * rise - 2.0 * q * (ab - aa);
    let c0 = a.1.value.powi(2) - q * aa;
    let at = |t: f64| (a.0.ln() + t * (b.0.ln() - a.0.ln())).exp();
    let within = |low: f64, high: f64| {
        let (low, high) = (low.max(0.0), high.min(1.0));
        (low <= high).then(|| (at(low), at(high)))
    };
    let root = c1.powi(2) - 4.0 * c2 * c0;
    if c2.abs() < 1e-300 {
        // A line, or nothing at all.
        return match c1.total_cmp(&0.0) {
            std::cmp::Ordering::Equal => within(0.0, if c0 <= 0.0 { 1.0 } else { -1.0 }).into_iter().collect(),
            std::cmp::Ordering::Greater => within(0.0, -c0 / c1).into_iter().collect(),
            std::cmp::Ordering::Less => within(-c0 / c1, 1.0).into_iter().collect(),
        };
    }
    if root < 0.0 {
        return within(0.0, if c2 < 0.0 { 1.0 } else { -1.0 }).into_iter().collect();
    }
    let (one, other) = ((-c1 - root.sqrt()) / (2.0 * c2), (-c1 + root.sqrt()) / (2.0 * c2));
    let (low, high) = (one.min(other), one.max(other));
    if c2 > 0.0 {
        within(low, high).into_iter().collect()
    } else {
        [within(0.0, low), within(high, 1.0)].into_iter().flatten().collect()
    }
}
