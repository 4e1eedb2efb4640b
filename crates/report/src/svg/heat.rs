//! How busy each processor was over time: a row for each, darker where it was busier.

use std::fmt::Write as _;

use super::{WIDTH, open, rect, seconds_axis, text, widest};
use crate::document::{HeatGroup, HeatPanel, HeatRow};
use crate::number::fixed;

const RIGHT: f64 = WIDTH - 14.0;
/// Height of all rows of a group together where there are many, and of one row at most.
const GROUP: f64 = 120.0;
const ROW: (f64, f64) = (2.0, 14.0);
const HEAD: f64 = 20.0;
const GAP: f64 = 10.0;
/// Shades that are told apart; equal neighbours are one rectangle.
const SHADES: u8 = 20;

pub(crate) fn draw(id: &str, panel: &HeatPanel) -> String {
    let height_of = |g: &HeatGroup| (GROUP / g.rows.len().max(1) as f64).clamp(ROW.0, ROW.1);
    let rows = |g: &HeatGroup| g.rows.len() as f64 * height_of(g);
    let bottom: f64 = 6.0 + panel.groups.iter().map(|g| HEAD + rows(g) + GAP).sum::<f64>();
    let left = widest(panel.groups.iter().flat_map(|g| &g.rows).map(|r| &r.name)) + 12.0;
    let end_s = panel.ends_s.last().copied().unwrap_or(1.0).max(1e-3);
    let x = |s: f64| left + s / end_s * (RIGHT - left);

    let mut out = open(id, &format!("{}: how busy each processor was", panel.title), &description(panel), (WIDTH, bottom + 40.0));
    let mut top = 6.0;
    for g in &panel.groups {
        text(&mut out, left, top + 13.0, "start", "tick", &g.name);
        top += HEAD;
        let height = height_of(g);
        // Names that fit below each other.
        let every = (12.0 / height).ceil().max(1.0) as usize;
        for (i, row) in g.rows.iter().enumerate() {
            let y = top + i as f64 * height;
            if i % every == 0 {
                text(&mut out, left - 6.0, y + height / 2.0 + 4.0, "end", "tick", &row.name);
            }
            let inner = (height - 1.0).max(height * 0.8);
            rect(&mut out, "cold", (left, y), (RIGHT - left, inner));
            for (from, to, shade) in runs(row, &panel.ends_s) {
                let (from, width, opacity) = (x(from), x(to) - x(from), f64::from(shade) / f64::from(SHADES));
                let _ = writeln!(
                    out,
                    "<rect class=\"heat\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{inner:.1}\" fill-opacity=\"{opacity:.2}\"/>"
                );
            }
        }
        top += rows(g) + GAP;
    }
    seconds_axis(&mut out, x, end_s, bottom);
    text(&mut out, (left + RIGHT) / 2.0, bottom + 35.0, "middle", "tick", "seconds of the measured window");
    out + "</svg>"
}

/// Neighbouring steps of one shade: from, to, shade above 0.
fn runs(row: &HeatRow, ends_s: &[f64]) -> Vec<(f64, f64, u8)> {
    let mut out: Vec<(f64, f64, u8)> = Vec::new();
    let mut from = 0.0;
    for (percent, end) in row.percents.iter().zip(ends_s) {
        // Anything above nothing is seen.
        let shade = (u16::from(*percent).min(100) * u16::from(SHADES)).div_ceil(100) as u8;
        match out.last_mut() {
            Some((_, to, same)) if *same == shade => *to = *end,
            _ => out.push((from, *end, shade)),
        }
        from = *end;
    }
    out.retain(|(_, _, shade)| *shade > 0);
    out
}

fn description(panel: &HeatPanel) -> String {
    let most = |g: &HeatGroup| g.rows.iter().flat_map(|r| &r.percents).copied().max().unwrap_or(0);
    let each = |g: &HeatGroup| format!("{}: at most {} % of a processor.", g.name, fixed(f64::from(most(g)), 0));
    panel.groups.iter().map(each).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(percents: &[u8]) -> HeatRow {
        HeatRow { name: "0".to_owned(), percents: percents.to_vec() }
    }

    #[test]
    fn equal_shades_are_one_rectangle_and_little_is_seen() {
        let ends = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(runs(&row(&[100, 99, 0, 1, 50]), &ends), [(0.0, 2.0, 20), (3.0, 4.0, 1), (4.0, 5.0, 10)]);
        assert_eq!(runs(&row(&[]), &ends), []);
        assert_eq!(runs(&row(&[255]), &ends), [(0.0, 1.0, 20)]);
    }

    #[test]
    fn a_drawing_of_many_processors_is_no_taller_than_that_of_few() {
        let groups = |n: usize| vec![HeatGroup { name: "work".to_owned(), rows: (0..n).map(|_| row(&[50, 60])).collect() }];
        let height = |n| {
            let drawn = draw("x", &HeatPanel { title: "t".to_owned(), ends_s: vec![1.0, 2.0], groups: groups(n) });
            drawn.split('"').nth(1).and_then(|b| b.rsplit(' ').next()?.parse::<f64>().ok()).unwrap_or_default()
        };
        assert!(height(2) < height(9) && height(64) <= 250.0, "{} {} {}", height(2), height(9), height(64));
    }
}
