//! The numbers of figures and the tables behind them.

use perbuck_core::compare::{Cell as Measured, PricePerformance, WorkloadResult};
use perbuck_core::stats::Interval;

use super::levels::levels_of;
use super::money::groups;
use super::{Context, phases, published};
use crate::document::{Bar, BarPanel, Cell, Figure, LinePanel, Panels, Point, RowKind, Scale, Series, Stack, StackPanel, Table};
use crate::escape::clean;
use crate::number::{ABSENT, column_decimals, dollar_decimals, fixed, percent, range};

/// Drawings that are shown large; more of them become small multiples.
pub(super) const LARGE_PANELS: usize = 8;

/// What a caption says where more would have to be drawn than anybody looks at; empty where everything is drawn.
pub(super) fn cut_note(found: usize, what: &str) -> String {
    if found <= LARGE_PANELS {
        return String::new();
    }
    format!(" The first {LARGE_PANELS} of {found} {what} are drawn; the table has all.")
}

/// Trials of one point that are drawn or listed one by one.
const DOTS: usize = 60;

/// The trials of a point as dots: all of them, or the least, the largest and every n-th where there are many.
pub(super) fn dots(values: &[f64]) -> Vec<f64> {
    if values.len() <= DOTS {
        return values.to_vec();
    }
    let ends = [values.iter().copied().reduce(f64::min), values.iter().copied().reduce(f64::max)];
    ends.into_iter().flatten().chain(values.iter().copied().step_by(values.len().div_ceil(DOTS - 2))).collect()
}

/// What a caption says where not every trial is a dot.
pub(super) fn dots_note(trials: impl Iterator<Item = usize>) -> &'static str {
    if trials.max().unwrap_or(0) > DOTS {
        " Of a point with many trials the least, the largest and every n-th are dots; all are in the embedded data."
    } else {
        ""
    }
}

/// The trials of a point one by one; of many the first.
pub(super) fn trials_text(values: &[f64], text: impl Fn(f64) -> String) -> String {
    let first: Vec<String> = values.iter().take(DOTS).map(|v| text(*v)).collect();
    let rest = if values.len() > DOTS { format!(" … ({} trials)", fixed(values.len() as f64, 0)) } else { String::new() };
    first.join(" · ") + &rest
}

/// Price-performance per workload and region; `None` without prices and measurements.
pub(super) fn price_performance(all: &Context<'_>) -> Option<Figure> {
    let months = all.comparison.bills.first()?.horizon_months;
    let panels: Vec<BarPanel> = all.measured().iter().filter_map(|w| bar_panel(all, w, months)).collect();
    let confidence = percent(all.comparison.decision.confidence);
    let mut table = Table::new("Data of the figure", &["Workload", "Region", "Contender", "#USD per unit", "#Interval", "Unit"]);
    for w in all.measured() {
        let decimals = dollar_decimals(prices(w).filter_map(|(_, p)| p.usd_per_unit));
        for (name, p) in prices(w) {
            let Some(value) = p.usd_per_unit else { continue };
            let interval = p.usd_per_unit_interval.map_or_else(|| ABSENT.to_owned(), |i| range(i, decimals));
            let texts = [clean(&w.workload), clean(&p.region), all.label(name), fixed(value, decimals), interval];
            table.texts(texts.into_iter().chain([clean(&w.metric.label)]));
        }
    }
    (!panels.is_empty()).then(|| Figure {
        number: 0,
        id: "price-performance",
        title: "What a unit of throughput costs; lower is better".to_owned(),
        caption: format!(
            "Dollars of {months} months per unit of throughput. Whiskers are {confidence} intervals of the throughput, carried over."
        ),
        legend: Vec::new(),
        panels: Panels::Bars(panels),
        table,
    })
}

/// All prices of a workload, by region and then contender.
fn prices(w: &WorkloadResult) -> impl Iterator<Item = (&str, &PricePerformance)> {
    let mut regions: Vec<&str> = Vec::new();
    for p in w.contenders.iter().flat_map(|c| &c.price) {
        if !regions.contains(&p.region.as_str()) {
            regions.push(&p.region);
        }
    }
    let of = move |region: &str| {
        let region = region.to_owned();
        w.contenders.iter().flat_map(move |c| {
            let region = region.clone();
            c.price.iter().filter(move |p| p.region == region).map(|p| (c.contender.as_str(), p))
        })
    };
    regions.into_iter().flat_map(of)
}

fn bar_panel(all: &Context<'_>, w: &WorkloadResult, months: u32) -> Option<BarPanel> {
    let decimals = dollar_decimals(prices(w).filter_map(|(_, p)| p.usd_per_unit));
    let mut groups: Vec<(String, Vec<Bar>)> = Vec::new();
    for (name, p) in prices(w) {
        let Some(value) = p.usd_per_unit.filter(|v| v.is_finite()) else { continue };
        let region = clean(&p.region);
        if groups.last().is_none_or(|(r, _)| *r != region) {
            groups.push((region, Vec::new()));
        }
        let bar = Bar {
            slot: all.slot(name).unwrap_or(0),
            name: all.label(name),
            value,
            interval: p.usd_per_unit_interval.map(pair),
            label: format!("${}", fixed(value, decimals)),
        };
        if let Some((_, bars)) = groups.last_mut() {
            bars.push(bar);
        }
    }
    let axis = format!("USD of {months} months per {}", clean(&w.metric.label));
    (!groups.is_empty()).then(|| BarPanel { title: clean(&w.workload), axis, groups })
}

pub(super) fn pair(i: Interval) -> (f64, f64) {
    (i.low, i.high)
}

/// The cost of a month by group; `None` without bills.
pub(super) fn cost_breakdown(all: &Context<'_>) -> Option<Figure> {
    all.comparison.bills.first()?;
    let mut table = Table::new("Data of the figure", &["Region", "Contender"]);
    let groups = groups(&all.comparison.bills);
    groups.iter().for_each(|g| table.column(g.label(), true));
    table.column("month", true);
    let mut panels = Vec::new();
    for region in all.regions() {
        let mut stacks = Vec::new();
        for bill in all.comparison.bills.iter().filter(|b| b.region == region) {
            let parts: Vec<(f64, String)> =
                groups.iter().map(|g| bill.monthly_of(*g)).map(|m| (m.as_usd_f64(), m.to_string())).collect();
            let (name, total) = (all.label(&bill.contender), bill.monthly().to_string());
            let texts = [clean(region), name.clone()].into_iter().chain(parts.iter().map(|p| p.1.clone()));
            table.texts(texts.chain([total.clone()]));
            stacks.push(Stack { name, parts, label: total });
        }
        panels.push(StackPanel { title: clean(region), axis: "USD per month".to_owned(), stacks });
    }
    Some(Figure {
        number: 0,
        id: "cost",
        title: "Where the money goes".to_owned(),
        caption: "Cost of a month by group of bill lines.".to_owned(),
        legend: groups.iter().map(|g| g.label().to_owned()).collect(),
        panels: Panels::Stacks(panels),
        table,
    })
}

/// The figure of throughput: over time where the load changes in phases, else over the levels; `None` without measurements.
pub(super) fn throughput(all: &Context<'_>) -> Option<Figure> {
    if all.study.sweep.phases.is_empty() { over_levels(all) } else { phases::over_time(all) }
}

fn over_levels(all: &Context<'_>) -> Option<Figure> {
    let (measured, words) = (all.measured(), all.words());
    let confidence = percent(all.comparison.decision.confidence);
    let level = format!("#{}", words.head);
    let mut table = Table::new("Data of the figure", &["Workload", "Contender", &level, "#Mean", "#Interval", "Trials"]);
    for w in &measured {
        let decimals = column_decimals(w.cells.iter().filter_map(|c| c.mean));
        for name in all.contenders_of(w) {
            for cell in points(w, name) {
                let interval = cell.interval.map_or_else(|| ABSENT.to_owned(), |i| range(i, decimals));
                let trials = trials_text(&cell.values, |v| fixed(v, decimals));
                let mean = cell.mean.map_or_else(|| ABSENT.to_owned(), |m| fixed(m, decimals));
                let texts = [clean(&w.workload), all.label(name), fixed(f64::from(cell.level), 0), mean, interval];
                table.row(RowKind::Plain, texts.into_iter().chain([trials]).map(Cell::new).collect());
            }
        }
    }
    let panels: Vec<LinePanel> = measured.iter().map(|w| line_panel(all, w)).collect();
    let small = published::many(all);
    (!measured.is_empty()).then(|| Figure {
        number: 0,
        id: "throughput",
        title: format!("{}; higher is better", words.throughput),
        caption: if small {
            format!("Each drawing has its own scale from 0; the points stand at equal steps of {}.", words.unit)
        } else {
            format!(
                "Small dots are trials, large marks their means, bars the {confidence} intervals of the means. \
                 Contenders stand side by side at each {}.{}",
                words.one,
                dots_note(measured.iter().flat_map(|w| &w.cells).map(|c| c.values.len()))
            )
        },
        legend: Vec::new(),
        panels: if small { Panels::Multiples(panels) } else { Panels::Lines(panels) },
        table,
    })
}

pub(super) fn points<'w>(w: &'w WorkloadResult, name: &str) -> impl Iterator<Item = &'w Measured> {
    w.cells.iter().filter(move |c| c.contender == name && !c.values.is_empty())
}

fn line_panel(all: &Context<'_>, w: &WorkloadResult) -> LinePanel {
    let point = |c: &Measured| {
        let value = c.mean.filter(|m| m.is_finite())?;
        Some(Point { level: c.level, values: dots(&c.values), value, interval: c.interval.map(pair), at_least: false })
    };
    let series = |name: &str| Series {
        slot: all.slot(name).unwrap_or(0),
        name: all.label(name),
        points: points(w, name).filter_map(point).collect(),
    };
    LinePanel {
        title: clean(&w.workload),
        axis: clean(&w.metric.title()),
        scale: Scale::Linear,
        along: all.words().unit.to_owned(),
        along_even: all.words().even(),
        levels: levels_of(w),
        series: all.contenders_of(w).into_iter().map(series).collect(),
    }
}
