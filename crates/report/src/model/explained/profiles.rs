//! Where processor time went, symbol by symbol, by the profiles that were taken in the warm-ups of trials.

use perbuck_core::compare::{ContenderResult, Explained, PointProfile, PointResult, ProfileOf, SymbolDifference, WorkloadResult};
use perbuck_core::run_record::Profile;
use perbuck_core::units::thousands;

use super::{Context, paragraph};
use crate::document::{Block, Table};
use crate::escape::clean;
use crate::number::{fixed, or_absent, short_percent, significant_decimals};

/// Symbols of each contender and side, and differences, that a table shows.
const SHOWN: usize = 10;

const SIDES: [ProfileOf; 2] = [ProfileOf::Server, ProfileOf::Client];

const HOW: &str = "Samples were taken by `perf` in the warm-up of each trial, under its load, and had ended before its measured window \
    opened. A symbol's time for each is its share of the samples, times the processor time for each unit of work in the window.";

/// The tables of profiles, with the differences first; empty where no trial has a profile.
pub(in crate::model) fn section(all: &Context<'_>) -> Vec<Block> {
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
                add(&mut symbols, &[clean(&w.workload), all.label(&c.contender), thousands(point.level.into())], profile);
            }
            let Some(to) = all.compared_with(&c.contender) else { continue };
            let Some((_, base)) = explained(w, to) else { continue };
            for of in SIDES {
                let found = own.profile_differences(base, of);
                sentences.extend(sentence(all, (w, c, to), (own, base, of), &found));
                for one in found.iter().filter(|one| one.is_shown()).take(SHOWN) {
                    let names = [clean(&w.workload), all.label(&c.contender), all.label(to), side(of).to_owned()];
                    let symbol = [clean(one.symbol), clean(one.object)];
                    let numbers = [signed(one.more_ns()), time(one.own_ns), time(one.base_ns)];
                    more.add(names.into_iter().chain(symbol).chain(numbers));
                }
            }
        }
    }
    let mut out: Vec<Block> = not_taken(all).into_iter().map(paragraph).collect();
    if symbols.rows.is_empty() {
        return out;
    }
    out.push(paragraph(HOW));
    if !sentences.is_empty() {
        out.push(Block::List(sentences));
    }
    if !more.rows.is_empty() {
        out.push(Block::Table(more));
    }
    out.push(Block::Table(symbols));
    out
}

/// How many profiles are missing, and why the first of them is.
fn not_taken(all: &Context<'_>) -> Option<String> {
    let asked: Vec<&Profile> = all.records.iter().flat_map(|r| r.target.profile.iter().chain(&r.health.profile)).collect();
    let missing: Vec<&String> = asked.iter().filter_map(|profile| profile.not_taken.as_ref()).collect();
    let first = clean(missing.first()?);
    Some(format!("{} of {} profiles could not be taken; of the first it is said: {first}.", missing.len(), asked.len()))
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
    or_absent((ns > 0.0).then(|| text(ns)))
}

/// With three digits.
fn text(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let (length, unit) = units.into_iter().find(|(length, _)| ns >= *length).unwrap_or((1.0, "ns"));
    let value = ns / length;
    format!("{} {unit}", fixed(value, significant_decimals(value, 3)))
}

fn signed(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "−" } else { "+" }, text(ns.abs()))
}

/// The first symbols of a profile, and what the others have together.
fn add(table: &mut Table, names: &[String; 3], profile: &PointProfile) {
    let kernel = if profile.user_only { ", without the kernel" } else { "" };
    let of = format!("{}{kernel}", side(profile.of));
    let whole = profile.each_ns();
    let mut row = |symbol: String, object: String, share: f64| {
        let numbers = [short_percent(share), or_absent(whole.map(|ns| text(ns * share)))];
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

/// `arm needs 12.0 µs less of the server's processor time than x86 on rw for each unit of work; the largest difference is in memcpy of
/// libc.so.6: −8.12 µs.`
fn sentence(
    all: &Context<'_>,
    (w, c, to): (&WorkloadResult, &ContenderResult, &str),
    (own, base, of): (&Explained, &Explained, ProfileOf),
    found: &[SymbolDifference<'_>],
) -> Option<String> {
    let more = each_ns(own, of)? - each_ns(base, of)?;
    let word = if more < 0.0 { "less" } else { "more" };
    let first = found.iter().find(|one| one.is_shown()).map_or_else(
        || "no symbol differs by more than the samples scatter".to_owned(),
        |one| format!("the largest difference is in {} of {}: {}", clean(one.symbol), clean(one.object), signed(one.more_ns())),
    );
    (!found.is_empty()).then(|| {
        let (own, of, base) = (all.label(&c.contender), side(of), all.label(to));
        let (more, on) = (text(more.abs()), clean(&w.workload));
        format!("{own} needs {more} {word} of the {of}'s processor time than {base} on {on} for each unit of work; {first}.")
    })
}
