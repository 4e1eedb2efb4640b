//! The shares of a run for which clusters are brought up and taken down.

use perbuck_core::compare::Work;
use perbuck_core::plan::TrialKey;
use perbuck_load::stop::StopToken;

use super::{RunOptions, measured};
use crate::deploy::{self, Driven, Share};
use crate::error::LabError;
use crate::inputs::Inputs;
use crate::looks::Looks;
use crate::progress::Progress;
use crate::store::Store;
use crate::used::Meter;

/// Runs these trials on clusters that are brought up for them, and taken down after them: once for each deployment, and for each contender
/// where those are up one after the other. Says whether all data were checked after the last trial on them.
pub(super) fn on_clusters(
    inputs: &Inputs,
    options: &RunOptions,
    (store, meter): (&Store, &mut Meter),
    on_disk: (usize, usize),
    missing: &[(usize, &TrialKey)],
    progress: &mut dyn Progress,
    stop: &StopToken,
) -> Result<bool, LabError> {
    deploy::finish(inputs, &options.results, progress, stop)?;
    let mut shares: Vec<(Share, &[(usize, &TrialKey)])> = missing
        .chunk_by(|a, b| share_of(inputs, a.1) == share_of(inputs, b.1))
        .filter_map(|share| Some((share_of(inputs, share.first()?.1), share)))
        .collect();
    // A run that was killed after the last trial of a share left its data unchecked.
    if let Some(left) = deploy::left(inputs, &options.results)?.filter(|left| shares.iter().all(|(share, _)| share != left)) {
        shares.insert(0, (left, &[]));
    }
    let mut options = options.clone();
    if !shares.is_empty() && !deploy::is_up(inputs, &options.results)? {
        deploy::consented_to_all(inputs, &options)?;
    }
    // The user said yes to all of it.
    options.spending.consent = None;
    for (share, trials) in shares {
        let alone = share.contender.as_deref().map(|name| inputs.alone(name)).transpose()?;
        let inputs = alone.as_ref().unwrap_or(inputs);
        let looks = Looks::start(inputs, store.root())?;
        meter.now_up(&inputs.study)?;
        let driven = Driven::of(inputs, (&share, !trials.is_empty()), &options, progress, stop)?;
        let on = (&driven.inputs, Some(&driven.deployment));
        let done = measured(on, &driven.options, (store, looks, &mut *meter), on_disk, trials, progress, stop);
        driven.end(done.and(meter.now(Work::Servers)), progress, stop)?;
    }
    let checked = deploy::all_checked(inputs, &options.results)?;
    if !checked {
        progress.line("data were not checked after the last trial on them, since they went with their clusters");
    }
    progress.line(&deploy::spent_text(inputs, &options.results)?);
    Ok(checked)
}

/// The share that a trial is of.
fn share_of(inputs: &Inputs, key: &TrialKey) -> Share {
    let contender = inputs.study.sweep.one_by_one.then(|| inputs.study.twin(&key.contender).to_owned());
    Share { deployment: key.deployment(), contender }
}
