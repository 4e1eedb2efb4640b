//! Throughput second by second: what was cut off as warm-up, and whether the rest is level.

use perbuck_core::run_record::RunRecord;
use perbuck_core::steady::Settled;

use super::Context;
use super::figures::cut;
use super::phases::thinned;
use crate::document::{Axis, AxisScale, Figure, Guide, MarkShape, Panels, Table, XyPanel, XyPoint, XySeries};
use crate::escape::clean;
use crate::number::{ABSENT, fixed, or_absent, signed_percent};

/// The least steady trial of each contender; `None` where no trial has seconds, or the load changes in phases by intent.
pub(super) fn figure(all: &Context<'_>) -> Option<Figure> {
    if !all.study.sweep.phases.is_empty() {
        return None;
    }
    let heads =
        format!("Workload | Contender | {} | #Trial | Verdict | #Transient ended | #Change over the window", all.words().head);
    let mut table = Table::of_figure(&heads);
    let mut panels = Vec::new();
    for w in all.measured() {
        let mut series = Vec::new();
        for contender in all.contenders_of(w) {
            let mine = all.records.iter().filter(|r| r.key.workload == w.workload && r.key.contender == contender);
            let Some(worst) = least_steady(mine) else { continue };
            let (slot, name) = (all.slot(contender).unwrap_or(0), all.label(contender));
            let steadiness = worst.health.steadiness.as_ref();
            let verdict = steadiness.map_or(ABSENT, |s| word(s.verdict)).to_owned();
            // Seconds since the warm-up began; a reader counts from the window.
            let warmup = worst.load.warmup_ns as f64 / 1e9;
            let ended = steadiness.and_then(|s| s.mser5_truncation_s);
            let ended = or_absent(ended.map(|s| format!("{} s", fixed(f64::from(s) - warmup, 0))));
            let slope = or_absent(steadiness.and_then(|s| s.slope_percent).map(|s| signed_percent(s / 100.0, 1)));
            let texts = [clean(&w.workload), name.clone(), worst.key.level().to_string(), worst.key.trial.to_string()];
            table.add(texts.into_iter().chain([verdict, ended, slope]));
            let points = thinned(&seconds(worst, i64::MIN)).into_iter().map(XyPoint::at).collect();
            series.push(XySeries { slot, name, points, mark: MarkShape::None, joined: true });
        }
        if !series.is_empty() {
            let x = Axis::new("seconds since the window opened", AxisScale::Seconds);
            let y = Axis::new("transactions completed per second", AxisScale::FromZero);
            let opens = Guide { from: (0.0, f64::NEG_INFINITY), to: (0.0, f64::INFINITY), label: "window opens".to_owned() };
            panels.push(XyPanel { guides: vec![opens], ..XyPanel::new(clean(&w.workload), x, y, series) });
        }
    }
    let note = cut(&mut panels, "workloads");
    let caption = format!(
        "Of each contender the trial that was least steady, second by second, with what was cut off as warm-up left of the line.{note}"
    );
    Figure::new("steady", "Was it steady?", caption, Panels::Xy, panels, table)
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
    records.filter(|r| seconds(r, i64::MIN).len() > 1).max_by(|a, b| better(a, b))
}

pub(super) fn word(verdict: Settled) -> &'static str {
    match verdict {
        Settled::Settled => "settled",
        Settled::WarmupTooShort => "warm-up too short",
        Settled::Drifting => "drifting",
        Settled::TooShortToTell => "too short to tell",
    }
}

pub(super) fn window_ms(r: &RunRecord) -> i64 {
    (r.measured.window_ns / 1_000_000) as i64
}

/// The middle of each whole second that starts at `from_ms` or later, up to the end of the window, and what was completed in it.
pub(super) fn seconds(r: &RunRecord, from_ms: i64) -> Vec<(f64, f64)> {
    let inside = r.intervals.iter().filter(|i| (from_ms..window_ms(r)).contains(&i.start_ms) && i.length_ms == 1000);
    inside.map(|i| (i.start_ms as f64 / 1e3 + 0.5, i.transactions as f64)).collect()
}
