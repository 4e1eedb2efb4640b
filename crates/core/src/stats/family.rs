//! Several verdicts at once: Holm's correction over a family of points.

use statrs::distribution::ContinuousCDF;

use super::{Ratio, student};

/// The smallest two-sided error level at which the interval of a ratio decides against a margin: it lies then wholly above
/// 1 + margin, wholly below its inverse, or wholly between the two. At the level α a ratio gets the verdict that the interval of
/// confidence 1 − α gives it, and at most a share of α of such verdicts is wrong. `None` without an interval.
pub fn deciding_level(ratio: &Ratio, margin: f64) -> Option<f64> {
    ratio.interval?;
    let (edge, log) = (margin.ln_1p(), ratio.value.ln());
    // How far the ratio is beyond the edge, or how far inside the nearer one.
    let distance = (log.abs() - edge).abs();
    if ratio.log_error <= 0.0 {
        return Some(if distance > 0.0 { 0.0 } else { 1.0 });
    }
    let t = student(ratio.freedom)?;
    Some(2.0 * t.cdf(-distance / ratio.log_error))
}

/// Which of a family may stand (Holm 1979): the k-th smallest level must be at most the one that `allowed` gives for each of n − k + 1
/// members, and the first one that is not ends the list. Entries without a level are no members.
pub fn holm(levels: &[Option<f64>], allowed: impl Fn(usize) -> f64) -> Vec<bool> {
    let mut order: Vec<(usize, f64)> = levels.iter().enumerate().filter_map(|(i, p)| Some((i, (*p)?))).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut stands = vec![false; levels.len()];
    let members = order.len();
    for (rank, (i, p)) in order.into_iter().enumerate() {
        if p > allowed(members - rank) {
            break;
        }
        stands[i] = true;
    }
    stands
}
