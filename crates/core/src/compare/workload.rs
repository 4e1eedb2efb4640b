//! What the points of a workload say together: one value for each contender, its ratio to the baseline, its price.

use super::disputed::disputed;
use super::findings::Noise;
use super::judge::{self, Basis, judgement};
use super::looks;
use super::objective;
use super::points;
use super::result::{ContenderResult, Judgement, PointResult, PricePerformance, WorkloadResult};
use super::{Refusal, explain, models, stalls};
use crate::bill::Bill;
use crate::metric::{Better, Metric, TPS};
use crate::run_record::RunRecord;
use crate::stats::{self, Design, Estimate, Interval, Ratio, Summarise, Trial};
use crate::study::{Contender, Study, Summary, WorkloadSpec};
use crate::usl;

/// A workload with the estimates that its ratios come from, which other workloads are weighed with.
pub(super) struct Judged {
    pub(super) result: WorkloadResult,
    pub(super) weight: f64,
    /// By contender; the baseline and controls have none.
    pub(super) estimates: Vec<(String, Estimate)>,
}

impl Judged {
    /// With all that a report says beside them.
    pub(super) fn completed(mut self, study: &Study, spec: &WorkloadSpec, bills: &[Bill]) -> Self {
        let result = &mut self.result;
        if result.metric.better == Better::Higher {
            for contender in &mut result.contenders {
                contender.scalability = scalability(study, spec, &contender.contender, &result.points);
            }
        }
        explain::fill(result, &study.baseline().name);
        stalls::fill(result, &study.decision);
        models::fill(result, &study.baseline().name, bills);
        result.objective = objective::objective(study, result, bills);
        self
    }

    /// Trials that a contender still lacks for its verdict.
    pub(super) fn missing(&self, contender: &str) -> u32 {
        let found = self.result.contenders.iter().find(|c| c.contender == contender).and_then(|c| c.throughput.as_ref());
        found.map_or(0, Judgement::missing)
    }

    /// Its exponent in the geometric mean over workloads: its weight, negative where low values are good.
    pub(super) fn power(&self) -> f64 {
        match self.result.metric.better {
            Better::Higher => self.weight,
            Better::Lower => -self.weight,
        }
    }
}

/// Trials of a workload, compared.
///
/// # Errors
/// Names the trial that cannot be read.
pub(super) fn measured(
    study: &Study,
    spec: &WorkloadSpec,
    records: &[RunRecord],
    bills: &[Bill],
    design: Design,
) -> Result<Judged, Refusal> {
    let mine: Vec<&RunRecord> = records.iter().filter(|r| r.key.workload == spec.name).collect();
    let metric = metric_of(spec, &mine);
    let levels = levels(study, &spec.name, &mine);
    let points =
        points::points(study, &spec.name, &levels, &mine, &metric, design).map_err(|reason| Refusal { reason, insist: None })?;
    Ok(judged(study, spec, metric, points, &levels, bills, design).completed(study, spec, bills))
}

/// The points of a workload: those of the sweep, of imported trials those that its logs hold.
fn levels(study: &Study, workload: &str, mine: &[&RunRecord]) -> Vec<u32> {
    let held = |level: &u32| !study.imported || mine.iter().any(|r| r.key.level() == *level);
    study.sweep_of(workload).levels().iter().copied().filter(held).collect()
}

/// The metric that a study names, else that of its records, where all of them hold it. A record's own declaration goes before the
/// program's.
pub(super) fn metric_of(spec: &WorkloadSpec, records: &[&RunRecord]) -> Metric {
    let recorded = records.first().map(|r| r.workload.metric.metric());
    let kept = recorded.filter(|r| spec.metric.as_ref().is_none_or(|asked| asked.name == r.name));
    let metric = kept.or(spec.metric.as_ref()).unwrap_or(&TPS);
    // Records of a version that did not count it, among others: all of them have transactions.
    if records.iter().all(|r| r.counts(metric)) { metric.clone() } else { TPS.clone() }
}

/// What the points of a workload say, wherever they are from: values, ratios and verdicts, which are all that a look needs after a block.
pub(super) fn judged(
    study: &Study,
    spec: &WorkloadSpec,
    metric: Metric,
    points: Vec<PointResult>,
    levels: &[u32],
    bills: &[Bill],
    design: Design,
) -> Judged {
    let rule = study.summary_of(&spec.name).clone();
    let (summed, how) = match &rule {
        Summary::MeanOver(list) => (list.clone(), Summarise::Mean),
        Summary::Peak => (levels.to_vec(), Summarise::best(metric.better)),
    };
    // A trial that is still missing may be the best one. An article shows what it shows, and logs hold what they hold.
    let gaps = (study.published.is_some() || study.imported) && rule == Summary::Peak;
    let trials = |contender: &str| -> Vec<Vec<Trial>> {
        let at = |level: &u32| points.iter().find(|point| point.contender == contender && point.level == *level);
        let all = summed.iter().map(|level| at(level).map(PointResult::trials).unwrap_or_default());
        all.filter(|v| !(gaps && v.is_empty())).collect()
    };
    let context = WorkloadContext { study, workload: &spec.name, bills, how, design, better: metric.better };
    let base = trials(&study.baseline().name);
    let mut result = WorkloadResult {
        workload: spec.name.clone(),
        kind: spec.kind.value.clone(),
        metric,
        summary: rule.clone(),
        points: Vec::new(),
        contenders: Vec::new(),
        noise: None,
        objective: None,
    };
    let mut estimates = Vec::new();
    for (i, contender) in study.contenders.iter().enumerate() {
        let mine = trials(&contender.name);
        if let Some(of) = &contender.control_of {
            result.noise = context.noise(&trials(of), &mine);
        }
        let rival = i != study.baseline && contender.control_of.is_none();
        let estimate = if rival { stats::ratio(&base, &mine, how, study.decision.confidence, design) } else { None };
        let found = context.contender(contender, &base, &mine, estimate.as_ref());
        estimates.extend(estimate.map(|e| (contender.name.clone(), e)));
        result.contenders.push(found);
    }
    result.points = points;
    Judged { result, weight: spec.weight, estimates }
}

struct WorkloadContext<'a> {
    study: &'a Study,
    workload: &'a str,
    bills: &'a [Bill],
    how: Summarise,
    design: Design,
    better: Better,
}

impl WorkloadContext<'_> {
    fn basis(&self, estimate: &Estimate, base: &[Vec<Trial>], trials: &[Vec<Trial>]) -> Basis {
        let deployed = trials.iter().flatten().any(|t| t.deployment > 1);
        let fewest = base.iter().chain(trials).map(Vec::len).min().unwrap_or(0);
        let missing = looks::missing(self.study, self.workload, fewest);
        Basis { units: estimate.units, missing, deployed, published: self.study.published.is_some(), better: self.better }
    }

    fn contender(
        &self,
        who: &Contender,
        base: &[Vec<Trial>],
        mine: &[Vec<Trial>],
        estimate: Option<&Estimate>,
    ) -> ContenderResult {
        let rule = &self.study.decision;
        let value = stats::summarise(mine, self.how);
        let interval = stats::summary_interval(mine, self.how, rule.confidence);
        let values = |points: &[Vec<Trial>]| stats::units(&stats::values_by_block(points, self.how));
        let estimate = estimate.map(|e| (e.ratio, self.basis(e, base, mine)));
        let throughput = estimate.map(|(ratio, basis)| {
            let rank = stats::rank(&values(base), &values(mine), rule.confidence);
            judgement(ratio, rule, basis, rank)
        });
        // Money buys more of what is good; of what is bad there is no price.
        let (sold, estimate) = if self.better == Better::Higher { ((value, interval), estimate) } else { ((None, None), None) };
        let (contender, control_of) = (who.name.clone(), who.control_of.clone());
        let price = self.prices(&who.name, sold, estimate);
        ContenderResult { contender, control_of, value, interval, throughput, why: None, stalls: None, scalability: None, price }
    }

    fn prices(&self, of: &str, sold: (Option<f64>, Option<Interval>), estimate: Option<(Ratio, Basis)>) -> Vec<PricePerformance> {
        let (value, interval) = sold;
        let one = |bill: &Bill| {
            let total = bill.horizon_total();
            let dollars = total.as_usd_f64();
            let works = value.filter(|v| *v > 0.0);
            // The cost is a constant, so the interval of dollars per unit is the throughput's, turned over.
            let turned = |i: Interval| Interval { low: dollars / i.high, high: dollars / i.low };
            let against = estimate.zip(cheaper_by(self.study, self.bills, bill));
            PricePerformance {
                region: bill.region.clone(),
                monthly: bill.monthly(),
                total,
                usd_per_unit: works.map(|v| dollars / v),
                units_per_usd: works.filter(|_| dollars > 0.0).map(|v| v / dollars),
                usd_per_unit_interval: interval.filter(|i| i.low > 0.0).map(turned),
                value_for_money: against
                    .map(|((ratio, basis), times)| judgement(scaled(ratio, times), &self.study.decision, basis, None)),
                disputed: disputed(self.study, self.bills, bill, estimate),
                models: None,
            }
        };
        self.bills.iter().filter(|b| b.contender == of).map(one).collect()
    }

    fn noise(&self, of: &[Vec<Trial>], control: &[Vec<Trial>]) -> Option<Noise> {
        let found = stats::ratio(of, control, self.how, self.study.decision.confidence, self.design)?;
        let verdict = judge::judge(&found.ratio, &self.study.decision, found.units);
        Some(Noise { ratio: found.ratio, verdict })
    }
}

/// How throughput grows with connections; in open loop it grows with what is offered, which says nothing of the system.
fn scalability(study: &Study, spec: &WorkloadSpec, contender: &str, points: &[PointResult]) -> Option<usl::Scalability> {
    if study.sweep.is_open() {
        return None;
    }
    let mine = points.iter().filter(|c| c.contender == contender);
    let points: Vec<(u32, f64)> = mine.filter_map(|c| Some((c.level, c.mean?))).collect();
    let seed = study.seed.derive(&format!("scalability {} {contender}", spec.name));
    usl::describe(&points, study.decision.margin, study.decision.confidence, seed)
}

/// The baseline's cost in the same region over that of a bill; `None` where one of them is free or not there.
pub(super) fn cheaper_by(study: &Study, bills: &[Bill], bill: &Bill) -> Option<f64> {
    let base = bill_of_baseline(study, bills, bill)?;
    let (base, mine) = (base.horizon_total().as_usd_f64(), bill.horizon_total().as_usd_f64());
    (base > 0.0 && mine > 0.0).then(|| base / mine)
}

/// The baseline's bill in the same region.
pub(super) fn bill_of_baseline<'b>(study: &Study, bills: &'b [Bill], bill: &Bill) -> Option<&'b Bill> {
    bills.iter().find(|b| b.contender == study.baseline().name && b.region == bill.region)
}

/// A ratio times a constant that has no error.
pub(super) fn scaled(ratio: Ratio, scale: f64) -> Ratio {
    let interval = ratio.interval.map(|i| Interval { low: i.low * scale, high: i.high * scale });
    Ratio { value: ratio.value * scale, interval, ..ratio }
}
