//! What a search tells people and programs.

use std::path::Path;

use perbuck_core::arrivals::Arrivals;
use perbuck_core::capacity::{CapacityRecord, CapacityRule, ProbeResult, Votes};
use perbuck_core::compare::{SizedContender, Sizing, Systems};
use perbuck_core::run_record::{Flag, RunRecord};
use perbuck_core::study::Study;
use perbuck_core::units::{duration_text, thousands};
use perbuck_report::document::{Block, Cell, Column, Row, RowKind, Section, Table};
use perbuck_report::text::Summary;

use super::terms::Terms;
use crate::store::{CAPACITY_FOLDER, SIZING_MARKDOWN, SIZING_PAGE};

/// The title for messages, where even the lowest rate broke the objective.
pub(super) fn nothing_kept(found: &CapacityRecord) -> Option<String> {
    let nothing = found.result.capacity_per_s.is_none();
    nothing.then(|| format!("{}, {} at {}/s", found.contender, found.workload, found.rule.lowest_per_s))
}

/// The outcome of a trial on one line: `kept, p99 1.20 ms`.
pub(super) fn outcome(rule: &CapacityRule, seen: &ProbeResult, record: &RunRecord) -> String {
    let mut text = if rule.keeps(seen) { "kept" } else { "broken" }.to_owned();
    match seen.response_ns {
        Some(ns) => text.push_str(&format!(", p{} {}", rule.percentile, duration_text(ns))),
        None => text.push_str(", nothing completed"),
    }
    if !rule.keeps_up(seen) {
        text.push_str(&format!(", {} of {} completed", thousands(seen.completed), thousands(seen.offered)));
    }
    for flag in &record.flags {
        match flag {
            // Beyond the capacity a trial is overloaded and unsettled by design.
            Flag::Overloaded { .. } | Flag::Unsettled { .. } => {}
            // Why is in the record; here it would be longer than all the rest.
            Flag::ClientLimited { .. } => text.push_str(" (limited by the client)"),
            other => text.push_str(&format!(" ({})", other.text())),
        }
    }
    text
}

/// What was found, for people.
pub(super) fn report(study: &Study, terms: &Terms, (found, sizing): (&[CapacityRecord], &[Sizing]), root: &Path) -> Summary {
    let arrivals = match terms.arrivals {
        Arrivals::Poisson => "Poisson",
        Arrivals::Uniform => "uniform",
    };
    let load = format!("open loop, {arrivals} arrivals, at most {} in flight", thousands(u64::from(terms.connections)));
    let trial = format!("{} after {} of warm-up", duration_text(terms.duration_ns), duration_text(terms.warmup_ns));
    let on_disk = root.join(CAPACITY_FOLDER).display().to_string();
    let priced = sizing.first().map(|_| ("As pages", format!("{SIZING_PAGE} and {SIZING_MARKDOWN} in {}", root.display())));
    let facts = [("Load", load), ("Each trial", trial), ("On disk in", on_disk)].into_iter().chain(priced);
    let said = |f: &CapacityRecord| format!("{}, {}: {}.", f.contender, f.workload, f.sentence);
    let note = "In parentheses, with 95 % confidence: how likely a trial at that rate is to keep (or break) the objective. \
                Few trials say little; more --repeats narrow it.";
    let searches = [Block::Table(table(found)), Block::Paragraph(note.to_owned())];
    let costs = sizing.iter().map(|sizing| Block::Table(costs(sizing)));
    Summary {
        title: format!("Capacity of {} with {}", study.name, terms.objective()),
        sentences: sizing.iter().map(|s| s.sentence() + ".").chain(found.iter().map(said)).collect(),
        caveats: caveats(study, sizing),
        facts: facts.map(|(label, value)| (label.to_owned(), value)).collect(),
        details: Section { id: "capacity", title: "Capacity".to_owned(), blocks: costs.chain(searches).collect() },
    }
}

/// What a reader of the costs must know.
fn caveats(study: &Study, sizing: &[Sizing]) -> Vec<String> {
    let several = sizing.iter().flat_map(|s| &s.contenders).any(|c| c.most.is_none_or(|most| most.count > 1));
    let known = [
        (study.notional, "The prices are notional: the searches did not run on the machines that the bills name."),
        (several, "Several systems are assumed to divide the demand evenly, and to share nothing: each is the system of a bill."),
        (true, "A range covers what the searches leave open, and nothing else. It has no reserve for peaks and failures."),
    ];
    known.into_iter().filter(|(is_so, _)| *is_so && !sizing.is_empty()).map(|(_, text)| text.to_owned()).collect()
}

/// What a demand costs, by contender.
fn costs(sizing: &Sizing) -> Table {
    let column = |(head, numeric): (&str, bool)| Column { head: head.to_owned(), numeric };
    let heads =
        [("Contender", false), ("One system, a month", true), ("Capacity", true), ("Systems", true), ("All, a month", true)];
    let row = |c: &SizedContender| {
        let rate = |per_s: Option<u32>| per_s.map(|r| thousands(u64::from(r)));
        let capacity = rate(c.capacity_per_s).map_or_else(|| "—".to_owned(), |rate| format!("{rate}/s"));
        let between = match (rate(c.at_least_per_s), rate(c.below_per_s)) {
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("{low} or more"),
            (None, Some(high)) => format!("below {high}"),
            (None, None) => String::new(),
        };
        let needed = |text: fn(&Systems) -> String| c.needed.as_ref().map_or_else(|| "—".to_owned(), text);
        let systems = needed(|systems| thousands(systems.count.into()));
        let all = needed(|systems| systems.monthly.to_string());
        let cells = vec![
            Cell::new(c.contender.as_str()),
            Cell::new(c.monthly.to_string()),
            Cell::noted(capacity, between),
            Cell::new(systems),
            Cell::noted(all, c.range_text("")),
        ];
        Row { kind: RowKind::Plain, cells }
    };
    let Sizing { workload, region, demand_per_s, .. } = sizing;
    Table {
        caption: format!("What {} TPS of {workload} cost in {region}, with the ranges", thousands((*demand_per_s).into())),
        columns: heads.into_iter().map(column).collect(),
        rows: sizing.contenders.iter().map(row).collect(),
    }
}

fn table(found: &[CapacityRecord]) -> Table {
    let column = |(head, numeric): (&str, bool)| Column { head: head.to_owned(), numeric };
    let heads =
        [("Contender", false), ("Workload", false), ("Capacity", true), ("Bracket", true), ("Kept", true), ("Broken", true)];
    let row = |f: &CapacityRecord| Row { kind: RowKind::Plain, cells: cells(f) };
    Table {
        caption: "In transactions per second: the highest rate at which the objective was kept, and the lowest above it at which it was broken"
            .to_owned(),
        columns: heads.into_iter().map(column).collect(),
        rows: found.iter().map(row).collect(),
    }
}

fn cells(found: &CapacityRecord) -> Vec<Cell> {
    let result = &found.result;
    let rate = |per_s: Option<u32>| per_s.map(|r| thousands(u64::from(r)));
    let capacity = match rate(result.capacity_per_s) {
        Some(rate) if result.at_least() => format!("≥ {rate}/s"),
        Some(rate) => format!("{rate}/s"),
        None => format!("< {}/s", thousands(u64::from(found.rule.lowest_per_s))),
    };
    let bracket = match (rate(result.capacity_per_s), rate(result.broken_per_s)) {
        (Some(low), Some(high)) => format!("{low}–{high}/s"),
        _ => "—".to_owned(),
    };
    let percent = |low: f64, high: f64| format!("{:.0}–{:.0} %", low * 100.0, high * 100.0);
    let kept = |v: &Votes| Cell::noted(format!("{} of {}", v.kept, v.trials), percent(v.keeps.low, v.keeps.high));
    let broken =
        |v: &Votes| Cell::noted(format!("{} of {}", v.trials - v.kept, v.trials), percent(1.0 - v.keeps.high, 1.0 - v.keeps.low));
    let none = || Cell::new("—");
    vec![
        Cell::new(found.contender.as_str()),
        Cell::new(found.workload.as_str()),
        Cell::new(capacity),
        Cell::new(bracket),
        result.kept.as_ref().map_or_else(none, kept),
        result.broken.as_ref().map_or_else(none, broken),
    ]
}
