//! Cost against throughput: which systems are worth their money, and where the break-even lies.

use perbuck_core::compare::WorkloadResult;

use super::Context;
use super::figures::{LARGE_PANELS, cut_note, pair};
use super::money_figures::rivals;
use crate::document::{Axis, AxisScale, Figure, Guide, MarkShape, Panels, Table, XyPanel, XyPoint, XySeries};
use crate::escape::clean;
use crate::number::{ABSENT, column_decimals, fixed, range, signed_percent};

/// Work per dollar over the baseline's along which lines are drawn.
const SAME_VALUE: [f64; 3] = [0.8, 1.0, 1.25];

/// Points that carry a name of their own; more of them would cover each other.
const NAMED_POINTS: usize = 6;

/// Throughput over the cost of a month, with lines of equal work per dollar; `None` without prices and measurements.
pub(super) fn pareto(all: &Context<'_>) -> Option<Figure> {
    let heads = ["Workload", "Region", "Contender", "#USD a month", "#Throughput", "#Interval"];
    let mut table = Table::new("Data of the figure", &heads);
    let mut panels = Vec::new();
    for w in all.measured() {
        for region in all.regions() {
            panels.extend(pareto_panel(all, w, region, &mut table));
        }
    }
    let note = cut_note(panels.len(), "drawings");
    panels.truncate(LARGE_PANELS);
    (!panels.is_empty()).then(|| Figure {
        number: 0,
        id: "pareto",
        title: "Throughput over cost; up and to the left is better".to_owned(),
        caption: format!(
            "Lines join what gives 0.8, 1 and 1.25 times the work per dollar of {}. Bars are the intervals of the throughput; prices have \
             none.{note}",
            all.base_label()
        ),
        legend: Vec::new(),
        panels: Panels::Xy(panels),
        table,
    })
}

fn pareto_panel(all: &Context<'_>, w: &WorkloadResult, region: &str, table: &mut Table) -> Option<XyPanel> {
    let mut series = Vec::new();
    let mut base = None;
    let decimals = column_decimals(w.contenders.iter().filter_map(|c| c.value));
    for c in &w.contenders {
        let Some((p, value)) = c.price.iter().find(|p| p.region == region).zip(c.value) else { continue };
        let cost = p.monthly.as_usd_f64();
        if all.is_base(&c.contender) {
            base = Some((cost, value));
        }
        let between = c.interval.map_or_else(|| ABSENT.to_owned(), |i| range(i, decimals));
        let label = all.label(&c.contender);
        table.texts([clean(&w.workload), clean(region), label.clone(), p.monthly.to_string(), fixed(value, decimals), between]);
        let point = XyPoint { x: cost, y: value, interval: c.interval.map(pair), label: String::new() };
        let slot = all.slot(&c.contender).unwrap_or(0);
        series.push(XySeries { slot, name: label, points: vec![point], mark: MarkShape::Mark, joined: false });
    }
    let guides = base.filter(|(cost, value)| *cost > 0.0 && *value > 0.0).map_or_else(Vec::new, |(cost, value)| {
        let guide = |factor: f64| Guide {
            from: (0.0, 0.0),
            // Beyond every point; the drawing cuts it off at its edge.
            to: (cost * 100.0, value * factor * 100.0),
            label: format!("{factor}×"),
        };
        SAME_VALUE.map(guide).to_vec()
    });
    (!series.is_empty()).then(|| XyPanel {
        title: format!("{}, {}", clean(&w.workload), clean(region)),
        x: Axis { title: "USD per month".to_owned(), scale: AxisScale::FromZero },
        y: Axis { title: clean(&w.metric.label), scale: AxisScale::FromZero },
        same_axes: false,
        series,
        guides,
    })
}

/// Every comparison as a difference of price and of throughput, with the line on which they cancel out; `None` without.
pub(super) fn break_even(all: &Context<'_>) -> Option<Figure> {
    let heads = ["Workload", "Region", "Contender", "#Cost", "#Throughput", "#Work per dollar"];
    let mut table = Table::new("Data of the figure", &heads);
    let rivals = rivals(all);
    let mut series: Vec<XySeries> = Vec::new();
    for (w, c, p, a) in &rivals {
        let (x, y) = (1.0 / a.price - 1.0, a.performance - 1.0);
        let (workload, region, label) = (clean(&w.workload), clean(&p.region), all.label(&c.contender));
        let shares = [x, y, a.work_per_usd - 1.0].map(|s| signed_percent(s, 1));
        table.texts([workload.clone(), region.clone(), label.clone()].into_iter().chain(shares));
        let several = all.comparison.workloads.len() > 1;
        let name = if all.regions().len() > 1 { format!("{workload}, {region}") } else { workload };
        let named = several && rivals.len() <= NAMED_POINTS || all.regions().len() > 1 && rivals.len() <= NAMED_POINTS;
        let point = XyPoint { x, y, interval: None, label: if named { name } else { String::new() } };
        let slot = all.slot(&c.contender).unwrap_or(0);
        match series.iter_mut().find(|s| s.slot == slot) {
            Some(found) => found.points.push(point),
            None => {
                series.push(XySeries { slot, name: label, points: vec![point], mark: MarkShape::Mark, joined: false });
            }
        }
    }
    let panel = XyPanel {
        title: format!("Against {}", all.base_label()),
        x: Axis { title: "difference of cost".to_owned(), scale: AxisScale::Shares },
        y: Axis { title: "difference of throughput".to_owned(), scale: AxisScale::Shares },
        same_axes: true,
        series,
        guides: vec![Guide { from: (-1.0, -1.0), to: (100.0, 100.0), label: "break-even".to_owned() }],
    };
    (!panel.series.is_empty()).then(|| Figure {
        number: 0,
        id: "break-even",
        title: "Where the break-even lies".to_owned(),
        caption:
            "A point for each workload, region and contender. Above the line the contender gives more work per dollar than the \
                  baseline, below it less: on the line it is as much slower as it is cheaper, or as much faster as it is dearer."
                .to_owned(),
        legend: Vec::new(),
        panels: Panels::Xy(vec![panel]),
        table,
    })
}
