//! Where the scatter of a study comes from: from deployment to deployment, or from trial to trial.

/// Variances of the relative difference of two contenders.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Components {
    /// Between deployments, beyond what their trials explain; never below 0.
    pub deployments: f64,
    /// Between the trials of one deployment.
    pub trials: f64,
    /// Degrees of freedom of the variance between trials.
    pub freedom: f64,
}

impl Components {
    /// How many trials each deployment should have, so that the mean is known best for its time (Cochran 1977, section 10.6): a deployment
    /// costs so much by itself, and so much for each of its trials. `None` where deployments do not differ: one of them then does.
    pub fn trials_per_deployment(&self, deployment: f64, trial: f64) -> Option<f64> {
        (self.deployments > 0.0 && trial > 0.0).then(|| (deployment / trial * self.trials / self.deployments).sqrt())
    }
}

/// The components of values by deployment (one-way analysis of variance; deployments of unequal size by their mean one, Searle 1971); `None`
/// for fewer than two deployments, or a single trial in each.
pub fn components(deployments: &[Vec<f64>]) -> Option<Components> {
    let all: Vec<f64> = deployments.iter().flatten().copied().collect();
    let (groups, count) = (deployments.len() as f64, all.len() as f64);
    let whole = super::mean(&all).filter(|_| deployments.len() > 1 && count > groups)?;
    let (mut between, mut within, mut squares) = (0.0, 0.0, 0.0);
    for values in deployments {
        let (n, mean) = (values.len() as f64, super::mean(values)?);
        between += n * (mean - whole).powi(2);
        within += super::variance(values) * (n - 1.0);
        squares += n * n;
    }
    let (between, within) = (between / (groups - 1.0), within / (count - groups));
    let size = (count - squares / count) / (groups - 1.0);
    Some(Components { deployments: ((between - within) / size).max(0.0), trials: within, freedom: count - groups })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_those_of_the_analysis_of_variance() {
        // Means 2, 5 and 8; within: 1 each. Between: 3 × 9 = 27; (27 − 1) / 3.
        let found = components(&[vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0], vec![7.0, 8.0, 9.0]]).unwrap();
        assert!((found.trials - 1.0).abs() < 1e-12 && (found.deployments - 26.0 / 3.0).abs() < 1e-12, "{found:?}");
        // A deployment that costs 12 times a trial, and differs as much as trials do: about three trials in each.
        let each = Components { deployments: 1.0, trials: 0.75, freedom: 6.0 }.trials_per_deployment(12.0, 1.0).unwrap();
        assert!((each - 3.0).abs() < 1e-12);
        assert_eq!(Components { deployments: 0.0, trials: 1.0, freedom: 6.0 }.trials_per_deployment(12.0, 1.0), None);
        assert!(components(&[vec![1.0, 2.0]]).is_none() && components(&[vec![1.0], vec![2.0]]).is_none());
        assert_eq!(components(&[vec![1.0, 3.0], vec![1.0, 3.0]]).unwrap().deployments, 0.0);
    }
}
