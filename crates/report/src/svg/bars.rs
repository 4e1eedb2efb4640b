//! Rows of bars: with whiskers in headed groups, stacked, or each beginning where the one above it ends.

use super::{
    COLOURS, PART_COLOURS, Rows, WIDTH, below, in_words, label_width, line, named, open, rect, row_words, span, text, valued,
};
use crate::document::{BarPanel, FallPanel, Stack, StackPanel};
use crate::escape::shorten;

/// Bars with whiskers, in headed groups.
pub(super) fn bars(id: &str, panel: &BarPanel) -> String {
    const ROW: f64 = 27.0;
    const BAR: f64 = 17.0;
    const HEAD: f64 = 24.0;
    let bars = || panel.groups.iter().flat_map(|(_, bars)| bars);
    let largest = bars().map(|b| b.interval.map_or(b.value, |i| i.1.max(b.value))).fold(0.0, f64::max);
    let rows = Rows::new(WIDTH, bars().map(|b| (&b.name, &b.label)), largest);
    let bottom = panel.groups.iter().map(|(_, bars)| HEAD + bars.len() as f64 * ROW).sum::<f64>() + 4.0;

    let description = in_words(&panel.groups, |b| (&b.name, &b.label));
    let mut out = open(id, &format!("{}: {}", panel.title, panel.axis), &description, (WIDTH, bottom + 46.0));
    rows.axis(&mut out, (6.0, bottom), &panel.axis);
    let mut y = 0.0;
    for (group, bars) in &panel.groups {
        text(&mut out, 0.0, y + 16.0, "start", "group", &shorten(group, 48));
        y += HEAD;
        for bar in bars {
            let middle = y + ROW / 2.0;
            rows.name(&mut out, "name", middle, &bar.name);
            let length = (rows.x(bar.value) - rows.left).max(1.0);
            let (slot, top) = (bar.slot % COLOURS, middle - BAR / 2.0);
            let mut end = rows.x(bar.value);
            valued(&mut out, &format!("{}: {}", named(group, &bar.name), bar.label), |out| {
                rect(out, &format!("bar s{slot}"), (rows.left, top), (length, BAR));
                if let Some((low, high)) = bar.interval {
                    span(out, ["whisker-ink"; 2], (rows.x(low), rows.x(high)), middle);
                    end = end.max(rows.x(high));
                }
            });
            text(&mut out, end + 7.0, middle + 4.0, "start", "value", &bar.label);
            y += ROW;
        }
    }
    out + "</svg>"
}

/// Stacked bars: one per contender, parts in the order of the legend.
pub(super) fn stacks(id: &str, panel: &StackPanel, width: f64) -> String {
    const BAR: f64 = 26.0;
    let row = if width < WIDTH { 34.0 } else { 40.0 };
    let sum = |s: &Stack| s.parts.iter().map(|p| p.0.max(0.0)).sum::<f64>();
    let largest = panel.stacks.iter().map(sum).fold(0.0, f64::max);
    let rows = Rows::new(width, panel.stacks.iter().map(|s| (&s.name, &s.label)), largest);
    let bottom = panel.stacks.len() as f64 * row + 6.0;

    let description = row_words(panel.stacks.iter().map(|s| (&s.name, &s.label)));
    let mut out = open(id, &format!("{}: {}", panel.title, panel.axis), &description, (width, bottom + below(&panel.axis)));
    rows.axis(&mut out, (4.0, bottom), &panel.axis);
    for (i, stack) in panel.stacks.iter().enumerate() {
        let middle = i as f64 * row + row / 2.0 + 4.0;
        rows.name(&mut out, "name", middle, &stack.name);
        let mut x = rows.left;
        for (part, (value, label)) in stack.parts.iter().enumerate() {
            let length = rows.length(value.max(0.0));
            if length <= 0.0 {
                continue;
            }
            let top = middle - BAR / 2.0;
            valued(&mut out, &format!("{}: {label}", stack.name), |out| {
                rect(out, &format!("part g{}", part % PART_COLOURS), (x, top), (length, BAR));
            });
            if label_width(label) + 8.0 < length {
                text(&mut out, x + length / 2.0, middle + 4.0, "middle", &format!("on{}", part % PART_COLOURS), label);
            }
            x += length;
        }
        text(&mut out, x + 7.0, middle + 4.0, "start", "value", &stack.label);
    }
    out + "</svg>"
}

/// A sum that grows part by part, to the scale of all panels of its figure: the longer bar is the dearer bill.
pub(super) fn falls(id: &str, panel: &FallPanel, all: &[FallPanel]) -> String {
    const ROW: f64 = 25.0;
    const BAR: f64 = 15.0;
    let all = || all.iter().flat_map(|p| &p.rows);
    let rows = Rows::new(WIDTH, all().map(|r| (&r.name, &r.label)), all().map(|r| r.to.max(r.from)).fold(0.0, f64::max));
    let bottom = panel.rows.len() as f64 * ROW + 8.0;

    let description = row_words(panel.rows.iter().map(|r| (&r.name, &r.label)));
    let mut out = open(id, &format!("{}: {}", panel.title, panel.axis), &description, (WIDTH, bottom + 46.0));
    rows.axis(&mut out, (4.0, bottom), &panel.axis);
    for (i, r) in panel.rows.iter().enumerate() {
        let middle = i as f64 * ROW + ROW / 2.0 + 4.0;
        rows.name(&mut out, if r.part.is_some() { "name" } else { "value" }, middle, &r.name);
        let (width, top) = ((rows.x(r.to) - rows.x(r.from)).max(1.0), middle - BAR / 2.0);
        let colour = r.part.map_or_else(|| "sum".to_owned(), |part| format!("part g{}", part % PART_COLOURS));
        valued(&mut out, &format!("{}: {}", r.name, r.label), |out| rect(out, &colour, (rows.x(r.from), top), (width, BAR)));
        if r.part.is_some() {
            line(&mut out, "grid", (rows.x(r.to), middle + BAR / 2.0), (rows.x(r.to), middle + ROW - BAR / 2.0));
        }
        text(&mut out, rows.x(r.to.max(r.from)) + 7.0, middle + 4.0, "start", "value", &r.label);
    }
    out + "</svg>"
}
