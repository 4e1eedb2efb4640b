//! Where processor time went, symbol by symbol, by the profiles that were taken in the warm-ups of trials.

use perbuck_core::compare::{ContenderResult, Explained, PointProfile, PointResult, ProfileOf, SymbolDifference, WorkloadResult};
use perbuck_core::units::{duration_text, thousands};

use super::{Context, paragraph};
use crate::document::{Block, Table};
use crate::escape::clean;
use crate::number::{or_absent, short_percent};

/// Symbols of each contender and side, and differences, that a table shows.
const SHOWN: usize = 10;
/// A smaller share of the time for each unit is no difference that a few seconds of samples show.
const LEAST: f64 = 0.005;

const SIDES: [ProfileOf; 2] = [ProfileOf::Server, ProfileOf::Client];

const HOW: &str = "Samples were taken by `perf` in the warm-up of each trial, under its load, and had ended before its measured window \
    opened. A symbol's time for each is its share of the samples, times the processor time for each unit of work in the window.";

/// The tables of profiles, with the differences first; empty where no trial has a profile.
pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    let head = all.words().head;
    let symbols = format!("Workload | Contender | {head} | Of | Symbol | In | #Share | #Processor time for each");
    let mut symbols = Table::new("Where processor time went before the window", &symbols);
    let heads = "Workload | Contender | Against | Of | Symbol | In | #More for each | #Its own | #The other's";
    let mut more = Table::new("Where contenders need more or less processor time for each unit of work", heads);
    let mut sentences = Vec::new();
    for w in all.measured() {
        for c in &w.contenders {
            let Some((point, own)) = explained(w, &c.contender) else { continue };
            for profile in &own.profiles {
                add(&mut symbols, [clean(&w.workload), all.label(&c.contender), thousands(point.level.into())], profile);
            }
            let Some(to) = all.compared_with(&c.contender) else { continue };
            let Some((_, base)) = explained(w, to) else { continue };
            for of in SIDES {
                let found = own.profile_differences(base, of);
                sentences.extend(sentence(all, (w, c, to), (own, base, of), &found));
                let least = LEAST * each_ns(base, of).unwrap_or_default();
                for one in found.iter().filter(|one| one.more_ns().abs() >= least).take(SHOWN) {
                    let names = [clean(&w.workload), all.label(&c.contender), all.label(to), side(of).to_owned()];
                    let symbol = [clean(one.symbol), clean(one.object)];
                    let numbers = [signed(one.more_ns()), time(one.own_ns), time(one.base_ns)];
                    more.add(names.into_iter().chain(symbol).chain(numbers));
                }
            }
        }
    }
    if symbols.rows.is_empty() {
        return Vec::new();
    }
    let mut out = vec![paragraph(HOW)];
    if !more.rows.is_empty() {
        out.extend([Block::List(sentences), Block::Table(more)]);
    }
    out.push(Block::Table(symbols));
    out
}

fn explained<'w>(w: &'w WorkloadResult, contender: &str) -> Option<(&'w PointResult, &'w Explained)> {
    let point = w.best_of(contender)?;
    Some((point, point.explained.as_ref()?))
}

fn side(of: ProfileOf) -> &'static str {
    match of {
        ProfileOf::Server => "server",
        ProfileOf::Client => "client",
    }
}

/// Processor time of a side for each unit of work.
fn each_ns(of_point: &Explained, of: ProfileOf) -> Option<f64> {
    let used = match of {
        ProfileOf::Server => of_point.server,
        ProfileOf::Client => of_point.client,
    };
    used.map(|used| used.each_ns)
}

fn time(ns: f64) -> String {
    or_absent((ns > 0.0).then(|| duration_text(ns.round() as u64)))
}

fn signed(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "−" } else { "+" }, duration_text(ns.abs().round() as u64))
}

/// The first symbols of a profile, and what the others have together.
fn add(table: &mut Table, names: [String; 3], profile: &PointProfile) {
    let kernel = if profile.user_only { ", without the kernel" } else { "" };
    let of = format!("{}{kernel}", side(profile.of));
    let whole = profile.symbols.first().and_then(|s| Some(s.each_ns? / s.share));
    let mut row = |symbol: String, object: String, share: f64| {
        let numbers = [short_percent(share), or_absent(whole.map(|ns| duration_text((ns * share).round() as u64)))];
        table.add(names.iter().cloned().chain([of.clone(), symbol, object]).chain(numbers));
    };
    let shown = profile.symbols.iter().take(SHOWN);
    let others = 1.0 - shown.clone().map(|symbol| symbol.share).sum::<f64>();
    shown.for_each(|s| row(clean(&s.symbol), clean(&s.object), s.share));
    // Of all samples one is the smallest share.
    if others * profile.samples as f64 >= 0.5 {
        row("all others".to_owned(), or_absent(None), others);
    }
}

/// `arm needs 12 µs less of the server's processor time than x86 on rw for each unit of work; the largest difference is in memcpy: −8 µs.`
fn sentence(
    all: &Context<'_>,
    (w, c, to): (&WorkloadResult, &ContenderResult, &str),
    (own, base, of): (&Explained, &Explained, ProfileOf),
    found: &[SymbolDifference<'_>],
) -> Option<String> {
    let (first, more) = (found.first()?, each_ns(own, of)? - each_ns(base, of)?);
    let word = if more < 0.0 { "less" } else { "more" };
    Some(format!(
        "{} needs {} {word} of the {}'s processor time than {} on {} for each unit of work; the largest difference is in {}: {}.",
        all.label(&c.contender),
        duration_text(more.abs().round() as u64),
        side(of),
        all.label(to),
        clean(&w.workload),
        clean(first.symbol),
        signed(first.more_ns())
    ))
}
