//! Every trial in the order in which it ran: drift, and blocks that differ, show here.

use perbuck_core::compare::WorkloadResult;
use perbuck_core::run_record::RunRecord;

use super::Context;
use super::figures::{LARGE_PANELS, cut_note};
use super::measured::cell_of;
use crate::document::{Axis, AxisScale, Figure, MarkShape, Panels, Table, XyPanel, XyPoint, XySeries};
use crate::escape::clean;
use crate::number::{column_decimals, counted, fixed, signed_percent};

/// Trials of one workload that are drawn at most: more dots than that are a cloud, and slow a page down.
const DOTS: usize = 600;

/// How far each trial is from the mean of its point, in the order of execution; `None` with fewer than two trials a point.
pub(super) fn figure(all: &Context<'_>) -> Option<Figure> {
    let heads = ["Workload", "#Position", "Contender", all.words().head, "#Trial", "#Figure", "#From the mean of its point"];
    let mut table = Table::new("Data of the figure", &heads);
    let mut left_out = 0;
    let mut panels = Vec::new();
    for w in all.measured() {
        let mut trials: Vec<(&RunRecord, f64, f64)> = Vec::new();
        for r in all.records.iter().filter(|r| r.key.workload == w.workload) {
            let cell = cell_of(w, &r.key.contender, r.key.level()).filter(|c| c.values.len() > 1);
            let Some(mean) = cell.and_then(|c| c.mean).filter(|m| *m > 0.0) else { continue };
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
    let mut note = cut_note(panels.len(), "workloads");
    if left_out > 0 {
        note += &format!(
            " Of many trials every n-th is drawn, so that {} are not; all are in the embedded data.",
            counted(left_out, "trial")
        );
    }
    panels.truncate(LARGE_PANELS);
    (!panels.is_empty()).then(|| Figure {
        number: 0,
        id: "order",
        title: "The trials in the order in which they ran".to_owned(),
        caption: format!(
            "Each dot is a trial, and how far it is from the mean of its point. What drifts shows as a slope.{note}"
        ),
        legend: Vec::new(),
        panels: Panels::Xy(panels),
        table,
    })
}

fn panel(all: &Context<'_>, w: &WorkloadResult, trials: &[(&RunRecord, f64, f64)], table: &mut Table) -> Option<XyPanel> {
    let decimals = column_decimals(trials.iter().map(|t| t.1));
    let mut series: Vec<XySeries> = Vec::new();
    for (r, value, share) in trials {
        let (slot, label) = (all.slot(&r.key.contender)?, all.label(&r.key.contender));
        let texts = [clean(&w.workload), r.position.to_string(), label.clone(), r.key.level().to_string()];
        table.texts(texts.into_iter().chain([r.key.trial.to_string(), fixed(*value, decimals), signed_percent(*share, 2)]));
        let point = XyPoint { x: f64::from(r.position), y: *share, interval: None, label: String::new() };
        match series.iter_mut().find(|s| s.slot == slot) {
            Some(found) => found.points.push(point),
            None => series.push(XySeries { slot, name: label, points: vec![point], mark: MarkShape::Dot, joined: false }),
        }
    }
    series.sort_by_key(|s| s.slot);
    (!series.is_empty()).then(|| XyPanel {
        title: clean(&w.workload),
        x: Axis { title: "position in the order of execution".to_owned(), scale: AxisScale::Whole },
        y: Axis { title: "from the mean of its point".to_owned(), scale: AxisScale::Shares },
        same_axes: false,
        series,
        guides: Vec::new(),
    })
}
