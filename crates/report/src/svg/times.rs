//! Lines over time: one line per contender, its name and trial at its end.

use std::fmt::Write as _;

use super::scale::Scale;
use super::{COLOURS, WIDTH, left_axis, name_beside, open, polyline, seconds_axis, spread, text, widest};
use crate::document::{AxisScale, TimeLine, TimePanel};
use crate::escape::shorten;
use crate::number::fixed;

const HEIGHT: f64 = 250.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = HEIGHT - 46.0;

pub(super) fn draw(id: &str, panel: &TimePanel) -> String {
    let scale = Scale::of(AxisScale::FromZero, panel.lines.iter().flat_map(|l| &l.points).map(|p| p.1));
    let names: Vec<String> = panel.lines.iter().map(|l| shorten(&l.name, 17)).collect();
    let left = widest(scale.ticks.iter().map(|t| &t.1)) + 14.0;
    let right = WIDTH - widest(names.iter().chain(panel.lines.iter().map(|l| &l.trial))) - 30.0;
    let seconds = panel.seconds.max(1e-3);
    let x = |s: f64| left + s / seconds * (right - left);
    let y = |v: f64| BOTTOM - scale.share(v) * (BOTTOM - TOP);

    let mut out = open(id, &format!("{}: {}", panel.title, panel.axis), &description(panel), (WIDTH, HEIGHT));
    left_axis(&mut out, &scale.ticks, y, (left, right), &panel.axis);
    seconds_axis(&mut out, x, seconds, BOTTOM);
    text(&mut out, (left + right) / 2.0, BOTTOM + 36.0, "middle", "tick", "seconds of the measured window");
    for l in &panel.lines {
        let path = polyline(l.slot, l.points.iter().map(|(s, v)| (x(*s), y(*v))));
        let _ = writeln!(out, "<g class=\"s{}\">{path}</g>", l.slot % COLOURS);
    }
    let ends = panel.lines.iter().enumerate().filter_map(|(i, l)| Some((y(l.points.last()?.1), i))).collect();
    for (height, i) in spread(ends, 32.0, (TOP, BOTTOM - 15.0)) {
        let l = &panel.lines[i];
        name_beside(&mut out, l.slot, (right, height), &names[i]);
        text(&mut out, right + 22.0, height + 19.0, "start", "tick", &l.trial);
    }
    out + "</svg>"
}

fn description(panel: &TimePanel) -> String {
    let each = |l: &TimeLine| {
        let end = l.points.last().map_or(0.0, |p| p.1);
        let most = l.points.iter().map(|p| p.1).fold(0.0, f64::max);
        format!("{}, {}: at most {}, {} at the end.", l.name, l.trial, fixed(most, 0), fixed(end, 0))
    };
    panel.lines.iter().map(each).collect::<Vec<_>>().join(" ")
}
