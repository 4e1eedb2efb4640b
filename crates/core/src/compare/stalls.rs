//! Trials in which a target stalled. So few trials do not tell how often that happens, so the intervals of such a contender do not hold.
//!
//! An interval of some trials covers what they have seen. Where none stalled, a stall may still be a part of the long-run mean that no
//! trial has shown: no rule that looks at data can tell that (Bahadur and Savage 1956), and how rare it must be is all that can be said.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::result::{PointResult, WorkloadResult};
use crate::metric::Better;
use crate::stats::{self, Interval};
use crate::study::Decision;

/// How often a contender stalled on a workload.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stalls {
    /// Its trials that stalled. Where this is above 0 its intervals do not hold.
    pub seen: usize,
    /// All of its trials.
    pub trials: usize,
    /// The share of trials that stall, from 0 to 1, as far as so many can tell.
    pub share: Interval,
}

/// Marks trials that stalled, and counts them by contender.
pub(super) fn fill(result: &mut WorkloadResult, rule: &Decision) {
    for point in &mut result.points {
        mark(point, result.metric.better, rule.margin);
    }
    for contender in &mut result.contenders {
        let mine = result.points.iter().filter(|p| p.contender == contender.contender);
        let (seen, trials) = mine.fold((0, 0), |(seen, trials), p| (seen + p.stalled.len(), trials + p.values.len()));
        contender.stalls =
            (trials > 1).then(|| Stalls { seen, trials, share: stats::share_interval(seen, trials, rule.confidence) });
    }
}

/// To the trials of a point with a long gap come those that lie apart on the bad side, by more than the margin. What most trials of a point
/// do is no stall but its speed.
fn mark(point: &mut PointResult, better: Better, margin: f64) {
    let middle = stats::median(&point.values);
    let bad = |value: f64| match better {
        Better::Higher => value * (1.0 + margin) < middle,
        Better::Lower => value > middle * (1.0 + margin),
    };
    let apart = stats::label_outliers(&point.values).into_iter().map(|label| label.index).filter(|i| bad(point.values[*i]));
    point.stalled.extend(apart.filter_map(|i| point.positions.get(i)));
    point.stalled.sort_by_key(|p| (p.deployment, p.trial));
    point.stalled.dedup();
    if point.stalled.len() * 2 > point.values.len() {
        point.stalled.clear();
    }
    if let Some(objective) = point.objective.as_mut().filter(|_| !point.stalled.is_empty()) {
        objective.surely = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::findings::TrialPosition;
    use crate::compare::points::of_values;

    fn stalled(values: &[f64], better: Better) -> Vec<u32> {
        let placed = values.iter().zip(1..).map(|(value, trial)| (*value, TrialPosition { deployment: 1, trial }));
        let mut point = of_values("a", 8, placed, 0.95);
        mark(&mut point, better, 0.03);
        point.stalled.iter().map(|p| p.trial).collect()
    }

    #[test]
    fn a_trial_far_on_the_bad_side_stalled() {
        let values = [100.0, 101.0, 70.0, 99.0, 100.5];
        assert_eq!((stalled(&values, Better::Higher), stalled(&values, Better::Lower)), (vec![3], vec![]));
        let slow = [10.0, 10.1, 14.0, 9.9, 10.05];
        assert_eq!((stalled(&slow, Better::Higher), stalled(&slow, Better::Lower)), (vec![], vec![3]));
        // Far in robust deviations, and by less than the margin.
        assert_eq!(stalled(&[100.0, 100.01, 98.0, 99.99, 100.02], Better::Higher), Vec::<u32>::new());
    }
}
