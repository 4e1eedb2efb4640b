//! The one place where measurements and prices meet: points, ratios, price-performance and verdicts.
//!
//! From trials to points ([`points`]), from points to the values and ratios of a workload ([`workload`]), from workloads to one
//! answer ([`overall`]). What a ratio and its interval are is in [`crate::stats`]; what follows from them in [`judge`].

mod answers;
mod beside;
mod builds;
mod claims;
mod clock;
mod deployed;
mod disputed;
mod explain;
mod factors;
mod findings;
mod imported;
mod interference;
mod judge;
mod looks;
mod machines;
mod models;
mod objective;
mod overall;
mod pending;
mod points;
mod rates;
mod refusals;
mod regression;
mod replay;
mod result;
mod schema_1;
mod sizing;
mod spent;
mod stalls;
mod workload;

use crate::audit::Ground;
use crate::bill::Bill;
use crate::run_record::RunRecord;
use crate::stats::Design;
use crate::study::Study;
pub use beside::{Agreement, Beside, BesideRow};
pub use builds::other_build;
pub use claims::{ClaimResult, Outcome};
pub use deployed::{deployed_changes, deployed_otherwise, deployed_restarts};
pub use disputed::{DisputedPrice, DisputedRatio};
pub use explain::{
    Bound, BoundBy, Decomposition, Explained, PointProfile, ProcessorUse, ProfileOf, ServerWorkEach, SymbolDifference,
    SymbolShare,
};
pub use factors::{FactorChange, FactorResult};
pub use findings::{
    Cheapest, Control, Kept, KeptPrice, LatencyInterval, Layout, Noise, Objective, ObjectiveLatency, Outlier, Overall,
    OverallPrice, TrialPosition, Without,
};
pub use interference::{InterferenceResult, InterferenceRow, Reached};
pub use judge::judge;
pub use looks::Looks;
pub use machines::{declares_machine, other_machine, other_machines, other_volume};
pub use models::{Advantage, Models, Scope};
pub use pending::{Points, next_trials, open_points, point_of};
pub use rates::{KindResult, PointRates, Rate, StatementSplit};
pub use regression::{Change, Compared, Regression, Side, regression};
pub use replay::replay;
pub use result::{
    Comparison, ContenderResult, Judgement, Latency, PointResult, PricePerformance, Remark, Verdict, Why, WorkloadResult,
};
pub(crate) use schema_1::first_schema;
pub use sizing::{SIZING_SCHEMA, SizedContender, Sizing, Systems, sizing};
pub use spent::{DataLoad, Spent, SpentMoney, SpentTime, Stretch, Work, cost_of, driven, spent, used_text};
pub use stalls::Stalls;
use workload::Judged;

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
    let refusals: Vec<Refusal> = refusals::refusals(records)
        .into_iter()
        .filter(|r| r.insist.is_none_or(|word| !insist.iter().any(|i| i == word)))
        .collect();
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let (layout, looks) = (layout(study, records), Looks::of(study, &records.iter().collect::<Vec<_>>()));
    let (stated, study) = (study, &looks.applied(study));
    let mut workloads = Vec::new();
    for spec in &study.workloads {
        workloads.push(workload::measured(study, spec, records, bills, layout.design).map_err(|r| vec![r])?);
    }
    let mut remarks = machines::remarks(study, records);
    remarks.extend(builds::remarks(study, records));
    remarks.extend(answers::remarks(study, records));
    remarks.extend(refusals::remarks(records));
    remarks.extend(looks.remark(records));
    remarks.extend(refusals::incomplete_blocks(study, records, layout.design));
    remarks.extend(imported::remarks(study, records));
    remarks.extend(deployed::one_by_one(study, records));
    let found = records.len();
    // Logs have no plan.
    let planned = match &study.decision.until {
        Some(_) => found + next_trials(stated, records, bills).len(),
        None if study.imported => found,
        None => study.trials_planned() as usize,
    };
    let design = layout.design;
    let joined = joined(study, workloads, bills, layout, &looks);
    let interference = interference::interference(study, &joined.workloads, records, design);
    Ok(Comparison { decision: stated.decision.clone(), looks: looks.told(), planned, found, remarks, interference, ..joined })
}

/// Decides the claims of a study on its comparison, and puts what its article printed beside it.
pub fn conclude(comparison: &mut Comparison, ground: &Ground<'_>, records: &[RunRecord]) {
    let independent = comparison.layout.design == Design::Independent;
    let mut study = ground.study.clone();
    study.decision.confidence = comparison.confidence();
    let ground = &Ground { study: &study, ..*ground };
    comparison.claims = claims::claims(ground, &comparison.workloads, independent);
    comparison.beside = beside::beside(ground.study, &comparison.workloads, records);
    let missing = comparison.missing();
    if missing > 0 {
        // A claim that is looked at early is a look, too.
        comparison.claims.iter_mut().for_each(ClaimResult::leave_open);
        comparison.beside.iter_mut().flat_map(|beside| &mut beside.rows).for_each(BesideRow::leave_open);
        comparison.workloads.iter_mut().filter_map(|w| w.noise.as_mut()).for_each(|noise| noise.leave_open(missing));
    }
}

/// The comparison of some workloads; its counts and its remarks are the caller's.
fn joined(study: &Study, workloads: Vec<Judged>, bills: &[Bill], layout: Layout, looks: &Looks) -> Comparison {
    let overall = overall::overall(study, &workloads, bills, layout.deployments > 1);
    let factors = factors::factors(study, &workloads, layout.deployments > 1);
    let mut workloads: Vec<WorkloadResult> = workloads.into_iter().map(|w| w.result).collect();
    judge::correct(&mut workloads, looks);
    Comparison {
        schema: Comparison::SCHEMA,
        study: study.name.clone(),
        question: study.question.clone(),
        baseline: study.baseline().name.clone(),
        decision: study.decision.clone(),
        looks: None,
        layout,
        planned: 0,
        found: 0,
        published: None,
        workloads,
        overall,
        factors,
        interference: Vec::new(),
        claims: Vec::new(),
        beside: None,
        bills: bills.to_vec(),
        spent: None,
        remarks: Vec::new(),
    }
}

fn layout(study: &Study, records: &[RunRecord]) -> Layout {
    let control = study.contenders.iter().find_map(|c| Some(Control { name: c.name.clone(), of: c.control_of.clone()? }));
    let deployments = records.iter().map(|r| r.key.deployment()).max().unwrap_or(1);
    let design = if study.sweep.collected || study.sweep.one_by_one { Design::Independent } else { Design::Blocks };
    Layout { design, deployments, control }
}

#[cfg(test)]
mod tests;
