//! How much the trials of a point scatter, and whether other trials of it scatter more.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// The scatter of values around the means of their points, relative to these means.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Deviation {
    /// The sum of the squared distances of logarithms.
    squares: f64,
    /// Its degrees of freedom.
    freedom: f64,
}

impl Deviation {
    /// That of the values of one point; nothing of fewer than two, or where one of them is not above 0.
    pub fn of(values: &[f64]) -> Self {
        let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
        let known = super::mean(&logs).filter(|_| logs.len() > 1 && logs.iter().all(|log| log.is_finite()));
        known.map_or_else(Self::default, |mean| {
            let squares = logs.iter().map(|log| (log - mean).powi(2)).sum();
            Self { squares, freedom: logs.len() as f64 - 1.0 }
        })
    }

    /// That of several points.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { squares: self.squares + other.squares, freedom: self.freedom + other.freedom }
    }

    /// The relative standard deviation, such as 0.02; `None` of nothing.
    pub fn each(self) -> Option<f64> {
        (self.freedom > 0.0).then(|| (self.squares / self.freedom).sqrt())
    }

    /// Its degrees of freedom.
    pub fn freedom(self) -> f64 {
        self.freedom
    }

    /// Whether these trials scatter more than others: what is so by chance in at most this share of cases, by the ratio of variances.
    pub fn exceeds(self, others: Self, level: f64) -> bool {
        let (Some(own), Some(usual)) = (self.each(), others.each()) else { return false };
        let ratio = FisherSnedecor::new(self.freedom, others.freedom);
        usual > 0.0 && ratio.is_ok_and(|ratio| ratio.sf((own / usual).powi(2)) < level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values whose logarithms lie so far from 0, on both sides.
    fn off(distances: &[f64]) -> Deviation {
        Deviation::of(&distances.iter().flat_map(|d| [d.exp(), (-d).exp()]).collect::<Vec<_>>())
    }

    #[test]
    fn deviations_of_points_are_pooled_around_their_own_means() {
        let (first, second) = (Deviation::of(&[100.0, 102.0, 98.0]), Deviation::of(&[1000.0, 1020.0, 980.0]));
        let (one, both) = (first.each().unwrap(), first.and(second).each().unwrap());
        assert!((one - 0.02).abs() < 1e-4 && (both - one).abs() < 1e-9, "{one} {both}");
        assert_eq!([Deviation::of(&[5.0]), Deviation::of(&[0.0, 1.0]), Deviation::of(&[])].map(Deviation::each), [None; 3]);
    }

    #[test]
    fn only_what_is_rare_by_chance_exceeds_a_history() {
        let usual = off(&[0.02; 6]);
        // The square of 2 is at the 2 % point of F with 5 and 11 degrees of freedom; that of 6 is far beyond.
        assert!(!off(&[0.02; 3]).exceeds(usual, 0.001) && !off(&[0.04; 3]).exceeds(usual, 0.001));
        assert!(off(&[0.12; 3]).exceeds(usual, 0.001) && off(&[0.04; 3]).exceeds(usual, 0.05));
        assert!(!off(&[0.12; 3]).exceeds(Deviation::default(), 0.001) && !Deviation::default().exceeds(usual, 0.001));
    }
}
