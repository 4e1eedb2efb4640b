//! Who keeps the latency objective of the study, with how much throughput, and at what price.

use std::collections::BTreeSet;

use super::findings::{Cheapest, Kept, KeptPrice, Objective};
use super::result::{PointResult, WorkloadResult};
use crate::bill::Bill;
use crate::metric::Better;
use crate::study::Study;

/// What a workload says under the objective; `None` without one, or where nothing was measured.
pub(super) fn objective(study: &Study, result: &WorkloadResult, bills: &[Bill]) -> Option<Objective> {
    study.decision.slo.as_ref().filter(|_| result.metric.better == Better::Higher)?;
    if result.points.iter().all(|c| c.objective.is_none()) {
        return None;
    }
    let mut found = Objective { kept: Vec::new(), broken: Vec::new(), cheapest: Vec::new() };
    for contender in study.contenders.iter().filter(|c| c.control_of.is_none()) {
        let mine = || result.points.iter().filter(|c| c.contender == contender.name && c.objective.is_some());
        let within = mine().filter(|c| c.objective.is_some_and(|o| o.kept));
        match within.max_by(|a, b| a.mean.unwrap_or(0.0).total_cmp(&b.mean.unwrap_or(0.0))) {
            Some(best) => found.kept.extend(kept(best, bills)),
            None if mine().next().is_some() => found.broken.push(contender.name.clone()),
            None => {}
        }
    }
    let mut seen = BTreeSet::new();
    let regions = bills.iter().map(|b| b.region.as_str()).filter(|region| seen.insert(*region));
    found.cheapest = regions.filter_map(|region| cheapest(&found.kept, region)).collect();
    Some(found)
}

fn kept(point: &PointResult, bills: &[Bill]) -> Option<Kept> {
    let (objective, throughput) = (point.objective?, point.mean.filter(|m| *m > 0.0)?);
    let price = |bill: &Bill| KeptPrice {
        region: bill.region.clone(),
        monthly: bill.monthly(),
        usd_per_unit: bill.horizon_total().as_usd_f64() / throughput,
    };
    Some(Kept {
        contender: point.contender.clone(),
        level: point.level,
        throughput,
        latency_ns: objective.ns,
        interval: objective.interval,
        surely: objective.surely,
        price: bills.iter().filter(|b| b.contender == point.contender).map(price).collect(),
    })
}

/// The cheapest of those that keep it; the first in the order of the study where two cost the same.
fn cheapest(kept: &[Kept], region: &str) -> Option<Cheapest> {
    let there = || kept.iter().filter_map(|k| Some((k, k.price.iter().find(|p| p.region == region)?)));
    let per_unit = there().min_by(|a, b| a.1.usd_per_unit.total_cmp(&b.1.usd_per_unit))?;
    let bill = there().min_by_key(|(_, price)| price.monthly)?;
    Some(Cheapest { region: region.to_owned(), per_unit: per_unit.0.contender.clone(), bill: bill.0.contender.clone() })
}
