//! All stages of a study, and where the password of each contender comes from: never from the command line.

use std::path::Path;
use std::time::Duration;

use perbuck_core::study::{Contender, ServerSpec, Study, TransactionChoice, WorkloadSpec};
use perbuck_database::address::TargetProblem;
use perbuck_database::registry::AnyTarget;
use perbuck_database::secret::Secret;
use perbuck_database::storage::Storage;
use perbuck_load::stop::StopToken;
use perbuck_workloads::Plan;

use super::{AskPassword, Stage};
use crate::error::{LabError, upper};
use crate::inputs::{Inputs, read_text};
use crate::servers::Servers;

/// Builds every stage of a study: contenders in the order of the study, workloads within.
pub(crate) fn build(inputs: &Inputs, servers: &Servers, passwords: &[Secret], stop: &StopToken) -> Result<Vec<Stage>, LabError> {
    let mut stages = Vec::new();
    for (i, contender) in inputs.study.contenders.iter().enumerate() {
        let own = || Some((inputs.targets.get(i)?.as_ref()?, passwords.get(i)?));
        let Some(reached) = servers.of(i).or_else(own) else { return Err(no_target(contender)) };
        let own = stages_of(inputs, contender, reached, stop)?;
        stages.extend(own.into_iter().map(|stage| servers.tell(i, stage)));
    }
    Ok(stages)
}

/// That a contender has no target to drive.
pub(crate) fn no_target(contender: &Contender) -> LabError {
    let message = format!("contender `{}` has no target to drive", contender.name);
    LabError::usage(message, no_target_help(contender.deploy.is_some()))
}

/// The way out of a contender without a target: one that perbuck deploys has none but in a run.
pub(crate) fn no_target_help(deployed: bool) -> &'static str {
    if deployed {
        "bring it up (perbuck deploy up STUDY), and give the target that it prints: --target CONTENDER=URL"
    } else {
        "add `target = \"…\"` to it; without one it can only be priced"
    }
}

/// Builds the stages of a contender.
pub(crate) fn stages_of(
    inputs: &Inputs,
    contender: &Contender,
    (target, password): (&AnyTarget, &Secret),
    stop: &StopToken,
) -> Result<Vec<Stage>, LabError> {
    let stage = |(spec, plan): (&WorkloadSpec, &Plan)| {
        let mut target = spec.database.as_ref().map_or_else(|| target.clone(), |name| target.with_database(name));
        let variables = super::transactions(contender, target.dialect());
        if let Some(server) = target.server_mut() {
            server.settings.extend(variables.into_iter().map(|(_, name, value)| (name.to_owned(), value)));
        }
        inputs.registry.stage(&inputs.study, contender, spec, plan, (&target, password), stop)
    };
    inputs.study.workloads.iter().zip(&inputs.plans).map(stage).collect()
}

/// The passwords of all contenders. Those of private servers, and of targets without a user, are empty.
pub(crate) fn passwords(inputs: &Inputs, ask: Option<AskPassword>) -> Result<Vec<Secret>, LabError> {
    let of = |(contender, target): (&Contender, &Option<AnyTarget>)| match target {
        Some(target) if target.server().is_some() => {
            match inputs.passwords.get(contender.control_of.as_ref().unwrap_or(&contender.name)) {
                Some(own) => Ok(own.clone()),
                None => password(contender, ask),
            }
        }
        _ => Ok(Secret::default()),
    };
    inputs.study.contenders.iter().zip(&inputs.targets).map(of).collect()
}

/// The password of a contender: environment, then file, then prompt; none is the empty password.
fn password(contender: &Contender, ask: Option<AskPassword>) -> Result<Secret, LabError> {
    // A control is the system that it repeats, and has its password.
    let name = contender.control_of.as_ref().unwrap_or(&contender.name);
    let variable = variable_of(name, "PASSWORD");
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

fn variable_of(contender: &str, what: &str) -> String {
    format!("PERBUCK_{}_{what}", contender.chars().map(upper).collect::<String>())
}

/// The storage in which a contender's servers save copies of its data, with its keys from the environment.
pub(super) fn backup(contender: &Contender) -> Result<Option<Storage>, LabError> {
    let Some(backup) = &contender.backup else { return Ok(None) };
    let variable = variable_of(contender.control_of.as_ref().unwrap_or(&contender.name), "BACKUP");
    let keys = std::env::var_os(&variable).unwrap_or_default();
    let keys = keys.to_str().ok_or_else(|| LabError::usage(format!("{variable} is not UTF-8"), "set it again"))?;
    let refused = |p: TargetProblem| LabError::usage(format!("contender `{}`: {}", contender.name, p.message), p.help);
    Storage::parse(&backup.value, keys).map(Some).map_err(refused)
}

/// The settings of a contender's servers whose values a record keeps: those that the study sets.
pub(super) fn noted(study: &Study, contender: &Contender, spec: &WorkloadSpec) -> Vec<String> {
    let at = study.contender_at(contender, spec);
    let started = at.server.as_ref().map(ServerSpec::config).unwrap_or_default();
    let variable = |key: &String| key.to_ascii_lowercase().replace('-', "_");
    at.server_settings.keys().cloned().chain(started.keys().map(variable)).collect()
}

/// How far back the terminals of a contender read.
pub(crate) fn staleness(contender: &Contender) -> Duration {
    let of = |choice| if let TransactionChoice::StalenessS(seconds) = choice { seconds.into() } else { 0 };
    Duration::from_secs(contender.transactions.iter().map(|choice| of(choice.value)).max().unwrap_or(0))
}
