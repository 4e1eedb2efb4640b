//! All stages of a study, and where the password of each contender comes from: never from the command line.

use std::path::Path;

use perbuck_core::study::Contender;
use perbuck_database::secret::Secret;
use perbuck_load::stop::StopToken;

use super::{AskPassword, Stage};
use crate::error::{LabError, upper};
use crate::inputs::{Inputs, read_text};
use crate::servers::Servers;

/// Builds every stage of a study: contenders in the order of the study, workloads within.
pub(crate) fn build(
    inputs: &Inputs,
    servers: &Servers,
    ask_password: Option<AskPassword>,
    stop: &StopToken,
) -> Result<Vec<Stage>, LabError> {
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
            stages.push(inputs.registry.stage(&inputs.study, contender, spec, plan, (&target, &password), stop)?);
        }
    }
    Ok(stages)
}

/// The password of a contender: environment, then file, then prompt; none is the empty password.
fn password(contender: &Contender, ask: Option<AskPassword>) -> Result<Secret, LabError> {
    // A control is the system that it repeats, and has its password.
    let name = contender.control_of.as_ref().unwrap_or(&contender.name);
    let variable = format!("PERBUCK_{}_PASSWORD", name.chars().map(upper).collect::<String>());
    if let Some(given) = std::env::var_os(&variable) {
        return Ok(Secret::new(given.into_encoded_bytes()));
    }
    if let Some(file) = &contender.password_file {
        let mut text = read_text(&format!("the password of contender `{}` in", contender.name), Path::new(&file.value))?;
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
        return Ok(Secret::new(text));
    }
    if let Some(ask) = ask {
        let typed = ask(&contender.name);
        return typed
            .map(Secret::new)
            .map_err(|e| LabError::usage(format!("cannot ask for a password: {e}"), format!("put it into {variable} instead")));
    }
    Ok(Secret::default())
}
