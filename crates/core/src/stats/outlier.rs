//! Which trials lie apart. They are labelled and stay in every value: a bad trial that happened belongs to the system.
//!
//! The rule is the modified z of Iglewicz and Hoaglin (1993): distance from the median in robust standard deviations. Their threshold of
//! 3.5 labels a value in a fifth of all normal samples of five, so here it depends on the number of trials: of normal samples of any
//! size, 5 % have a labelled value. Median and deviation bear nearly half of the values lying apart, so that stalls do not hide each other.

use statrs::distribution::{ContinuousCDF, Normal};

/// Fewer trials than this have no middle.
const FEWEST: usize = 3;
/// The share of normal samples that have a labelled value.
const RATE: f64 = 0.05;
/// The modified z that the largest of 3, 4, … 20 normal values exceeds with that probability: two million samples of each.
const CRITICAL: [f64; 18] =
    [21.91, 6.93, 7.92, 5.53, 5.85, 4.92, 5.07, 4.58, 4.68, 4.37, 4.44, 4.23, 4.28, 4.13, 4.17, 4.05, 4.09, 3.99];
/// Beyond them it is that of normal values with a known deviation, and this over their number larger (within half a point of the rate).
const BEYOND: f64 = 7.0;
/// The threshold where more than half of the values are equal: Iglewicz and Hoaglin's own.
const OF_EQUALS: f64 = 3.5;
/// A normal distribution's median absolute deviation in standard deviations.
const MAD_OF_NORMAL: f64 = 0.674_5;
/// The same of its mean absolute deviation, which stands in where half of the values are equal.
const MEAN_DEVIATION_OF_NORMAL: f64 = 0.797_9;

/// Why a value counts as an outlier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Label {
    /// Its position.
    pub index: usize,
    /// Its modified z: distance from the median in robust standard deviations, with its sign.
    pub modified_z: f64,
}

/// The values beyond the critical modified z of so many.
pub fn label_outliers(values: &[f64]) -> Vec<Label> {
    if values.len() < FEWEST {
        return Vec::new();
    }
    let middle = median(values);
    let off: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    let mad = median(&off);
    let (scale, critical) = if mad > 0.0 {
        (mad / MAD_OF_NORMAL, critical(values.len()))
    } else {
        (off.iter().sum::<f64>() / off.len() as f64 / MEAN_DEVIATION_OF_NORMAL, OF_EQUALS)
    };
    if scale <= 0.0 {
        return Vec::new();
    }
    let label = |(index, v): (usize, &f64)| {
        let modified_z = (v - middle) / scale;
        (modified_z.abs() > critical).then_some(Label { index, modified_z })
    };
    values.iter().enumerate().filter_map(label).collect()
}

/// The modified z that a value of so many must exceed.
fn critical(count: usize) -> f64 {
    let known = || {
        let share = (1.0 - RATE).powf(1.0 / count as f64);
        Normal::new(0.0, 1.0).map_or(f64::INFINITY, |n| n.inverse_cdf((1.0 + share) / 2.0)) * (1.0 + BEYOND / count as f64)
    };
    CRITICAL.get(count.saturating_sub(FEWEST)).copied().unwrap_or_else(known)
}

/// The middle one, or the mean of the two in the middle; 0 of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.as_slice() {
        [] => 0.0,
        all if all.len() % 2 == 1 => all[half],
        all => (all[half - 1] + all[half]) / 2.0,
    }
}
