//! The fitted curves of scalability beside the points that they were fitted to.

use perbuck_core::compare::WorkloadResult;
use perbuck_core::usl::Fit;

use super::Context;
use super::figures::{cut, points};
use crate::document::{Axis, AxisScale, Figure, Guide, MarkShape, Panels, Table, XyPanel, XyPoint, XySeries};
use crate::escape::{clean, shorten};
use crate::number::{column_decimals, fixed, or_absent};

const STEPS: u32 = 60;

/// Measured throughputs with the curve of the Universal Scalability Law; `None` where none could be fitted.
pub(super) fn figure(all: &Context<'_>) -> Option<Figure> {
    let mut table = Table::of_figure("Workload | Contender | #Connections | #Measured | #By the curve");
    let mut panels: Vec<XyPanel> = all.measured().into_iter().filter_map(|w| panel(all, w, &mut table)).collect();
    let note = cut(&mut panels, "workloads");
    let caption = format!(
        "Marks are the means of the measured points; lines are the fitted curves, drawn up to 1.5 times the last point and no further. An \
         upright line marks the top of a curve that has one there.{note}"
    );
    Figure::new("scalability", "Throughput by the Universal Scalability Law", caption, Panels::Xy, panels, table)
}

fn panel(all: &Context<'_>, w: &WorkloadResult, table: &mut Table) -> Option<XyPanel> {
    let decimals = column_decimals(w.points.iter().filter_map(|c| c.mean));
    let (mut series, mut guides) = (Vec::new(), Vec::new());
    for c in &w.contenders {
        let Some(fit) = c.scalability.as_ref().and_then(|s| s.fit.as_ref()) else { continue };
        let (slot, label) = (all.slot(&c.contender).unwrap_or(0), all.label(&c.contender));
        let mut measured = Vec::new();
        for point in points(w, &c.contender) {
            let Some(mean) = point.mean else { continue };
            let by_curve = or_absent(fit.at(f64::from(point.level)).map(|v| fixed(v, decimals)));
            table.add([clean(&w.workload), label.clone(), point.level.to_string(), fixed(mean, decimals), by_curve]);
            measured.push(XyPoint::at((f64::from(point.level), mean)));
        }
        series.push(XySeries { slot, name: label.clone(), points: curve(fit), mark: MarkShape::None, joined: true });
        series.push(XySeries { slot, name: label.clone(), points: measured, mark: MarkShape::Mark, joined: false });
        let top = |n: f64| Guide {
            from: (n, f64::NEG_INFINITY),
            to: (n, f64::INFINITY),
            label: format!("{}: {} connections", shorten(&label, 24), fixed(n, 0)),
        };
        guides.extend(fit.connections_max.map(top));
    }
    let (x, y) = (Axis::new("connections", AxisScale::FromZero), Axis::new(clean(&w.metric.label), AxisScale::FromZero));
    (!series.is_empty()).then(|| XyPanel { guides, ..XyPanel::new(clean(&w.workload), x, y, series) })
}

fn curve(fit: &Fit) -> Vec<XyPoint> {
    let connections = (1..=STEPS).map(|i| fit.reach * f64::from(i) / f64::from(STEPS));
    connections.filter_map(|n| Some(XyPoint::at((n, fit.at(n)?)))).collect()
}
