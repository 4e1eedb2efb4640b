//! The shares of a run for which clusters are brought up and taken down.

use perbuck_core::plan::TrialKey;
use perbuck_load::stop::StopToken;

use super::{RunOptions, measured};
use crate::deploy::{self, Driven};
use crate::error::LabError;
use crate::inputs::Inputs;
use crate::looks::Looks;
use crate::progress::Progress;
use crate::store::Store;

/// Runs these trials on clusters that are brought up for them, and taken down after them: once for each deployment, and for each contender
/// where those are up one after the other.
pub(super) fn on_clusters(
    inputs: &Inputs,
    options: &RunOptions,
    store: &Store,
    on_disk: (usize, usize),
    missing: &[(usize, &TrialKey)],
    progress: &mut dyn Progress,
    stop: &StopToken,
) -> Result<(), LabError> {
    deploy::finish(inputs, &options.results, progress, stop)?;
    if missing.is_empty() && !deploy::is_up(inputs, &options.results)? {
        progress.line("the data were not checked after the last trial, since they went with their clusters");
        return Ok(());
    }
    let mut options = options.clone();
    if !deploy::is_up(inputs, &options.results)? {
        deploy::consented_to_all(inputs, &options)?;
    }
    // The user said yes to all of it.
    options.spending.consent = None;
    let study = &inputs.study;
    let contender = |key: &TrialKey| study.sweep.one_by_one.then(|| study.twin(&key.contender).to_owned());
    let same = |a: &TrialKey, b: &TrialKey| a.deployment() == b.deployment() && contender(a) == contender(b);
    let mut shares: Vec<&[(usize, &TrialKey)]> = missing.chunk_by(|a, b| same(a.1, b.1)).collect();
    if shares.is_empty() {
        shares.push(missing);
    }
    for share in shares {
        let first = share.first().map(|(_, key)| *key);
        let alone = first.and_then(contender).map(|name| inputs.alone(&name)).transpose()?;
        let inputs = alone.as_ref().unwrap_or(inputs);
        let looks = Looks::start(inputs, store.root())?;
        let name = first.map_or_else(String::new, |key| share_name(key.deployment(), contender(key)));
        let driven = Driven::of((inputs, &name), &options, progress, stop)?;
        let on = (&driven.inputs, Some(&driven.deployment));
        let done = measured(on, &driven.options, (store, looks), on_disk, share, progress, stop);
        driven.end(done, progress, stop)?;
    }
    progress.line(&deploy::spent_text(inputs, &options.results)?);
    Ok(())
}

/// What tells a share of a run from the others: its deployment, and its contender where those are up one after the other.
fn share_name(deployment: u32, contender: Option<String>) -> String {
    contender.map_or_else(|| deployment.to_string(), |contender| format!("{deployment} {contender}"))
}
