//! What a load and query streams on the same tables did to each other: a table for each contender, and both as curves.

use std::collections::BTreeSet;

use perbuck_core::compare::{InterferenceResult, InterferenceRow, Reached};
use perbuck_core::units::{duration_text, thousands};

use super::figures::pair;
use super::{Context, paragraph};
use crate::document::{Axis, AxisScale, Block, Cell, Figure, MarkShape, Panels, Table, XyPanel, XyPoint, XySeries};
use crate::escape::clean;
use crate::number::{ABSENT, counted, fixed, list, percent, range, ratio, ratio_interval, significant_decimals};

/// Nothing where no workload has two loads.
pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    let results = &all.comparison.interference;
    if results.is_empty() {
        return Vec::new();
    }
    let figure = figure(all, results).map(Block::Figure);
    let tables = results.iter().map(|result| Block::Table(table(all, result)));
    std::iter::once(paragraph(EXPLANATION))
        .chain(figure)
        .chain(tables)
        .chain(in_part(all, results))
        .chain(failed(all, results))
        .collect()
}

/// What is left of each load beside the most query streams; nothing where no load was measured alone, too.
pub(super) fn kept(all: &Context<'_>) -> Option<String> {
    let results = &all.comparison.interference;
    let most = results.iter().flat_map(|result| &result.rows).filter(|row| row.load.is_some()).map(|row| row.streams).max()?;
    let one = |result: &InterferenceResult| {
        let row = result.rows.iter().rfind(|row| row.streams == most && row.load.is_some())?;
        let of = row.load.as_ref()?.of_alone.as_ref()?;
        let interval = of.interval.map(|_| format!(" ({})", ratio_interval(of))).unwrap_or_default();
        Some(format!("{} keeps {}{interval} of its {}", all.label(&result.contender), ratio(of), clean(&result.load)))
    };
    let each: Vec<String> = results.iter().filter_map(one).collect();
    (!each.is_empty()).then(|| format!("Beside {} {}.", counted(most as usize, "query stream"), list(&each)))
}

/// Where queries failed, which then count nowhere.
fn failed(all: &Context<'_>, results: &[InterferenceResult]) -> Option<Block> {
    let one = |result: &InterferenceResult| {
        let rows = result.rows.iter().filter(|row| row.failed_queries > 0);
        let each = rows.map(|row| {
            format!("{} of {} on {}", thousands(row.failed_queries), clean(&row.workload), all.label(&result.contender))
        });
        each.collect::<Vec<_>>()
    };
    let found: Vec<String> = results.iter().flat_map(one).collect();
    let text = "Queries that failed, those over their `limit` among them, are in no number above";
    (!found.is_empty()).then(|| Block::Note(format!("{text}: {}.", list(&found))))
}

/// Where a trial was too short for every query.
fn in_part(all: &Context<'_>, results: &[InterferenceResult]) -> Option<Block> {
    let short = |result: &InterferenceResult| {
        let rows = result.rows.iter().filter(|row| row.streams > 0 && row.rounds < 1.0);
        let names: Vec<String> = rows.map(|row| clean(&row.workload)).collect();
        (!names.is_empty()).then(|| format!("{} on {}", list(&names), all.label(&result.contender)))
    };
    let found: Vec<String> = results.iter().filter_map(short).collect();
    let text = "These trials were too short for every query to end once in each stream, so their queries per hour are those of a part of the mix; a \
                longer `duration` has all of them";
    (!found.is_empty()).then(|| Block::Note(format!("{text}: {}.", found.join("; "))))
}

const EXPLANATION: &str = "The load and the query streams work on the same tables at the same time. “Of alone” is the ratio to the same connections \
                           without queries, and to the same query streams without the load. The lag is the time from the commit of a row until a \
                           query sees it; on the server of the load it is the time of one short query.";

fn table(all: &Context<'_>, result: &InterferenceResult) -> Table {
    let (load, queries) = (clean(&result.load), clean(&result.queries));
    let caption = format!("{}: load and query streams, alone and together", all.label(&result.contender));
    let heads = format!(
        "Workload | #Connections | #Query streams | #{load} | #{load} of alone | #{queries} | #{queries} of alone | #Lag, p50 | #Lag, p99"
    );
    let mut table = Table::new(caption, &heads);
    for row in &result.rows {
        let mut cells = vec![Cell::new(clean(&row.workload)), count(row.connections), count(row.streams)];
        for value in [&row.load, &row.queries] {
            cells.push(value.as_ref().map_or_else(|| Cell::new(ABSENT), reached));
            let of_alone = value.as_ref().and_then(|value| value.of_alone.as_ref());
            cells.push(of_alone.map_or_else(|| Cell::new(ABSENT), |r| Cell::noted(ratio(r), ratio_interval(r))));
        }
        let lag = row.lag.filter(|lag| lag.max_ns > 0);
        let time = |ns: Option<u64>| Cell::new(ns.map_or_else(|| ABSENT.to_owned(), duration_text));
        cells.extend([time(lag.map(|lag| lag.p50_ns)), time(lag.map(|lag| lag.p99_ns))]);
        table.add(cells);
    }
    table
}

fn count(number: u32) -> Cell {
    Cell::new(if number == 0 { ABSENT.to_owned() } else { thousands(number.into()) })
}

fn reached(value: &Reached) -> Cell {
    let decimals = significant_decimals(value.mean, 4);
    Cell::noted(fixed(value.mean, decimals), value.interval.map(|i| range(i, decimals)).unwrap_or_default())
}

/// What one of the two loads reached, over the size of the other.
struct Curve {
    size: fn(&InterferenceRow) -> u32,
    other: fn(&InterferenceRow) -> u32,
    value: fn(&InterferenceRow) -> Option<&Reached>,
    label: fn(&InterferenceResult) -> &str,
    words: [&'static str; 2],
}

const CURVES: [Curve; 2] = [
    Curve {
        size: |row| row.connections,
        other: |row| row.streams,
        value: |row| row.load.as_ref(),
        label: |result| &result.load,
        words: ["connection", "query streams beside them"],
    },
    Curve {
        size: |row| row.streams,
        other: |row| row.connections,
        value: |row| row.queries.as_ref(),
        label: |result| &result.queries,
        words: ["query stream", "connections of the load"],
    },
];

fn figure(all: &Context<'_>, results: &[InterferenceResult]) -> Option<Figure> {
    let mut drawn = Table::of_figure("Measured | Size | Contender | #Beside it | #Value | #Interval");
    let mut panels = Vec::new();
    for curve in &CURVES {
        let rows = || results.iter().flat_map(|result| &result.rows);
        let sizes: BTreeSet<u32> = rows().filter(|row| (curve.value)(row).is_some()).map(curve.size).collect();
        panels.extend(sizes.into_iter().filter_map(|size| panel(all, results, curve, size, &mut drawn)));
    }
    let confidence = percent(all.comparison.printed_confidence());
    let caption = format!("Left of each curve a load is alone. Lines at the marks are {confidence} intervals.");
    Figure::new("interference", "What the load and the queries do to each other", caption, Panels::Xy, panels, drawn)
}

/// A curve needs two points.
fn panel(all: &Context<'_>, results: &[InterferenceResult], curve: &Curve, size: u32, drawn: &mut Table) -> Option<XyPanel> {
    let mut series = Vec::new();
    let label = clean(results.first().map_or("", curve.label));
    for result in results {
        let of_size = result.rows.iter().filter(|row| (curve.size)(row) == size);
        let mut values: Vec<(u32, &Reached)> =
            of_size.filter_map(|row| Some(((curve.other)(row), (curve.value)(row)?))).collect();
        values.sort_by_key(|(other, _)| *other);
        if values.len() < 2 {
            continue;
        }
        let name = all.label(&result.contender);
        for (other, value) in &values {
            let Cell { text, note, .. } = reached(value);
            let what = [label.clone(), counted(size as usize, curve.words[0]), name.clone()];
            drawn.add(what.into_iter().chain([thousands((*other).into()), text, note]).map(Cell::new));
        }
        let point = |(other, value): &(u32, &Reached)| XyPoint {
            interval: value.interval.map(pair),
            ..XyPoint::at((f64::from(*other), value.mean))
        };
        let points = values.iter().map(point).collect();
        let slot = all.slot(&result.contender).unwrap_or(0);
        series.push(XySeries { slot, name, points, mark: MarkShape::Mark, joined: true });
    }
    let title = format!("{label} of {}", counted(size as usize, curve.words[0]));
    let axes = [Axis::new(curve.words[1], AxisScale::Whole), Axis::new(label, AxisScale::FromZero)];
    let [x, y] = axes;
    (!series.is_empty()).then(|| XyPanel::new(title, x, y, series))
}
