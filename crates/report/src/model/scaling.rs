//! The fitted curves of scalability beside the points that they were fitted to.

use perbuck_core::compare::WorkloadResult;
use perbuck_core::usl::Fit;

use super::Context;
use super::figures::{LARGE_PANELS, cut_note, points};
use crate::document::{Axis, AxisScale, Figure, Guide, MarkShape, Panels, Table, XyPanel, XyPoint, XySeries};
use crate::escape::clean;
use crate::number::{ABSENT, column_decimals, fixed};

/// Points by which a curve is drawn.
const STEPS: u32 = 60;

/// Measured throughputs with the curve of the Universal Scalability Law; `None` where none could be fitted.
pub(super) fn figure(all: &Context<'_>) -> Option<Figure> {
    let heads = ["Workload", "Contender", "#Connections", "#Measured", "#By the curve"];
    let mut table = Table::new("Data of the figure", &heads);
    let mut panels = Vec::new();
    for w in all.measured() {
        panels.extend(panel(all, w, &mut table));
    }
    let note = cut_note(panels.len(), "workloads");
    panels.truncate(LARGE_PANELS);
    (!panels.is_empty()).then(|| Figure {
        number: 0,
        id: "scalability",
        title: "Throughput by the Universal Scalability Law".to_owned(),
        caption: format!(
            "Marks are the means of the measured points; lines are the fitted curves, drawn up to 1.5 times the last point and no further. An \
             upright line marks the top of a curve that has one there.{note}"
        ),
        legend: Vec::new(),
        panels: Panels::Xy(panels),
        table,
    })
}

fn panel(all: &Context<'_>, w: &WorkloadResult, table: &mut Table) -> Option<XyPanel> {
    let decimals = column_decimals(w.cells.iter().filter_map(|c| c.mean));
    let point = |x: f64, y: f64| XyPoint { x, y, interval: None, label: String::new() };
    let (mut series, mut guides) = (Vec::new(), Vec::new());
    for c in &w.contenders {
        let Some(fit) = c.scalability.as_ref().and_then(|s| s.fit.as_ref()) else { continue };
        let (slot, label) = (all.slot(&c.contender).unwrap_or(0), all.label(&c.contender));
        let mut measured = Vec::new();
        for cell in points(w, &c.contender) {
            let Some(mean) = cell.mean else { continue };
            let by_curve = fit.at(f64::from(cell.level)).map_or_else(|| ABSENT.to_owned(), |v| fixed(v, decimals));
            table.texts([clean(&w.workload), label.clone(), cell.level.to_string(), fixed(mean, decimals), by_curve]);
            measured.push(point(f64::from(cell.level), mean));
        }
        series.push(XySeries { slot, name: label.clone(), points: curve(fit), mark: MarkShape::None, joined: true });
        series.push(XySeries { slot, name: label.clone(), points: measured, mark: MarkShape::Mark, joined: false });
        let top = |n: f64| Guide {
            from: (n, f64::NEG_INFINITY),
            to: (n, f64::INFINITY),
            label: format!("{label}: {} connections", fixed(n, 0)),
        };
        guides.extend(fit.connections_max.map(top));
    }
    (!series.is_empty()).then(|| XyPanel {
        title: clean(&w.workload),
        x: Axis { title: "connections".to_owned(), scale: AxisScale::FromZero },
        y: Axis { title: clean(&w.metric.label), scale: AxisScale::FromZero },
        same_axes: false,
        series,
        guides,
    })
}

fn curve(fit: &Fit) -> Vec<XyPoint> {
    let place = |i: u32| fit.reach * f64::from(i) / f64::from(STEPS);
    let at = |n: f64| fit.at(n).map(|y| XyPoint { x: n, y, interval: None, label: String::new() });
    (1..=STEPS).filter_map(|i| at(place(i))).collect()
}
