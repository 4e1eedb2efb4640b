//! How the ratio of a contender to the baseline changes from level to level of a factor: the interaction, with its interval.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judge::{Basis, judgement};
use super::overall::weighed;
use super::result::Judgement;
use super::workload::Judged;
use crate::metric::Better;
use crate::stats::Estimate;
use crate::study::{Study, WorkloadSpec, base_of};

/// A factor, and what its levels do to the ratios.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactorResult {
    /// Name of the factor.
    pub factor: String,
    /// What reports call it.
    pub label: String,
    /// By workload, rival and level; those over all workloads last.
    pub changes: Vec<FactorChange>,
}

/// The ratio at a level over the ratio at the first level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactorChange {
    /// The workload as written; `None` is the geometric mean over all, with the weights of the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The contender that is compared with the baseline.
    pub contender: String,
    /// What reports call the level.
    pub level: String,
    /// What they call the first one.
    pub first: String,
    /// Ratio over ratio: above 1 the contender gains on the baseline from the first level to this one.
    pub change: Judgement,
}

/// The changes of every factor; nothing in a study without factors.
pub(super) fn factors(study: &Study, workloads: &[Judged], deployed: bool) -> Vec<FactorResult> {
    let of_factor = |(f, factor): (usize, &crate::study::Factor)| {
        let bases: Vec<&str> = distinct(study.workloads.iter().map(|w| base_of(&w.name)));
        let groups = bases.iter().map(|base| Some(*base)).chain((bases.len() > 1).then_some(None));
        let rivals: Vec<&str> = distinct(workloads.iter().flat_map(|w| w.estimates.iter().map(|(name, _)| name.as_str())));
        let mut changes = Vec::new();
        for workload in groups {
            for contender in &rivals {
                for at in 1..factor.levels.len() {
                    let found = change((study, workloads), (f, at), workload, contender, deployed);
                    changes.extend(found.map(|change| FactorChange {
                        workload: workload.map(str::to_owned),
                        contender: (*contender).to_owned(),
                        level: factor.levels[at].label.clone(),
                        first: factor.levels[0].label.clone(),
                        change,
                    }));
                }
            }
        }
        FactorResult { factor: factor.name.clone(), label: factor.label.clone(), changes }
    };
    study.factors.iter().enumerate().map(of_factor).collect()
}

/// The geometric mean of the ratios at a level over that at the first, all other factors at every level; `None` where a ratio is missing.
fn change(
    (study, workloads): (&Study, &[Judged]),
    (factor, at): (usize, usize),
    workload: Option<&str>,
    contender: &str,
    deployed: bool,
) -> Option<Judgement> {
    let is_of = |spec: &&WorkloadSpec| workload.is_none_or(|base| base_of(&spec.name) == base);
    let specs: Vec<(&WorkloadSpec, &Judged)> = study.workloads.iter().zip(workloads).filter(|(spec, _)| is_of(spec)).collect();
    let better = specs.first().map(|(_, judged)| judged.result.metric.better)?;
    // Over all workloads, a metric of which less is better counts the other way round.
    let power = |judged: &Judged| if workload.is_some() { judged.weight } else { judged.power() };
    let at_level = |level: usize| specs.iter().filter(move |(spec, _)| spec.at.get(factor) == Some(&level));
    let sum: f64 = at_level(at).map(|(_, judged)| judged.weight).sum();
    let part = |sign: f64| {
        move |(_, judged): &(&WorkloadSpec, &Judged)| -> Option<(f64, Estimate)> {
            let (_, estimate) = judged.estimates.iter().find(|(name, _)| name == contender)?;
            Some((sign * power(judged) / sum, estimate.clone()))
        }
    };
    let parts: Vec<(f64, Estimate)> = at_level(at).map(part(1.0)).chain(at_level(0).map(part(-1.0))).collect::<Option<_>>()?;
    let (ratio, units) = weighed(&parts, study.decision.confidence);
    let better = if workload.is_some() { better } else { Better::Higher };
    let missing = specs.iter().map(|(_, judged)| judged.missing(contender)).max().unwrap_or(0);
    let basis = Basis { units, missing, deployed, published: study.published.is_some(), better };
    Some(judgement(ratio, &study.decision, basis, None))
}

/// Each name once, in the order in which they come first.
fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}
