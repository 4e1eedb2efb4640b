//! Latency against throughput, and the whole distribution of latencies.

use perbuck_core::compare::{PointResult as Measured, WorkloadResult};
use perbuck_core::histogram::Histogram;
use perbuck_core::study::Slo;
use perbuck_core::units::{duration_text, thousands};

use super::figures::{cut, points};
use super::levels::levels_of;
use super::{Context, capital, open_loop, ordinal, time_text};
use crate::document::{Axis, AxisScale, Figure, Guide, MarkShape, Panels, Table, XyPanel, XyPoint, XySeries};
use crate::escape::clean;
use crate::number::{ABSENT, column_decimals, fixed, or_absent};

/// The percentiles of the table of a distribution.
const SHOWN: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// What latency is drawn by.
struct Drawn {
    /// The objective's percentile where points keep it, else the 99th.
    percentile: f64,
    /// It of a point, in nanoseconds.
    of: fn(&Measured) -> u64,
    /// The objective, in nanoseconds; `None` where it is about another percentile.
    limit_ns: Option<u64>,
}

impl Drawn {
    fn new(slo: Option<&Slo>) -> Self {
        let (percentile, of): (f64, fn(&Measured) -> u64) = match slo.map(|s| s.percentile) {
            Some(50.0) => (50.0, |c| c.latency.p50_ns),
            Some(95.0) => (95.0, |c| c.latency.p95_ns),
            _ => (99.0, |c| c.latency.p99_ns),
        };
        Self { percentile, of, limit_ns: slo.filter(|s| s.percentile == percentile).map(|s| s.at_most_ns) }
    }
}

/// Latency over throughput, a point for each level; `None` where no latency was measured.
pub(super) fn hockey_stick(all: &Context<'_>) -> Option<Figure> {
    // One window with several loads has no one position in the plane.
    if !all.study.sweep.phases.is_empty() {
        return None;
    }
    let drawn = Drawn::new(all.comparison.decision.slo.as_ref());
    let time = time_text(all.study);
    let percentile = format!("{time}, {} percentile", ordinal(drawn.percentile));
    let heads = format!("Workload | Contender | {} | #Throughput | #{percentile} | Within the objective", all.words().head);
    let mut table = Table::of_figure(&heads);
    let mut panels = Vec::new();
    for w in all.measured() {
        let sticks = all.contenders_of(w).into_iter().map(|name| stick(all, w, name, &drawn, &mut table));
        let series: Vec<XySeries> = sticks.filter(|s| !s.points.is_empty()).collect();
        let guide = |ns: u64| Guide {
            from: (f64::NEG_INFINITY, ns as f64),
            to: (f64::INFINITY, ns as f64),
            label: format!("objective {}", duration_text(ns)),
        };
        if !series.is_empty() {
            let x = Axis::new(clean(&w.metric.label), AxisScale::FromZero);
            let y = Axis::new(format!("{percentile} (logarithmic)"), AxisScale::LogTime);
            let guides = drawn.limit_ns.map(guide).into_iter().collect();
            panels.push(XyPanel { guides, ..XyPanel::new(clean(&w.workload), x, y, series) });
        }
    }
    let note = cut(&mut panels, "workloads");
    let over = all.records.iter().any(open_loop::overloaded);
    let bounds = if over { " A point with ≥ is a lower bound: the rate was not kept." } else { "" };
    let most =
        if drawn.limit_ns.is_some() { " The number beside a mark is the most throughput within the objective." } else { "" };
    let unit = all.words().unit;
    let caption = format!("Marks are the measured points in the order of their {unit}, joined by a line.{most}{bounds}{note}");
    let title = format!("{} over throughput; down and to the right is better", capital(time));
    Figure::new("latency-throughput", title, caption, Panels::Xy, panels, table)
}

/// The points of one contender, also as rows of the table.
fn stick(all: &Context<'_>, w: &WorkloadResult, name: &str, drawn: &Drawn, table: &mut Table) -> XySeries {
    let decimals = column_decimals(w.points.iter().filter_map(|c| c.mean));
    let of = drawn.of;
    let bound = |c: &Measured| open_loop::bound(&all.trials_of(&w.workload, name, c.level));
    let kept = |c: &Measured| drawn.limit_ns.is_some_and(|l| of(c) <= l) && bound(c).is_empty();
    let with_mean: Vec<(&Measured, f64)> = points(w, name).filter(|c| of(c) > 0).filter_map(|c| Some((c, c.mean?))).collect();
    let most = with_mean.iter().filter(|(c, _)| kept(c)).map(|d| d.1).fold(f64::NEG_INFINITY, f64::max);
    for (c, mean) in &with_mean {
        let within = drawn.limit_ns.map_or(ABSENT, |_| if kept(c) { "yes" } else { "no" });
        let texts = [clean(&w.workload), all.label(name), thousands(c.level.into()), fixed(*mean, decimals)];
        table.add(texts.into_iter().chain([format!("{}{}", bound(c), duration_text(of(c))), within.to_owned()]));
    }
    let point = |(c, mean): &(&Measured, f64)| {
        let label = match bound(c).trim() {
            "" if *mean == most => format!("{} within", fixed(*mean, decimals)),
            bound => bound.to_owned(),
        };
        XyPoint { label, ..XyPoint::at((*mean, of(c) as f64)) }
    };
    let points = with_mean.iter().map(point).collect();
    XySeries { slot: all.slot(name).unwrap_or(0), name: all.label(name), points, mark: MarkShape::Mark, joined: true }
}

/// The distribution of latencies at the highest level of each workload, on scales that show the tail; `None` without one.
pub(super) fn distribution(all: &Context<'_>) -> Option<Figure> {
    let time = time_text(all.study);
    let mut table = Table::of_figure(&format!("Workload | {} | Contender | #Count", all.words().head));
    SHOWN.iter().for_each(|p| table.column(&format!("p{p}"), true));
    table.column("Maximum", true);
    let mut panels: Vec<XyPanel> = all.measured().into_iter().filter_map(|w| distribution_panel(all, w, &mut table)).collect();
    let mut note = cut(&mut panels, "workloads");
    if all.records.iter().any(open_loop::overloaded) {
        note += " Where a rate was not kept, times are lower bounds.";
    }
    let title = format!("The whole distribution of the {time}; lower is better");
    let caption = format!(
        "All trials of the highest level of each workload that has any, merged. Each step to the right is a tenth of the transactions that \
         the step before had: half of them are below the line at p50, one in a thousand above it at p99.9.{note}"
    );
    Figure::new("distribution", title, caption, Panels::Xy, panels, table)
}

fn distribution_panel(all: &Context<'_>, w: &WorkloadResult, table: &mut Table) -> Option<XyPanel> {
    let merged = |name: &str, level: u32| {
        let mut sum = Histogram::new();
        for r in all.trials_of(&w.workload, name, level) {
            sum.merge(&r.latency().ok()?);
        }
        (sum.count() > 0).then_some(sum)
    };
    let of_level = |level: u32| {
        let of = |name| Some((name, merged(name, level)?));
        let found: Vec<(&str, Histogram)> = all.contenders_of(w).into_iter().filter_map(of).collect();
        (!found.is_empty()).then(|| (thousands(level.into()), found))
    };
    let (level, found) = levels_of(w).into_iter().rev().find_map(of_level)?;
    let mut series = Vec::new();
    for (contender, h) in found {
        let (slot, name) = (all.slot(contender).unwrap_or(0), all.label(contender));
        let at = |p: f64| or_absent(h.percentile_ns(p).map(duration_text));
        let texts = [clean(&w.workload), level.clone(), name.clone(), thousands(h.count())];
        table.add(texts.into_iter().chain(SHOWN.map(at)).chain([duration_text(h.max_ns())]));
        let point = |p: f64| Some(XyPoint::at((p, h.percentile_ns(p)? as f64)));
        let points = percentiles(h.count()).into_iter().filter_map(point).collect();
        series.push(XySeries { slot, name, points, mark: MarkShape::None, joined: true });
    }
    let title = format!("{}, {level} {}", clean(&w.workload), all.words().unit);
    let y = Axis::new(format!("{} (logarithmic)", time_text(all.study)), AxisScale::LogTime);
    Some(XyPanel::new(title, Axis::new("percentile", AxisScale::Nines), y, series))
}

/// Percentiles that so many values can tell apart, eight between a nine and the next.
fn percentiles(count: u64) -> Vec<f64> {
    let nines = (count as f64).log10().clamp(0.5, 6.0);
    (0..=(nines * 8.0) as u32).map(|i| 100.0 * (1.0 - 10f64.powf(-f64::from(i) / 8.0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_drawn_as_far_as_values_reach() {
        let near = |p: Option<&f64>, wanted: f64| (p.unwrap() - wanted).abs() < 1e-9;
        assert!(near(percentiles(1_000).last(), 99.9) && near(percentiles(1_000).first(), 0.0));
        assert!(near(percentiles(100_000_000_000).last(), 99.9999));
        assert_eq!(percentiles(1).len(), 5);
    }
}
