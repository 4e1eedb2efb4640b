//! From a ratio to a verdict: the whole interval must lie beyond the margin, or inside it.

use super::result::{Judgement, Verdict, Why, WorkloadResult};
use crate::metric::Better;
use crate::stats::{self, Extended, Interval, Rank, Ratio};
use crate::study::{Decision, Until};

use super::looks::Looks;

/// Below this probability of a verdict within the trials of the study, no more of them are made for it.
const HOPELESS: f64 = 0.1;
/// Fewer blocks know too little of the scatter to give up.
const FEWEST_TO_GIVE_UP: usize = 5;

/// What a ratio rests on, apart from itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Basis {
    /// Blocks, trials of the smaller side, or deployments.
    pub(super) units: usize,
    /// Trials of a point that the plan wants before a verdict, and that are not there.
    pub(super) missing: u32,
    /// Whether they are deployments.
    pub(super) deployed: bool,
    pub(super) published: bool,
    pub(super) better: Better,
}

/// Everything that follows from a ratio by the decision rule.
pub(super) fn judgement(ratio: Ratio, rule: &Decision, basis: Basis, rank: Option<Rank>) -> Judgement {
    let missing = basis.missing;
    let verdict = match judge(&ratio, rule, basis.units) {
        Verdict::Undecided { why: Why::SingleTrial } if basis.published => Verdict::Undecided { why: Why::SingleValue },
        _ if missing > 0 && ratio.interval.is_some() => Verdict::Undecided { why: Why::Unfinished { missing } },
        Verdict::Undecided { why: Why::MoreTrials { more } } if basis.deployed => {
            Verdict::Undecided { why: Why::MoreDeployments { more } }
        }
        Verdict::Better if basis.better == Better::Lower => Verdict::Worse,
        Verdict::Worse if basis.better == Better::Lower => Verdict::Better,
        other => other,
    };
    let detectable = stats::detectable(&ratio, rule.confidence, rule.margin);
    let level = stats::deciding_level(&ratio, rule.margin);
    Judgement { ratio, verdict, detectable, units: basis.units, level, rank }
}

/// The rule; `units` is how many blocks, trials or deployments the error of the ratio comes from.
pub fn judge(ratio: &Ratio, rule: &Decision, units: usize) -> Verdict {
    let Some(interval) = ratio.interval else { return Verdict::Undecided { why: Why::SingleTrial } };
    if let Some(decided) = decided(interval, rule.margin) {
        return decided;
    }
    let extended = Extended { ratio, units, confidence: rule.confidence_of_more(), margin: rule.margin };
    let why = match &rule.until {
        Some(Until { most, .. }) if hopeless(&extended, *most) => Why::Hopeless { most: *most },
        _ => extended.trials_that_decide().map_or(Why::OnTheEdge, |more| Why::MoreTrials { more }),
    };
    Verdict::Undecided { why }
}

/// Whether the other trials of a study that ends by its verdicts would hardly decide.
fn hopeless(extended: &Extended<'_>, most: u32) -> bool {
    let left = most.saturating_sub(extended.units as u32);
    extended.units >= FEWEST_TO_GIVE_UP && extended.chance(left) < HOPELESS
}

pub(super) fn decided(interval: Interval, margin: f64) -> Option<Verdict> {
    let (low, high) = (1.0 / (1.0 + margin), 1.0 + margin);
    if interval.low > high {
        Some(Verdict::Better)
    } else if interval.high < low {
        Some(Verdict::Worse)
    } else if interval.low >= low && interval.high <= high {
        Some(Verdict::Equivalent)
    } else {
        None
    }
}

/// Holm's correction over all points of a study, A/A controls apart: a point keeps its verdict where that stands at the error
/// level of the whole family.
pub(super) fn correct(workloads: &mut [WorkloadResult], looks: &Looks) {
    let controls: Vec<String> =
        workloads.iter().flat_map(|w| &w.contenders).filter(|c| c.control_of.is_some()).map(|c| c.contender.clone()).collect();
    let points = workloads.iter_mut().flat_map(|w| &mut w.points).filter(|c| !controls.contains(&c.contender));
    correct_family(points.filter_map(|c| c.judgement.as_mut()).collect(), looks);
}

/// The same over any family; what has no interval is no member.
pub(super) fn correct_family(mut judged: Vec<&mut Judgement>, looks: &Looks) {
    let levels: Vec<Option<f64>> = judged.iter().map(|j| j.level).collect();
    let of = levels.iter().flatten().count();
    let stands = stats::holm(&levels, |among| looks.level(among));
    for (judgement, stands) in judged.iter_mut().zip(stands) {
        let decided = !matches!(judgement.verdict, Verdict::Undecided { .. });
        if decided && !stands {
            judgement.verdict = Verdict::Undecided { why: Why::Family { of } };
        }
    }
}
