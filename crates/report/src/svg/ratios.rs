//! Ratios around 1 on a logarithmic scale: twice as much is as far to the right as half as much is to the left.

use std::fmt::Write as _;

use perbuck_core::stats::{Interval, Ratio};

use super::{BOLD, PART_COLOURS, WIDTH, below, in_words, line, named, open, rect, span, text, valued, widest};
use crate::document::{Mark, RatioPanel, RatioRow};
use crate::escape::shorten;
use crate::number::{fixed, ratio_interval};

/// Height of a row, and in a narrow column.
const ROWS: [f64; 2] = [26.0, 21.0];
const HEAD: f64 = 24.0;
const BAR: f64 = 14.0;

/// Ratios that may be marked, the coarse ones first.
const MARKED: [&[f64]; 4] = [
    &[0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0],
    &[0.02, 0.05, 0.2, 0.5, 2.0, 5.0, 20.0, 50.0],
    &[0.7, 0.8, 0.9, 1.1, 1.2, 1.5, 3.0, 4.0, 7.0],
    &[0.94, 0.96, 0.98, 0.99, 1.01, 1.02, 1.04, 1.06, 0.85, 0.75, 1.3, 1.4],
];

pub(super) fn draw(id: &str, panel: &RatioPanel, width: f64) -> String {
    let height = ROWS[usize::from(width < WIDTH)];
    let rows = || panel.groups.iter().flat_map(|g| &g.1);
    let name = |r: &RatioRow| shorten(&r.name, 30);
    let left = widest(rows().map(name)) + 18.0;
    let right = width - widest(rows().map(|r| &r.label)) * BOLD - 14.0;
    let ends = |r: &RatioRow| [Some(r.value), r.interval.map(|i| i.0), r.interval.map(|i| i.1)];
    let band = [1.0 + panel.margin, 1.0 / (1.0 + panel.margin), panel.base, 1.0];
    let all = rows().flat_map(ends).flatten().chain(band).chain(panel.noise.iter().flatten().flat_map(|n| [n.0, n.1]));
    let logs: Vec<f64> = all.filter(|v| v.is_finite() && *v > 0.0).map(f64::ln).collect();
    let (low, high) = (logs.iter().copied().fold(0.0, f64::min), logs.iter().copied().fold(0.0, f64::max));
    let pad = ((high - low) * 0.06).max(0.01);
    let (low, high) = (low - pad, high + pad);
    let x = |v: f64| left + (v.max(f64::MIN_POSITIVE).ln().clamp(low, high) - low) / (high - low) * (right - left);
    let bottom = panel.groups.iter().map(|g| head(&g.0) + g.1.len() as f64 * height).sum::<f64>() + 6.0;

    let mut out = open(
        id,
        &format!("{}: {}", panel.title, panel.axis),
        &in_words(&panel.groups, |r| (&r.name, &r.label)),
        (width, bottom + below(&panel.axis)),
    );
    let shade = |out: &mut String, class: &str, (from, to): (f64, f64), (top, bottom): (f64, f64)| {
        rect(out, class, (x(from), top), ((x(to) - x(from)).max(1.0), bottom - top));
    };
    if panel.margin > 0.0 {
        shade(&mut out, "margin", (1.0 / (1.0 + panel.margin), 1.0 + panel.margin), (4.0, bottom));
    }
    let mut top = 0.0;
    for (i, (group, rows)) in panel.groups.iter().enumerate() {
        let end = top + head(group) + rows.len() as f64 * height;
        if let Some(band) = panel.noise.get(i).copied().flatten() {
            shade(&mut out, "noise", band, (top + head(group), end));
        }
        top = end;
    }
    for tick in marks(&x, left, right) {
        line(&mut out, if tick == 1.0 { "axis" } else { "grid" }, (x(tick), 4.0), (x(tick), bottom));
        text(&mut out, x(tick), bottom + 17.0, "middle", "tick", &format!("{}×", plain(tick)));
    }
    if panel.base != 1.0 {
        line(&mut out, "axis", (x(panel.base), 4.0), (x(panel.base), bottom));
    }
    if !panel.axis.is_empty() {
        text(&mut out, width / 2.0, bottom + 36.0, "middle", "tick", &panel.axis);
    }
    let mut y = 0.0;
    for (group, rows) in &panel.groups {
        if !group.is_empty() {
            text(&mut out, 0.0, y + 17.0, "start", "group", &shorten(group, 48));
        }
        y += head(group);
        for r in rows {
            let middle = y + height / 2.0;
            text(&mut out, left - 8.0, middle + 4.0, "end", "name", &name(r));
            let interval = r.interval.map(|(low, high)| Interval { low, high });
            let range = ratio_interval(&Ratio { value: r.value, interval, log_error: 0.0, freedom: 0.0 });
            let range = if range.is_empty() { range } else { format!(" ({range})") };
            valued(&mut out, &format!("{}: {}{range}", named(group, &r.name), r.label), |out| {
                row(out, r, middle, &x, panel.base);
            });
            text(&mut out, right + 10.0, middle + 4.0, "start", "value", &r.label);
            y += height;
        }
    }
    out + "</svg>"
}

/// Height of the heading of a group.
fn head(group: &str) -> f64 {
    if group.is_empty() { 2.0 } else { HEAD }
}

fn row(out: &mut String, r: &RatioRow, middle: f64, x: &impl Fn(f64) -> f64, base: f64) {
    match r.mark {
        Mark::Bar(part) => {
            let (from, to) = (x(base).min(x(r.value)), x(base).max(x(r.value)));
            rect(out, &format!("part g{}", part % PART_COLOURS), (from, middle - BAR / 2.0), ((to - from).max(1.0), BAR));
        }
        Mark::Judged(tone) => {
            let _ = writeln!(out, "<g class=\"judged {}\">", tone.class());
            if let Some((low, high)) = r.interval {
                span(out, ["range", "end"], (x(low), x(high)), middle);
            }
            let class = if r.interval.is_some() { "" } else { " class=\"hollow\"" };
            let _ = writeln!(out, "<circle{class} cx=\"{:.1}\" cy=\"{middle:.1}\" r=\"4.5\"/></g>", x(r.value));
        }
    }
}

/// As many marks as have room: 1 always, then from coarse to fine.
fn marks(x: &impl Fn(f64) -> f64, left: f64, right: f64) -> Vec<f64> {
    let mut kept: Vec<f64> = vec![1.0];
    for tick in MARKED.iter().flat_map(|list| list.iter().copied()) {
        let at = x(tick);
        let inside = at > left + 1.0 && at < right - 1.0;
        if inside && kept.iter().all(|k| (x(*k) - at).abs() > 40.0) {
            kept.push(tick);
        }
    }
    kept.sort_by(f64::total_cmp);
    kept
}

/// A mark without trailing zeros: `1.5`, `0.05`, `100`.
fn plain(tick: f64) -> String {
    let text = fixed(tick, 3);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_keep_apart() {
        let x = |v: f64| 100.0 + (v.ln() / 5.0_f64.ln()) * 150.0;
        let found = marks(&x, 0.0, 300.0);
        assert_eq!(found, [0.5, 1.0, 2.0, 5.0]);
        assert_eq!([1.0, 0.05, 1.5, 100.0].map(plain), ["1", "0.05", "1.5", "100"]);
    }
}
