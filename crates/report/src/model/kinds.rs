//! Kinds of transaction side by side, and what statements a transaction is made of.

use std::collections::BTreeSet;

use perbuck_core::compare::{KindResult, PointResult, Rate, StatementSplit, WorkloadResult};
use perbuck_core::metric::Counted;
use perbuck_core::units::{duration_text, thousands};

use super::levels::levels_of;
use super::measured::point_of;
use super::{Context, open_loop, time_text};
use crate::document::{Block, Cell, Table};
use crate::escape::clean;
use crate::number::{ABSENT, column_decimals, fixed, range, ratio, ratio_interval};

/// A table for each workload that has kinds, and one of statements; empty where nothing of both is known.
pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    let measured = all.measured();
    // Those that each belong to the metric have a table of their times.
    let each = |w: &&&WorkloadResult| !matches!(w.metric.of, Counted::Composite(_));
    let kinds = measured.iter().filter(each).filter_map(|w| kinds(all, w)).map(Block::Table);
    kinds.chain(statements(all, &measured).map(Block::Table)).collect()
}

fn kinds(all: &Context<'_>, w: &WorkloadResult) -> Option<Table> {
    let names: BTreeSet<&str> = w.points.iter().flat_map(|p| &p.kinds).map(|k| k.kind.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let ended = if all.study.sweep.is_open() { " of those that ended in the window" } else { "" };
    let caption =
        format!("{}: kinds of transaction, completed per second and {}{ended}", clean(&w.workload), time_text(all.study));
    let mut table = Table::new(caption, &format!("Kind | #{}", all.words().head));
    let contenders = all.contenders_of(w);
    for name in &contenders {
        let label = all.label(name);
        table.column(&format!("{label}, per second"), true);
        if let Some(to) = all.compared_with(name) {
            table.column(&format!("{label} against {}", all.label(to)), true);
        }
        table.column(&format!("{label}, p95"), true);
    }
    let found = |p: &'_ PointResult, kind: &str| p.kinds.iter().find(|k| k.kind == kind).cloned();
    for kind in names {
        let rates = w.points.iter().filter_map(|p| Some(found(p, kind)?.throughput.mean));
        let decimals = column_decimals(rates);
        for level in levels_of(w) {
            let mut cells = vec![Cell::new(clean(kind)), Cell::new(thousands(level.into()))];
            for name in &contenders {
                let one = point_of(w, name, level).and_then(|p| found(p, kind));
                let bound = open_loop::bound(&all.trials_of(&w.workload, name, level));
                cells.push(one.as_ref().map_or_else(absent, |k| rate(&k.throughput, decimals)));
                if all.compared_with(name).is_some() {
                    let against = one.as_ref().and_then(|k| k.throughput.ratio);
                    cells.push(against.map_or_else(absent, |r| Cell::noted(ratio(&r), ratio_interval(&r))));
                }
                cells.push(one.as_ref().map_or_else(absent, |k| p95(k, bound)));
            }
            table.add(cells);
        }
    }
    Some(table)
}

fn absent() -> Cell {
    Cell::new(ABSENT)
}

fn rate(rate: &Rate, decimals: usize) -> Cell {
    Cell::noted(fixed(rate.mean, decimals), rate.interval.map(|i| range(i, decimals)).unwrap_or_default())
}

/// Its interval is in the data; every table of percentiles shows them alone.
fn p95(kind: &KindResult, bound: &str) -> Cell {
    if kind.latency.max_ns == 0 { absent() } else { Cell::new(format!("{bound}{}", duration_text(kind.latency.p95_ns))) }
}

/// Statements per transaction by workload and contender, from the lowest to the highest of its points; `None` where none is counted.
fn statements(all: &Context<'_>, measured: &[&WorkloadResult]) -> Option<Table> {
    let caption = "Statements per completed transaction, those of failed attempts included: the lowest and the highest point";
    let mut table = Table::new(caption, "Workload | Contender | #Read | #Write | #Other | #All");
    for w in measured {
        for name in all.contenders_of(w) {
            let mine = w.points.iter().filter(|p| p.contender == name);
            let splits: Vec<StatementSplit> = mine.filter_map(|p| p.rates.as_ref()?.per_transaction).collect();
            if splits.is_empty() {
                continue;
            }
            let all_of = |s: &StatementSplit| s.read + s.write + s.other;
            let of: [&dyn Fn(&StatementSplit) -> f64; 4] = [&|s| s.read, &|s| s.write, &|s| s.other, &all_of];
            let span = |of: &dyn Fn(&StatementSplit) -> f64| {
                let values = || splits.iter().map(of);
                let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
                let [low, high] = [low, high].map(|v| fixed(v, 2));
                if low == high { low } else { format!("{low}–{high}") }
            };
            table.add([clean(&w.workload), all.label(name)].into_iter().chain(of.map(span)));
        }
    }
    (!table.rows.is_empty()).then_some(table)
}
