//! A figure as pictures of the size of a slide: title, legend, drawings and source in one file that needs no page around it.

use std::fmt::Write as _;

use perbuck_core::study::Study;

use super::{COLOURS, PART_COLOURS, label_width, marker, panels, text};
use crate::document::{Block, Figure, Panels, ReportModel};
use crate::escape::{clean, html, shorten, width};
use crate::model::system_figure;

/// The size of a slide.
const SLIDE: (f64, f64) = (1600.0, 900.0);
const EDGE: f64 = 56.0;
/// Where the drawings end, and the source stands below them.
const BOTTOM: f64 = 836.0;
/// Heights of the lines of title and legend, and of the heading of a small drawing.
const TITLE: f64 = 46.0;
const LEGEND: f64 = 36.0;
const HEADING: f64 = 34.0;
const GAP: f64 = 24.0;
/// Characters of a line of the title, of a heading, and of the source.
const WORDS: [usize; 3] = [68, 100, 150];
/// The largest scale: a small drawing is not blown up beyond it.
const LARGEST: f64 = 4.0;

/// The font, and those whose letters are as wide, so that a drawing looks the same wherever it is opened.
const FONT: &str = "Arimo, 'Liberation Sans', Arial, Helvetica, sans-serif";

/// Sizes of the words of a slide.
const OWN: &str = "\
svg .paper { fill: var(--page); }
svg .slide-title { font-size: 36px; font-weight: 600; }
svg .slide-heading { font-size: 26px; fill: var(--soft); }
svg .slide-legend { font-size: 24px; }
svg .slide-source { font-size: 18px; fill: var(--soft); }
";

/// A file of a report: its name without the ending, and the drawing as SVG.
pub struct Slide {
    /// What it shows, in words.
    pub title: String,
    /// The name of the file, without its ending.
    pub name: String,
    /// The text of the drawing.
    pub svg: String,
}

/// All figures of a report as slides, in their order. Folded details hold none.
pub fn slides(report: &ReportModel) -> Vec<Slide> {
    let blocks = report.sections.iter().flat_map(|s| &s.blocks);
    let of_sections = blocks.filter_map(|block| if let Block::Figure(f) = block { Some(f) } else { None });
    // A slide has room for what the brief draws narrow.
    let wide = report.brief.figures.iter().map(|f| Figure { narrow: false, ..f.clone() });
    wide.chain(of_sections.cloned()).flat_map(|f| of_figure(&f, &report.study)).collect()
}

/// The machines of all contenders on one slide; `None` where the study names none.
pub fn diagram(study: &Study) -> Option<Slide> {
    single(&system_figure(study)?, &clean(&study.name))
}

/// The only slide of a figure.
pub(super) fn single(f: &Figure, study: &str) -> Option<Slide> {
    of_figure(f, study).into_iter().next()
}

/// The slides of a figure: one for each drawing, and one for all where they are small and many.
fn of_figure(f: &Figure, study: &str) -> Vec<Slide> {
    let drawn = panels(f);
    let group = |i: usize| if is_one(f) { &drawn[..] } else { &drawn[i..=i] };
    names(f, &drawn)
        .into_iter()
        .enumerate()
        .map(|(i, (title, name))| Slide { title, name, svg: draw(f, study, group(i)) })
        .collect()
}

/// Titles and names of the slides of a figure with these drawings.
pub(crate) fn names(f: &Figure, drawn: &[(String, String)]) -> Vec<(String, String)> {
    let titles: Vec<&String> = if is_one(f) { vec![&f.title] } else { drawn.iter().map(|(title, _)| title).collect() };
    titles.into_iter().enumerate().map(|(i, title)| (title.clone(), format!("{}-{}", f.id, i + 1))).collect()
}

/// Whether all drawings of a figure are on one slide.
fn is_one(f: &Figure) -> bool {
    matches!(f.panels, Panels::Multiples(_) | Panels::Columns(_) | Panels::System(_))
}

fn draw(f: &Figure, study: &str, group: &[(String, String)]) -> String {
    let (wide, high) = SLIDE;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {wide} {high}\" role=\"img\" \
         aria-label=\"{}\">\n<style>\n{}</style>\n<rect class=\"paper\" width=\"{wide}\" height=\"{high}\"/>\n",
        html(&f.headline()),
        style()
    );
    let mut y = 28.0;
    for line in lines(&f.headline(), WORDS[0]) {
        y += TITLE;
        text(&mut out, EDGE, y, "start", "slide-title", &line);
    }
    if let [(title, _)] = group {
        y += 38.0;
        text(&mut out, EDGE, y, "start", "slide-heading", &shorten(title, WORDS[1]));
    }
    y = legend(&mut out, f, y) + 18.0;
    grid(&mut out, group, y);
    text(&mut out, EDGE, high - 24.0, "start", "slide-source", &shorten(&format!("Study: {study}"), WORDS[2]));
    text(&mut out, wide - EDGE, high - 24.0, "end", "slide-source", "perbuck");
    out + "</svg>\n"
}

/// Words in at most two lines of so many characters.
fn lines(words: &str, most: usize) -> Vec<String> {
    let mut first = String::new();
    let mut rest = words.split(' ').peekable();
    while let Some(word) = rest.next_if(|w| first.is_empty() || width(&first) + 1 + width(w) <= most) {
        first += if first.is_empty() { "" } else { " " };
        first += word;
    }
    let second = rest.collect::<Vec<_>>().join(" ");
    [first, second].iter().filter(|l| !l.is_empty()).map(|l| shorten(l, most)).collect()
}

/// What colours and marks mean, in lines from left to right; returns where the last one stands.
fn legend(out: &mut String, f: &Figure, above: f64) -> f64 {
    let (mut x, mut y) = (EDGE, above);
    for (i, (slot, name)) in entries(f).into_iter().enumerate() {
        let name = shorten(name, 40);
        let room = 34.0 + label_width(&name) * 24.0 / 12.5;
        if i == 0 || x + room > SLIDE.0 - EDGE {
            (x, y) = (EDGE, y + LEGEND);
        }
        let class = if matches!(f.panels, Panels::Stacks(_)) {
            format!("g{}", slot % PART_COLOURS)
        } else {
            format!("s{}", slot % COLOURS)
        };
        let _ = writeln!(out, "<g class=\"{class}\">");
        match f.panels {
            Panels::Stacks(_) | Panels::Bars(_) | Panels::Columns(_) => {
                let _ = writeln!(out, "<rect class=\"mark\" x=\"{x:.1}\" y=\"{:.1}\" width=\"20\" height=\"20\"/>", y - 18.0);
            }
            _ => marker(out, slot, x + 10.0, y - 8.0, 9.0),
        }
        out.push_str("</g>\n");
        text(out, x + 32.0, y, "start", "slide-legend", &name);
        x += room + 30.0;
    }
    y
}

/// Contenders by slot, or the parts of a stack by colour; empty where rows carry their names.
pub(crate) fn entries(f: &Figure) -> Vec<(usize, &String)> {
    let mut entries: Vec<(usize, &String)> = match &f.panels {
        Panels::Lines(list) | Panels::Multiples(list) | Panels::Columns(list) => {
            list.iter().flat_map(|p| &p.series).map(|s| (s.slot, &s.name)).collect()
        }
        Panels::Times(list) => list.iter().flat_map(|p| &p.lines).map(|l| (l.slot, &l.name)).collect(),
        Panels::Bars(list) => list.iter().flat_map(|p| &p.groups).flat_map(|g| &g.1).map(|b| (b.slot, &b.name)).collect(),
        Panels::Stacks(_) => f.legend.iter().enumerate().collect(),
        Panels::Xy(list) => list.iter().flat_map(|p| &p.series).map(|s| (s.slot, &s.name)).collect(),
        Panels::Ratios(_) | Panels::Falls(_) | Panels::Heat(_) | Panels::System(_) => Vec::new(),
    };
    entries.sort_by_key(|(slot, _)| *slot);
    entries.dedup_by_key(|(slot, _)| *slot);
    entries
}

/// The drawings as large as they fit, side by side in the number of columns that gives them most room.
fn grid(out: &mut String, group: &[(String, String)], top: f64) {
    let sizes: Vec<(f64, f64)> = group.iter().map(|(_, drawing)| size(drawing)).collect();
    let widest = sizes.iter().map(|s| s.0).fold(1.0, f64::max);
    let highest = sizes.iter().map(|s| s.1).fold(1.0, f64::max);
    let heading = if group.len() > 1 { HEADING } else { 0.0 };
    let cell = |columns: usize| {
        let rows = group.len().div_ceil(columns) as f64;
        let columns = columns as f64;
        ((SLIDE.0 - 2.0 * EDGE + GAP) / columns - GAP, (BOTTOM - top + GAP) / rows - GAP - heading)
    };
    let scale = |columns: usize| {
        let (width, height) = cell(columns);
        (width / widest).min(height / highest).min(LARGEST)
    };
    let Some(columns) = (1..=group.len()).max_by(|a, b| scale(*a).total_cmp(&scale(*b)).then(b.cmp(a))) else { return };
    let (scale, (width, height)) = (scale(columns), cell(columns));
    for (i, ((title, drawing), size)) in group.iter().zip(&sizes).enumerate() {
        let x = EDGE + (i % columns) as f64 * (width + GAP);
        let y = top + (i / columns) as f64 * (height + heading + GAP);
        if heading > 0.0 {
            text(out, x, y + 24.0, "start", "slide-legend", &shorten(title, (width / 13.0) as usize));
        }
        let (w, h) = (size.0 * scale, size.1 * scale);
        let left = if group.len() == 1 { x + (width - w) / 2.0 } else { x };
        let open = format!("<svg x=\"{left:.1}\" y=\"{:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" ", y + heading);
        let _ = writeln!(out, "{}", drawing.replacen("<svg ", &open, 1));
    }
}

/// Width and height of a drawing, from its `viewBox`.
fn size(drawing: &str) -> (f64, f64) {
    let numbers = drawing.split_once("viewBox=\"").and_then(|(_, rest)| rest.split_once('"')).map_or("", |(numbers, _)| numbers);
    let mut numbers = numbers.split(' ').skip(2).filter_map(|n| n.parse::<f64>().ok()).filter(|n| *n > 0.0);
    (numbers.next().unwrap_or(1.0), numbers.next().unwrap_or(1.0))
}

/// The page's style sheet of drawings with its light colours written out: programs for slides know no variables.
fn style() -> String {
    let (light, _) = include_str!("../html/colours.css").split_once("@media").unwrap_or_default();
    let parts = light.split([';', '\n']).filter_map(|part| part.trim().strip_prefix("--")?.split_once(": "));
    let tones =
        ["better", "worse", "equivalent", "undecided"].map(|tone| format!(".{tone}.judged {{ color: var(--{tone}); }}\n"));
    let drawing = include_str!("../html/drawing.css").replace(" font-family: inherit;", "").replace(" color: var(--tone);", "");
    let all = format!("svg {{ font-family: {FONT}; color: var(--soft); }}\n{drawing}{}{OWN}", tones.concat());
    parts.fold(all, |css, (name, value)| css.replace(&format!("var(--{name})"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_sheet_of_a_slide_has_no_variable_and_no_second_scheme() {
        let css = style();
        assert!(!css.contains("var(") && !css.contains("--") && !css.contains("@media"), "{css}");
        for rule in [
            ".s0 { color: #0072b2; }",
            ".g6 { color: #a06a8c; }",
            ".worse.judged { color: #a8380f; }",
            "svg .on1 { fill: #101418; }",
        ] {
            assert!(css.contains(rule), "{rule}: {css}");
        }
    }

    #[test]
    fn words_fill_two_lines_at_most() {
        assert_eq!(lines("one two three", 20), ["one two three"]);
        assert_eq!(lines("one two three", 8), ["one two", "three"]);
        assert_eq!(lines(&"word ".repeat(30), 10).len(), 2);
    }
}
