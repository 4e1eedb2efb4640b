//! Cost against throughput: which systems are worth their money, and where the break-even lies.

use perbuck_core::compare::WorkloadResult;

use super::Context;
use super::figures::{cut, pair};
use super::money_figures::rivals;
use super::order::add_point;
use crate::document::{Axis, AxisScale, Figure, Guide, MarkShape, Panels, Table, XyPanel, XyPoint, XySeries};
use crate::escape::clean;
use crate::number::{column_decimals, fixed, or_absent, range, signed_percent};

/// Work per dollar over the baseline's along which lines are drawn.
const SAME_VALUE: [f64; 3] = [0.8, 1.0, 1.25];

/// Points that carry a name of their own; more of them would cover each other.
const NAMED_POINTS: usize = 6;

/// Throughput over the cost of a month, with lines of equal work per dollar; `None` without prices and measurements.
pub(super) fn pareto(all: &Context<'_>) -> Option<Figure> {
    let mut table = Table::of_figure("Workload | Region | Contender | #USD a month | #Throughput | #Interval");
    let mut panels = Vec::new();
    for w in all.measured() {
        panels.extend(all.regions().into_iter().filter_map(|region| pareto_panel(all, w, region, &mut table)));
    }
    let note = cut(&mut panels, "drawings");
    let caption = format!(
        "Lines join what gives 0.8, 1 and 1.25 times the work per dollar of {}. Bars are the intervals of the throughput; prices have \
         none.{note}",
        all.base_label()
    );
    Figure::new("pareto", "Throughput over cost; up and to the left is better", caption, Panels::Xy, panels, table)
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
        let between = or_absent(c.interval.map(|i| range(i, decimals)));
        let (slot, name) = (all.slot(&c.contender).unwrap_or(0), all.label(&c.contender));
        table.add([clean(&w.workload), clean(region), name.clone(), p.monthly.to_string(), fixed(value, decimals), between]);
        let point = XyPoint { interval: c.interval.map(pair), ..XyPoint::at((cost, value)) };
        series.push(XySeries { slot, name, points: vec![point], mark: MarkShape::Mark, joined: false });
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
    let title = format!("{}, {}", clean(&w.workload), clean(region));
    let (x, y) = (Axis::new("USD per month", AxisScale::FromZero), Axis::new(clean(&w.metric.label), AxisScale::FromZero));
    (!series.is_empty()).then(|| XyPanel { guides, ..XyPanel::new(title, x, y, series) })
}

/// Every comparison as a difference of price and of throughput, with the line on which they cancel out; `None` without.
pub(super) fn break_even(all: &Context<'_>) -> Option<Figure> {
    let mut table = Table::of_figure("Workload | Region | Contender | #Cost | #Throughput | #Work per dollar");
    let rivals = rivals(all);
    let (several, regions) = (all.comparison.workloads.len() > 1, all.regions().len() > 1);
    let named = (several || regions) && rivals.len() <= NAMED_POINTS;
    let mut series: Vec<XySeries> = Vec::new();
    for (w, c, p, a) in &rivals {
        let (x, y) = (1.0 / a.price - 1.0, a.performance - 1.0);
        let (workload, region, label) = (clean(&w.workload), clean(&p.region), all.label(&c.contender));
        let shares = [x, y, a.work_per_usd - 1.0].map(|s| signed_percent(s, 1));
        table.add([workload.clone(), region.clone(), label.clone()].into_iter().chain(shares));
        let name = if regions { format!("{workload}, {region}") } else { workload };
        let point = XyPoint { label: if named { name } else { String::new() }, ..XyPoint::at((x, y)) };
        add_point(&mut series, (all.slot(&c.contender).unwrap_or(0), label), point, MarkShape::Mark);
    }
    let x = Axis::new("difference of cost", AxisScale::Shares);
    let y = Axis::new("difference of throughput", AxisScale::Shares);
    let panel = XyPanel {
        same_axes: true,
        guides: vec![Guide { from: (-1.0, -1.0), to: (100.0, 100.0), label: "break-even".to_owned() }],
        ..XyPanel::new(format!("Against {}", all.base_label()), x, y, series)
    };
    let panels = if panel.series.is_empty() { Vec::new() } else { vec![panel] };
    let caption = "A point for each workload, region and contender. Above the line the contender gives more work per dollar than the \
                   baseline, below it less: on the line it is as much slower as it is cheaper, or as much faster as it is dearer.";
    Figure::new("break-even", "Where the break-even lies", caption, Panels::Xy, panels, table)
}
