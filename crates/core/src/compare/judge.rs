//! From a ratio to a verdict: the whole interval must lie beyond the margin, or inside it.

use super::result::{Judgement, Verdict, Why, WorkloadResult};
use crate::metric::Better;
use crate::stats::{self, Interval, Rank, Ratio};
use crate::study::Decision;

/// The most trials that anyone makes.
const MOST_TRIALS: u32 = 1000;

/// What a ratio rests on, apart from itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Basis {
    /// Blocks, trials of the smaller side, or deployments.
    pub(super) units: usize,
    /// Whether they are deployments.
    pub(super) deployed: bool,
    pub(super) published: bool,
    pub(super) better: Better,
}

/// Everything that follows from a ratio by the decision rule.
pub(super) fn judgement(ratio: Ratio, rule: &Decision, basis: Basis, rank: Option<Rank>) -> Judgement {
    let verdict = match judge(&ratio, rule, basis.units) {
        Verdict::Undecided { why: Why::SingleTrial } if basis.published => Verdict::Undecided { why: Why::SingleValue },
        Verdict::Undecided { why: Why::MoreTrials { more } } if basis.deployed => {
            Verdict::Undecided { why: Why::MoreDeployments { more } }
        }
        Verdict::Better if basis.better == Better::Lower => Verdict::Worse,
        Verdict::Worse if basis.better == Better::Lower => Verdict::Better,
        other => other,
    };
    let (detectable, level) = (stats::detectable(&ratio, rule.confidence), stats::deciding_level(&ratio, rule.margin));
    Judgement { ratio, verdict, detectable, units: basis.units, level, rank }
}

/// The rule; `units` is how many blocks, trials or deployments the error of the ratio comes from.
pub fn judge(ratio: &Ratio, rule: &Decision, units: usize) -> Verdict {
    let Some(interval) = ratio.interval else { return Verdict::Undecided { why: Why::SingleTrial } };
    if let Some(decided) = decided(interval, rule.margin) {
        return decided;
    }
    // As many as would narrow this interval enough, should the ratio and the scatter stay where they are.
    let each = ratio.log_error * (units as f64).sqrt();
    let freedom_each = ratio.freedom / (units as f64 - 1.0).max(1.0);
    let decides = |more: u32| {
        let n = units as f64 + f64::from(more);
        let half = stats::student_quantile(rule.confidence, freedom_each * (n - 1.0)) * each / n.sqrt();
        let narrowed = Interval { low: ratio.value * (-half).exp(), high: ratio.value * half.exp() };
        decided(narrowed, rule.margin).is_some()
    };
    if !decides(MOST_TRIALS) {
        return Verdict::Undecided { why: Why::OnTheEdge };
    }
    // A narrower interval around the same ratio decides whatever a wider one does.
    let (mut too_few, mut enough) = (0, MOST_TRIALS);
    while enough - too_few > 1 {
        let middle = (too_few + enough) / 2;
        if decides(middle) { enough = middle } else { too_few = middle }
    }
    Verdict::Undecided { why: Why::MoreTrials { more: enough } }
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
pub(super) fn correct(workloads: &mut [WorkloadResult], rule: &Decision) {
    let controls: Vec<String> =
        workloads.iter().flat_map(|w| &w.contenders).filter(|c| c.control_of.is_some()).map(|c| c.contender.clone()).collect();
    let points = workloads.iter_mut().flat_map(|w| &mut w.points).filter(|c| !controls.contains(&c.contender));
    correct_family(points.filter_map(|c| c.judgement.as_mut()).collect(), rule);
}

/// The same over any family; what has no interval is no member.
pub(super) fn correct_family(mut judged: Vec<&mut Judgement>, rule: &Decision) {
    let levels: Vec<Option<f64>> = judged.iter().map(|j| j.level).collect();
    let of = levels.iter().flatten().count();
    let stands = stats::holm(&levels, 1.0 - rule.confidence);
    for (judgement, stands) in judged.iter_mut().zip(stands) {
        let decided = !matches!(judgement.verdict, Verdict::Undecided { .. });
        if decided && !stands {
            judgement.verdict = Verdict::Undecided { why: Why::Family { of } };
        }
    }
}
