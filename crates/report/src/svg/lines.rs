//! Lines over connections or offered rates: all trials as dots, means with their intervals, names beside the lines.

use std::fmt::Write as _;

use perbuck_core::units::duration_text;

use super::{WIDTH, coloured, end_names, left_axis, line, marker, open, polyline, scale, text, valued, whisker, widest};
use crate::document::{AxisScale, LinePanel, Point, Scale, Series};
use crate::escape::shorten;
use crate::number::{column_decimals, fixed};

const HEIGHT: f64 = 310.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = HEIGHT - 46.0;

struct Frame {
    left: f64,
    right: f64,
    y: scale::Scale,
    /// Where each level lies.
    positions: Vec<(u32, f64)>,
    /// Distance of contenders that stand side by side where levels have equal steps. On an axis of numbers it is 0: every point stands at
    /// its level, and longer ends tell one interval from another.
    apart: f64,
}

impl Frame {
    fn y(&self, value: f64) -> f64 {
        BOTTOM - self.y.share(value).max(0.0) * (BOTTOM - TOP)
    }

    fn x(&self, level: u32, series: usize, of: usize) -> f64 {
        let middle = self.positions.iter().find(|(l, _)| *l == level).map_or(self.left, |(_, x)| *x);
        middle + (series as f64 - (of as f64 - 1.0) / 2.0) * self.apart
    }
}

pub(super) fn draw(id: &str, panel: &LinePanel) -> String {
    let kind = match panel.scale {
        Scale::Linear => AxisScale::FromZero,
        Scale::LogTime => AxisScale::LogTime,
    };
    let points = panel.series.iter().flat_map(|s| &s.points);
    let values = points.flat_map(|p| p.values.iter().copied().chain([p.value]).chain(p.interval.map(|i| i.1)));
    let y = scale::Scale::of(kind, values);
    let names: Vec<String> = panel.series.iter().map(|s| shorten(&s.name, 17)).collect();
    let (left, right) = (widest(y.ticks.iter().map(|t| &t.1)) + 14.0, WIDTH - widest(&names) - 30.0);
    let (positions, even) = positions(&panel.levels, left, right);
    let gap = positions.windows(2).map(|w| w[1].1 - w[0].1).fold(f64::INFINITY, f64::min).min(right - left);
    let apart = if even { (gap / (panel.series.len() as f64 + 0.5)).min(18.0) } else { 0.0 };
    let frame = Frame { left, right, y, positions, apart };

    let mut out = open(id, &format!("{}: {}", panel.title, panel.axis), &description(panel), (WIDTH, HEIGHT));
    left_axis(&mut out, &frame.y.ticks, |v| frame.y(v), (left, right), &panel.axis);
    horizontal_axis(&mut out, &frame, if even { &panel.along_even } else { &panel.along }, even);
    for (i, series) in panel.series.iter().enumerate() {
        coloured(&mut out, series.slot, |out| draw_series(out, &frame, panel, i));
    }
    let ends = panel.series.iter().zip(&names);
    let ends = ends.filter_map(|(s, name)| Some((frame.y(s.points.last()?.value), s.slot, name)));
    end_names(&mut out, ends, right, (TOP, BOTTOM));
    out + "</svg>"
}

/// Levels on an axis from 0, or at equal steps where they would crowd.
fn positions(levels: &[u32], left: f64, right: f64) -> (Vec<(u32, f64)>, bool) {
    let last = f64::from(levels.last().copied().unwrap_or(1));
    let inner = right - left - 26.0;
    // The first level must keep clear of the 0, too.
    let near = |from: u32, to: u32| f64::from(to - from) / last * inner < 38.0;
    let crowded = levels.first().is_some_and(|c| near(0, *c)) || levels.windows(2).any(|w| near(w[0], w[1]));
    let steps = levels.len() as f64;
    let position = |(i, c): (usize, &u32)| {
        let share = if crowded { (i as f64 + 0.5) / steps } else { f64::from(*c) / last };
        (*c, left + share * inner + if crowded { 13.0 } else { 0.0 })
    };
    (levels.iter().enumerate().map(position).collect(), crowded)
}

fn horizontal_axis(out: &mut String, frame: &Frame, title: &str, even: bool) {
    let room = widest(frame.positions.iter().map(|(c, _)| c.to_string())) + 10.0;
    let gap = frame.positions.windows(2).map(|w| w[1].1 - w[0].1).fold(f64::INFINITY, f64::min);
    let every = (room / gap).ceil().max(1.0) as usize;
    if !even {
        text(out, frame.left, BOTTOM + 17.0, "middle", "tick", "0");
    }
    for (i, (level, x)) in frame.positions.iter().enumerate() {
        line(out, "axis", (*x, BOTTOM), (*x, BOTTOM + 4.0));
        // Counted from the last one, which is labelled in any case.
        if (frame.positions.len() - 1 - i).is_multiple_of(every) {
            text(out, *x, BOTTOM + 17.0, "middle", "tick", &level.to_string());
        }
    }
    text(out, (frame.left + frame.right) / 2.0, BOTTOM + 36.0, "middle", "tick", title);
}

fn draw_series(out: &mut String, frame: &Frame, panel: &LinePanel, i: usize) {
    let series = &panel.series[i];
    let at = |c: u32| frame.x(c, i, panel.series.len());
    let _ = writeln!(out, "{}", polyline(series.slot, series.points.iter().map(|p| (at(p.level), frame.y(p.value)))));
    for p in &series.points {
        let x = at(p.level);
        let dots = x - (frame.apart * 0.45).min(8.0);
        for value in &p.values {
            let _ = writeln!(out, "<circle class=\"trial\" cx=\"{dots:.1}\" cy=\"{:.1}\" r=\"2\"/>", frame.y(*value));
        }
        let y = frame.y(p.value);
        valued(out, &words(panel, series, p), |out| {
            marker(out, series.slot, x, y, 4.0);
            if p.at_least {
                let _ = writeln!(out, "<path class=\"up\" d=\"M{x:.1} {:.1}v-13m-3.5 4l3.5 -4l3.5 4\"/>", y - 4.0);
            }
            if let Some((low, high)) = p.interval {
                let longer = if frame.apart > 0.0 { 0.0 } else { 2.0 * (i % 4) as f64 };
                whisker(out, x, [frame.y(low), frame.y(high)], 4.0 + longer);
            }
        });
    }
}

/// A point in words: `Arm, 300 connections: 1,203 (1,190–1,216)`.
pub(super) fn words(panel: &LinePanel, series: &Series, p: &Point) -> String {
    let number = |v: f64| match panel.scale {
        Scale::Linear => fixed(v, column_decimals([p.value])),
        Scale::LogTime => duration_text(v as u64),
    };
    let least = if p.at_least { "≥ " } else { "" };
    let interval = p.interval.map(|(low, high)| format!(" ({}–{})", number(low), number(high))).unwrap_or_default();
    format!("{}, {} {}: {least}{}{interval}", series.name, p.level, panel.along, number(p.value))
}

pub(super) fn description(panel: &LinePanel) -> String {
    let ends = |s: &Series| match (s.points.first(), s.points.last()) {
        (Some(a), Some(b)) => {
            let decimals = column_decimals([a.value, b.value]);
            let number = |v| match panel.scale {
                Scale::Linear => fixed(v, decimals),
                Scale::LogTime => duration_text(v as u64),
            };
            format!("{}: {} at {} and {} at {} {}.", s.name, number(a.value), a.level, number(b.value), b.level, panel.along)
        }
        _ => format!("{}: nothing measured.", s.name),
    };
    panel.series.iter().map(ends).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(levels: &[u32]) -> Vec<String> {
        let point =
            |level: &u32| Point { level: *level, values: vec![9.0], value: 9.0, interval: Some((8.0, 10.0)), at_least: false };
        let series = |slot| Series { slot, name: format!("c{slot}"), points: levels.iter().map(point).collect() };
        let (along, along_even) = ("connections".to_owned(), "connections, equal steps".to_owned());
        let (title, axis) = ("t".to_owned(), "TPS".to_owned());
        let (levels, scale) = (levels.to_vec(), Scale::Linear);
        // Slots 0 and 5 both have circles.
        let svg = draw("id", &LinePanel { title, axis, along, along_even, levels, scale, series: vec![series(0), series(5)] });
        let drawn = svg.split("<circle class=\"mark\" cx=\"").skip(1);
        drawn.filter_map(|rest| rest.split_once('"')).map(|(x, _)| x.to_owned()).collect()
    }

    /// 150 connections were once drawn at 120 and 180.
    #[test]
    fn on_an_axis_of_numbers_every_point_stands_at_its_level() {
        let x = marks(&[150, 300, 450]);
        // The names at the ends have marks, too.
        assert_eq!((x.len(), &x[..3]), (8, &x[3..6]));
        let x = marks(&[1, 2, 1000]);
        assert_ne!(x[..3], x[3..6], "where steps are equal they stand side by side");
    }
}
