//! What a reader must know before the numbers, the gravest first.

use perbuck_core::run_record::Flag;
use perbuck_core::units::thousands;

use super::published::nothing_measured;
use super::{Context, doubts, findings};
use crate::escape::{clean, clean_to, shorten};
use crate::number::{counted, list};

/// Characters of a caveat in the brief, and of one in the last section.
const SHORT: usize = 160;
const LONG: usize = 1000;

/// How grave a caveat is, in the order in which a reader needs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// No answer stands on this.
    Forbids,
    /// The answer holds for something else than the study says, or depends on what is not known.
    Notional,
    /// A part of the evidence is missing.
    Missing,
    /// It may have moved the numbers.
    Limits,
}

/// A caveat: as the brief says it, and in full.
struct Caveat {
    rank: Rank,
    short: String,
    full: String,
}

impl Caveat {
    fn new(rank: Rank, text: impl Into<String>) -> Self {
        let full = text.into();
        Self { rank, short: first_sentence(&full), full }
    }
}

/// All caveats of a report, the gravest first.
pub(crate) struct Caveats(Vec<Caveat>);

impl Caveats {
    /// As the brief says them: what holds of several contenders, once.
    pub(crate) fn short(&self) -> Vec<&str> {
        let mut distinct: Vec<&str> = Vec::new();
        for caveat in &self.0 {
            if !distinct.contains(&caveat.short.as_str()) {
                distinct.push(&caveat.short);
            }
        }
        distinct
    }

    /// In full, those left out that the first lines of a page say in full.
    pub(crate) fn beyond(&self, shown: usize) -> Vec<String> {
        let short = self.short();
        let told = |c: &&Caveat| short.iter().take(shown).any(|said| *said == c.full);
        self.0.iter().filter(|c| !told(c)).map(|c| c.full.clone()).collect()
    }
}

/// The first sentence of a long text, and of that no more than fits.
fn first_sentence(text: &str) -> String {
    if text.chars().count() <= SHORT {
        return text.to_owned();
    }
    let end = text.match_indices(". ").map(|(at, _)| at + 1).find(|at| *at > 20).unwrap_or(text.len());
    let cut = shorten(&text[..end], SHORT);
    match cut.rfind(' ') {
        Some(word) if cut.ends_with('…') => cut[..word].to_owned() + " …",
        _ => cut,
    }
}

/// What is to be said of a study with its trials, or of published numbers.
pub(crate) fn caveats(all: &Context<'_>) -> Caveats {
    let mut out = match &all.comparison.published {
        Some(source) => of_published(all, source),
        None => of_trials(all),
    };
    out.extend(findings::broken_control(all).map(|text| Caveat::new(Rank::Forbids, text)));
    out.extend(doubts::caveats(all).into_iter().map(|text| Caveat::new(Rank::Notional, text)));
    let note = all.study.price.note.trim();
    if !note.is_empty() {
        let rank = if all.study.notional { Rank::Limits } else { Rank::Notional };
        out.push(Caveat::new(rank, format!("On prices: {}", clean_to(note, LONG))));
    }
    out.sort_by_key(|c| c.rank);
    Caveats(out)
}

fn of_published(all: &Context<'_>, source: &str) -> Vec<Caveat> {
    let nothing = nothing_measured(all.comparison, &clean_to(source, LONG));
    let short = "perbuck measured nothing here; the throughputs are published ones.".to_owned();
    let mut out = vec![Caveat { rank: Rank::Forbids, short, full: nothing }];
    let Some(published) = &all.study.published else { return out };
    if !published.method.trim().is_empty() {
        out.push(Caveat::new(Rank::Limits, clean_to(&published.method, LONG)));
    }
    if !published.missing.is_empty() {
        let missing: Vec<String> = published.missing.iter().map(|m| clean_to(m, LONG)).collect();
        out.push(Caveat::new(Rank::Missing, format!("Not in the article: {}.", missing.join("; "))));
    }
    for remark in &all.comparison.remarks {
        let (points, text) = (counted(remark.trials, "point"), clean(&remark.text));
        out.push(Caveat::new(Rank::Missing, format!("{points}: {text} (the first is {}).", clean(&remark.example))));
    }
    out
}

fn of_trials(all: &Context<'_>) -> Vec<Caveat> {
    let c = all.comparison;
    let mut out = Vec::new();
    let found = thousands(c.found as u64);
    let planned = counted(c.planned, "planned trial");
    if c.found == 0 {
        out.push(Caveat::new(Rank::Forbids, "No trial was found: this report holds prices only."));
    } else if c.found < c.planned {
        let text = format!("The study is incomplete: {found} of {planned} were found, and only those are reported.");
        out.push(Caveat::new(Rank::Missing, text));
    } else if c.found > c.planned {
        out.push(Caveat::new(Rank::Limits, format!("{found} trials were found, and {planned}.")));
    }
    if all.study.imported {
        out.push(Caveat::new(Rank::Forbids, "perbuck measured nothing here; the trials are read from logs of other programs."));
    }
    let forbids = |flag: &&Flag| flag.refused_unless().is_some() || matches!(flag, Flag::FunctionalServer { .. });
    let forbidding: Vec<String> = all.records.iter().flat_map(|r| &r.flags).filter(forbids).map(Flag::name).collect();
    for remark in &c.remarks {
        let text = clean(&remark.text);
        let rank = match () {
            () if remark.text.starts_with("notional") => Rank::Notional,
            // One of them computed something else.
            () if remark.text.starts_with("answers of ") => Rank::Forbids,
            () if remark.flag.as_ref().is_some_and(|flag| forbidding.contains(flag)) => Rank::Forbids,
            () => Rank::Limits,
        };
        let count = counted(remark.trials, "trial");
        let first = if remark.trials == 1 { "" } else { "the first is " };
        let full = format!("{count}: {text} ({first}{}).", clean(&remark.example));
        if remark.text.starts_with("imported from") {
            out.push(Caveat::new(Rank::Missing, full));
            continue;
        }
        let short = match rank {
            Rank::Notional => "Notional: the trials ran on other machines than those that are priced.".to_owned(),
            _ => format!("{} ({} of {found}).", super::capital(&text), count),
        };
        out.push(Caveat { rank, short, full });
    }
    if all.study.sweep.is_open() {
        let text = "The load is an open loop: throughputs differ only where a target did not keep the rate.";
        out.push(Caveat::new(Rank::Limits, text));
    }
    out.extend(shared_machine(all).map(|text| Caveat::new(Rank::Limits, text)));
    out.extend(other_studies(all).map(|text| Caveat::new(Rank::Missing, text)));
    out
}

fn shared_machine(all: &Context<'_>) -> Option<String> {
    let shared = |name: &str| all.records.iter().any(|r| r.key.contender == name && r.host.shared_with_server);
    let names: Vec<String> = all.study.contenders.iter().filter(|c| shared(&c.name)).map(|c| all.label(&c.name)).collect();
    (!names.is_empty())
        .then(|| format!("Client and server shared one machine and competed for its processors: {}.", list(&names)))
}

/// Trials that were measured under more than one version of the study do not belong together.
fn other_studies(all: &Context<'_>) -> Option<String> {
    let mut prints: Vec<&str> = all.records.iter().map(|r| r.study_fingerprint.as_str()).collect();
    prints.sort_unstable();
    prints.dedup();
    (prints.len() > 1).then(|| {
        let count = counted(prints.len(), "version");
        format!("The trials were measured under {count} of the study (different fingerprints).")
    })
}
