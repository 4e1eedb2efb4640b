//! The figures of an open loop: response time over the offered rate, and how the backlog grew.

use perbuck_core::compare::{PointResult, WorkloadResult};
use perbuck_core::run_record::{Interval, RunRecord};
use perbuck_core::units::{duration_text, thousands};

use super::Context;
use super::figures::{dots, dots_note, line_panel, trials_text};
use super::levels::levels_of;
use super::open_loop::{bound, overloaded};
use super::steady::window_ms;
use crate::document::{Figure, LinePanel, Panels, Point, Scale, Table, TimeLine, TimePanel};
use crate::escape::clean;
use crate::number::or_absent;

/// A line over time has no more points than this (beside its ends); beyond it one point stands for several neighbours.
pub(super) const POINTS: usize = 300;

/// The 99th percentile of response time over the offered rate; `None` where no rate varies or nothing was measured.
pub(super) fn response(all: &Context<'_>) -> Option<Figure> {
    if all.study.sweep.rates_per_s.is_empty() {
        return None;
    }
    let mut table = Table::of_figure("Workload | Contender | #Offered per second | #All trials | Trials");
    let mut panels: Vec<LinePanel> = all.measured().iter().map(|w| response_panel(all, w)).collect();
    for panel in &panels {
        for s in &panel.series {
            for p in &s.points {
                let mark = if p.at_least { "≥ " } else { "" };
                let time = |v: f64| duration_text(v as u64);
                let texts = [panel.title.clone(), s.name.clone(), thousands(p.level.into())];
                table.add(texts.into_iter().chain([format!("{mark}{}", time(p.value)), trials_text(&p.values, time)]));
            }
        }
    }
    let mut caption = "Small dots are trials, large marks all trials of a point together. The scale is logarithmic.".to_owned();
    let points = || panels.iter().flat_map(|p| &p.series).flat_map(|s| &s.points);
    caption += dots_note(points().map(|p| p.values.len()));
    if points().any(|p| p.at_least) {
        caption += " An arrow up marks a lower bound: the target could not keep the rate there.";
    }
    let drawn = panels.iter_mut().flat_map(|p| &mut p.series).flat_map(|s| &mut s.points);
    drawn.for_each(|p| p.values = dots(&p.values));
    let title = "Response time over the offered rate, 99th percentile; lower is better";
    Figure::new("response", title, caption, Panels::Lines, panels, table).filter(|f| !f.table.rows.is_empty())
}

fn response_panel(all: &Context<'_>, w: &WorkloadResult) -> LinePanel {
    let point = |name: &str, c: &PointResult| {
        let trials = all.trials_of(&w.workload, name, c.level);
        let p99 = |r: &&RunRecord| r.latency().ok()?.percentile_ns(99.0).map(|ns| ns as f64);
        let (values, at_least) = (trials.iter().filter_map(p99).collect(), !bound(&trials).is_empty());
        let value = c.latency.p99_ns as f64;
        (value > 0.0).then_some(Point { level: c.level, values, value, interval: None, at_least })
    };
    line_panel(all, w, "response time, 99th percentile (logarithmic)".to_owned(), Scale::LogTime, point)
}

/// The most transactions that waited during the window.
fn peak(r: &RunRecord) -> u64 {
    let inside = r.intervals.iter().filter(|i| (0..window_ms(r)).contains(&i.start_ms)).map(|i| i.backlog);
    let edges = r.measured.open_loop.as_ref().map_or(0, |o| o.backlog_at_open.max(o.backlog_at_close));
    inside.max().unwrap_or(0).max(edges)
}

/// Whether the backlog is worth a figure: the rate was not kept, or at least a second of arrivals waited.
fn grew(r: &RunRecord) -> bool {
    let Some(open) = &r.measured.open_loop else { return false };
    let per_second = open.offered as f64 / (r.measured.window_ns as f64 / 1e9);
    overloaded(r) || (open.offered > 0 && peak(r) as f64 >= per_second)
}

/// Of each workload, level and contender the trial whose backlog grew most, where any grew.
fn grown<'a>(all: &Context<'a>) -> Vec<(&'a WorkloadResult, u32, Vec<&'a RunRecord>)> {
    let mut out = Vec::new();
    for w in all.measured() {
        for level in levels_of(w) {
            let worst = |name: &&str| {
                let trials = all.trials_of(&w.workload, name, level);
                // The first of equals: `max_by_key` gives the last.
                trials.into_iter().rev().filter(|r| grew(r)).max_by_key(|r| peak(r))
            };
            let trials: Vec<&RunRecord> = all.contenders_of(w).iter().filter_map(worst).collect();
            if !trials.is_empty() {
                out.push((w, level, trials));
            }
        }
    }
    out
}

/// How many transactions waited over time, where many did; `None` where none did.
pub(super) fn backlog(all: &Context<'_>) -> Option<Figure> {
    let heads =
        format!("Workload | {} | Contender | #Trial | #When the window opened | #At most | #At its end", all.words().head);
    let mut table = Table::of_figure(&heads);
    let mut panels = Vec::new();
    for (w, level, trials) in grown(all) {
        let (workload, level) = (clean(&w.workload), thousands(level.into()));
        for r in &trials {
            let open = r.measured.open_loop.as_ref();
            let [first, last] =
                [open.map(|o| o.backlog_at_open), open.map(|o| o.backlog_at_close)].map(|n| or_absent(n.map(thousands)));
            let names = [workload.clone(), level.clone(), all.label(&r.key.contender), r.key.trial.to_string()];
            table.add(names.into_iter().chain([first, thousands(peak(r)), last]));
        }
        panels.push(TimePanel {
            title: format!("{workload}, {level} {}", all.words().unit),
            axis: "transactions waiting".to_owned(),
            seconds: trials.iter().map(|r| r.measured.window_ns).max().unwrap_or(0) as f64 / 1e9,
            lines: trials.iter().map(|r| time_line(all, r, backlog_points(r))).collect(),
        });
    }
    let caption = "Trials that could not keep the rate, or in which at least a second of arrivals waited; of each contender and point the \
                   trial in which most waited, named beside its line. A backlog that grows to the end says that the target cannot keep the \
                   rate.";
    Figure::new("backlog", "Transactions that were due and waited", caption, Panels::Times, panels, table)
}

/// The backlog at the start of the window, after each second, and at its end.
fn backlog_points(r: &RunRecord) -> Vec<(f64, f64)> {
    let window_ms = window_ms(r);
    let (open, close) = r.measured.open_loop.as_ref().map_or((0, 0), |o| (o.backlog_at_open, o.backlog_at_close));
    let end = |i: &Interval| i.start_ms + i.length_ms as i64;
    let inside = r.intervals.iter().filter(|i| i.start_ms >= 0 && end(i) < window_ms);
    let inside: Vec<(f64, f64)> = inside.map(|i| (end(i) as f64 / 1e3, i.backlog as f64)).collect();
    let highest = |some: &[(f64, f64)]| some.iter().copied().fold((0.0, -1.0), |m, p| if p.1 > m.1 { p } else { m });
    let mut points = vec![(0.0, open as f64)];
    points.extend(inside.chunks(inside.len().div_ceil(POINTS).max(1)).map(highest));
    points.push((window_ms as f64 / 1e3, close as f64));
    points
}

pub(super) fn time_line(all: &Context<'_>, r: &RunRecord, points: Vec<(f64, f64)>) -> TimeLine {
    let name = &r.key.contender;
    TimeLine { slot: all.slot(name).unwrap_or(0), name: all.label(name), trial: format!("trial {}", r.key.trial), points }
}
