//! Upright bars in groups: one group for each level of load, one bar for each contender.

use super::{COLOURS, label_width, line, open, rect, short_texts, text, ticks, valued, widest};
use crate::document::{LinePanel, Point};
use crate::number::{column_decimals, fixed};

const HEIGHT: f64 = 112.0;
/// Width of a drawing that shares its row with three others, and of one that has more room.
const WIDTHS: [f64; 2] = [265.0, 350.0];
const TOP: f64 = 16.0;
const BOTTOM: f64 = HEIGHT - 20.0;
/// The widest bar.
const BAR: f64 = 52.0;
/// The share of a group that its bars take.
const FILLED: f64 = 0.78;

/// Draws a panel; `many` of them share a row. Levels are categories, so bars may stand side by side.
pub(super) fn draw(id: &str, panel: &LinePanel, many: bool) -> String {
    let width = WIDTHS[usize::from(!many)];
    let points = || panel.series.iter().flat_map(|s| &s.points).filter(|p| panel.levels.contains(&p.level));
    let largest = points().map(|p| p.interval.map_or(p.value, |i| i.1.max(p.value))).fold(0.0, f64::max);
    let ticks = ticks(largest);
    let texts = short_texts(&ticks);
    let (left, right) = (widest(&texts) + 8.0, width - 2.0);
    let last = ticks.last().copied().unwrap_or(1.0);
    let y = |value: f64| BOTTOM - value.max(0.0) / last * (BOTTOM - TOP);
    let step = (right - left) / panel.levels.len().max(1) as f64;
    let bar = (step * FILLED / panel.series.len().max(1) as f64).min(BAR);

    let description = super::lines::description(panel);
    let mut out = open(id, &format!("{}: {}", panel.title, panel.axis), &description, (width, HEIGHT));
    for (i, (tick, label)) in ticks.iter().zip(&texts).enumerate() {
        line(&mut out, if i == 0 { "axis" } else { "grid" }, (left, y(*tick)), (right, y(*tick)));
        if i % 2 == 0 {
            text(&mut out, left - 5.0, y(*tick) + 4.0, "end", "tick", label);
        }
    }
    let room = widest(panel.levels.iter().map(u32::to_string)) + 6.0;
    let every = (room / step).ceil().max(1.0) as usize;
    for (i, level) in panel.levels.iter().enumerate() {
        let middle = left + (i as f64 + 0.5) * step;
        if (panel.levels.len() - 1 - i).is_multiple_of(every) {
            text(&mut out, middle, BOTTOM + 16.0, "middle", "tick", &level.to_string());
        }
        let first = middle - bar * panel.series.len() as f64 / 2.0;
        for (k, series) in panel.series.iter().enumerate() {
            let Some(p) = series.points.iter().find(|p| p.level == *level) else { continue };
            let words = super::lines::words(panel, series, p);
            valued(&mut out, &words, |out| column(out, series.slot, p, (first + k as f64 * bar, bar), &y));
        }
    }
    out + "</svg>"
}

/// One bar with its interval, and its value above it where that has room.
fn column(out: &mut String, slot: usize, p: &Point, (x, width): (f64, f64), y: &impl Fn(f64) -> f64) {
    let (top, inner) = (y(p.value), (width - 1.0).max(1.0));
    rect(out, &format!("bar s{}", slot % COLOURS), (x, top), (inner, BOTTOM - top));
    let mut above = top;
    if let Some((low, high)) = p.interval {
        let (middle, half) = (x + inner / 2.0, (inner * 0.25).min(4.0));
        line(out, "whisker-ink", (middle, y(high)), (middle, y(low)));
        for end in [high, low] {
            line(out, "whisker-ink", (middle - half, y(end)), (middle + half, y(end)));
        }
        above = y(high);
    }
    let label = fixed(p.value, column_decimals([p.value]));
    if label_width(&label) < width - 3.0 {
        text(out, x + inner / 2.0, above - 4.0, "middle", "tick", &label);
    }
}
