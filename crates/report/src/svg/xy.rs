//! Points in a plane, joined or not, with lines that help to read them.

use std::fmt::Write as _;

use super::scale::Scale;
use super::{
    WIDTH, coloured, end_names, label_width, left_axis, line, marker, open, polyline, spread, text, valued, whisker, widest,
};
use crate::document::{Guide, MarkShape, XyPanel, XyPoint, XySeries};
use crate::escape::shorten;

const HEIGHT: f64 = 310.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = HEIGHT - 46.0;

struct Frame {
    left: f64,
    right: f64,
    x: Scale,
    y: Scale,
}

impl Frame {
    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.left + self.x.share(x) * (self.right - self.left), BOTTOM - self.y.share(y) * (BOTTOM - TOP))
    }
}

pub(super) fn draw(id: &str, panel: &XyPanel) -> String {
    let points = || panel.series.iter().flat_map(|s| &s.points);
    let ends = |p: &XyPoint| p.interval.map_or([p.y, p.y], |(low, high)| [low, high]);
    // Guides that cross an axis at one value must lie on it.
    let level = panel.guides.iter().filter(|g| g.from.1 == g.to.1).map(|g| g.from.1);
    let upright = panel.guides.iter().filter(|g| g.from.0 == g.to.0).map(|g| g.from.0);
    let across: Vec<f64> = points().map(|p| p.x).chain(upright).collect();
    let up: Vec<f64> = points().flat_map(|p| [p.y].into_iter().chain(ends(p))).chain(level).collect();
    let other = |values: &[f64]| if panel.same_axes { values.to_vec() } else { Vec::new() };
    let x = Scale::of(panel.x.scale, across.iter().copied().chain(other(&up)));
    let y = Scale::of(panel.y.scale, up.iter().copied().chain(other(&across)));
    let names: Vec<String> = panel.series.iter().map(|s| shorten(&s.name, 17)).collect();
    let named = panel.series.iter().any(|s| s.joined);
    let left = widest(y.ticks.iter().map(|t| &t.1)) + 14.0;
    let beside = panel.guides.iter().map(|g| label_width(&g.label)).fold(8.0, f64::max) + 8.0;
    let right = WIDTH - if named { widest(&names) + 30.0 } else { beside };
    let frame = Frame { left, right, x, y };

    let title = format!("{}: {} over {}", panel.title, panel.y.title, panel.x.title);
    let mut out = open(id, &title, &description(panel, &frame), (WIDTH, HEIGHT));
    axes(&mut out, &frame, panel);
    guides(&mut out, &frame, &panel.guides, named);
    panel.series.iter().for_each(|s| series(&mut out, &frame, s));
    names_of_points(&mut out, &frame, &panel.series);
    if named {
        let end = |(s, name): (&XySeries, _)| Some((frame.at((0.0, s.points.last()?.y)).1, s.slot, name));
        let ends = panel.series.iter().zip(&names).filter(|(s, _)| s.joined).filter_map(end);
        end_names(&mut out, ends, right, (TOP, BOTTOM));
    }
    out + "</svg>"
}

fn axes(out: &mut String, frame: &Frame, panel: &XyPanel) {
    let y = |value| frame.at((f64::NEG_INFINITY, value)).1;
    left_axis(out, &frame.y.ticks, y, (frame.left, frame.right), &panel.y.title);
    line(out, "axis", (frame.left, BOTTOM), (frame.right, BOTTOM));
    let mut free = f64::NEG_INFINITY;
    for (value, label) in &frame.x.ticks {
        let x = frame.at((*value, f64::NEG_INFINITY)).0;
        line(out, if *value == 0.0 { "axis" } else { "grid" }, (x, TOP), (x, BOTTOM));
        let half = label_width(label) / 2.0;
        if x - half > free + 6.0 {
            text(out, x, BOTTOM + 17.0, "middle", "tick", label);
            free = x + half;
        }
    }
    text(out, (frame.left + frame.right) / 2.0, BOTTOM + 36.0, "middle", "tick", &panel.x.title);
}

/// Lines with their names beyond the edge where they end; inside where the names of series are there.
fn guides(out: &mut String, frame: &Frame, guides: &[Guide], named: bool) {
    let (mut at_right, mut upright) = (Vec::new(), 0.0);
    for (i, g) in guides.iter().enumerate() {
        let Some((from, to)) = clipped(frame.at(g.from), frame.at(g.to), frame) else { continue };
        line(out, "guide", from, to);
        match ((to.0 - frame.right).abs() < 0.5, named) {
            (true, true) => text(out, to.0 - 4.0, to.1 - 6.0, "end", "tick", &g.label),
            (true, false) => at_right.push((to.1 + 4.0, i)),
            // Upright lines, beside their upper end, each name in a line of its own.
            (false, true) => {
                let most = frame.right - label_width(&g.label) - 2.0;
                let x = (to.0 + 5.0).min(most).max(frame.left + 2.0);
                text(out, x, TOP + 11.0 + upright * 15.0, "start", "tick", &g.label);
                upright += 1.0;
            }
            (false, false) => text(out, to.0, TOP - 5.0, "middle", "tick", &g.label),
        }
    }
    for (y, i) in spread(at_right, 14.0, (TOP, BOTTOM)) {
        text(out, frame.right + 5.0, y, "start", "tick", &guides[i].label);
    }
}

/// Liang and Barsky's clipping of a segment to the frame.
fn clipped(from: (f64, f64), to: (f64, f64), frame: &Frame) -> Option<((f64, f64), (f64, f64))> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut enters, mut leaves) = (0.0_f64, 1.0_f64);
    for (p, q) in [(-dx, from.0 - frame.left), (dx, frame.right - from.0), (-dy, from.1 - TOP), (dy, BOTTOM - from.1)] {
        if p == 0.0 {
            if q < 0.0 {
                return None;
            }
            continue;
        }
        let t = q / p;
        if p < 0.0 { enters = enters.max(t) } else { leaves = leaves.min(t) }
    }
    let at = |t: f64| (from.0 + t * dx, from.1 + t * dy);
    (enters < leaves).then(|| (at(enters), at(leaves)))
}

fn series(out: &mut String, frame: &Frame, s: &XySeries) {
    let placed: Vec<(f64, f64)> = s.points.iter().map(|p| frame.at((p.x, p.y))).collect();
    coloured(out, s.slot, |out| {
        if s.joined && placed.len() > 1 {
            let _ = writeln!(out, "{}", polyline(s.slot, placed.iter().copied()));
        }
        for (p, (x, y)) in s.points.iter().zip(&placed) {
            let interval = p.interval.map(|ends| [ends.0, ends.1].map(|y| (frame.y.text(y), frame.at((p.x, y)).1)));
            let range = interval.as_ref().map(|[low, high]| format!(" ({}–{})", low.0, high.0)).unwrap_or_default();
            match s.mark {
                MarkShape::Mark => {
                    let words = format!("{}: {}{range} at {}", s.name, frame.y.text(p.y), frame.x.text(p.x));
                    valued(out, &words, |out| marker(out, s.slot, *x, *y, 4.5));
                }
                // Dots are many, and the table of the figure has them.
                MarkShape::Dot => marker(out, s.slot, *x, *y, 2.6),
                MarkShape::None => {}
            }
            if let Some([low, high]) = interval {
                whisker(out, *x, [low.1, high.1], 4.0);
            }
        }
    });
}

/// Height of a name, and where it may stand beside its point: how far up or down, the nearest first.
const NAME: f64 = 15.0;
const LINES_AWAY: [f64; 9] = [0.0, -1.0, 1.0, -2.0, 2.0, -3.0, 3.0, -4.0, 4.0];

/// Names beside points, where they cover neither each other nor the edge. A name without room is in the description.
fn names_of_points(out: &mut String, frame: &Frame, all: &[XySeries]) {
    let mut taken: Vec<[f64; 3]> = Vec::new();
    for p in all.iter().flat_map(|s| &s.points).filter(|p| !p.label.is_empty()) {
        let ((x, y), width) = (frame.at((p.x, p.y)), label_width(&p.label));
        let beside = [x + 9.0, x - 9.0 - width].into_iter().filter(|x| *x > frame.left && x + width < frame.right);
        let mut spots = LINES_AWAY.iter().flat_map(|s| beside.clone().map(move |x| [x, x + width, y + 4.0 + s * NAME]));
        let free = |[from, to, at]: &[f64; 3]| {
            let apart = |t: &[f64; 3]| t[1] < *from || *to < t[0] || (t[2] - at).abs() >= NAME;
            *at > TOP + 10.0 && *at < BOTTOM && taken.iter().all(apart)
        };
        if let Some(spot) = spots.find(free) {
            text(out, spot[0], spot[2], "start", "name", &p.label);
            taken.push(spot);
        }
    }
}

fn description(panel: &XyPanel, frame: &Frame) -> String {
    let each = |s: &XySeries| {
        let at = |p: &XyPoint| format!("{} at {}", frame.y.text(p.y), frame.x.text(p.x));
        match s.points.as_slice() {
            [] => format!("{}: nothing.", s.name),
            [one] => format!("{}: {}.", s.name, at(one)),
            [first, .., last] => format!("{}: {} points, from {} to {}.", s.name, s.points.len(), at(first), at(last)),
        }
    };
    panel.series.iter().map(each).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Axis, AxisScale};

    fn panel(guides: Vec<Guide>) -> XyPanel {
        let point = |x, y| XyPoint { x, y, interval: Some((y * 0.9, y * 1.1)), label: "here".into() };
        let axis = |title: &str| Axis { title: title.into(), scale: AxisScale::FromZero };
        let points = vec![point(1.0, 2.0), point(3.0, 4.0)];
        let series = vec![XySeries { slot: 0, name: "a".into(), points, mark: MarkShape::Mark, joined: true }];
        XyPanel { title: "w".into(), x: axis("cost"), y: axis("work"), same_axes: false, series, guides }
    }

    #[test]
    fn guides_end_at_the_edge_of_the_drawing() {
        let slope = Guide { from: (0.0, 0.0), to: (400.0, 200.0), label: "1×".into() };
        let drawn = draw("f", &panel(vec![slope]));
        let guide = drawn.lines().find(|l| l.contains("class=\"guide\"")).unwrap();
        let number = |name: &str| guide.split(name).nth(1).unwrap().split('"').next().unwrap().parse::<f64>().unwrap();
        assert!(number("x2=\"") <= WIDTH && number("y2=\"") >= TOP && number("y1=\"") <= BOTTOM, "{guide}");
        let outside = Guide { from: (0.0, 500.0), to: (1.0, 900.0), label: String::new() };
        assert!(!draw("f", &panel(vec![outside])).contains("class=\"guide\""));
    }

    #[test]
    fn a_drawing_is_told_in_words() {
        let drawn = draw("f", &panel(Vec::new()));
        assert!(drawn.contains("<desc id=\"f-desc\">a: 2 points, from 2.000 at 1.000 to 4.000 at 3.000.</desc>"), "{drawn}");
    }
}
