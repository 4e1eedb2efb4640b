//! Which trials are run next where the verdicts end a study: after the least number of blocks, those of points that hold a verdict up.
//!
//! Everything follows from the records alone, so that an interrupted study goes on as it would have.

use std::collections::BTreeSet;

use super::looks::Looks;
use super::result::{ContenderResult, Judgement, Verdict, Why};
use super::{layout, points, workload};
use crate::bill::Bill;
use crate::metric::Better;
use crate::plan::TrialKey;
use crate::run_record::RunRecord;
use crate::stats::{self, Design, Summarise, Trial};
use crate::study::{Study, Summary, WorkloadSpec};

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
    let until = study.decision.until.as_ref().filter(|until| block > until.least)?;
    let before: Vec<&RunRecord> = records.iter().filter(|r| r.key.trial < block && r.void.is_none()).collect();
    let looks = Looks::planned(study, until);
    let study = &looks.applied(study);
    let design = layout(study, records).design;
    Some(study.workloads.iter().flat_map(|spec| of_workload(study, spec, &before, bills, (&looks, design))).collect())
}

fn of_workload(
    study: &Study,
    spec: &WorkloadSpec,
    records: &[&RunRecord],
    bills: &[Bill],
    (looks, design): (&Looks, Design),
) -> Points {
    let mine: Vec<&RunRecord> = records.iter().filter(|r| r.key.workload == spec.name).copied().collect();
    let (metric, levels) = (workload::metric_of(spec, &mine), study.sweep_of(&spec.name).levels());
    let points = points::values(study, &spec.name, levels, &mine, &metric, design);
    let better = metric.better;
    let trials = |contender: &str, level: u32| -> Vec<Trial> {
        let point = points.iter().find(|p| p.contender == contender && p.level == level);
        point.map(|p| p.trials()).unwrap_or_default()
    };
    let left_out = |contenders: &[&str]| -> Vec<u32> {
        let peak = study.summary_of(&spec.name) == &Summary::Peak && levels.len() > 1;
        let among = levels.len() * contenders.len();
        let confidence = 1.0 - looks.level(among);
        let below =
            |level: &u32, contender: &&str| cannot_be_the_peak(&trials, (contender, levels), *level, (better, confidence));
        levels.iter().filter(|level| peak && contenders.iter().all(|c| below(level, c))).copied().collect()
    };
    let judged = workload::judged(study, spec, metric.clone(), points.clone(), levels, bills, design);
    let rivals: Vec<&str> = judged.result.contenders.iter().filter(|c| is_open(c)).map(|c| c.contender.as_str()).collect();
    if rivals.is_empty() {
        return Points::new();
    }
    let needed: Vec<&str> = std::iter::once(study.baseline().name.as_str()).chain(rivals).collect();
    let left_out = left_out(&needed);
    // A control goes on beside what it repeats, and holds nothing up.
    let runs = |c: &&crate::study::Contender| needed.contains(&c.control_of.as_deref().unwrap_or(&c.name));
    let levels = || levels.iter().filter(|level| !left_out.contains(level));
    let contenders = study.contenders.iter().filter(|c| runs(c));
    contenders.flat_map(|c| levels().map(|level| (c.name.clone(), spec.name.clone(), *level))).collect()
}

/// Whether a verdict of a contender is still to be had: on work per dollar in every region where it has prices, else on throughput.
fn is_open(contender: &ContenderResult) -> bool {
    let may_come = |j: &Judgement| matches!(j.verdict, Verdict::Undecided { why } if !matches!(why, Why::Hopeless { .. }));
    let prices: Vec<&Judgement> = contender.price.iter().filter_map(|p| p.value_for_money.as_ref()).collect();
    let of_throughput = || contender.throughput.iter().any(may_come);
    if prices.is_empty() { of_throughput() } else { prices.into_iter().any(may_come) }
}

/// Whether the whole interval of a level against the best one of its contender lies on the worse side.
fn cannot_be_the_peak(
    trials: &impl Fn(&str, u32) -> Vec<Trial>,
    (contender, levels): (&str, &[u32]),
    level: u32,
    (better, confidence): (Better, f64),
) -> bool {
    let mean = |level: u32| stats::mean(&stats::values(&trials(contender, level)));
    let sign = if better == Better::Higher { 1.0 } else { -1.0 };
    let by_mean = |a: &u32, b: &u32| (sign * mean(*a).unwrap_or(0.0)).total_cmp(&(sign * mean(*b).unwrap_or(0.0)));
    let Some(best) = levels.iter().copied().max_by(|a, b| by_mean(a, b)).filter(|best| *best != level) else { return false };
    let sides = (trials(contender, best), trials(contender, level));
    let estimate = stats::ratio(&[sides.0], &[sides.1], Summarise::Mean, confidence, Design::Blocks);
    let interval = estimate.and_then(|estimate| estimate.ratio.interval);
    interval.is_some_and(|i| if better == Better::Higher { i.high < 1.0 } else { i.low > 1.0 })
}
