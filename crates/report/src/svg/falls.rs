//! A sum that grows part by part: each bar starts where the one above it ends.

use super::{PART_COLOURS, Rows, WIDTH, line, open, rect, row_words, text};
use crate::document::FallPanel;

const ROW: f64 = 25.0;
const BAR: f64 = 15.0;

/// Draws a panel to the scale of all panels of its figure: the longer bar is the dearer bill.
pub(super) fn draw(id: &str, panel: &FallPanel, all: &[FallPanel]) -> String {
    let all = || all.iter().flat_map(|p| &p.rows);
    let rows = Rows::new(all().map(|r| (&r.name, &r.label)), all().map(|r| r.to.max(r.from)).fold(0.0, f64::max));
    let bottom = panel.rows.len() as f64 * ROW + 8.0;

    let description = row_words(panel.rows.iter().map(|r| (&r.name, &r.label)));
    let mut out = open(id, &format!("{}: {}", panel.title, panel.axis), &description, (WIDTH, bottom + 46.0));
    rows.axis(&mut out, (4.0, bottom), &panel.axis);
    for (i, r) in panel.rows.iter().enumerate() {
        let middle = i as f64 * ROW + ROW / 2.0 + 4.0;
        rows.name(&mut out, if r.part.is_some() { "name" } else { "value" }, middle, &r.name);
        let (width, top) = ((rows.x(r.to) - rows.x(r.from)).max(1.0), middle - BAR / 2.0);
        let colour = r.part.map_or_else(|| "sum".to_owned(), |part| format!("part g{}", part % PART_COLOURS));
        rect(&mut out, &colour, (rows.x(r.from), top), (width, BAR));
        if r.part.is_some() {
            line(&mut out, "grid", (rows.x(r.to), middle + BAR / 2.0), (rows.x(r.to), middle + ROW - BAR / 2.0));
        }
        text(&mut out, rows.x(r.to.max(r.from)) + 7.0, middle + 4.0, "start", "value", &r.label);
    }
    out + "</svg>"
}
