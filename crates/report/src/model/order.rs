//! Every trial in the order in which it ran: drift, and blocks that differ, show here.

use perbuck_core::compare::WorkloadResult;
use perbuck_core::run_record::RunRecord;

use super::Context;
use super::figures::cut;
use super::measured::point_of;
use crate::document::{Axis, AxisScale, Figure, MarkShape, Panels, Table, XyPanel, XyPoint, XySeries};
use crate::escape::clean;
use crate::number::{column_decimals, counted, fixed, signed_percent};

/// Trials of one workload that are drawn at most: more dots than that are a cloud, and slow a page down.
const DOTS: usize = 600;

/// How far each trial is from the mean of its point, in the order of execution; `None` with fewer than two trials a point.
pub(super) fn figure(all: &Context<'_>) -> Option<Figure> {
    let heads =
        format!("Workload | #Position | Contender | {} | #Trial | #Value | #From the mean of its point", all.words().head);
    let mut table = Table::of_figure(&heads);
    let mut left_out = 0;
    let mut panels = Vec::new();
    for w in all.measured() {
        let mut trials: Vec<(&RunRecord, f64, f64)> = Vec::new();
        for r in all.records.iter().filter(|r| r.key.workload == w.workload) {
            let point = point_of(w, &r.key.contender, r.key.level()).filter(|c| c.values.len() > 1);
            let Some(mean) = point.and_then(|c| c.mean).filter(|m| *m > 0.0) else { continue };
            let value = r.metric(&w.metric);
            trials.push((r, value, value / mean - 1.0));
        }
        trials.sort_by_key(|t| (t.0.position, t.0.key.clone()));
        // Every n-th trial: a rule that does not look at the values.
        let every = trials.len().div_ceil(DOTS).max(1);
        left_out += trials.len() - trials.len().div_ceil(every);
        let drawn: Vec<_> = trials.into_iter().step_by(every).collect();
        panels.extend(panel(all, w, &drawn, &mut table));
    }
    let mut note = cut(&mut panels, "workloads");
    if left_out > 0 {
        note += &format!(
            " Of many trials every n-th is drawn, so that {} are not; all are in the embedded data.",
            counted(left_out, "trial")
        );
    }
    let caption =
        format!("Each dot is a trial, and how far it is from the mean of its point. What drifts shows as a slope.{note}");
    Figure::new("order", "The trials in the order in which they ran", caption, Panels::Xy, panels, table)
}

fn panel(all: &Context<'_>, w: &WorkloadResult, trials: &[(&RunRecord, f64, f64)], table: &mut Table) -> Option<XyPanel> {
    let decimals = column_decimals(trials.iter().map(|t| t.1));
    let mut series: Vec<XySeries> = Vec::new();
    for (r, value, share) in trials {
        let (slot, label) = (all.slot(&r.key.contender)?, all.label(&r.key.contender));
        let texts = [clean(&w.workload), r.position.to_string(), label.clone(), r.key.level().to_string()];
        table.add(texts.into_iter().chain([r.key.trial.to_string(), fixed(*value, decimals), signed_percent(*share, 2)]));
        add_point(&mut series, (slot, label), XyPoint::at((f64::from(r.position), *share)), MarkShape::Dot);
    }
    series.sort_by_key(|s| s.slot);
    let x = Axis::new("position in the order of execution", AxisScale::Whole);
    let y = Axis::new("from the mean of its point", AxisScale::Shares);
    (!series.is_empty()).then(|| XyPanel::new(clean(&w.workload), x, y, series))
}

/// Adds a point to the unjoined ones of its contender.
pub(super) fn add_point(series: &mut Vec<XySeries>, (slot, name): (usize, String), point: XyPoint, mark: MarkShape) {
    match series.iter_mut().find(|s| s.slot == slot) {
        Some(found) => found.points.push(point),
        None => series.push(XySeries { slot, name, points: vec![point], mark, joined: false }),
    }
}
