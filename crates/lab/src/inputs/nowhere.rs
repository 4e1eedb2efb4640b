//! Workloads that run on no database, or not on that of a contender, and scripts that fail without a database.

use perbuck_core::problem::Problem;
use perbuck_core::study::{Study, base_of};
use perbuck_workloads::Plan;

use super::Inputs;
use super::check::{Check, address};

/// What a study that is to run cannot have: a workload that the database of a contender refuses, and what running scripts without a
/// database tells; see `Benchmark::rehearse`.
pub(super) fn rehearsed(inputs: Inputs) -> Result<Inputs, Vec<Problem>> {
    if inputs.study.sweep.collected {
        return Ok(inputs);
    }
    let databases: Vec<_> = inputs
        .study
        .contenders
        .iter()
        .filter(|contender| contender.control_of.is_none())
        .filter_map(|contender| Some((contender, (inputs.registry).target(&address(contender)?).ok()?.dialect())))
        .collect();
    let mut problems = Vec::new();
    for (spec, plan) in inputs.study.workloads.iter().zip(&inputs.plans) {
        let mut add = |who: String, (message, help)| {
            let problem = Problem { file: inputs.name.clone(), line: spec.line, message: format!("{who}: {message}"), help };
            // Levels of a factor repeat contenders and workloads.
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        };
        let name = base_of(&spec.name);
        plan.rehearse().into_iter().for_each(|found| add(format!("workload `{name}`"), found));
        for (contender, dialect) in &databases {
            let who = format!("workload `{name}`, contender `{}`", base_of(&contender.name));
            plan.refusal(*dialect).into_iter().for_each(|found| add(who.clone(), found));
        }
    }
    if problems.is_empty() { Ok(inputs) } else { Err(problems) }
}

impl Check<'_> {
    /// Workloads that each database refuses. The study of a drop-in command's records is no such one: its trials have run.
    pub(super) fn runs_nowhere(&mut self, study: &Study, plans: &[Plan]) {
        if study.sweep.collected {
            return;
        }
        for (spec, plan) in study.workloads.iter().zip(plans) {
            let refusals: Option<Vec<_>> = (self.registry.dialects)().into_iter().map(|dialect| plan.refusal(dialect)).collect();
            if let Some((message, help)) = refusals.and_then(|all| all.into_iter().next()) {
                self.problem(spec.line, format!("workload `{}`: {message}", spec.name), help);
            }
        }
    }
}
