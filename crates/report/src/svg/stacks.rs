//! Stacked bars: one per contender, parts in the order of the legend.

use super::{PART_COLOURS, WIDTH, bold_width, bottom_axis, label_width, open, rect, text, ticks, widest};
use crate::document::{Stack, StackPanel};
use crate::escape::shorten;

const ROW: f64 = 40.0;
const BAR: f64 = 26.0;

pub(super) fn draw(id: &str, panel: &StackPanel) -> String {
    let sum = |s: &Stack| s.parts.iter().map(|p| p.0.max(0.0)).sum::<f64>();
    let ticks = ticks(panel.stacks.iter().map(sum).fold(0.0, f64::max));
    let last = ticks.last().copied().unwrap_or(1.0);
    let name = |s: &Stack| shorten(&s.name, 18);
    let left = widest(panel.stacks.iter().map(name)) + 12.0;
    let right = WIDTH - panel.stacks.iter().map(|s| bold_width(&s.label)).fold(0.0, f64::max) - 12.0;
    let bottom = panel.stacks.len() as f64 * ROW + 6.0;

    let list: Vec<String> = panel.stacks.iter().map(|s| format!("{} {}", s.name, s.label)).collect();
    let mut out = open(id, &format!("{}: {}", panel.title, panel.axis), &list.join(", "), (WIDTH, bottom + 46.0));
    bottom_axis(&mut out, &ticks, (left, right), (4.0, bottom), &panel.axis);
    for (i, stack) in panel.stacks.iter().enumerate() {
        let middle = i as f64 * ROW + ROW / 2.0 + 4.0;
        text(&mut out, left - 8.0, middle + 4.0, "end", "name", &name(stack));
        let mut x = left;
        for (part, (value, label)) in stack.parts.iter().enumerate() {
            let length = value.max(0.0) / last * (right - left);
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
