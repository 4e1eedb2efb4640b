//! Stacked bars: one per contender, parts in the order of the legend.

use super::{PART_COLOURS, Rows, WIDTH, label_width, open, rect, row_words, text};
use crate::document::{Stack, StackPanel};

const ROW: f64 = 40.0;
const BAR: f64 = 26.0;

pub(super) fn draw(id: &str, panel: &StackPanel) -> String {
    let sum = |s: &Stack| s.parts.iter().map(|p| p.0.max(0.0)).sum::<f64>();
    let largest = panel.stacks.iter().map(sum).fold(0.0, f64::max);
    let rows = Rows::new(panel.stacks.iter().map(|s| (&s.name, &s.label)), largest);
    let bottom = panel.stacks.len() as f64 * ROW + 6.0;

    let description = row_words(panel.stacks.iter().map(|s| (&s.name, &s.label)));
    let mut out = open(id, &format!("{}: {}", panel.title, panel.axis), &description, (WIDTH, bottom + 46.0));
    rows.axis(&mut out, (4.0, bottom), &panel.axis);
    for (i, stack) in panel.stacks.iter().enumerate() {
        let middle = i as f64 * ROW + ROW / 2.0 + 4.0;
        rows.name(&mut out, "name", middle, &stack.name);
        let mut x = rows.left;
        for (part, (value, label)) in stack.parts.iter().enumerate() {
            let length = rows.length(value.max(0.0));
            if length <= 0.0 {
                continue;
            }
            let top = middle - BAR / 2.0;
            rect(&mut out, &format!("part g{}", part % PART_COLOURS), (x, top), (length, BAR));
            if label_width(label) + 8.0 < length {
                text(&mut out, x + length / 2.0, middle + 4.0, "middle", &format!("on{}", part % PART_COLOURS), label);
            }
            x += length;
        }
        text(&mut out, x + 7.0, middle + 4.0, "start", "value", &stack.label);
    }
    out + "</svg>"
}
