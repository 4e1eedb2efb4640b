//! The one place where measurements and prices meet: cells, ratios, price-performance and verdicts.

mod result;

use std::collections::BTreeMap;

use crate::bill::Bill;
use crate::histogram::Histogram;
use crate::run_record::{Flag, RunRecord};
use crate::stats::{self, Interval, Ratio, Summarise};
use crate::study::{Decision, Metric, Study, Summary, WorkloadSpec};
pub use result::{Cell, Comparison, ContenderResult, Judgement, Latency, PricePerformance, Remark, Verdict, Why, WorkloadResult};

/// Why a comparison was refused, and the word that insists on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// In words, naming the trials.
    pub reason: String,
    /// What `--insist` must name; `None` where insisting does not help.
    pub insist: Option<&'static str>,
}

/// Joins records and bills.
///
/// # Errors
/// Every reason for which the records cannot be compared as they are.
pub fn compare(study: &Study, records: &[RunRecord], bills: &[Bill], insist: &[String]) -> Result<Comparison, Vec<Refusal>> {
    let refusals: Vec<Refusal> =
        refusals(records).into_iter().filter(|r| r.insist.is_none_or(|word| !insist.iter().any(|i| i == word))).collect();
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let workloads = study.workloads.iter().map(|w| workload_result(study, w, records, bills)).collect::<Result<_, _>>()?;
    Ok(Comparison {
        study: study.name.clone(),
        question: study.question.clone(),
        baseline: study.baseline().name.clone(),
        decision: study.decision.clone(),
        planned: study.plan().len(),
        found: records.len(),
        workloads,
        bills: bills.to_vec(),
        remarks: remarks(records),
    })
}

fn refusals(records: &[RunRecord]) -> Vec<Refusal> {
    let mut found = Vec::new();
    let native = records.iter().find(|r| r.host.emulator.is_none());
    let emulated = records.iter().find(|r| r.host.emulator.is_some());
    if let (Some(native), Some(emulated)) = (native, emulated) {
        let reason = format!(
            "`{}` ran under {} and `{}` natively; emulated times say nothing about hardware",
            emulated.key.path(),
            emulated.host.emulator.as_deref().unwrap_or("an emulator"),
            native.key.path()
        );
        found.push(Refusal { reason, insist: Some("emulated") });
    }
    for word in ["client-limited", "errors"] {
        let flagged = |r: &&RunRecord| r.flags.iter().any(|f| f.refused_unless() == Some(word));
        let count = records.iter().filter(flagged).count();
        if let Some(first) = records.iter().find(flagged) {
            let flag = first.flags.iter().find(|f| f.refused_unless() == Some(word)).map(Flag::text).unwrap_or_default();
            let reason = format!(
                "{count} of {} trials are no fair measurement; the first is `{}`: {flag}",
                records.len(),
                first.key.path()
            );
            found.push(Refusal { reason, insist: Some(word) });
        }
    }
    found
}

fn remarks(records: &[RunRecord]) -> Vec<Remark> {
    let mut grouped: BTreeMap<String, Vec<&RunRecord>> = BTreeMap::new();
    for record in records {
        for flag in &record.flags {
            grouped.entry(remark_group(flag)).or_default().push(record);
        }
    }
    for record in records {
        // Trials of one contender are averaged; they must have met the same system on the same machine.
        let first = records.iter().find(|r| r.key.contender == record.key.contender && r.key.workload == record.key.workload);
        for what in first.map(|f| differences(f, record)).unwrap_or_default() {
            grouped.entry(format!("trials of one contender differ in {what}")).or_default().push(record);
        }
    }
    let remark = |(text, trials): (String, Vec<&RunRecord>)| Remark { text, trials: trials.len(), example: trials[0].key.path() };
    grouped.into_iter().map(remark).collect()
}

/// What is not the same for two trials of one contender and workload, in words.
fn differences(a: &RunRecord, b: &RunRecord) -> Vec<&'static str> {
    let machine = |r: &RunRecord| (r.host.arch.clone(), r.host.cpu_model.clone(), r.host.cpus);
    let checks = [
        (a.target.version != b.target.version, "the version of the database"),
        (a.target.variables != b.target.variables, "the settings of the database"),
        (machine(a) != machine(b), "the machine of the client"),
        (a.perbuck != b.perbuck, "the version of perbuck"),
        (a.workload.data_fingerprint != b.workload.data_fingerprint, "their data"),
    ];
    checks.into_iter().filter(|(differs, _)| *differs).map(|(_, what)| what).collect()
}

/// Flags of one sort are one remark, whatever their figures.
fn remark_group(flag: &Flag) -> String {
    match flag {
        Flag::Emulated { .. } => flag.text(),
        Flag::ClientLimited { .. } => "the client was the limit".to_owned(),
        Flag::ManyErrors { .. } => "more than one transaction in a hundred failed".to_owned(),
        Flag::Gap { .. } => "the service was away for at least a second".to_owned(),
        Flag::TextStatements { .. } => "statements ran as text, because the server would prepare no more".to_owned(),
        Flag::Aborted { .. } => "transactions did not end within the drain limit".to_owned(),
        Flag::Overloaded { .. } => "the target could not keep the rate".to_owned(),
        Flag::ServerAway { .. } => "the server could not be asked for its counters after a trial".to_owned(),
        Flag::Unsettled { .. } => "the throughput had not settled".to_owned(),
        Flag::LittlesLaw { .. } => "Little's law fails: the figures do not account for all connections".to_owned(),
    }
}

fn workload_result(
    study: &Study,
    spec: &WorkloadSpec,
    records: &[RunRecord],
    bills: &[Bill],
) -> Result<WorkloadResult, Vec<Refusal>> {
    let mine: Vec<&RunRecord> = records.iter().filter(|r| r.key.workload == spec.name).collect();
    let metric = spec.metric.or_else(|| mine.first().map(|r| r.workload.metric)).unwrap_or(Metric::Tps);
    let cells = cells(study, &mine, metric).map_err(|reason| vec![Refusal { reason, insist: None }])?;
    let (points, how) = match &study.summary {
        Summary::MeanOver(list) => (list.clone(), Summarise::Mean),
        Summary::Peak => (study.sweep.levels().to_vec(), Summarise::Max),
    };
    let values = |contender: &str| -> Vec<Vec<f64>> {
        let at = |c: &u32| cells.iter().find(|cell| cell.contender == contender && cell.level == *c);
        points.iter().map(|c| at(c).map(|cell| cell.values.clone()).unwrap_or_default()).collect()
    };
    let base = values(&study.baseline().name);
    let seed = study.seed.derive(&format!("compare {}", spec.name));
    let confidence = study.decision.confidence;
    let mut contenders = Vec::new();
    for contender in &study.contenders {
        let mine = values(&contender.name);
        let is_base = contender.name == study.baseline().name;
        let ratio = if is_base { None } else { stats::ratio(&base, &mine, how, confidence, seed) };
        let value = stats::summarise(&mine, how);
        let interval = stats::summary_interval(&mine, how, confidence, seed);
        let trials = mine.iter().chain(&base).map(Vec::len).min().unwrap_or(0);
        let judge = |ratio: Ratio| judgement(ratio, &study.decision, trials);
        let price = prices(study, &contender.name, bills, value, interval, ratio, &judge);
        contenders.push(ContenderResult {
            contender: contender.name.clone(),
            value,
            interval,
            throughput: ratio.map(judge),
            price,
        });
    }
    let (workload, kind) = (spec.name.clone(), spec.kind.value.clone());
    Ok(WorkloadResult { workload, kind, metric, summary: study.summary.clone(), cells, contenders })
}

fn cells(study: &Study, records: &[&RunRecord], metric: Metric) -> Result<Vec<Cell>, String> {
    let mut cells: Vec<Cell> = Vec::new();
    for level in study.sweep.levels() {
        let first = cells.len();
        for contender in &study.contenders {
            let mut trials: Vec<&&RunRecord> =
                records.iter().filter(|r| r.key.contender == contender.name && r.key.level() == *level).collect();
            trials.sort_by_key(|r| r.key.trial);
            cells.push(cell(&contender.name, *level, &trials, metric, study.decision.confidence)?);
        }
        let base = vec![cells[first + study.baseline].values.clone()];
        for (i, cell) in cells[first..].iter_mut().enumerate().filter(|(i, _)| *i != study.baseline) {
            let seed = study.seed.derive(&format!("cell {level} {i}"));
            cell.ratio =
                stats::ratio(&base, std::slice::from_ref(&cell.values), Summarise::Mean, study.decision.confidence, seed);
        }
    }
    Ok(cells)
}

fn cell(contender: &str, level: u32, trials: &[&&RunRecord], metric: Metric, confidence: f64) -> Result<Cell, String> {
    let values: Vec<f64> = trials.iter().map(|r| r.metric(metric)).collect();
    let mut merged = Histogram::new();
    let (mut failed, mut retries) = (0, 0);
    for record in trials {
        merged.merge(&record.latency().map_err(|e| format!("{}: {e}", record.key.path()))?);
        failed += record.measured.transactions.values().map(|t| t.failed).sum::<u64>();
        retries += record.measured.retries;
    }
    let percentile = |p| merged.percentile_ns(p).unwrap_or(0);
    let latency =
        Latency { p50_ns: percentile(50.0), p95_ns: percentile(95.0), p99_ns: percentile(99.0), max_ns: merged.max_ns() };
    let (mean, interval) = (stats::mean(&values), stats::mean_interval(&values, confidence));
    Ok(Cell { contender: contender.to_owned(), level, values, mean, interval, ratio: None, latency, failed, retries })
}

fn prices(
    study: &Study,
    contender: &str,
    bills: &[Bill],
    value: Option<f64>,
    interval: Option<Interval>,
    ratio: Option<Ratio>,
    judge: &impl Fn(Ratio) -> Judgement,
) -> Vec<PricePerformance> {
    let base_bill = |region: &str| bills.iter().find(|b| b.contender == study.baseline().name && b.region == region);
    let one = |bill: &Bill| {
        let total = bill.horizon_total();
        let dollars = total.as_usd_f64();
        let works = value.filter(|v| *v > 0.0);
        // The cost is a constant, so the interval of dollars per unit is the throughput's, turned over.
        let cost_interval = interval.filter(|i| i.low > 0.0).map(|i| Interval { low: dollars / i.high, high: dollars / i.low });
        let base_dollars = base_bill(&bill.region).map(|b| b.horizon_total().as_usd_f64());
        let scale = base_dollars.filter(|b| *b > 0.0 && dollars > 0.0).map(|b| b / dollars);
        let value_for_money = ratio.zip(scale).map(|(r, s)| judge(scaled(r, s)));
        PricePerformance {
            region: bill.region.clone(),
            monthly: bill.monthly(),
            total,
            usd_per_unit: works.map(|v| dollars / v),
            units_per_usd: works.filter(|_| dollars > 0.0).map(|v| v / dollars),
            usd_per_unit_interval: cost_interval,
            value_for_money,
        }
    };
    bills.iter().filter(|b| b.contender == contender).map(one).collect()
}

/// A ratio times a constant that has no error.
fn scaled(ratio: Ratio, scale: f64) -> Ratio {
    let interval = ratio.interval.map(|i| Interval { low: i.low * scale, high: i.high * scale });
    Ratio { value: ratio.value * scale, interval, ..ratio }
}

fn judgement(ratio: Ratio, rule: &Decision, trials: usize) -> Judgement {
    let detectable = stats::detectable(&ratio, rule.confidence);
    Judgement { ratio, verdict: judge(&ratio, rule, trials), detectable }
}

/// The rule: the whole interval must lie beyond the margin, or inside it.
pub fn judge(ratio: &Ratio, rule: &Decision, trials: usize) -> Verdict {
    let Some(interval) = ratio.interval else { return Verdict::Undecided { why: Why::SingleTrial } };
    if let Some(decided) = decided(interval, rule.margin) {
        return decided;
    }
    // As many trials as would narrow this interval enough, should the ratio stay where it is.
    let per_trial = ratio.log_error * (trials as f64).sqrt();
    let freedom_per_trial = ratio.freedom / (trials as f64 - 1.0).max(1.0);
    for more in 1..=1000u32 {
        let n = (trials + more as usize) as f64;
        let half = stats::student_quantile(rule.confidence, freedom_per_trial * (n - 1.0)) * per_trial / n.sqrt();
        let narrowed = Interval { low: ratio.value * (-half).exp(), high: ratio.value * half.exp() };
        if decided(narrowed, rule.margin).is_some() {
            return Verdict::Undecided { why: Why::MoreTrials { more } };
        }
    }
    Verdict::Undecided { why: Why::OnTheEdge }
}

fn decided(interval: Interval, margin: f64) -> Option<Verdict> {
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

#[cfg(test)]
mod tests;
