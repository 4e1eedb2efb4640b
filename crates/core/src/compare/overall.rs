//! One answer over all workloads: the geometric mean of their ratios, with the weights that the study declares.
//!
//! Never the arithmetic mean of throughputs: transactions of unlike workloads are no common unit.

use std::collections::BTreeSet;

use super::disputed;
use super::findings::{Overall, OverallPrice};
use super::judge::{Basis, judgement};
use super::workload::{Judged, cheaper_by, scaled};
use crate::bill::Bill;
use crate::metric::Better;
use crate::stats::{self, Estimate, IntervalRule, Ratio};
use crate::study::Study;

/// Each rival over all workloads; nothing for a single workload, or where one of them cannot be compared.
pub(super) fn overall(study: &Study, workloads: &[Judged], bills: &[Bill], deployed: bool) -> Vec<Overall> {
    if workloads.len() < 2 {
        return Vec::new();
    }
    let sum: f64 = workloads.iter().map(|w| w.weight).sum();
    let one = |contender: &String| {
        let of = |w: &Judged| w.estimates.iter().find(|(name, _)| name == contender).map(|(_, e)| e.clone());
        let parts: Vec<(f64, Estimate)> = workloads.iter().map(|w| Some((w.power() / sum, of(w)?))).collect::<Option<_>>()?;
        let (ratio, units) = weighed(&parts, study.decision.confidence);
        let missing = workloads.iter().map(|w| w.missing(contender)).max().unwrap_or(0);
        let basis = Basis { units, missing, deployed, published: study.published.is_some(), better: Better::Higher };
        let judged = |ratio: Ratio| judgement(ratio, &study.decision, basis, None);
        let price = |bill: &Bill| {
            let times = cheaper_by(study, bills, bill)?;
            Some(OverallPrice {
                region: bill.region.clone(),
                value_for_money: judged(scaled(ratio, times)),
                disputed: disputed::ratio_of(study, bills, bill, ratio, basis),
            })
        };
        Some(Overall {
            contender: contender.clone(),
            weights: workloads.iter().map(|w| (w.result.workload.clone(), w.weight / sum)).collect(),
            throughput: judged(ratio),
            price: bills.iter().filter(|b| b.contender == *contender).filter_map(price).collect(),
        })
    };
    let rivals = workloads.first().map(|w| w.estimates.iter().map(|(name, _)| name).collect::<Vec<_>>()).unwrap_or_default();
    rivals.into_iter().filter_map(one).collect()
}

/// The weighed geometric mean of ratios, and how many units its error comes from.
pub(super) fn weighed(parts: &[(f64, Estimate)], confidence: f64) -> (Ratio, usize) {
    let value = parts.iter().map(|(w, e)| w * e.ratio.value.ln()).sum::<f64>().exp();
    let unknown = (Ratio { value, interval: None, log_error: 0.0, freedom: 0.0 }, 1);
    if parts.iter().any(|(_, e)| e.ratio.interval.is_none()) {
        return unknown;
    }
    let names = |e: &Estimate| e.deviations.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>();
    let Some(shared) = parts.iter().map(|(_, e)| names(e)).reduce(|a, b| a.intersection(&b).copied().collect()) else {
        return unknown;
    };
    let rule = IntervalRule { confidence, choice: parts.iter().map(|(w, e)| w * e.choice).sum() };
    if shared.len() > 1 {
        // A block holds all workloads, so what it does to them is in one deviation.
        let at = |e: &Estimate, name: &(u32, u32)| e.deviations.iter().find(|(n, _)| n == name).map_or(0.0, |(_, d)| *d);
        let deviations: Vec<f64> = shared.iter().map(|name| parts.iter().map(|(w, e)| w * at(e, name)).sum()).collect();
        return (stats::of_deviations(value, &deviations, rule), shared.len());
    }
    // The errors of these ratios hold what choices add to them.
    let rule = IntervalRule { choice: 0.0, ..rule };
    let part = |(w, e): &(f64, Estimate)| (w * e.ratio.log_error).powi(2);
    let error: f64 = parts.iter().map(part).sum();
    let weighted: f64 = parts.iter().map(|p| part(p).powi(2) / p.1.ratio.freedom.max(1.0)).sum();
    let freedom = if weighted > 0.0 { error * error / weighted } else { 1.0 };
    let units = parts.iter().map(|(_, e)| e.units).min().unwrap_or(1);
    (stats::with_error(value, error.sqrt(), freedom, rule), units)
}
