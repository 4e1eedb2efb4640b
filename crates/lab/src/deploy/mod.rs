//! Deploys a study on Kubernetes: renders it, brings it up, says what is there and what it costs, and takes it down.
//!
//! The plan and the objects are pure functions of the study ([`perbuck_deploy::kubernetes`]). What was made is noted in the study's
//! results folder before it is made, so that any later command can end it.

mod claim;
mod cluster;
mod cost;
mod down;
mod expiry;
mod facts;
mod files;
mod quantity;
mod run;
mod state;
mod status;
mod tool;
mod up;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use perbuck_core::units::MicroUsd;
use perbuck_deploy::kubernetes::Plan;
use perbuck_deploy::kubernetes::render::{Rendered, render};
use perbuck_load::stop::StopToken;

use crate::error::LabError;
use crate::folder;
use crate::inputs::{Inputs, read_text};
use crate::progress::Progress;

pub use cost::{CostItem, InBill, Spent, cost_items, hourly};
pub use expiry::end_expired;
pub use files::{COST_HEADS, SPENT_HEADS, cost_rows, files, spent_rows};
pub use run::{Consent, Spending, deploys};
pub(crate) use run::{Driven, consented_to_all};
pub(crate) use state::{STATE_FILE, Share};
pub use status::Status;

/// A study's deployment, which this process alone changes.
pub struct Deployment<'i> {
    inputs: &'i Inputs,
    plan: Plan,
    rendered: Vec<Rendered>,
    /// The text of the user's file of CustomResourceDefinitions, of each cluster for which the study names one.
    crds: BTreeMap<String, String>,
    /// The study's results folder.
    root: PathBuf,
    state: state::State,
    // Held until the deployment is dropped: two of one study would make everything twice. `None` for one that only looks.
    lock: Option<File>,
    /// Whether the process that ends it in time is still to be started.
    watches: bool,
}

/// The plan of a study.
///
/// # Errors
/// A study without `deploy`, or one that cannot be deployed.
pub fn plan(inputs: &Inputs) -> Result<Plan, LabError> {
    let plan = Plan::of(&inputs.study, &inputs.name).map_err(|problems| LabError::problems(&problems))?;
    plan.ok_or_else(|| {
        let help = "add `deploy = { provider = \"eks\", … }` to its contenders; see docs/deploy.md";
        LabError::usage(format!("no contender of {} has `deploy`", inputs.name), help)
    })
}

/// Seconds since 1970 UTC.
pub(crate) fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

impl<'i> Deployment<'i> {
    /// Opens the deployment of a study, or begins one.
    ///
    /// # Errors
    /// A study that cannot be deployed, one whose deployment another process holds, or one whose clusters have other names than those
    /// that are up.
    pub fn open(inputs: &'i Inputs, results: &Path) -> Result<Self, LabError> {
        let root = results.join(&inputs.study.name);
        // First what is wrong with the study, so that it leaves no folder.
        plan(inputs)?;
        folder::make(results, &root)?;
        let lock = state::lock(&root)?;
        Self::of(inputs, root, Some(lock))
    }

    /// The same to look at it alone, also while another process changes it.
    ///
    /// # Errors
    /// The same but for the other process.
    pub fn seen(inputs: &'i Inputs, results: &Path) -> Result<Self, LabError> {
        Self::of(inputs, results.join(&inputs.study.name), None)
    }

    fn of(inputs: &'i Inputs, root: PathBuf, lock: Option<File>) -> Result<Self, LabError> {
        let plan = plan(inputs)?;
        let state = match state::State::read(&root)? {
            Some(state) if state.is_up() && !state.is_of(&plan) => {
                let names: Vec<&str> = state.clusters.keys().map(String::as_str).collect();
                let message = format!("{} has clusters of another version of this study: {}", root.display(), names.join(", "));
                return Err(LabError::refused(message, "end them with that study first: perbuck deploy down"));
            }
            Some(state) => state,
            None => state::State::new()?,
        };
        let folder = Path::new(&inputs.name).parent().unwrap_or(Path::new(""));
        let files = plan.clusters.iter().filter_map(|cluster| Some((cluster.name.clone(), cluster.crds.as_ref()?)));
        let crds = files.map(|(name, file)| Ok((name, read_text("the operator's kinds", &folder.join(file))?)));
        let crds = crds.collect::<Result<_, LabError>>()?;
        let plan = plan.of_deployment(&state.id);
        let rendered = render(&plan);
        Ok(Self { inputs, plan, rendered, crds, root, state, lock, watches: false })
    }

    /// What it makes, with what each costs.
    pub fn costs(&self) -> Vec<CostItem> {
        cost_items(self.inputs, &self.plan)
    }

    /// What everything that ran has cost until now.
    pub fn spent(&self) -> Vec<Spent> {
        cost::spent(self.inputs, &self.plan, &self.state, now_unix_s())
    }

    /// Whether anything of it may be there.
    pub fn is_up(&self) -> bool {
        self.state.is_up()
    }
}

/// Whether anything of a study's deployment may be there.
///
/// # Errors
/// A state that cannot be read.
pub(crate) fn is_up(inputs: &Inputs, results: &Path) -> Result<bool, LabError> {
    Ok(state_of(inputs, results)?.is_some_and(|state| state.is_up()))
}

/// The share of a run whose clusters are up, and whose data are to be checked; `None` where there is none.
///
/// # Errors
/// A state that cannot be read.
pub(crate) fn left(inputs: &Inputs, results: &Path) -> Result<Option<Share>, LabError> {
    let up = state_of(inputs, results)?.filter(state::State::is_up);
    Ok(up.and_then(|state| state.share.filter(|share| state.unchecked.contains(share))))
}

/// Whether the data of each share of a run were checked after its last trial.
///
/// # Errors
/// A state that cannot be read.
pub(crate) fn all_checked(inputs: &Inputs, results: &Path) -> Result<bool, LabError> {
    Ok(state_of(inputs, results)?.is_some_and(|state| state.unchecked.is_empty()))
}

fn state_of(inputs: &Inputs, results: &Path) -> Result<Option<state::State>, LabError> {
    state::State::read(&results.join(&inputs.study.name))
}

/// Takes down what an interrupted command was taking down.
///
/// # Errors
/// What [`Deployment::down`] fails by.
pub fn finish(inputs: &Inputs, results: &Path, progress: &mut dyn Progress, stop: &StopToken) -> Result<(), LabError> {
    match state_of(inputs, results)? {
        Some(state) if state.is_up() && state.ending => Deployment::open(inputs, results)?.down(progress, stop),
        _ => Ok(()),
    }
}

/// Whether a study was deployed from this folder of results.
///
/// # Errors
/// A state that cannot be read.
pub fn is_known(inputs: &Inputs, results: &Path) -> Result<bool, LabError> {
    Ok(state_of(inputs, results)?.is_some())
}

/// What the clusters of a study have cost until now, in words.
///
/// # Errors
/// What [`Deployment::open`] fails by.
pub(crate) fn spent_text(inputs: &Inputs, results: &Path) -> Result<String, LabError> {
    let spent = Deployment::seen(inputs, results)?.spent();
    Ok(format!("this study's clusters cost {}{} until now", total(&spent), but(&spent)))
}

/// What a sum leaves out, in words.
pub fn but(spent: &[Spent]) -> &'static str {
    if spent.iter().any(|one| one.cost.is_none()) { ", without what has no price," } else { "" }
}

/// The sum of what was spent, of what has a price.
pub fn total(spent: &[Spent]) -> MicroUsd {
    MicroUsd(spent.iter().filter_map(|one| one.cost).map(|cost| cost.0).sum())
}
