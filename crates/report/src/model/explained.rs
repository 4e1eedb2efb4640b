//! Why contenders differ: parts that multiply to the ratio of their throughputs, and what bound each of them.

mod profiles;

use perbuck_core::compare::{ContenderResult, Decomposition, PointResult, WorkloadResult};
use perbuck_core::units::{capitalised, thousands};

use super::{Context, paragraph};
use crate::document::{Block, Table};
use crate::escape::clean;
use crate::number::{fixed, list, or_absent, percent, significant_decimals};

pub(super) use profiles::section as by_symbol;

/// A factor this close to 1 is no reason.
const SAME: f64 = 0.02;

const PARTS: &str = "Throughput is the number of processors, times the share of their time that the server used, divided by the server's \
    processor time for each unit of work. So the last three factors make the first: processors × utilisation ÷ time for each.";

/// What says why; empty where nothing does.
pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    let mut sentences = Vec::new();
    let heads = format!(
        "Workload | Contender | {} | Against | #Throughput | #Processors | #Utilisation | #Processor time for each",
        all.words().head
    );
    let mut table = Table::new("Parts of the ratio, each at its point with most throughput", &heads);
    let mut limits =
        Table::new("What bound it, by what was seen", &format!("Workload | Contender | {} | What bound it", all.words().head));
    for w in all.measured() {
        for c in &w.contenders {
            if let (Some(why), Some(to)) = (c.why, all.compared_with(&c.contender)) {
                sentences.push(sentence(all, w, c, &why, to));
                let names =
                    [clean(&w.workload), all.label(&c.contender), thousands(why.level.into()), against(all, to, why.base_level)];
                let numbers = [why.ratio, why.processors, why.utilisation, why.each].map(times);
                table.add(names.into_iter().chain(numbers));
            }
            if let Some((point, text)) = bounds(w, &c.contender) {
                limits.add([clean(&w.workload), all.label(&c.contender), thousands(point.level.into()), text]);
            }
        }
    }
    let each = each(all);
    let mut out = Vec::new();
    if !table.rows.is_empty() {
        out.extend([Block::List(sentences), Block::Table(table), paragraph(PARTS)]);
    }
    if !limits.rows.is_empty() {
        out.push(Block::Table(limits));
    }
    if !each.rows.is_empty() {
        out.push(Block::Table(each));
    }
    out
}

/// What the servers did for each unit of work, at the point with most throughput of each contender.
fn each(all: &Context<'_>) -> Table {
    let points: Vec<(&WorkloadResult, &PointResult)> = all
        .measured()
        .into_iter()
        .flat_map(|w| w.contenders.iter().filter_map(move |c| Some((w, w.best_of(&c.contender)?))))
        .filter(|(_, p)| p.explained.as_ref().is_some_and(|e| !e.each.is_empty()))
        .collect();
    let told = |p: &PointResult, what: &str| Some(p.explained.as_ref()?.each.iter().find(|each| each.what == what)?.count);
    let mut heads: Vec<&str> = Vec::new();
    for each in points.iter().flat_map(|(_, p)| p.explained.iter().flat_map(|e| &e.each)) {
        // What no contender did is no column.
        if each.count > 0.0 && !heads.contains(&each.what.as_str()) {
            heads.push(&each.what);
        }
    }
    let decimals: Vec<usize> = heads.iter().map(|head| three_digits(points.iter().filter_map(|(_, p)| told(p, head)))).collect();
    let columns: String = heads.iter().map(|head| format!(" | #{}", clean(&capitalised(head)))).collect();
    let mut table = Table::new(
        "What the servers did for each unit of work, by their own counters",
        &format!("Workload | Contender | {}{columns}", all.words().head),
    );
    for (w, p) in &points {
        let names = [clean(&w.workload), all.label(&p.contender), thousands(p.level.into())];
        let cells = heads.iter().zip(&decimals).map(|(head, decimals)| or_absent(told(p, head).map(|n| counted(n, *decimals))));
        table.add(names.into_iter().chain(cells));
    }
    table
}

/// Decimals that give the largest of a column three digits.
fn three_digits(values: impl Iterator<Item = f64>) -> usize {
    significant_decimals(values.fold(0.0, f64::max), 3)
}

fn counted(count: f64, decimals: usize) -> String {
    if decimals == 0 { thousands(count.round() as u64) } else { fixed(count, decimals) }
}

fn times(factor: f64) -> String {
    format!("{}×", fixed(factor, 2))
}

fn against(all: &Context<'_>, to: &str, level: u32) -> String {
    format!("{} at {}", all.label(to), thousands(level.into()))
}

/// `arm does 1.10× the throughput of x86 on rw (better): as many processors, 0.95× the utilisation, 0.86× the processor time for each unit of work.`
fn sentence(all: &Context<'_>, w: &WorkloadResult, c: &ContenderResult, why: &Decomposition, to: &str) -> String {
    let same = |factor: f64| (factor - 1.0).abs() <= SAME;
    let part =
        |factor: f64, even: &str, what: &str| if same(factor) { even.to_owned() } else { format!("{} {what}", times(factor)) };
    let parts = [
        part(why.processors, "as many processors", "the processors"),
        part(why.utilisation, "the same utilisation", "the utilisation"),
        part(why.each, "the same processor time for each unit of work", "the processor time for each unit of work"),
    ];
    let (label, ratio, base) = (all.label(&c.contender), times(why.ratio), all.label(to));
    // The interval stands with the ratio of the trials' means; here only whether there is a difference at all.
    let verdict = c.throughput.as_ref().map(|j| format!(" ({})", j.verdict.word())).unwrap_or_default();
    format!("{label} does {ratio} the throughput of {base} on {}{verdict}: {}.", clean(&w.workload), list(&parts))
}

/// What bound a contender at its point with most throughput; `None` where nothing bound it and its server's work is not told.
fn bounds<'w>(w: &'w WorkloadResult, contender: &str) -> Option<(&'w PointResult, String)> {
    let best = w.best_of(contender)?;
    let explained = best.explained.as_ref()?;
    let texts: Vec<String> = explained.bounds.iter().map(|bound| clean(&bound.text)).collect();
    if !texts.is_empty() {
        return Some((best, texts.join("; ")));
    }
    let used = explained.server?.utilisation;
    Some((best, format!("nothing; the server used {} of its machine's processors", percent(used))))
}
