//! Which trials are run next where the verdicts end a study: after the least number of blocks, those of points that hold a verdict up.
//!
//! Everything follows from the records alone, so that an interrupted study goes on as it would have.

use std::collections::BTreeSet;

use super::findings::Overall;
use super::looks::Looks;
use super::result::{Judgement, PointResult, Verdict, Why, WorkloadResult};
use super::workload::Judged;
use super::{overall, points, workload};
use crate::bill::Bill;
use crate::metric::Better;
use crate::plan::TrialKey;
use crate::run_record::RunRecord;
use crate::stats::{self, Design, Summarise, Trial};
use crate::study::{Contender, Study, Summary, WorkloadSpec};

/// The points of a block: contender, workload and level.
pub type Points = BTreeSet<(String, String, u32)>;

/// The trials of the first block that is not complete, as far as they are missing; none where every verdict is there, none can be
/// expected, or all blocks were run.
pub fn next_trials(study: &Study, records: &[RunRecord], bills: &[Bill]) -> Vec<TrialKey> {
    let plan = study.plan();
    let has: BTreeSet<&TrialKey> = records.iter().map(|r| &r.key).collect();
    let mut blocks: Vec<&[TrialKey]> = plan.chunk_by(|a, b| (a.deployment(), a.trial) == (b.deployment(), b.trial)).collect();
    blocks.sort_by_key(|block| block.first().map(|key| (key.deployment(), key.trial)));
    for block in blocks {
        let open = block.first().and_then(|key| open_points(study, records, bills, key.trial));
        if open.as_ref().is_some_and(Points::is_empty) {
            break;
        }
        let is_open = |key: &&TrialKey| open.as_ref().is_none_or(|open| open.contains(&point_of(key)));
        let missing: Vec<TrialKey> = block.iter().filter(is_open).filter(|key| !has.contains(key)).cloned().collect();
        if !missing.is_empty() {
            return missing;
        }
    }
    Vec::new()
}

/// The point of a trial.
pub fn point_of(key: &TrialKey) -> (String, String, u32) {
    (key.contender.clone(), key.workload.clone(), key.level())
}

/// The points that a block has to hold, by what the blocks before it say; `None` is all of them: up to the least number of blocks, and in
/// a study that runs all of its trials.
pub fn open_points(study: &Study, records: &[RunRecord], bills: &[Bill], block: u32) -> Option<Points> {
    study.decision.until.as_ref().filter(|until| block > until.least)?;
    let before: Vec<&RunRecord> = records.iter().filter(|r| r.key.trial < block && r.void.is_none()).collect();
    let looks = Looks::of(study, &before);
    let study = &looks.applied(study);
    let judged: Vec<Judged> = study.workloads.iter().map(|spec| verdicts_of(study, spec, &before, bills)).collect();
    // The answer over all workloads is waited for, too.
    let all: Vec<Overall> = overall::overall(study, &judged, bills, false);
    let waits = |rival: &str| {
        all.iter().any(|o| o.contender == rival && is_open(&o.throughput, o.price.iter().map(|p| &p.value_for_money)))
    };
    Some(judged.iter().flat_map(|w| points_of(study, w, &waits, &looks)).collect())
}

/// What a workload says so far.
fn verdicts_of(study: &Study, spec: &WorkloadSpec, records: &[&RunRecord], bills: &[Bill]) -> Judged {
    let mine: Vec<&RunRecord> = records.iter().filter(|r| r.key.workload == spec.name).copied().collect();
    let (metric, levels) = (workload::metric_of(spec, &mine), study.sweep_of(&spec.name).levels());
    let points = points::values(study, &spec.name, levels, &mine, &metric, Design::Blocks);
    workload::judged(study, spec, metric, points, levels, bills, Design::Blocks)
}

/// The points of a workload that are still run.
fn points_of(study: &Study, judged: &Judged, waits: &dyn Fn(&str) -> bool, looks: &Looks) -> Points {
    let (result, levels) = (&judged.result, study.sweep_of(&judged.result.workload).levels());
    let rivals = study.contenders.iter().enumerate().filter(|(i, c)| *i != study.baseline && c.control_of.is_none());
    let goes_on = |name: &str| {
        let found = result.contenders.iter().find(|c| c.contender == name);
        let prices = found.into_iter().flat_map(|c| &c.price).filter_map(|p| p.value_for_money.as_ref());
        // Without any ratio, void trials say, nothing is decided.
        found.and_then(|c| c.throughput.as_ref()).is_none_or(|throughput| is_open(throughput, prices)) || waits(name)
    };
    let rivals: Vec<&str> = rivals.map(|(_, c)| c.name.as_str()).filter(|name| goes_on(name)).collect();
    if rivals.is_empty() {
        return Points::new();
    }
    let needed: Vec<&str> = std::iter::once(study.baseline().name.as_str()).chain(rivals).collect();
    let confidence = 1.0 - looks.level(levels.len() * needed.len());
    let is_peak = result.summary == Summary::Peak && levels.len() > 1;
    let left_out = |level: u32| is_peak && needed.iter().all(|c| cannot_be_the_peak(result, (c, levels), level, confidence));
    let levels: Vec<u32> = levels.iter().copied().filter(|level| !left_out(*level)).collect();
    // A control goes on beside what it repeats, and holds nothing up.
    let runs = |c: &&Contender| needed.contains(&c.control_of.as_deref().unwrap_or(&c.name));
    let points = |c: &Contender| levels.iter().map(|level| (c.name.clone(), result.workload.clone(), *level)).collect::<Vec<_>>();
    study.contenders.iter().filter(runs).flat_map(points).collect()
}

/// Whether a verdict is still to be had: on work per dollar in every region where there are prices, else on throughput.
fn is_open<'j>(throughput: &Judgement, prices: impl Iterator<Item = &'j Judgement>) -> bool {
    let may_come = |j: &Judgement| matches!(j.verdict, Verdict::Undecided { why } if !matches!(why, Why::Hopeless { .. }));
    let mut prices = prices.peekable();
    if prices.peek().is_some() { prices.any(may_come) } else { may_come(throughput) }
}

/// Whether the whole interval of a level against the best one of its contender lies on the worse side.
fn cannot_be_the_peak(result: &WorkloadResult, (contender, levels): (&str, &[u32]), level: u32, confidence: f64) -> bool {
    let trials = |level: u32| -> Vec<Trial> {
        let point = result.points.iter().find(|p| p.contender == contender && p.level == level);
        point.map(PointResult::trials).unwrap_or_default()
    };
    let higher = result.metric.better == Better::Higher;
    let merit = |level: u32| {
        let mean = stats::mean(&stats::values(&trials(level))).unwrap_or(0.0);
        if higher { mean } else { -mean }
    };
    let best = levels.iter().copied().max_by(|a, b| merit(*a).total_cmp(&merit(*b)));
    let Some(best) = best.filter(|best| *best != level) else { return false };
    let estimate = stats::ratio(&[trials(best)], &[trials(level)], Summarise::Mean, confidence, Design::Blocks);
    let interval = estimate.and_then(|estimate| estimate.ratio.interval);
    interval.is_some_and(|i| if higher { i.high < 1.0 } else { i.low > 1.0 })
}
