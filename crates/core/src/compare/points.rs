//! From trials to points: values, their ratio to the baseline, latencies, and what stands out.

use super::findings::{LatencyInterval, ObjectiveLatency, Outlier, TrialPosition, Without};
use super::judge::{Basis, judgement};
use super::result::{Latency, PointResult};
use crate::metric::{Better, Metric};
use crate::parallel::in_parallel;
use crate::run_record::{Flag, RunRecord};
use crate::stats::{self, Design, Merged, Summarise, Trial};
use crate::study::{Slo, Study};
use crate::units::total;

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
    levels: &[u32],
    records: &[&RunRecord],
    metric: &Metric,
    design: Design,
) -> Result<Vec<PointResult>, String> {
    let of_level = |level: &u32| study.contenders.iter().map(|c| (*level, c.name.as_str())).collect::<Vec<_>>();
    let all: Vec<(u32, &str)> = levels.iter().flat_map(of_level).collect();
    // Decoding the histograms of thousands of trials is most of the work of a comparison.
    let mut points = in_parallel(&all, |(level, contender)| {
        let mut trials: Vec<&RunRecord> =
            records.iter().filter(|r| r.key.contender == *contender && r.key.level() == *level).copied().collect();
        trials.sort_by_key(|r| (r.key.deployment(), r.key.trial));
        measured(study, contender, *level, &trials, metric)
    })?;
    points.chunks_mut(study.contenders.len().max(1)).for_each(|level| compare(study, level, metric.better, design));
    Ok(points)
}

/// A point of trials, by itself.
fn measured(study: &Study, contender: &str, level: u32, trials: &[&RunRecord], metric: &Metric) -> Result<PointResult, String> {
    let mut merged = Merged::default();
    let (mut failed, mut retries) = (0, 0);
    for record in trials {
        merged.add(&record.latency().map_err(|e| format!("{}: {e}", record.key.path()))?);
        failed = total(record.measured.transactions.values().map(|t| t.failed).chain([failed]));
        retries = total([retries, record.measured.retries]);
    }
    let position = |r: &RunRecord| TrialPosition { deployment: r.key.deployment(), trial: r.key.trial };
    let values = trials.iter().map(|r| (r.metric(metric), position(r)));
    let mut point = of_values(contender, level, values, study.decision.confidence);
    (point.failed, point.retries) = (failed, retries);
    for outlier in &mut point.outliers {
        let record = trials.iter().find(|r| position(r) == outlier.position);
        outlier.causes = record.map(|r| r.flags.iter().map(Flag::text).collect()).unwrap_or_default();
    }
    // Percentiles of some of the trials are not those of the point.
    let partly = trials.iter().any(|r| r.imported.is_some() && !r.has_latency());
    let merged = if partly { Merged::default() } else { merged };
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
    let outliers = stats::label_outliers(&values).into_iter().map(label).collect();
    let mut point = PointResult { contender: contender.to_owned(), level, values, positions, outliers, ..PointResult::default() };
    let trials = point.trials();
    point.mean = stats::mean(&stats::units(&trials));
    point.interval = stats::summary_interval(&[trials], Summarise::Mean, confidence);
    point
}

fn latencies(point: &mut PointResult, merged: &Merged, slo: Option<&Slo>, confidence: f64) {
    let found = merged.percentiles(&[50.0, 95.0, 99.0], confidence);
    point.latency = Latency { p50_ns: found[0].ns, p95_ns: found[1].ns, p99_ns: found[2].ns, max_ns: merged.all().max_ns() };
    point.latency_interval = match (found[0].interval, found[1].interval, found[2].interval) {
        (Some(p50_ns), Some(p95_ns), Some(p99_ns)) => Some(LatencyInterval { p50_ns, p95_ns, p99_ns }),
        _ => None,
    };
    let Some(slo) = slo.filter(|_| merged.all().count() > 0) else { return };
    point.objective = merged.percentiles(&[slo.percentile], confidence).first().map(|found| ObjectiveLatency {
        ns: found.ns,
        interval: found.interval,
        kept: found.ns <= slo.at_most_ns,
        surely: found.interval.is_some_and(|i| i.high <= slo.at_most_ns as f64),
    });
}

/// Ratios and judgements of the points of one level: to the baseline, of an A/A control to what it repeats.
pub(super) fn compare(study: &Study, points: &mut [PointResult], better: Better, design: Design) {
    let rule = &study.decision;
    for (i, contender) in study.contenders.iter().enumerate() {
        let to = contender.control_of.as_ref().map_or(study.baseline, |of| study.position(of).unwrap_or(study.baseline));
        if i == to {
            continue;
        }
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
        let judged = estimate.map(|e| judgement(e.ratio, rule, Basis { units: e.units, deployed, published, better }, rank));
        let point = &mut points[i];
        (point.ratio, point.without) = (judged.as_ref().map(|j| j.ratio), without);
        point.judgement = judged;
    }
    for point in points.iter_mut().filter(|c| c.without.is_none() && !c.outliers.is_empty()) {
        let mean = stats::mean(&stats::units(&point.trials_but(&point.outlying())));
        point.without = mean.map(|mean| Without { mean, ratio: None });
    }
}
