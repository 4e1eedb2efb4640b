//! Workloads that run in no study.

use perbuck_core::study::Study;
use perbuck_workloads::Plan;

use super::check::Check;

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
