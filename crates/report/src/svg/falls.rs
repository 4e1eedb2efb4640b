//! A sum that grows part by part: each bar begins where the one above it ends.

use super::{PART_COLOURS, WIDTH, bold_width, bottom_axis, line, open, rect, text, ticks, widest};
use crate::document::{Fall, FallPanel};
use crate::escape::shorten;

const ROW: f64 = 25.0;
const BAR: f64 = 15.0;

/// Draws a panel to the scale of all panels of its figure: the longer bar is the dearer bill.
pub(super) fn draw(id: &str, panel: &FallPanel, all: &[FallPanel]) -> String {
    let rows = || all.iter().flat_map(|p| &p.rows);
    let ticks = ticks(rows().map(|r| r.to.max(r.from)).fold(0.0, f64::max));
    let last = ticks.last().copied().unwrap_or(1.0);
    let name = |r: &Fall| shorten(&r.name, 18);
    let left = widest(rows().map(name)) + 12.0;
    let right = WIDTH - rows().map(|r| bold_width(&r.label)).fold(0.0, f64::max) - 12.0;
    let x = |v: f64| left + v / last * (right - left);
    let bottom = panel.rows.len() as f64 * ROW + 8.0;

    let list: Vec<String> = panel.rows.iter().map(|r| format!("{} {}", r.name, r.label)).collect();
    let mut out = open(id, &format!("{}: {}", panel.title, panel.axis), &list.join(", "), (WIDTH, bottom + 46.0));
    bottom_axis(&mut out, &ticks, (left, right), (4.0, bottom), &panel.axis);
    for (i, r) in panel.rows.iter().enumerate() {
        let middle = i as f64 * ROW + ROW / 2.0 + 4.0;
        text(&mut out, left - 8.0, middle + 4.0, "end", if r.part.is_some() { "name" } else { "value" }, &name(r));
        let (width, top) = ((x(r.to) - x(r.from)).max(1.0), middle - BAR / 2.0);
        let colour = r.part.map_or_else(|| "sum".to_owned(), |part| format!("part g{}", part % PART_COLOURS));
        rect(&mut out, &colour, (x(r.from), top), (width, BAR));
        if r.part.is_some() {
            line(&mut out, "grid", (x(r.to), middle + BAR / 2.0), (x(r.to), middle + ROW - BAR / 2.0));
        }
        text(&mut out, x(r.to.max(r.from)) + 7.0, middle + 4.0, "start", "value", &r.label);
    }
    out + "</svg>"
}
