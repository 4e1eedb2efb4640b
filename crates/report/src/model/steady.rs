//! Throughput second by second: what was cut off as warm-up, and whether the rest is level.

use perbuck_core::run_record::RunRecord;
use perbuck_core::steady::Settled;

use super::Context;
use super::figures::{LARGE_PANELS, cut_note};
use super::phases::thinned;
use crate::document::{Axis, AxisScale, Figure, Guide, MarkShape, Panels, Table, XyPanel, XyPoint, XySeries};
use crate::escape::clean;
use crate::number::{ABSENT, fixed, signed_percent};

/// The least steady trial of each contender; `None` where no trial has seconds, or the load changes in phases by intent.
pub(super) fn figure(all: &Context<'_>) -> Option<Figure> {
    if !all.study.sweep.phases.is_empty() {
        return None;
    }
    let heads = ["Workload", "Contender", all.words().head, "#Trial", "Verdict", "#Transient ended", "#Change over the window"];
    let mut table = Table::new("Data of the figure", &heads);
    let mut panels = Vec::new();
    for w in all.measured() {
        let mut series = Vec::new();
        for name in all.contenders_of(w) {
            let mine = all.records.iter().filter(|r| r.key.workload == w.workload && r.key.contender == name);
            let Some(worst) = least_steady(mine) else { continue };
            let label = all.label(name);
            let steadiness = worst.health.steadiness.as_ref();
            let verdict = steadiness.map_or(ABSENT, |s| word(s.verdict)).to_owned();
            // Seconds since the warm-up began; a reader counts from the window.
            let warmup = worst.load.warmup_ns as f64 / 1e9;
            let cut = steadiness.and_then(|s| s.mser5_truncation_s);
            let cut = cut.map_or_else(|| ABSENT.to_owned(), |s| format!("{} s", fixed(f64::from(s) - warmup, 0)));
            let slope = steadiness.and_then(|s| s.slope_percent);
            let slope = slope.map_or_else(|| ABSENT.to_owned(), |s| signed_percent(s / 100.0, 1));
            let texts = [clean(&w.workload), label.clone(), worst.key.level().to_string(), worst.key.trial.to_string()];
            table.texts(texts.into_iter().chain([verdict, cut, slope]));
            let point = |(x, y): (f64, f64)| XyPoint { x, y, interval: None, label: String::new() };
            let points = thinned(&seconds(worst)).into_iter().map(point).collect();
            let slot = all.slot(name).unwrap_or(0);
            series.push(XySeries { slot, name: label, points, mark: MarkShape::None, joined: true });
        }
        if series.is_empty() {
            continue;
        }
        panels.push(XyPanel {
            title: clean(&w.workload),
            x: Axis { title: "seconds since the window opened".to_owned(), scale: AxisScale::Seconds },
            y: Axis { title: "transactions completed per second".to_owned(), scale: AxisScale::FromZero },
            same_axes: false,
            series,
            guides: vec![Guide { from: (0.0, f64::NEG_INFINITY), to: (0.0, f64::INFINITY), label: "window opens".to_owned() }],
        });
    }
    let note = cut_note(panels.len(), "workloads");
    panels.truncate(LARGE_PANELS);
    (!panels.is_empty()).then(|| Figure {
        number: 0,
        id: "steady",
        title: "Was it steady?".to_owned(),
        caption: format!(
            "Of each contender the trial that was least steady, second by second, with what was cut off as warm-up left of the line.{note}"
        ),
        legend: Vec::new(),
        panels: Panels::Xy(panels),
        table,
    })
}

/// The trial with the worst verdict, of equals the one whose level moved most, of these the first in the order of paths.
fn least_steady<'a>(records: impl Iterator<Item = &'a RunRecord>) -> Option<&'a RunRecord> {
    let rank = |r: &RunRecord| {
        let s = r.health.steadiness.as_ref();
        let verdict = match s.map(|s| s.verdict) {
            Some(Settled::Drifting) => 3,
            Some(Settled::WarmupTooShort) => 2,
            Some(Settled::Settled) => 1,
            Some(Settled::TooShortToTell) | None => 0,
        };
        (verdict, s.and_then(|s| s.slope_percent).map_or(0.0, f64::abs))
    };
    let better = |a: &RunRecord, b: &RunRecord| {
        let ((va, sa), (vb, sb)) = (rank(a), rank(b));
        va.cmp(&vb).then(sa.total_cmp(&sb)).then_with(|| b.key.cmp(&a.key))
    };
    records.filter(|r| seconds(r).len() > 1).max_by(|a, b| better(a, b))
}

fn word(verdict: Settled) -> &'static str {
    match verdict {
        Settled::Settled => "settled",
        Settled::WarmupTooShort => "warm-up too short",
        Settled::Drifting => "drifting",
        Settled::TooShortToTell => "too short to tell",
    }
}

/// The middle of each whole second, warm-up included, and what was completed in it.
fn seconds(r: &RunRecord) -> Vec<(f64, f64)> {
    let window_ms = (r.measured.window_ns / 1_000_000) as i64;
    let inside = r.intervals.iter().filter(|i| i.start_ms < window_ms && i.length_ms == 1000);
    inside.map(|i| (i.start_ms as f64 / 1e3 + 0.5, i.transactions as f64)).collect()
}
