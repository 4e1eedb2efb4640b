//! From trials to points: values, their ratio to the baseline, latencies, and what stands out.

use std::collections::BTreeMap;

use super::explain;
use super::findings::{LatencyInterval, ObjectiveLatency, Outlier, TrialPosition, Without};
use super::judge::{Basis, judgement};
use super::looks;
use super::rates;
use super::result::{Latency, PointResult};
use crate::metric::{Better, Counted, Metric};
use crate::parallel::in_parallel;
use crate::run_record::{Flag, RunRecord};
use crate::stats::{self, Design, Merged, Summarise, Trial};
use crate::study::{Contender, Slo, Study};
use crate::units::total;

/// Of fewer trials no outliers are shown: two of three are near each other by chance.
const FEWEST_FOR_OUTLIERS: usize = 5;

impl PointResult {
    /// Its values with their positions in the design.
    pub fn trials(&self) -> Vec<Trial> {
        let one = |(value, at): (&f64, &TrialPosition)| Trial { deployment: at.deployment, block: at.trial, value: *value };
        self.values.iter().zip(&self.positions).map(one).collect()
    }

    fn trials_but(&self, left_out: &[TrialPosition]) -> Vec<Trial> {
        let kept = |t: &Trial| !left_out.contains(&TrialPosition { deployment: t.deployment, trial: t.block });
        self.trials().into_iter().filter(kept).collect()
    }

    fn outlying(&self) -> Vec<TrialPosition> {
        self.outliers.iter().map(|o| o.position).collect()
    }
}

/// The points of a workload, by level and then contender.
///
/// # Errors
/// Names the trial whose histogram cannot be read.
pub(super) fn points(
    study: &Study,
    workload: &str,
    levels: &[u32],
    records: &[&RunRecord],
    metric: &Metric,
    design: Design,
) -> Result<Vec<PointResult>, String> {
    let trials_of = |level: u32, contender: &str| {
        let mine = |r: &&&RunRecord| r.key.contender == contender && r.key.level() == level;
        let mut trials: Vec<&RunRecord> = records.iter().filter(mine).copied().collect();
        trials.sort_by_key(|r| (r.key.deployment(), r.key.trial));
        trials
    };
    let of_level = |level: &u32| study.contenders.iter().map(|c| (*level, c.name.as_str())).collect::<Vec<_>>();
    let names = levels.iter().flat_map(of_level);
    let all: Vec<(u32, &str, Vec<&RunRecord>)> = names.map(|(level, name)| (level, name, trials_of(level, name))).collect();
    // Decoding the histograms of thousands of trials is most of the work of a comparison.
    let mut points = in_parallel(&all, |(level, contender, trials)| measured(study, contender, *level, trials, metric))?;
    let contenders = study.contenders.len().max(1);
    for (points, trials) in points.chunks_mut(contenders).zip(all.chunks(contenders)) {
        compare(study, workload, points, metric.better, design);
        for (i, to) in compared(study) {
            rates::compare(&mut points[i], [&trials[to].2, &trials[i].2], study.decision.confidence, design);
        }
    }
    Ok(points)
}

/// The points of a workload by their values alone: nothing of latency, which takes most of the time of a comparison.
pub(super) fn values(
    study: &Study,
    workload: &str,
    levels: &[u32],
    records: &[&RunRecord],
    metric: &Metric,
    design: Design,
) -> Vec<PointResult> {
    let of_level = |level: &u32| {
        let one = |c: &Contender| {
            let mine =
                records.iter().filter(|r| r.key.contender == c.name && r.key.level() == *level && r.lacks(metric).is_none());
            let mut values: Vec<(f64, TrialPosition)> = mine.map(|r| (r.metric(metric), position(r))).collect();
            values.sort_by_key(|(_, at)| (at.deployment, at.trial));
            of_values(&c.name, *level, values.into_iter(), study.decision.confidence)
        };
        let mut points: Vec<PointResult> = study.contenders.iter().map(one).collect();
        compare(study, workload, &mut points, metric.better, design);
        points
    };
    levels.iter().flat_map(of_level).collect()
}

fn position(r: &RunRecord) -> TrialPosition {
    TrialPosition { deployment: r.key.deployment(), trial: r.key.trial }
}

/// A point of trials, by itself.
fn measured(study: &Study, contender: &str, level: u32, trials: &[&RunRecord], metric: &Metric) -> Result<PointResult, String> {
    let mut merged = Merged::default();
    let mut kinds: BTreeMap<&str, Merged> = BTreeMap::new();
    let (mut failed, mut retries) = (0, 0);
    for record in trials {
        let failed_at = |e: String| format!("{}: {e}", record.key.path());
        let mut whole = record.unfinished().map_err(failed_at)?;
        for (kind, times) in record.latency_by_kind().map_err(failed_at)? {
            whole.merge(&times);
            kinds.entry(kind).or_default().add(&times);
        }
        merged.add(&whole);
        failed = total(record.measured.transactions.values().map(|t| t.failed).chain([failed]));
        retries = total([retries, record.measured.retries]);
    }
    let values = trials.iter().filter(|r| r.lacks(metric).is_none()).map(|r| (r.metric(metric), position(r)));
    let mut point = of_values(contender, level, values, study.decision.confidence);
    (point.failed, point.retries) = (failed, retries);
    for outlier in &mut point.outliers {
        let record = trials.iter().find(|r| position(r) == outlier.position);
        outlier.causes = record.map(|r| r.flags.iter().map(Flag::text).collect()).unwrap_or_default();
    }
    let stood_still = |r: &&&RunRecord| {
        let long = |total_ms: u64| total_ms as f64 * 1e6 > study.decision.margin * r.load.duration_ns as f64;
        r.flags.iter().any(|f| matches!(f, Flag::Gap { total_ms } if long(*total_ms)))
    };
    point.stalled = trials.iter().filter(stood_still).map(|r| position(r)).collect();
    // Percentiles of some of the trials are not those of the point.
    let partly = trials.iter().any(|r| r.imported.is_some() && !r.has_latency());
    let merged = if partly { Merged::default() } else { merged };
    if partly {
        kinds.values_mut().for_each(|merged| *merged = Merged::default());
    }
    point.explained = explain::explained(trials, metric);
    rates::fill(&mut point, (trials, matches!(metric.of, Counted::Composite(_))), &kinds, study.decision.confidence);
    latencies(&mut point, &merged, study.decision.slo.as_ref(), study.decision.confidence);
    // The percentiles of a rate that was not kept are lower bounds, and grow with the length of the window.
    let overloaded = trials.iter().any(|r| r.flags.iter().any(|f| matches!(f, Flag::Overloaded { .. })));
    if let Some(objective) = point.objective.as_mut().filter(|_| overloaded) {
        objective.kept = false;
    }
    Ok(point)
}

pub(super) fn of_values(
    contender: &str,
    level: u32,
    values: impl Iterator<Item = (f64, TrialPosition)>,
    confidence: f64,
) -> PointResult {
    let (values, positions): (Vec<f64>, Vec<TrialPosition>) = values.unzip();
    let label = |l: stats::Label| Outlier {
        position: positions[l.index],
        value: values[l.index],
        modified_z: l.modified_z,
        causes: Vec::new(),
    };
    let labels = if values.len() < FEWEST_FOR_OUTLIERS { Vec::new() } else { stats::label_outliers(&values) };
    let outliers = labels.into_iter().map(label).collect();
    let mut point = PointResult { contender: contender.to_owned(), level, values, positions, outliers, ..PointResult::default() };
    let trials = point.trials();
    point.mean = stats::mean(&stats::units(&trials));
    point.interval = stats::summary_interval(&[trials], Summarise::Mean, confidence);
    point
}

fn latencies(point: &mut PointResult, merged: &Merged, slo: Option<&Slo>, confidence: f64) {
    (point.latency, point.latency_interval) = latency_of(merged, confidence);
    let Some(slo) = slo.filter(|_| merged.all().count() > 0) else { return };
    point.objective = merged.percentiles(&[slo.percentile], confidence).first().map(|found| ObjectiveLatency {
        ns: found.ns,
        interval: found.interval,
        kept: found.ns <= slo.at_most_ns,
        surely: found.interval.is_some_and(|i| i.high <= slo.at_most_ns as f64),
    });
}

/// Percentiles of merged histograms with their intervals.
pub(super) fn latency_of(merged: &Merged, confidence: f64) -> (Latency, Option<LatencyInterval>) {
    let found = merged.percentiles(&[50.0, 95.0, 99.0], confidence);
    let latency = Latency { p50_ns: found[0].ns, p95_ns: found[1].ns, p99_ns: found[2].ns, max_ns: merged.all().max_ns() };
    let interval = match (found[0].interval, found[1].interval, found[2].interval) {
        (Some(p50_ns), Some(p95_ns), Some(p99_ns)) => Some(LatencyInterval { p50_ns, p95_ns, p99_ns }),
        _ => None,
    };
    (latency, interval)
}

/// Each contender that is compared, and with which: the baseline, or what a control repeats.
fn compared(study: &Study) -> Vec<(usize, usize)> {
    let to = |c: &Contender| c.control_of.as_ref().map_or(study.baseline, |of| study.position(of).unwrap_or(study.baseline));
    study.contenders.iter().map(to).enumerate().filter(|(i, to)| i != to).collect()
}

/// Ratios and judgements of the points of one level: to the baseline, of an A/A control to what it repeats.
pub(super) fn compare(study: &Study, workload: &str, points: &mut [PointResult], better: Better, design: Design) {
    let rule = &study.decision;
    for (i, to) in compared(study) {
        let (base, mine) = (&points[to], &points[i]);
        let of = |a: Vec<Trial>, b: Vec<Trial>| stats::ratio(&[a], &[b], Summarise::Mean, rule.confidence, design);
        let estimate = of(base.trials(), mine.trials());
        let outlying: Vec<TrialPosition> = base.outlying().into_iter().chain(mine.outlying()).collect();
        let (theirs, ours) = (base.trials_but(&base.outlying()), mine.trials_but(&mine.outlying()));
        let without = stats::mean(&stats::units(&ours)).filter(|_| !outlying.is_empty());
        let without = without.map(|mean| Without { mean, ratio: of(theirs, ours).map(|e| e.ratio) });
        let deployed = mine.positions.iter().any(|p| p.deployment > 1);
        let rank = stats::rank(&stats::units(&base.trials()), &stats::units(&mine.trials()), rule.confidence);
        let published = study.published.is_some();
        let missing = looks::missing(study, workload, base.values.len().min(mine.values.len()));
        let basis = |units| Basis { units, missing, deployed, published, better };
        let judged = estimate.map(|e| judgement(e.ratio, rule, basis(e.units), rank));
        let point = &mut points[i];
        (point.ratio, point.without) = (judged.as_ref().map(|j| j.ratio), without);
        point.judgement = judged;
    }
    for point in points.iter_mut().filter(|c| c.without.is_none() && !c.outliers.is_empty()) {
        let mean = stats::mean(&stats::units(&point.trials_but(&point.outlying())));
        point.without = mean.map(|mean| Without { mean, ratio: None });
    }
}
