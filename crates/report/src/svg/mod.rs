//! Figures as SVG, written by hand: colours come from the page's style sheet, so that they follow light and dark.

mod bars;
mod columns;
pub(crate) mod heat;
mod lines;
mod multiples;
pub(crate) mod over_time;
pub(crate) mod power;
mod ratios;
mod scale;
pub(crate) mod slide;
mod system;
mod times;
mod xy;

use std::fmt::Write as _;

use crate::document::{AxisScale, Figure, Panels};
use crate::escape::{html, shorten, width};
use crate::number::fixed;
use scale::Scale;

/// Width of a panel in its own units; the page scales it.
const WIDTH: f64 = 480.0;

/// The same in a narrow column.
const NARROW: f64 = 420.0;

/// Mean width of a character of the labels, and how much wider bold text is.
const CHARACTER: f64 = 7.2;
const BOLD: f64 = 1.12;

/// Characters of the name of a row.
const ROW_NAME: usize = 18;

/// Colours that the style sheet defines.
const COLOURS: usize = 6;

/// Colours of the parts of a stack.
pub(crate) const PART_COLOURS: usize = 7;

/// Titles of a figure's panels with their drawings.
pub(crate) fn panels(figure: &Figure) -> Vec<(String, String)> {
    let id = |i: usize| format!("figure-{}-{}", figure.id, i + 1);
    let width = if figure.narrow { NARROW } else { WIDTH };
    match &figure.panels {
        Panels::Lines(list) => list.iter().enumerate().map(|(i, p)| (p.title.clone(), lines::draw(&id(i), p))).collect(),
        Panels::Multiples(list) => list.iter().enumerate().map(|(i, p)| (p.title.clone(), multiples::draw(&id(i), p))).collect(),
        Panels::Times(list) => list.iter().enumerate().map(|(i, p)| (p.title.clone(), times::draw(&id(i), p))).collect(),
        Panels::Bars(list) => list.iter().enumerate().map(|(i, p)| (p.title.clone(), bars::bars(&id(i), p))).collect(),
        Panels::Stacks(list) => list.iter().enumerate().map(|(i, p)| (p.title.clone(), bars::stacks(&id(i), p, width))).collect(),
        Panels::Xy(list) => list.iter().enumerate().map(|(i, p)| (p.title.clone(), xy::draw(&id(i), p))).collect(),
        Panels::Ratios(list) => list.iter().enumerate().map(|(i, p)| (p.title.clone(), ratios::draw(&id(i), p, width))).collect(),
        Panels::Columns(list) => {
            list.iter().enumerate().map(|(i, p)| (p.title.clone(), columns::draw(&id(i), p, list.len() > 3))).collect()
        }
        Panels::Falls(list) => list.iter().enumerate().map(|(i, p)| (p.title.clone(), bars::falls(&id(i), p, list))).collect(),
        Panels::System(list) => list.iter().enumerate().map(|(i, p)| (p.title.clone(), system::draw(&id(i), p))).collect(),
        Panels::Heat(list) => list.iter().enumerate().map(|(i, p)| (p.title.clone(), heat::draw(&id(i), p))).collect(),
    }
}

/// A contender's marker alone, for a legend.
pub(crate) fn legend_marker(slot: usize) -> String {
    let mut out = format!("<svg class=\"key s{}\" viewBox=\"0 0 14 14\" aria-hidden=\"true\">", slot % COLOURS);
    marker(&mut out, slot, 7.0, 7.0, 5.0);
    out + "</svg>"
}

/// Opens a drawing with a title and a description for those who do not see it.
fn open(id: &str, title: &str, description: &str, (width, height): (f64, f64)) -> String {
    let (title, description) = (html(title), html(description));
    format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\">\
         <title id=\"{id}-title\">{title}</title><desc id=\"{id}-desc\">{description}</desc>\n"
    )
}

/// Text. `class` decides size and colour, `anchor` is start, middle or end.
fn text(out: &mut String, x: f64, y: f64, anchor: &str, class: &str, content: &str) {
    let content = html(content);
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{content}</text>");
}

fn line(out: &mut String, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ = writeln!(out, "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>");
}

fn rect(out: &mut String, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
    let _ = writeln!(out, "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>");
}

fn coloured(out: &mut String, slot: usize, draw: impl FnOnce(&mut String)) {
    let _ = writeln!(out, "<g class=\"s{}\">", slot % COLOURS);
    draw(out);
    out.push_str("</g>\n");
}

/// A mark with its value: browsers show the title under the pointer, and the page's script to the keyboard.
fn valued(out: &mut String, words: &str, draw: impl FnOnce(&mut String)) {
    let _ = writeln!(out, "<g class=\"v\"><title>{}</title>", html(words));
    draw(out);
    out.push_str("</g>\n");
}

/// A row's name with that of its group, where it has one.
fn named(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{group}, {name}") }
}

fn polyline(slot: usize, points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let path: Vec<String> = points.into_iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    format!("<polyline class=\"mean dash{}\" points=\"{}\"/>", slot % 3, path.join(" "))
}

/// An upright interval with its two ends.
fn whisker(out: &mut String, x: f64, [low, high]: [f64; 2], half: f64) {
    line(out, "whisker", (x, high), (x, low));
    for y in [high, low] {
        line(out, "whisker", (x - half, y), (x + half, y));
    }
}

/// A horizontal interval with its two ends; classes of the line and of its ends.
fn span(out: &mut String, [class, ends]: [&str; 2], (low, high): (f64, f64), y: f64) {
    line(out, class, (low, y), (high, y));
    for x in [low, high] {
        line(out, ends, (x, y - 5.0), (x, y + 5.0));
    }
}

/// Names (height, slot, text) beside the ends of their lines, pushed apart where they would cover each other.
fn end_names<'n>(out: &mut String, names: impl Iterator<Item = (f64, usize, &'n String)>, right: f64, (top, bottom): (f64, f64)) {
    let names: Vec<(f64, usize, &String)> = names.collect();
    let ends = names.iter().enumerate().map(|(i, name)| (name.0, i)).collect();
    for (y, i) in spread(ends, 17.0, (top, bottom)) {
        name_beside(out, names[i].1, (right, y), names[i].2);
    }
}

/// A contender's marker and name, right of the drawing.
fn name_beside(out: &mut String, slot: usize, (right, y): (f64, f64), name: &str) {
    coloured(out, slot, |out| marker(out, slot, right + 12.0, y, 4.0));
    text(out, right + 22.0, y + 4.0, "start", "name", name);
}

/// Marks of an axis of seconds below a drawing.
fn seconds_axis(out: &mut String, x: impl Fn(f64) -> f64, end_s: f64, bottom: f64) {
    let ticks = ticks(end_s);
    for (tick, label) in ticks.iter().zip(&tick_texts(&ticks)).filter(|(t, _)| **t <= end_s * (1.0 + 1e-9)) {
        line(out, "axis", (x(*tick), bottom), (x(*tick), bottom + 4.0));
        text(out, x(*tick), bottom + 17.0, "middle", "tick", label);
    }
}

/// Circle, square, diamond, triangle or cross by slot: five shapes and six colours give thirty different marks.
fn marker(out: &mut String, slot: usize, x: f64, y: f64, r: f64) {
    let d = match slot % 5 {
        0 => {
            let _ = writeln!(out, "<circle class=\"mark\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r:.1}\"/>");
            return;
        }
        1 => format!("M{:.1} {:.1}h{:.1}v{:.1}h{:.1}z", x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8, -r * 1.8),
        2 => {
            let (up, right, down, left) = (y - r * 1.25, x + r * 1.25, y + r * 1.25, x - r * 1.25);
            format!("M{x:.1} {up:.1}L{right:.1} {y:.1}L{x:.1} {down:.1}L{left:.1} {y:.1}z")
        }
        3 => format!("M{x:.1} {:.1}L{:.1} {:.1}H{:.1}z", y - r * 1.15, x + r * 1.15, y + r, x - r * 1.15),
        _ => {
            let (a, b) = (r * 0.4, r * 1.1);
            let (left, top, wide, arm) = (x - a, y - b, 2.0 * a, b - a);
            format!(
                "M{left:.1} {top:.1}h{wide:.1}v{arm:.1}h{arm:.1}v{wide:.1}h{:.1}v{arm:.1}h{:.1}v{:.1}h{:.1}v{:.1}h{arm:.1}z",
                -arm, -wide, -arm, -arm, -wide
            )
        }
    };
    let _ = writeln!(out, "<path class=\"mark\" d=\"{d}\"/>");
}

/// About how wide the widest of some labels is.
fn widest<T: AsRef<str>>(labels: impl IntoIterator<Item = T>) -> f64 {
    labels.into_iter().map(|label| label_width(label.as_ref())).fold(0.0, f64::max)
}

fn label_width(text: &str) -> f64 {
    width(text) as f64 * CHARACTER
}

/// Tick values from 0 to at least `largest`, on round numbers; at most six.
fn ticks(largest: f64) -> Vec<f64> {
    if !(largest.is_finite() && largest > 0.0) {
        return vec![0.0, 1.0];
    }
    let raw = largest / 5.0;
    let magnitude = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|f| f * magnitude >= raw * (1.0 - 1e-9)).unwrap_or(10.0);
    let step = factor * magnitude;
    let count = (largest / step - 1e-9).ceil().max(1.0) as usize;
    (0..=count).map(|i| i as f64 * step).collect()
}

/// Tick values on a logarithmic scale that reach from at most `smallest` to at least `largest`: 1, 2 and 5 of each
/// power of ten, or the powers alone where those would be too many.
fn log_ticks(smallest: f64, largest: f64) -> Vec<f64> {
    if !(smallest.is_finite() && largest.is_finite() && smallest > 0.0 && largest >= smallest) {
        return vec![1.0, 10.0];
    }
    let from = smallest.log10().floor() as i32 - 1;
    let to = largest.log10().ceil() as i32 + 1;
    let reach = |steps: &[f64]| {
        let all: Vec<f64> = (from..=to).flat_map(|e| steps.iter().map(move |s| s * 10f64.powi(e))).collect();
        let first = all.iter().rposition(|t| *t <= smallest * (1.0 + 1e-9)).unwrap_or(0);
        let last = all.iter().position(|t| *t >= largest * (1.0 - 1e-9)).unwrap_or(all.len() - 1);
        all[first..=last.max(first + 1)].to_vec()
    };
    let fine = reach(&[1.0, 2.0, 5.0]);
    if fine.len() <= 8 { fine } else { reach(&[1.0]) }
}

/// Heights of labels, ascending, pushed apart where they would cover each other.
fn spread(mut labels: Vec<(f64, usize)>, apart: f64, (top, bottom): (f64, f64)) -> Vec<(f64, usize)> {
    labels.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut least = top;
    for label in &mut labels {
        label.0 = label.0.max(least);
        least = label.0 + apart;
    }
    let over = labels.last().map_or(0.0, |l| (l.0 - bottom).max(0.0));
    labels.iter_mut().for_each(|l| l.0 -= over);
    labels
}

/// Tick values as text, all with the same decimals.
fn tick_texts(ticks: &[f64]) -> Vec<String> {
    let step = ticks.get(1).copied().unwrap_or(1.0);
    let enough = |d: &usize| ((step * 10f64.powi(*d as i32)).fract() - 0.5).abs() > 0.499_999;
    let decimals = (0..12).find(enough).unwrap_or(12);
    ticks.iter().map(|t| fixed(*t, decimals)).collect()
}

/// Numbers of an axis in thousands or millions where that is shorter.
fn short_texts(ticks: &[f64]) -> Vec<String> {
    let last = ticks.last().copied().unwrap_or(1.0);
    let (scale, unit) = match last {
        l if l >= 1e6 => (1e6, " M"),
        l if l >= 1e4 => (1e3, " k"),
        _ => (1.0, ""),
    };
    let scaled: Vec<f64> = ticks.iter().map(|t| t / scale).collect();
    let plain = tick_texts(&scaled);
    plain.into_iter().enumerate().map(|(i, t)| if i == 0 { "0".to_owned() } else { t + unit }).collect()
}

/// Grid lines with their numbers on the left, and above them what they mean.
fn left_axis(out: &mut String, ticks: &[(f64, String)], y: impl Fn(f64) -> f64, (left, right): (f64, f64), title: &str) {
    for (i, (tick, label)) in ticks.iter().enumerate() {
        let y = y(*tick);
        line(out, if i == 0 || *tick == 0.0 { "axis" } else { "grid" }, (left, y), (right, y));
        text(out, left - 8.0, y + 4.0, "end", "tick", label);
    }
    text(out, 0.0, 14.0, "start", "tick", title);
}

/// Where bars lie: names on their left, numbers on their right, and an axis from 0 below them.
struct Rows {
    left: f64,
    right: f64,
    scale: Scale,
}

impl Rows {
    /// Room for these names and numbers, and for values up to the largest.
    fn new<'r>(width: f64, rows: impl Iterator<Item = (&'r String, &'r String)>, largest: f64) -> Self {
        let (names, labels): (Vec<String>, Vec<&String>) = rows.map(|(name, label)| (shorten(name, ROW_NAME), label)).unzip();
        let (left, right) = (widest(names) + 18.0, width - widest(labels) * BOLD - 12.0);
        Self { left, right, scale: Scale::of(AxisScale::FromZero, std::iter::once(largest)) }
    }

    fn length(&self, value: f64) -> f64 {
        self.scale.share(value) * (self.right - self.left)
    }

    fn x(&self, value: f64) -> f64 {
        self.left + self.length(value)
    }

    fn name(&self, out: &mut String, class: &str, middle: f64, name: &str) {
        text(out, self.left - 8.0, middle + 4.0, "end", class, &shorten(name, ROW_NAME));
    }

    /// Grid lines and numbers, and what they mean.
    fn axis(&self, out: &mut String, (top, bottom): (f64, f64), title: &str) {
        let ticks = &self.scale.ticks;
        let room = (self.right - self.left) / ticks.len() as f64;
        let every = ticks.iter().map(|(_, label)| (label_width(label) + 8.0) / room).fold(1.0, f64::max).ceil() as usize;
        for (i, (tick, label)) in ticks.iter().enumerate() {
            let x = self.x(*tick);
            line(out, if i == 0 { "axis" } else { "grid" }, (x, top), (x, bottom));
            if i % every == 0 {
                text(out, x, bottom + 17.0, "middle", "tick", label);
            }
        }
        if !title.is_empty() {
            text(out, (self.left + self.right) / 2.0, bottom + 36.0, "middle", "tick", title);
        }
    }
}

/// Room below a drawing for the numbers of its axis and, where there is one, for its title.
fn below(title: &str) -> f64 {
    if title.is_empty() { 22.0 } else { 46.0 }
}

/// Groups of rows (name, number) in words.
fn in_words<R>(groups: &[(String, Vec<R>)], row: impl Fn(&R) -> (&String, &String)) -> String {
    let each = |(group, rows): &(String, Vec<R>)| format!("{group}: {}.", row_words(rows.iter().map(&row)));
    groups.iter().map(each).collect::<Vec<_>>().join(" ")
}

fn row_words<'r>(rows: impl Iterator<Item = (&'r String, &'r String)>) -> String {
    rows.map(|(name, label)| format!("{name} {label}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_use_thousands_and_millions() {
        assert_eq!(short_texts(&[0.0, 500_000.0, 1_000_000.0]), ["0", "0.5 M", "1.0 M"]);
        assert_eq!(short_texts(&[0.0, 5_000.0, 10_000.0]), ["0", "5 k", "10 k"]);
        assert_eq!(short_texts(&[0.0, 50.0, 100.0]), ["0", "50", "100"]);
    }

    #[test]
    fn logarithmic_ticks_hold_all_values() {
        let near = |a: Vec<f64>, b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a / b - 1.0).abs() < 1e-9);
        assert!(near(log_ticks(3e6, 4e7), &[2e6, 5e6, 1e7, 2e7, 5e7]), "{:?}", log_ticks(3e6, 4e7));
        assert!(near(log_ticks(1e6, 3e9), &[1e6, 1e7, 1e8, 1e9, 1e10]), "{:?}", log_ticks(1e6, 3e9));
        assert!(near(log_ticks(1e6, 1e6), &[1e6, 2e6]), "{:?}", log_ticks(1e6, 1e6));
        assert_eq!(log_ticks(f64::INFINITY, 0.0), [1.0, 10.0]);
    }

    #[test]
    fn labels_do_not_cover_each_other() {
        let found = spread(vec![(50.0, 0), (48.0, 1), (10.0, 2), (95.0, 3)], 17.0, (20.0, 100.0));
        assert_eq!(found, [(20.0, 2), (48.0, 1), (65.0, 0), (95.0, 3)]);
        assert_eq!(spread(vec![(95.0, 0), (100.0, 1)], 17.0, (20.0, 100.0)), [(83.0, 0), (100.0, 1)]);
    }

    #[test]
    fn ticks_are_round_and_reach_the_largest() {
        assert_eq!(ticks(12_345.0), [0.0, 2500.0, 5000.0, 7500.0, 10_000.0, 12_500.0]);
        assert_eq!(ticks(1.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(tick_texts(&ticks(1.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(tick_texts(&ticks(12_345.0))[1], "2,500");
        assert_eq!(tick_texts(&ticks(0.011)), ["0.0000", "0.0025", "0.0050", "0.0075", "0.0100", "0.0125"]);
        for largest in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 3.7, 999.9, 1e12] {
            let t = ticks(largest);
            assert!(t.len() <= 6 && t.len() >= 2, "{largest}: {t:?}");
            assert!(!(largest.is_finite() && *t.last().unwrap() < largest * (1.0 - 1e-9)), "{largest}: {t:?}");
        }
    }
}
