//! How often something happens that few trials have seen, or not seen.

use statrs::distribution::{Beta, ContinuousCDF};

use super::Interval;

/// The interval of the share of trials that stall, of which `seen` of `trials` did (Clopper and Pearson 1934). With none seen it is
/// one-sided: up to 1 − (1 − confidence)^(1/trials), which for many trials is the rule of three (Hanley and Lippman-Hand 1983).
pub fn share_interval(seen: usize, trials: usize, confidence: f64) -> Interval {
    let alpha = 1.0 - confidence;
    if seen == 0 || trials == 0 {
        return Interval { low: 0.0, high: if trials == 0 { 1.0 } else { 1.0 - alpha.powf(1.0 / trials as f64) } };
    }
    let (k, n) = (seen.min(trials) as f64, trials as f64);
    let quantile = |a: f64, b: f64, share: f64| Beta::new(a, b).map_or(0.0, |beta| beta.inverse_cdf(share));
    let high = if seen >= trials { 1.0 } else { quantile(k + 1.0, n - k, 1.0 - alpha / 2.0) };
    Interval { low: quantile(k, n - k + 1.0, alpha / 2.0), high }
}
