//! The numbers of figures, and their tables.

use perbuck_core::compare::{PointResult as Measured, PricePerformance, WorkloadResult};
use perbuck_core::stats::Interval;

use super::levels::levels_of;
use super::money::groups;
use super::{Context, distinct, phases, published};
use crate::document::{Bar, BarPanel, Figure, LinePanel, Panels, Point, Scale, Series, Stack, StackPanel, Table};
use crate::escape::clean;
use crate::number::{column_decimals, dollar_decimals, fixed, or_absent, percent, range};

/// Drawings that are shown large; more of them become small multiples.
pub(super) const LARGE_PANELS: usize = 8;

/// What a caption says where more would have to be drawn than a reader looks at; empty where everything is drawn.
pub(super) fn cut_note(found: usize, what: &str) -> String {
    if found <= LARGE_PANELS {
        return String::new();
    }
    format!(" The first {LARGE_PANELS} of {found} {what} are drawn; the table has all.")
}

/// Keeps as many panels as a reader looks at, and says so for the caption.
pub(super) fn cut<P>(panels: &mut Vec<P>, what: &str) -> String {
    let note = cut_note(panels.len(), what);
    panels.truncate(LARGE_PANELS);
    note
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
    let mut table = Table::of_figure("Workload | Region | Contender | #USD per unit | #Interval | Unit");
    let panels: Vec<BarPanel> = all.measured().iter().filter_map(|w| bar_panel(all, w, months, &mut table)).collect();
    let confidence = percent(all.comparison.printed_confidence());
    let caption = format!(
        "Dollars of {months} months per unit of throughput. Whiskers are {confidence} intervals of the throughput, carried over."
    );
    Figure::new("price-performance", "What a unit of throughput costs; lower is better", caption, Panels::Bars, panels, table)
}

/// All prices of a workload, by region and then contender.
fn prices(w: &WorkloadResult) -> Vec<(&str, &PricePerformance)> {
    let all = || w.contenders.iter().flat_map(|c| c.price.iter().map(|p| (c.contender.as_str(), p)));
    let regions = distinct(all().map(|(_, p)| p.region.as_str()));
    regions.into_iter().flat_map(|region| all().filter(move |(_, p)| p.region == region)).collect()
}

fn bar_panel(all: &Context<'_>, w: &WorkloadResult, months: u32, table: &mut Table) -> Option<BarPanel> {
    let prices = prices(w);
    let decimals = dollar_decimals(prices.iter().filter_map(|(_, p)| p.usd_per_unit));
    let mut groups: Vec<(String, Vec<Bar>)> = Vec::new();
    for (contender, p) in prices {
        let Some(value) = p.usd_per_unit else { continue };
        let (region, name, unit) = (clean(&p.region), all.label(contender), clean(&w.metric.label));
        let interval = or_absent(p.usd_per_unit_interval.map(|i| range(i, decimals)));
        table.add([clean(&w.workload), region.clone(), name.clone(), fixed(value, decimals), interval, unit]);
        if !value.is_finite() {
            continue;
        }
        if groups.last().is_none_or(|(r, _)| *r != region) {
            groups.push((region, Vec::new()));
        }
        let (slot, label) = (all.slot(contender).unwrap_or(0), format!("${}", fixed(value, decimals)));
        let bar = Bar { slot, name, value, interval: p.usd_per_unit_interval.map(pair), label };
        groups.last_mut()?.1.push(bar);
    }
    let axis = format!("USD of {months} months per {}", clean(&w.metric.label));
    (!groups.is_empty()).then(|| BarPanel { title: clean(&w.workload), axis, groups })
}

pub(super) fn pair(i: Interval) -> (f64, f64) {
    (i.low, i.high)
}

/// The cost of a month by group; `None` without bills.
pub(super) fn cost_breakdown(all: &Context<'_>) -> Option<Figure> {
    let groups = groups(&all.comparison.bills);
    let mut table = Table::of_figure("Region | Contender");
    groups.iter().for_each(|g| table.column(g.label(), true));
    table.column("month", true);
    let mut panels = Vec::new();
    for region in all.regions() {
        let mut stacks = Vec::new();
        for bill in all.comparison.bills.iter().filter(|b| b.region == region) {
            let parts: Vec<(f64, String)> =
                groups.iter().map(|g| bill.monthly_of(*g)).map(|m| (m.as_usd_f64(), m.to_string())).collect();
            let (name, label) = (all.label(&bill.contender), bill.monthly().to_string());
            let texts = [clean(region), name.clone()].into_iter().chain(parts.iter().map(|p| p.1.clone()));
            table.add(texts.chain([label.clone()]));
            stacks.push(Stack { name, parts, label });
        }
        panels.push(StackPanel { title: clean(region), axis: "USD per month".to_owned(), stacks });
    }
    let caption = "Cost of a month by group of bill lines.";
    let figure = Figure::new("cost", "Where the money goes", caption, Panels::Stacks, panels, table)?;
    Some(Figure { legend: groups.iter().map(|g| g.label().to_owned()).collect(), ..figure })
}

/// The figure of throughput: over time where the load changes in phases, else over the levels; `None` without measurements.
pub(super) fn throughput(all: &Context<'_>) -> Option<Figure> {
    if all.study.sweep.phases.is_empty() { over_levels(all) } else { phases::over_time(all) }
}

fn over_levels(all: &Context<'_>) -> Option<Figure> {
    let (measured, words) = (all.measured(), all.words());
    let confidence = percent(all.comparison.printed_confidence());
    let mut table = Table::of_figure(&format!("Workload | Contender | #{} | #Mean | #Interval | Trials", all.words().head));
    for w in &measured {
        let decimals = column_decimals(w.points.iter().filter_map(|c| c.mean));
        for name in all.contenders_of(w) {
            for point in points(w, name) {
                let interval = or_absent(point.interval.map(|i| range(i, decimals)));
                let trials = trials_text(&point.values, |v| fixed(v, decimals));
                let mean = or_absent(point.mean.map(|m| fixed(m, decimals)));
                table.add([clean(&w.workload), all.label(name), fixed(f64::from(point.level), 0), mean, interval, trials]);
            }
        }
    }
    let small = published::many(all);
    let caption = if small {
        format!("Each drawing has its own scale from 0; the points stand at equal steps of {}.", words.unit)
    } else {
        format!(
            "Small dots are trials, large marks their means, bars the {confidence} intervals of the means. \
             Where the axis has equal steps, contenders stand side by side at each {}.{}",
            words.one,
            dots_note(measured.iter().flat_map(|w| &w.points).map(|c| c.values.len()))
        )
    };
    let panels: Vec<LinePanel> = measured.iter().map(|w| mean_panel(all, w)).collect();
    let kind = if small { Panels::Multiples } else { Panels::Lines };
    Figure::new("throughput", format!("{}; higher is better", words.throughput), caption, kind, panels, table)
}

pub(super) fn points<'w>(w: &'w WorkloadResult, name: &str) -> impl Iterator<Item = &'w Measured> {
    w.points.iter().filter(move |c| c.contender == name && !c.values.is_empty())
}

fn mean_panel(all: &Context<'_>, w: &WorkloadResult) -> LinePanel {
    line_panel(all, w, clean(&w.metric.title()), Scale::Linear, |_, c| mean_point(c))
}

/// A point with all its trials.
pub(super) fn mean_point(c: &Measured) -> Option<Point> {
    let value = c.mean.filter(|m| m.is_finite())?;
    Some(Point { level: c.level, values: dots(&c.values), value, interval: c.interval.map(pair), at_least: false })
}

/// A line for each contender over the levels of a workload. `point` makes its points.
pub(super) fn line_panel(
    all: &Context<'_>,
    w: &WorkloadResult,
    axis: String,
    scale: Scale,
    point: impl Fn(&str, &Measured) -> Option<Point>,
) -> LinePanel {
    let series = |name: &str| Series {
        slot: all.slot(name).unwrap_or(0),
        name: all.label(name),
        points: points(w, name).filter_map(|c| point(name, c)).collect(),
    };
    LinePanel {
        title: clean(&w.workload),
        axis,
        scale,
        along: all.words().unit.to_owned(),
        along_even: all.words().even(),
        levels: levels_of(w),
        series: all.contenders_of(w).into_iter().map(series).collect(),
    }
}
