//! Lines over the time of a trial with its borders, or over the last minutes of a running study.

use super::scale::Scale;
use super::{BOLD, COLOURS, WIDTH, label_width, left_axis, line, open, polyline, rect, text, tick_texts, ticks, widest};
use crate::document::AxisScale;
use crate::escape::shorten;
use crate::number::fixed;

const HEIGHT: f64 = 230.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = HEIGHT - 46.0;
const RIGHT: f64 = WIDTH - 12.0;
/// Characters of a name of a line at most.
const NAME: usize = 34;

/// What is drawn. All times are in seconds of one clock.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OverTime {
    /// What the values are, with their unit; it stands above the vertical axis, which starts at 0.
    pub axis: String,
    /// What the horizontal axis counts.
    pub along: String,
    /// Start and end of the horizontal axis.
    pub reach_s: (f64, f64),
    /// Times outside of measured windows: from, to, and what they are.
    pub outside: Vec<(f64, f64, &'static str)>,
    /// Where trials start, and their names.
    pub borders: Vec<(f64, String)>,
    /// Lines by name: their runs of neighbouring points (time, value). A break between two trials is a new run.
    pub lines: Vec<(String, Vec<RunOfPoints>)>,
}

/// Neighbouring points: time and value.
pub type RunOfPoints = Vec<(f64, f64)>;

/// Draws it; `id` is unique in its page.
pub fn over_time(id: &str, panel: &OverTime) -> String {
    let values = || panel.lines.iter().flat_map(|l| l.1.iter().flatten()).map(|p| p.1);
    let scale = Scale::of(AxisScale::FromZero, values());
    let left = widest(scale.ticks.iter().map(|t| &t.1)) + 14.0;
    let (from, to) = (panel.reach_s.0, panel.reach_s.1.max(panel.reach_s.0 + 1e-3));
    let x = |s: f64| left + (s.clamp(from, to) - from) / (to - from) * (RIGHT - left);
    let y = |v: f64| BOTTOM - scale.share(v) * (BOTTOM - TOP);
    let mut out = open(id, &format!("{} over time", panel.axis), &description(panel), (WIDTH, HEIGHT));
    for (start, end, what) in &panel.outside {
        let (start, end) = (x(*start), x(*end));
        rect(&mut out, "cold", (start, TOP), ((end - start).max(0.0), BOTTOM - TOP));
        if label_width(what) < end - start {
            text(&mut out, (start + end) / 2.0, TOP + 14.0, "middle", "tick", what);
        }
    }
    left_axis(&mut out, &scale.ticks, y, (left, RIGHT), &panel.axis);
    let step = ticks(to - from)[1];
    let marks: Vec<f64> =
        (0..).map(|i| ((from / step).ceil() + f64::from(i)) * step).take_while(|t| *t <= to + step * 1e-6).collect();
    let decimals = tick_texts(&[0.0, step]).pop().and_then(|t| Some(t.split_once('.')?.1.len())).unwrap_or(0);
    for mark in marks {
        line(&mut out, "axis", (x(mark), BOTTOM), (x(mark), BOTTOM + 4.0));
        text(&mut out, x(mark), BOTTOM + 17.0, "middle", "tick", &fixed(mark + 0.0, decimals));
    }
    text(&mut out, (left + RIGHT) / 2.0, BOTTOM + 36.0, "middle", "tick", &panel.along);
    let mut free = left;
    for (at, name) in &panel.borders {
        line(&mut out, "guide", (x(*at), TOP - 14.0), (x(*at), BOTTOM));
        // A name that has no room before the next one is left out.
        if x(*at) >= free && x(*at) + label_width(name) + 4.0 <= WIDTH {
            text(&mut out, x(*at) + 4.0, TOP - 5.0, "start", "tick", name);
            free = x(*at) + label_width(name) + 12.0;
        }
    }
    draw_lines(&mut out, panel, &x, &y);
    out + "</svg>"
}

/// Lines, and their names in one row above where there are several.
fn draw_lines(out: &mut String, panel: &OverTime, x: &impl Fn(f64) -> f64, y: &impl Fn(f64) -> f64) {
    let mut at = RIGHT;
    for (slot, (name, runs)) in panel.lines.iter().enumerate() {
        let lines: String = runs.iter().map(|run| polyline(slot, run.iter().map(|(s, v)| (x(*s), y(*v))))).collect();
        out.push_str(&format!("<g class=\"s{}\">{lines}</g>\n", slot % COLOURS));
        if panel.lines.len() > 1 {
            let name = shorten(name, NAME);
            let start = at - label_width(&name) * BOLD;
            out.push_str(&format!(
                "<g class=\"s{}\">{}</g>\n",
                slot % COLOURS,
                polyline(slot, [(start - 26.0, 28.0), (start - 6.0, 28.0)])
            ));
            text(out, start, 32.0, "start", "tick", &name);
            at = start - 40.0;
        }
    }
}

fn description(panel: &OverTime) -> String {
    let each = |(name, runs): &(String, Vec<Vec<(f64, f64)>>)| {
        let values = || runs.iter().flatten().map(|p| p.1);
        let (most, last) = (values().fold(0.0, f64::max), values().next_back().unwrap_or(0.0));
        let decimals = usize::from(most < 100.0) * 2;
        format!("{name}: at most {}, {} at the end.", fixed(most, decimals), fixed(last, decimals))
    };
    panel.lines.iter().map(each).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_starts_at_zero_and_a_warm_up_lies_before_it() {
        let runs = vec![vec![(-4.5, 100.0), (0.5, 900.0), (9.5, 880.0)]];
        let panel = OverTime {
            axis: "transactions per second".to_owned(),
            along: "seconds".to_owned(),
            reach_s: (-5.0, 12.0),
            outside: vec![(-5.0, 0.0, "warm-up"), (10.0, 12.0, "drain")],
            borders: vec![(-5.0, "trial 1".to_owned())],
            lines: vec![("all".to_owned(), runs)],
        };
        let drawn = over_time("x", &panel);
        for label in [">0<", ">1,000<", ">−5<", ">10<", ">warm-up<", ">drain<", ">trial 1<", ">transactions per second<"] {
            assert!(drawn.contains(label), "{label}: {drawn}");
        }
        assert_eq!((drawn.matches("<polyline").count(), drawn.matches("class=\"cold\"").count()), (1, 2));
        assert!(drawn.contains("all: at most 900, 880 at the end."), "{drawn}");
        let empty = over_time("x", &OverTime::default());
        assert!(!empty.contains("NaN") && !empty.contains("inf"), "{empty}");
    }
}
