//! Bars with whiskers, in headed groups.

use super::{COLOURS, WIDTH, bold_width, bottom_axis, open, rect, span, text, ticks, widest};
use crate::document::{Bar, BarPanel};
use crate::escape::shorten;

const ROW: f64 = 27.0;
const BAR: f64 = 17.0;
const HEAD: f64 = 24.0;

pub(super) fn draw(id: &str, panel: &BarPanel) -> String {
    let bars = || panel.groups.iter().flat_map(|(_, bars)| bars);
    let largest = bars().map(|b| b.interval.map_or(b.value, |i| i.1.max(b.value))).fold(0.0, f64::max);
    let ticks = ticks(largest);
    let last = ticks.last().copied().unwrap_or(1.0);
    let name = |b: &Bar| shorten(&b.name, 18);
    let left = widest(bars().map(name)) + 12.0;
    let right = WIDTH - bars().map(|b| bold_width(&b.label)).fold(0.0, f64::max) - 12.0;
    let x = |v: f64| left + v / last * (right - left);
    let bottom = panel.groups.iter().map(|(_, bars)| HEAD + bars.len() as f64 * ROW).sum::<f64>() + 4.0;

    let each = |(group, bars): &(String, Vec<Bar>)| {
        let list: Vec<String> = bars.iter().map(|b| format!("{} {}", b.name, b.label)).collect();
        format!("{group}: {}.", list.join(", "))
    };
    let description = panel.groups.iter().map(each).collect::<Vec<_>>().join(" ");
    let mut out = open(id, &format!("{}: {}", panel.title, panel.axis), &description, (WIDTH, bottom + 46.0));
    bottom_axis(&mut out, &ticks, (left, right), (6.0, bottom), &panel.axis);
    let mut y = 0.0;
    for (group, bars) in &panel.groups {
        text(&mut out, 0.0, y + 16.0, "start", "group", group);
        y += HEAD;
        for bar in bars {
            let middle = y + ROW / 2.0;
            text(&mut out, left - 8.0, middle + 4.0, "end", "name", &name(bar));
            let length = (x(bar.value) - left).max(1.0);
            let (slot, top) = (bar.slot % COLOURS, middle - BAR / 2.0);
            rect(&mut out, &format!("bar s{slot}"), (left, top), (length, BAR));
            let mut end = x(bar.value);
            if let Some((low, high)) = bar.interval {
                span(&mut out, ["whisker-ink"; 2], (x(low), x(high)), middle);
                end = end.max(x(high));
            }
            text(&mut out, end + 7.0, middle + 4.0, "start", "value", &bar.label);
            y += ROW;
        }
    }
    out + "</svg>"
}
