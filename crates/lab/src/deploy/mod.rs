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

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use perbuck_core::study::DeploySpec;
use perbuck_core::units::MicroUsd;
use perbuck_deploy::kubernetes::Plan;
use perbuck_deploy::kubernetes::render::{Rendered, render};
use perbuck_load::stop::StopToken;

use crate::error::LabError;
use crate::folder;
use crate::inputs::{Inputs, read_text};
use crate::progress::Progress;

pub use cost::{CostItem, InBill, Spent, cost_items, hourly};
pub use expiry::expired;
pub use files::{COST_HEADS, SPENT_HEADS, cost_rows, files, spent_rows};
pub(crate) use run::Driven;
pub use run::{Consent, Spending, deploys};
pub(crate) use state::STATE_FILE;
pub use status::Status;

/// A study's deployment, which this process alone changes.
pub struct Deployment<'i> {
    inputs: &'i Inputs,
    plan: Plan,
    rendered: Vec<Rendered>,
    /// The text of the user's file of CustomResourceDefinitions, where the study names one.
    crds: Option<String>,
    /// The study's results folder.
    root: PathBuf,
    state: state::State,
    // Held until the deployment is dropped: two of one study would make everything twice.
    _lock: File,
}

/// The plan of a study.
///
/// # Errors
/// A study without `deploy`, or one that cannot be deployed.
pub fn plan(inputs: &Inputs) -> Result<Plan, LabError> {
    let plan = Plan::of(&inputs.study, &inputs.name).map_err(|problems| LabError::problems(&problems))?;
    plan.ok_or_else(|| {
        let help = "add `deploy = { provider = \"eks\", kind = \"tidb\", … }` to its contenders; see docs/deploy.md";
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
        let plan = plan(inputs)?;
        let root = results.join(&inputs.study.name);
        folder::make(results, &root)?;
        let lock = state::lock(&root)?;
        let state = match state::State::read(&root)? {
            Some(state) if state.is_up() && !state.is_of(&plan) => {
                let names: Vec<&str> = state.clusters.keys().map(String::as_str).collect();
                let message = format!("{} has clusters of another version of this study: {}", root.display(), names.join(", "));
                return Err(LabError::refused(message, "end them with that study first: perbuck deploy down"));
            }
            Some(state) => state,
            None => state::State::new(now_unix_s())?,
        };
        let crds = specs(inputs).find_map(|spec| spec.crds.as_ref());
        let crds = crds.map(|file| {
            let folder = Path::new(&inputs.name).parent().unwrap_or(Path::new(""));
            read_text("the operator's kinds", &folder.join(&file.value))
        });
        let rendered = render(&plan);
        Ok(Self { inputs, plan, rendered, crds: crds.transpose()?, root, state, _lock: lock })
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

/// Takes down what a run left that was killed after its last trial; false where a user keeps it up.
///
/// # Errors
/// What [`Deployment::open`] and [`Deployment::down`] fail by.
pub(crate) fn end_left(inputs: &Inputs, results: &Path, progress: &mut dyn Progress, stop: &StopToken) -> Result<bool, LabError> {
    let mut deployment = Deployment::open(inputs, results)?;
    if deployment.is_up() && deployment.state.by_hand {
        return Ok(false);
    }
    deployment.down(progress, stop).map(|()| true)
}

/// What the clusters of a study have cost until now, in words.
///
/// # Errors
/// What [`Deployment::open`] fails by.
pub(crate) fn spent_text(inputs: &Inputs, results: &Path) -> Result<String, LabError> {
    let spent = Deployment::open(inputs, results)?.spent();
    Ok(format!("this study's clusters cost {} until now", total(&spent)))
}

/// The sum of what was spent, of what has a price.
pub fn total(spent: &[Spent]) -> MicroUsd {
    MicroUsd(spent.iter().filter_map(|one| one.cost).map(|cost| cost.0).sum())
}

fn specs(inputs: &Inputs) -> impl Iterator<Item = &DeploySpec> {
    inputs.study.contenders.iter().filter_map(|c| c.deploy.as_ref())
}
