//! Workloads that run in no study, and scripts that fail without a database.

use perbuck_core::problem::Problem;
use perbuck_core::study::Study;
use perbuck_workloads::Plan;

use super::Inputs;
use super::check::Check;

/// What running the scripts of a study without a database tells; see `Benchmark::rehearse`.
pub(super) fn rehearsed(inputs: Inputs) -> Result<Inputs, Vec<Problem>> {
    if inputs.study.sweep.collected {
        return Ok(inputs);
    }
    let mut problems = Vec::new();
    for (spec, plan) in inputs.study.workloads.iter().zip(&inputs.plans) {
        problems.extend(plan.rehearse().into_iter().map(|(message, help)| Problem {
            file: inputs.name.clone(),
            line: spec.line,
            message: format!("workload `{}`: {message}", spec.name),
            help,
        }));
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
