//! All stages of a study.

use perbuck_database::secret::Secret;

use super::password::password;
use super::{AskPassword, Stage};
use crate::error::LabError;
use crate::inputs::Inputs;
use crate::servers::Servers;

/// Builds every stage of a study: contenders in the order of the study, workloads within.
pub(crate) fn build(inputs: &Inputs, servers: &Servers, ask_password: Option<AskPassword>) -> Result<Vec<Stage>, LabError> {
    let mut stages = Vec::new();
    for (i, (contender, target)) in inputs.study.contenders.iter().zip(&inputs.targets).enumerate() {
        let private = servers.of(i);
        let Some(target) = private.map(|(target, _)| target).or(target.as_ref()) else {
            let message = format!("contender `{}` has no target to drive", contender.name);
            return Err(LabError::usage(message, "add `target = \"…\"` to it; without one it can only be priced"));
        };
        let password = match (private, target) {
            (Some((_, password)), _) => password.clone(),
            // No user, no password.
            (None, target) if target.server().is_none() => Secret::default(),
            (None, _) => password(contender, ask_password)?,
        };
        for (spec, plan) in inputs.study.workloads.iter().zip(&inputs.plans) {
            let target = spec.database.as_ref().map_or_else(|| target.clone(), |name| target.with_database(name));
            stages.push(inputs.registry.stage(&inputs.study, contender, spec, plan, &target, &password)?);
        }
    }
    Ok(stages)
}
