//! Lines over time: one line per contender, its name and trial at its end.

use std::fmt::Write as _;

use super::{COLOURS, WIDTH, label_width, line, marker, open, spread, text, tick_texts, ticks};
use crate::document::{TimeLine, TimePanel};
use crate::escape::shorten;
use crate::number::fixed;

const HEIGHT: f64 = 250.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = HEIGHT - 46.0;

/// Draws a panel.
pub(super) fn draw(id: &str, panel: &TimePanel) -> String {
    let largest = panel.lines.iter().flat_map(|l| &l.points).fold(0.0, |m: f64, p| m.max(p.1));
    let ticks_y = ticks(largest);
    let texts_y = tick_texts(&ticks_y);
    let names: Vec<String> = panel.lines.iter().map(|l| shorten(&l.name, 17)).collect();
    let widest = |list: &mut dyn Iterator<Item = &str>| list.map(label_width).fold(0.0, f64::max);
    let left = widest(&mut texts_y.iter().map(String::as_str)) + 14.0;
    let right = WIDTH - widest(&mut names.iter().map(String::as_str).chain(panel.lines.iter().map(|l| l.trial.as_str()))) - 30.0;
    let (top_value, seconds) = (ticks_y.last().copied().unwrap_or(1.0), panel.seconds.max(1e-3));
    let x = |s: f64| left + s / seconds * (right - left);
    let y = |v: f64| BOTTOM - v / top_value * (BOTTOM - TOP);

    let mut out = open(id, &format!("{}: {}", panel.title, panel.axis), &description(panel), HEIGHT);
    for (tick, label) in ticks_y.iter().zip(&texts_y) {
        line(&mut out, if *tick == 0.0 { "axis" } else { "grid" }, (left, y(*tick)), (right, y(*tick)));
        text(&mut out, left - 8.0, y(*tick) + 4.0, "end", "tick", label);
    }
    text(&mut out, 0.0, 14.0, "start", "tick", &panel.axis);
    let ticks_x = ticks(seconds);
    for (tick, label) in ticks_x.iter().zip(&tick_texts(&ticks_x)).filter(|(t, _)| **t <= seconds * (1.0 + 1e-9)) {
        line(&mut out, "axis", (x(*tick), BOTTOM), (x(*tick), BOTTOM + 4.0));
        text(&mut out, x(*tick), BOTTOM + 17.0, "middle", "tick", label);
    }
    text(&mut out, (left + right) / 2.0, BOTTOM + 36.0, "middle", "tick", "seconds of the measured window");
    for l in &panel.lines {
        let path: Vec<String> = l.points.iter().map(|(s, v)| format!("{:.1},{:.1}", x(*s), y(*v))).collect();
        let (colour, dash) = (l.slot % COLOURS, l.slot % 3);
        let _ = writeln!(out, "<g class=\"s{colour}\"><polyline class=\"mean dash{dash}\" points=\"{}\"/></g>", path.join(" "));
    }
    let ends = panel.lines.iter().enumerate().filter_map(|(i, l)| Some((y(l.points.last()?.1), i))).collect();
    for (height, i) in spread(ends, 32.0, (TOP, BOTTOM - 15.0)) {
        let l = &panel.lines[i];
        let _ = writeln!(out, "<g class=\"s{}\">", l.slot % COLOURS);
        marker(&mut out, l.slot, right + 12.0, height, 4.0);
        out.push_str("</g>\n");
        text(&mut out, right + 22.0, height + 4.0, "start", "name", &names[i]);
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
