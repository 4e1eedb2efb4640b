//! Small multiples: many workloads side by side, each in a small drawing with its own scale.

use std::fmt::Write as _;

use super::{coloured, line, marker, open, polyline, short_texts, text, ticks, valued, widest};
use crate::document::{LinePanel, Series};

const WIDTH: f64 = 250.0;
const HEIGHT: f64 = 170.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = HEIGHT - 22.0;

/// Draws a panel. Its levels stand at equal steps; a level without a value leaves a gap in the line.
pub(super) fn draw(id: &str, panel: &LinePanel) -> String {
    let largest = panel.series.iter().flat_map(|s| &s.points).map(|p| p.value).fold(0.0, f64::max);
    let ticks = ticks(largest);
    let texts = short_texts(&ticks);
    let left = widest(&texts) + 8.0;
    let right = WIDTH - 8.0;
    let last = ticks.last().copied().unwrap_or(1.0);
    let y = |value: f64| BOTTOM - value.max(0.0) / last * (BOTTOM - TOP);
    let step = (right - left) / panel.levels.len().max(1) as f64;
    let x = |position: usize| left + (position as f64 + 0.5) * step;

    let description = super::lines::description(panel);
    let mut out = open(id, &format!("{}: {}", panel.title, panel.axis), &description, (WIDTH, HEIGHT));
    for (i, (tick, label)) in ticks.iter().zip(&texts).enumerate() {
        line(&mut out, if i == 0 { "axis" } else { "grid" }, (left, y(*tick)), (right, y(*tick)));
        // Every other tick has room for its number at this size.
        if i % 2 == 0 {
            text(&mut out, left - 5.0, y(*tick) + 4.0, "end", "tick", label);
        }
    }
    let room = widest(panel.levels.iter().map(u32::to_string)) + 6.0;
    let every = (room / step).ceil().max(1.0) as usize;
    for (i, level) in panel.levels.iter().enumerate().filter(|(i, _)| (panel.levels.len() - 1 - i).is_multiple_of(every)) {
        text(&mut out, x(i), BOTTOM + 15.0, "middle", "tick", &level.to_string());
    }
    for series in &panel.series {
        draw_series(&mut out, panel, series, &x, &y);
    }
    out + "</svg>"
}

fn draw_series(out: &mut String, panel: &LinePanel, series: &Series, x: &impl Fn(usize) -> f64, y: &impl Fn(f64) -> f64) {
    let at = |(i, level): (usize, &u32)| series.points.iter().find(|p| p.level == *level).map(|p| (x(i), y(p.value)));
    let placed: Vec<Option<(f64, f64)>> = panel.levels.iter().enumerate().map(at).collect();
    coloured(out, series.slot, |out| {
        for run in placed.split(Option::is_none).filter(|run| run.len() > 1) {
            let _ = writeln!(out, "{}", polyline(series.slot, run.iter().flatten().copied()));
        }
        for (level, (x, y)) in panel.levels.iter().zip(&placed).filter_map(|(level, at)| Some((level, (*at)?))) {
            let Some(point) = series.points.iter().find(|p| p.level == *level) else { continue };
            valued(out, &super::lines::words(panel, series, point), |out| marker(out, series.slot, x, y, 2.6));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Point, Scale};

    fn panel(levels: &[u32], missing: u32) -> LinePanel {
        let point = |level: &u32| Point {
            level: *level,
            values: vec![f64::from(*level)],
            value: f64::from(*level) * 1000.0,
            interval: None,
            at_least: false,
        };
        let points = levels.iter().filter(|l| **l != missing).map(point).collect();
        LinePanel {
            title: "w".into(),
            axis: "TPS".into(),
            scale: Scale::Linear,
            along: "connections".into(),
            along_even: "connections".into(),
            levels: levels.to_vec(),
            series: vec![Series { slot: 1, name: "a".into(), points }],
        }
    }

    #[test]
    fn a_hidden_point_leaves_a_gap() {
        let whole = draw("f", &panel(&[1, 2, 4, 8, 16], 0));
        let torn = draw("f", &panel(&[1, 2, 4, 8, 16], 4));
        let count = |text: &str, what: &str| text.matches(what).count();
        assert_eq!((count(&whole, "<polyline"), count(&whole, "class=\"mark\"")), (1, 5));
        assert_eq!((count(&torn, "<polyline"), count(&torn, "class=\"mark\"")), (2, 4));
    }
}
