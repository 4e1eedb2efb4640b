//! Which trials lie apart. They are labelled and stay in every value: a bad trial that happened belongs to the system.

/// Fewer trials than this have no quartiles worth the name.
const FEWEST: usize = 5;
/// Tukey's (1977) fences: so many interquartile ranges beyond the quartiles.
const FENCE: f64 = 1.5;
/// The modified z above which Iglewicz and Hoaglin (1993) call a value an outlier.
const MODIFIED_Z: f64 = 3.5;
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

/// The values that Tukey's fences and the modified z both call outliers. One of the two alone is too easily satisfied by a few
/// trials: in five normal ones Tukey's fences see an outlier in every fifth study.
pub fn label_outliers(values: &[f64]) -> Vec<Label> {
    if values.len() < FEWEST {
        return Vec::new();
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, middle, high) = (quantile(&sorted, 0.25), quantile(&sorted, 0.5), quantile(&sorted, 0.75));
    let reach = FENCE * (high - low);
    let mut off: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    off.sort_by(f64::total_cmp);
    let mad = quantile(&off, 0.5);
    let scale =
        if mad > 0.0 { mad / MAD_OF_NORMAL } else { off.iter().sum::<f64>() / off.len() as f64 / MEAN_DEVIATION_OF_NORMAL };
    if scale <= 0.0 {
        return Vec::new();
    }
    let label = |(index, v): (usize, &f64)| {
        let (modified_z, outside) = ((v - middle) / scale, *v < low - reach || *v > high + reach);
        (outside && modified_z.abs() > MODIFIED_Z).then_some(Label { index, modified_z })
    };
    values.iter().enumerate().filter_map(label).collect()
}

/// The quantile between the nearest two of sorted values (Hyndman and Fan's seventh definition).
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let (low, part) = (position.floor() as usize, position.fract());
    let next = sorted[(low + 1).min(sorted.len() - 1)];
    sorted[low] + part * (next - sorted[low])
}
