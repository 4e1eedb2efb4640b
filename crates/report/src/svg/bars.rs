//! Bars with whiskers, in headed groups.

use super::{COLOURS, Rows, WIDTH, in_words, open, rect, span, text};
use crate::document::BarPanel;

const ROW: f64 = 27.0;
const BAR: f64 = 17.0;
const HEAD: f64 = 24.0;

pub(super) fn draw(id: &str, panel: &BarPanel) -> String {
    let bars = || panel.groups.iter().flat_map(|(_, bars)| bars);
    let largest = bars().map(|b| b.interval.map_or(b.value, |i| i.1.max(b.value))).fold(0.0, f64::max);
    let rows = Rows::new(bars().map(|b| (&b.name, &b.label)), largest);
    let bottom = panel.groups.iter().map(|(_, bars)| HEAD + bars.len() as f64 * ROW).sum::<f64>() + 4.0;

    let description = in_words(&panel.groups, |b| (&b.name, &b.label));
    let mut out = open(id, &format!("{}: {}", panel.title, panel.axis), &description, (WIDTH, bottom + 46.0));
    rows.axis(&mut out, (6.0, bottom), &panel.axis);
    let mut y = 0.0;
    for (group, bars) in &panel.groups {
        text(&mut out, 0.0, y + 16.0, "start", "group", group);
        y += HEAD;
        for bar in bars {
            let middle = y + ROW / 2.0;
            rows.name(&mut out, "name", middle, &bar.name);
            let length = (rows.x(bar.value) - rows.left).max(1.0);
            let (slot, top) = (bar.slot % COLOURS, middle - BAR / 2.0);
            rect(&mut out, &format!("bar s{slot}"), (rows.left, top), (length, BAR));
            let mut end = rows.x(bar.value);
            if let Some((low, high)) = bar.interval {
                span(&mut out, ["whisker-ink"; 2], (rows.x(low), rows.x(high)), middle);
                end = end.max(rows.x(high));
            }
            text(&mut out, end + 7.0, middle + 4.0, "start", "value", &bar.label);
            y += ROW;
        }
    }
    out + "</svg>"
}
