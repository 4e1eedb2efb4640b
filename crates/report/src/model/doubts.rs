//! What stands beside intervals that do not hold: trials that stalled, stalls that few trials cannot see, prices that lists disagree on.

use perbuck_core::compare::{ContenderResult, DisputedRatio, Judgement, PointResult, Stalls, WorkloadResult};

use super::Context;
use super::verdicts::rivals;
use crate::document::{Block, Cell};
use crate::escape::clean;
use crate::number::{between, counted, list, percent, ratio, short_percent};

/// A cell with something more in its note.
pub(super) fn with_note(mut cell: Cell, note: &str) -> Cell {
    if !cell.note.is_empty() && !note.is_empty() {
        cell.note.push_str("; ");
    }
    cell.note.push_str(note);
    cell
}

/// What stands beside a ratio: that a trial of the contender or of the baseline stalled.
pub(super) fn of_ratio(all: &Context<'_>, w: &WorkloadResult, c: &ContenderResult) -> &'static str {
    let stalled = |c: &ContenderResult| c.stalls.is_some_and(|s| s.seen > 0);
    let compared = |o: &&ContenderResult| o.contender == c.contender || all.is_base(&o.contender);
    if w.contenders.iter().filter(compared).any(stalled) { "a trial stalled" } else { "" }
}

/// The trials that stalled.
pub(super) fn stalled(all: &Context<'_>) -> Option<Block> {
    let seen = |(w, c): (&WorkloadResult, &ContenderResult)| {
        let stalls = c.stalls.filter(|s| s.seen > 0)?;
        let points = w.points.iter().filter(|p| p.contender == c.contender).filter_map(|p| at_point(all, p));
        let range = format!("{} to {}", short_percent(stalls.share.low), short_percent(stalls.share.high));
        let name = all.label(&c.contender);
        let trials = format!("{} of {}", stalls.seen, counted(stalls.trials, "trial"));
        let points = points.collect::<Vec<_>>().join("; ");
        Some(format!("{name} stalled on {} in {trials} ({points}): {range} of its trials may stall.", clean(&w.workload)))
    };
    let told: Vec<String> = contenders(all).filter_map(seen).collect();
    (!told.is_empty()).then(|| {
        let confidence = percent(all.comparison.printed_confidence());
        let text = "So few trials cannot tell how often a stall occurs: the intervals of these contenders, and of ratios with them, do not hold";
        Block::Note(format!("{} {text} ({confidence}).", told.join(" ")))
    })
}

/// What the first lines say: whose intervals do not hold, and where verdicts depend on a disputed price.
pub(crate) fn caveats(all: &Context<'_>) -> Vec<String> {
    let stalled = |(w, c): (&WorkloadResult, &ContenderResult)| {
        let stalls = c.stalls.filter(|s| s.seen > 0)?;
        let (name, trials) = (all.label(&c.contender), counted(stalls.trials, "trial"));
        Some(format!("{name} stalled on {} in {} of {trials}: its intervals there do not hold.", clean(&w.workload), stalls.seen))
    };
    let decides = |region: &&str| {
        let found = rivals(all).flat_map(|(_, c)| &c.price).filter(|p| p.region == *region);
        let mut ratios = found.filter_map(|p| p.disputed.as_ref()?.ratio.as_ref());
        ratios.any(DisputedRatio::decides)
    };
    let text = |r: &str| {
        format!("Lists disagree on prices in {}: verdicts on work per dollar depend on which price is right.", clean(r))
    };
    contenders(all).filter_map(stalled).chain(all.regions().into_iter().filter(decides).map(text)).collect()
}

/// `8 connections, trial 3`.
fn at_point(all: &Context<'_>, point: &PointResult) -> Option<String> {
    let trial = |p: &perbuck_core::compare::TrialPosition| match p.deployment {
        1 => p.trial.to_string(),
        deployment => format!("{} of deployment {deployment}", p.trial),
    };
    let trials: Vec<String> = point.stalled.iter().map(trial).collect();
    let word = if trials.len() == 1 { "trial" } else { "trials" };
    let level = all.words().at(point.level);
    (!trials.is_empty()).then(|| format!("{level}, {word} {}", list(&trials)))
}

/// How often a stall may come that no trial has shown.
pub(super) fn unseen(all: &Context<'_>) -> Option<String> {
    // What an article shows are no trials of a plan.
    if all.comparison.published.is_some() {
        return None;
    }
    // Long queries are no stalls, so none are looked for.
    let looked = |w: &WorkloadResult| all.study.workload(&w.workload).is_none_or(|spec| !spec.is_long());
    let none = |(w, c): (&WorkloadResult, &ContenderResult)| c.stalls.filter(|s| s.seen == 0 && looked(w));
    let fewest: Stalls = contenders(all).filter_map(none).min_by_key(|s| s.trials)?;
    let (trials, share) = (counted(fewest.trials, "trial"), short_percent(fewest.share.high));
    let confidence = percent(all.comparison.printed_confidence());
    Some(format!(
        "Intervals cover only stalls that occurred. {trials} without a stall cannot exclude that up to {share} of trials stall ({confidence})."
    ))
}

fn contenders<'a>(all: &'a Context<'_>) -> impl Iterator<Item = (&'a WorkloadResult, &'a ContenderResult)> {
    all.comparison.workloads.iter().flat_map(|w| w.contenders.iter().map(move |c| (w, c)))
}

/// Work per dollar at both ends of the prices that lists disagree on.
pub(super) fn disputed(all: &Context<'_>, region: &str) -> Option<Block> {
    let of = |(w, c): (&WorkloadResult, &ContenderResult)| {
        let price = c.price.iter().find(|p| p.region == region)?;
        let found = price.disputed.as_ref()?.ratio.as_ref()?;
        Some(format!("{} on {}: {}.", all.label(&c.contender), clean(&w.workload), ends(found)))
    };
    let told: Vec<String> = rivals(all).filter_map(of).collect();
    let text = format!(
        "Lists disagree on prices in {}. Work per dollar is then, at the least and the most favourable of them:",
        clean(region)
    );
    (!told.is_empty()).then(|| Block::Note(format!("{text} {}", told.join(" "))))
}

/// `0.98× (0.95–1.01), equivalent, to 1.06× (1.02–1.10), better: the verdict depends on which price is right`.
pub(super) fn ends(found: &DisputedRatio) -> String {
    let end = |j: &Judgement| format!("{} ({}), {}", ratio(&j.ratio), between(&j.ratio), j.verdict.word());
    let depends = if found.decides() { ": the verdict depends on which price is right" } else { "" };
    format!("{}, to {}{depends}", end(&found.least), end(&found.most))
}
