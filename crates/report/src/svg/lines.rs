//! Lines over connections: all trials as dots, means with their intervals, names beside the lines.

use std::fmt::Write as _;

use super::{COLOURS, WIDTH, label_width, line, marker, open, text, tick_texts, ticks};
use crate::document::{LinePanel, Series};
use crate::escape::shorten;

const HEIGHT: f64 = 310.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = HEIGHT - 46.0;

/// Where the axes lie and what they mean.
struct Frame {
    left: f64,
    right: f64,
    top_value: f64,
    /// Place of each connection count.
    places: Vec<(u32, f64)>,
    /// Distance of contenders that stand side by side.
    apart: f64,
}

impl Frame {
    fn y(&self, value: f64) -> f64 {
        BOTTOM - value.max(0.0) / self.top_value * (BOTTOM - TOP)
    }

    fn x(&self, connections: u32, series: usize, of: usize) -> f64 {
        let place = self.places.iter().find(|(c, _)| *c == connections).map_or(self.left, |(_, x)| *x);
        place + (series as f64 - (of as f64 - 1.0) / 2.0) * self.apart
    }
}

/// Draws a panel.
pub(super) fn draw(id: &str, panel: &LinePanel) -> String {
    let largest = panel.series.iter().flat_map(|s| &s.points).fold(0.0, |m: f64, p| {
        let high = p.interval.map_or(p.mean, |i| i.1);
        p.values.iter().copied().fold(m.max(high).max(p.mean), f64::max)
    });
    let ticks = ticks(largest);
    let texts = tick_texts(&ticks);
    let names: Vec<String> = panel.series.iter().map(|s| shorten(&s.name, 17)).collect();
    let widest = |list: &[String]| list.iter().map(|t| label_width(t)).fold(0.0, f64::max);
    let (left, right) = (widest(&texts) + 14.0, WIDTH - widest(&names) - 30.0);
    let (places, even) = places(&panel.connections, left, right);
    let gap = places.windows(2).map(|w| w[1].1 - w[0].1).fold(f64::INFINITY, f64::min).min(right - left);
    let apart = (gap / (panel.series.len() as f64 + 0.5)).min(18.0);
    let frame = Frame { left, right, top_value: ticks.last().copied().unwrap_or(1.0), places, apart };

    let mut out = open(id, &format!("{}: {}", panel.title, panel.axis), &description(panel), HEIGHT);
    for (tick, label) in ticks.iter().zip(&texts) {
        let y = frame.y(*tick);
        line(&mut out, if *tick == 0.0 { "axis" } else { "grid" }, (left, y), (right, y));
        text(&mut out, left - 8.0, y + 4.0, "end", "tick", label);
    }
    text(&mut out, 0.0, 14.0, "start", "tick", &panel.axis);
    horizontal_axis(&mut out, &frame, even);
    for (i, series) in panel.series.iter().enumerate() {
        draw_series(&mut out, &frame, series, i, panel.series.len());
    }
    draw_names(&mut out, &frame, panel, &names);
    out + "</svg>"
}

/// Connection counts on an axis from 0, or at equal steps where they would crowd.
fn places(connections: &[u32], left: f64, right: f64) -> (Vec<(u32, f64)>, bool) {
    let last = f64::from(connections.last().copied().unwrap_or(1));
    let inner = right - left - 26.0;
    // The first count must keep clear of the 0, too.
    let near = |from: u32, to: u32| f64::from(to - from) / last * inner < 38.0;
    let crowded = connections.first().is_some_and(|c| near(0, *c)) || connections.windows(2).any(|w| near(w[0], w[1]));
    let steps = connections.len() as f64;
    let place = |(i, c): (usize, &u32)| {
        let share = if crowded { (i as f64 + 0.5) / steps } else { f64::from(*c) / last };
        (*c, left + share * inner + if crowded { 13.0 } else { 0.0 })
    };
    (connections.iter().enumerate().map(place).collect(), crowded)
}

fn horizontal_axis(out: &mut String, frame: &Frame, even: bool) {
    let widest = frame.places.iter().map(|(c, _)| label_width(&c.to_string())).fold(0.0, f64::max) + 10.0;
    let gap = frame.places.windows(2).map(|w| w[1].1 - w[0].1).fold(f64::INFINITY, f64::min);
    let every = (widest / gap).ceil().max(1.0) as usize;
    if !even {
        text(out, frame.left, BOTTOM + 17.0, "middle", "tick", "0");
    }
    for (i, (connections, x)) in frame.places.iter().enumerate() {
        line(out, "axis", (*x, BOTTOM), (*x, BOTTOM + 4.0));
        // Counted from the last one, which is labelled in any case.
        if (frame.places.len() - 1 - i).is_multiple_of(every) {
            text(out, *x, BOTTOM + 17.0, "middle", "tick", &connections.to_string());
        }
    }
    let title = if even { "connections (measured counts at equal steps)" } else { "connections" };
    text(out, (frame.left + frame.right) / 2.0, BOTTOM + 36.0, "middle", "tick", title);
}

fn draw_series(out: &mut String, frame: &Frame, series: &Series, i: usize, of: usize) {
    let _ = writeln!(out, "<g class=\"s{}\">", series.slot % COLOURS);
    let at = |c: u32| frame.x(c, i, of);
    let path: Vec<String> = series.points.iter().map(|p| format!("{:.1},{:.1}", at(p.connections), frame.y(p.mean))).collect();
    let _ = writeln!(out, "<polyline class=\"mean dash{}\" points=\"{}\"/>", series.slot % 3, path.join(" "));
    for p in &series.points {
        let x = at(p.connections);
        let dots = x - (frame.apart * 0.45).min(8.0);
        for value in &p.values {
            let _ = writeln!(out, "<circle class=\"trial\" cx=\"{dots:.1}\" cy=\"{:.1}\" r=\"2\"/>", frame.y(*value));
        }
        marker(out, series.slot, x, frame.y(p.mean), 4.0);
        if let Some((low, high)) = p.interval {
            let (top, bottom) = (frame.y(high), frame.y(low));
            line(out, "whisker", (x, top), (x, bottom));
            line(out, "whisker", (x - 4.0, top), (x + 4.0, top));
            line(out, "whisker", (x - 4.0, bottom), (x + 4.0, bottom));
        }
    }
    out.push_str("</g>\n");
}

/// Names beside the ends of their lines, pushed apart where they would cover each other.
fn draw_names(out: &mut String, frame: &Frame, panel: &LinePanel, names: &[String]) {
    let mut ends: Vec<(f64, usize)> =
        panel.series.iter().enumerate().filter_map(|(i, s)| Some((frame.y(s.points.last()?.mean), i))).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut least = TOP;
    for end in &mut ends {
        end.0 = end.0.max(least);
        least = end.0 + 17.0;
    }
    let over = ends.last().map_or(0.0, |e| (e.0 - BOTTOM).max(0.0));
    for (y, i) in ends {
        let (series, y, x) = (&panel.series[i], y - over, frame.right + 12.0);
        let _ = writeln!(out, "<g class=\"s{}\">", series.slot % COLOURS);
        marker(out, series.slot, x, y, 4.0);
        out.push_str("</g>\n");
        text(out, x + 10.0, y + 4.0, "start", "name", &names[i]);
    }
}

fn description(panel: &LinePanel) -> String {
    let ends = |s: &Series| match (s.points.first(), s.points.last()) {
        (Some(a), Some(b)) => {
            let decimals = crate::number::column_decimals([a.mean, b.mean]);
            let number = |v| crate::number::fixed(v, decimals);
            format!(
                "{}: {} at {} and {} at {} connections.",
                s.name,
                number(a.mean),
                a.connections,
                number(b.mean),
                b.connections
            )
        }
        _ => format!("{}: nothing measured.", s.name),
    };
    panel.series.iter().map(ends).collect::<Vec<_>>().join(" ")
}
