//! Which part of a study is run: a deployment, levels that are set by hand, and what is refused of both.

use perbuck_core::plan::TrialKey;
use perbuck_core::study::{Contender, Factor, Study};

use super::RunOptions;
use crate::error::LabError;

/// What was asked for, where all of it is there.
pub(super) fn all_of(options: &RunOptions, trials: usize) -> String {
    match options.deployment {
        Some(deployment) => format!("all trials of deployment {deployment}"),
        None if !options.at.is_empty() => format!("all trials at {}", options.at.join(", ")),
        None => format!("all {trials} trials"),
    }
}

/// Whether a trial is of the deployment, and of the levels set by hand, that are to be run.
pub(super) fn asked_for(study: &Study, options: &RunOptions, key: &TrialKey) -> bool {
    let by_hand = study.workload(&key.workload).map(|spec| study.set_by_hand(spec)).unwrap_or_default();
    options.deployment.is_none_or(|d| key.deployment() == d) && by_hand.iter().all(|level| options.at.contains(level))
}

/// Refuses a study of several deployments that perbuck cannot make, and a deployment that the study does not have.
pub(super) fn deployable(study: &Study, wanted: Option<u32>) -> Result<(), LabError> {
    let count = study.sweep.deployments;
    if let Some(wanted) = wanted.filter(|d| !(1..=count).contains(d)) {
        let message = format!("--deployment {wanted}: the study has deployments 1 to {count}");
        return Err(LabError::usage(message, "raise `sweep.deployments`, or name one of them"));
    }
    let again = |c: &Contender| c.server.is_some() || (c.deploy.is_some() && c.target.is_none());
    let fixed = study.contenders.iter().find(|c| !again(c));
    if let Some(contender) = fixed.filter(|_| count > 1 && wanted.is_none()) {
        let message = format!(
            "`sweep.deployments` is {count}, and perbuck cannot deploy contender `{}` again: it has neither `server` nor `deploy`",
            contender.name
        );
        let help = "run one deployment at a time: perbuck run --deployment 1 STUDY, then fresh instances, then --deployment 2 …";
        return Err(LabError::usage(message, help));
    }
    Ok(())
}

/// Refuses to run levels that only the user can set without the word for which of them is set now, and levels that there are not.
pub(super) fn set_by_hand(study: &Study, at: &[String]) -> Result<(), LabError> {
    let by_hand: Vec<&Factor> = study.factors.iter().filter(|factor| factor.by_hand).collect();
    let is_level = |given: &String| {
        let level =
            given.split_once('=').filter(|(name, level)| by_hand.iter().any(|f| f.name == *name && f.level(level).is_some()));
        level.is_some()
    };
    let all = || -> Vec<String> {
        by_hand.iter().flat_map(|f| f.levels.iter().map(move |level| format!("{}={}", f.name, level.name))).collect()
    };
    if let Some(unknown) = at.iter().find(|given| !is_level(given)) {
        let help = if by_hand.is_empty() {
            "leave it out: perbuck sets the levels of this study itself".to_owned()
        } else {
            format!("the levels that you set are: {}", all().join(", "))
        };
        return Err(LabError::usage(format!("--at {unknown}: the study has no such level that is set by hand"), help));
    }
    let given =
        |factor: &Factor| at.iter().filter(|given| given.split_once('=').is_some_and(|(name, _)| name == factor.name)).count();
    match by_hand.iter().find(|factor| given(factor) != 1) {
        Some(factor) => {
            let message = format!("you set the levels of factor `{}`, and perbuck does not know which is set now", factor.name);
            let help = format!("set one, and say so: perbuck run STUDY --at {}; then the next one", all().join(" or --at "));
            Err(LabError::usage(message, help))
        }
        None => Ok(()),
    }
}
