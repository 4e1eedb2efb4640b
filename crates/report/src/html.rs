//! The report as one self-contained page: no request leaves it, no script is needed to read it.

use std::collections::HashMap;
use std::fmt::Write as _;

use perbuck_core::compare::Regression;

use crate::build::regression_blocks;
use crate::document::{Block, Card, Cell, Figure, Panels, ReportModel, RowKind, Table, Tone};
use crate::evidence::ELEMENT;
use crate::{sheet, svg};

/// The style sheet of a report.
pub const STYLE: &str =
    concat!(include_str!("html/colours.css"), include_str!("html/style.css"), include_str!("html/drawing.css"));

/// Characters of a cell that stays on one line.
const SHORT: usize = 18;

/// Words and characters of the name of a place.
const PLACE_WORDS: usize = 8;
const PLACE_CHARACTERS: usize = 60;

/// A page in the making.
#[derive(Default)]
struct Page {
    out: String,
    /// Names of places that links point to, with how often each was wanted.
    places: HashMap<String, u32>,
}

impl Page {
    /// A name for a place: the words of `text` in small letters, numbered where it is taken already.
    fn place(&mut self, kind: &str, text: &str) -> String {
        let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
        let words: String = text.chars().map(word).collect();
        let slug: String = words.split_whitespace().take(PLACE_WORDS).collect::<Vec<_>>().join("-");
        let name = format!("{kind}-{}", slug.chars().take(PLACE_CHARACTERS).collect::<String>());
        let wanted = self.places.entry(name.clone()).or_insert(0);
        *wanted += 1;
        if *wanted > 1 { format!("{name}-{wanted}") } else { name }
    }
}

/// Renders a report as an HTML page.
pub fn render(report: &ReportModel) -> String {
    let [before, after] = around_evidence(report, !report.evidence.is_empty());
    before + &report.evidence + &after
}

/// What a comparison of two results folders says, as the content of a page.
pub fn regression(found: &Regression) -> String {
    let mut page = Page::default();
    regression_blocks(found).iter().for_each(|b| block(&mut page, b));
    page.out
}

/// The page in two parts. Between them belongs [`ReportModel::evidence`], if it is `embedded`: it may be most of the page, and
/// need not be in memory to be written.
pub fn around_evidence(report: &ReportModel, embedded: bool) -> [String; 2] {
    let mut page = Page::default();
    let title = esc(&report.title);
    let _ = write!(
        page.out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"perbuck\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#verdicts\">Skip to the verdicts</a>\n<main>\n"
    );
    header(&mut page.out, report);
    contents(&mut page.out, report);
    for section in &report.sections {
        let (id, title) = (section.id, esc(&section.title));
        let _ = writeln!(page.out, "<section id=\"{id}\">\n<h2>{title}{}</h2>", anchor(id, &title));
        section.blocks.iter().for_each(|b| block(&mut page, b));
        page.out.push_str("</section>\n");
    }
    let mut out = page.out;
    out.push_str("</main>\n");
    let _ = writeln!(out, "<script type=\"application/json\" id=\"comparison\">{}</script>", report.data);
    let end = "</body>\n</html>\n";
    if !embedded {
        return [out, end.to_owned()];
    }
    out.push_str(ELEMENT);
    [out, format!("</script>\n{end}")]
}

/// The mark beside a heading that is a link to it.
fn anchor(id: &str, title: &str) -> String {
    format!(" <a class=\"anchor\" href=\"#{id}\" aria-label=\"Link to {title}\">#</a>")
}

/// Foreign text as it may stand in a page: cut where it is very long, without marks that mislead, escaped.
pub fn shown(text: &str) -> String {
    esc(&crate::escape::clean(text))
}

/// Escaped text in which a number keeps its percent sign.
fn esc(text: &str) -> String {
    crate::escape::html(text).replace(" %", "\u{a0}%")
}

/// The same, and short words with hyphens, such as regions, stay on one line.
fn esc_unbroken(text: &str) -> String {
    let keep = |word: &str| match word {
        w if w.contains('-') && w.chars().count() <= SHORT => format!("<span class=\"k\">{}</span>", esc(w)),
        w => esc(w),
    };
    text.split(' ').map(keep).collect::<Vec<_>>().join(" ").replace(" %", "\u{a0}%")
}

fn header(out: &mut String, report: &ReportModel) {
    let _ = writeln!(out, "<header>\n<p class=\"kicker\">Study: {}</p>\n<h1>{}</h1>", esc(&report.study), esc(&report.title));
    if !report.warnings.is_empty() {
        out.push_str("<div class=\"warnings\" role=\"note\" aria-label=\"Before you read\">\n<ul>\n");
        report.warnings.iter().for_each(|w| element(out, "li", w));
        out.push_str("</ul>\n</div>\n");
    }
    out.push_str("<ul class=\"answers\">\n");
    for answer in &report.answers {
        let _ = writeln!(out, "<li class=\"{}\">{}</li>", tone(answer.tone), esc(&answer.text));
    }
    out.push_str("</ul>\n<div class=\"cards\">\n");
    report.cards.iter().for_each(|c| card(out, c));
    out.push_str("</div>\n");
    if !report.price_note.is_empty() {
        let _ = writeln!(out, "<p class=\"note\"><strong>On prices:</strong> {}</p>", esc(&report.price_note));
    }
    out.push_str("<dl class=\"facts\">\n");
    for (label, value) in &report.facts {
        let _ = writeln!(out, "<div><dt>{}</dt><dd>{}</dd></div>", esc(label), esc(value));
    }
    out.push_str("</dl>\n</header>\n");
}

fn contents(out: &mut String, report: &ReportModel) {
    out.push_str("<nav aria-label=\"Contents\">\n<ul>\n");
    for section in &report.sections {
        let _ = writeln!(out, "<li><a href=\"#{}\">{}</a></li>", section.id, esc(&section.title));
    }
    out.push_str("</ul>\n</nav>\n");
}

fn element(out: &mut String, tag: &str, text: &str) {
    let _ = writeln!(out, "<{tag}>{}</{tag}>", esc(text));
}

/// The class that gives colour and sign to something judged.
fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Better => "better",
        Tone::Worse => "worse",
        Tone::Equivalent => "equivalent",
        Tone::Undecided => "undecided",
    }
}

fn card(out: &mut String, c: &Card) {
    let _ = writeln!(
        out,
        "<article class=\"card {}\">\n<p class=\"card-head\"><strong>{}</strong> <span>{}</span></p>\n\
         <p class=\"ratio\"><span class=\"number\">{}</span> <span class=\"verdict\">{}</span></p>\n\
         <p class=\"measure\">{} · {}</p>",
        tone(c.tone),
        esc(&c.workload),
        esc(&c.pair),
        esc(&c.ratio),
        esc(&c.verdict),
        esc(&c.measure),
        esc(&c.interval)
    );
    if let Some(s) = &c.strip {
        out.push_str(&svg::strip(s));
    }
    if !c.details.is_empty() {
        out.push_str("<dl>\n");
        for (label, value) in &c.details {
            let _ = writeln!(out, "<div><dt>{}</dt><dd>{}</dd></div>", esc_unbroken(label), esc(value));
        }
        out.push_str("</dl>\n");
    }
    out.push_str("</article>\n");
}

fn block(page: &mut Page, block_: &Block) {
    let out = &mut page.out;
    match block_ {
        Block::Heading(text) => element(out, "h3", text),
        Block::Paragraph(text) => element(out, "p", text),
        Block::Note(text) => {
            let _ = writeln!(out, "<p class=\"note\">{}</p>", esc(text));
        }
        Block::List(items) => {
            out.push_str("<ul>\n");
            items.iter().for_each(|i| element(out, "li", i));
            out.push_str("</ul>\n");
        }
        Block::Table(t) => {
            let place = page.place("table", &t.caption);
            table(&mut page.out, t, &place);
        }
        Block::Figure(f) => figure(out, f),
        Block::Folded(summary, blocks) => {
            let _ = writeln!(out, "<details>\n<summary>{}</summary>", esc(summary));
            blocks.iter().for_each(|b| block(page, b));
            page.out.push_str("</details>\n");
        }
    }
}

fn table(out: &mut String, t: &Table, place: &str) {
    let caption = esc(&t.caption);
    let _ = writeln!(
        out,
        "<div class=\"scroll\" id=\"{place}\" role=\"group\" aria-label=\"{caption}\" tabindex=\"0\">\n\
         <table>\n<caption><span>{caption}</span></caption>"
    );
    out.push_str("<thead><tr>");
    for c in &t.columns {
        let class = if c.numeric { " class=\"n\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", esc_unbroken(&c.head));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &t.rows {
        let kind = match row.kind {
            RowKind::Plain => "",
            RowKind::Delta => " class=\"delta\"",
            RowKind::Total => " class=\"total\"",
            RowKind::Muted => " class=\"muted\"",
        };
        let _ = write!(out, "<tr{kind}>");
        for (i, (c, column)) in row.cells.iter().zip(&t.columns).enumerate() {
            cell(out, c, i == 0, column.numeric);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

fn cell(out: &mut String, c: &Cell, heads: bool, numeric: bool) {
    let (tag, scope) = if heads { ("th", " scope=\"row\"") } else { ("td", "") };
    // Short texts such as dates and names look best on one line.
    let short = c.text.chars().count() + c.note.chars().count() <= SHORT;
    let class = if numeric {
        " class=\"n\""
    } else if short {
        " class=\"k\""
    } else {
        ""
    };
    let text = esc(&c.text);
    let value = match c.tone {
        Tone::Plain => text,
        judged => format!("<span class=\"verdict {}\">{text}</span>", tone(judged)),
    };
    let note = if c.note.is_empty() { String::new() } else { format!(" <small>({})</small>", esc(&c.note)) };
    let _ = write!(out, "<{tag}{scope}{class}>{value}{note}</{tag}>");
}

fn figure(out: &mut String, f: &Figure) {
    let (id, title) = (f.id, esc(&f.title));
    let _ = writeln!(
        out,
        "<figure id=\"figure-{id}\">\n<figcaption><strong>Figure {}. {}</strong> {}{}</figcaption>",
        f.number,
        esc(&f.headline()),
        esc(&f.caption),
        anchor(&format!("figure-{id}"), &title)
    );
    legend(out, f);
    let class = if matches!(f.panels, Panels::Multiples(_)) { "panels small" } else { "panels" };
    let _ = writeln!(out, "<div class=\"{class}\">");
    for (title, drawing) in svg::panels(f) {
        let _ = writeln!(out, "<div class=\"panel\">\n<p class=\"panel-title\">{}</p>\n{drawing}\n</div>", esc(&title));
    }
    out.push_str("</div>\n<details>\n<summary>Data of the figure</summary>\n");
    let _ = writeln!(
        out,
        "<p class=\"save\"><a download=\"{id}.csv\" href=\"{}\">Save the data of figure {} as CSV</a></p>",
        sheet::link(&f.table),
        f.number
    );
    table(out, &f.table, &format!("data-{id}"));
    out.push_str("</details>\n</figure>\n");
}

/// Contenders by marker, or the parts of a stack by colour.
fn legend(out: &mut String, f: &Figure) {
    let mut entries: Vec<(usize, &str)> = Vec::new();
    let mut add = |slot: usize, name| {
        if !entries.iter().any(|(s, _)| *s == slot) {
            entries.push((slot, name));
        }
    };
    match &f.panels {
        Panels::Lines(list) | Panels::Multiples(list) => {
            list.iter().flat_map(|p| &p.series).for_each(|s| add(s.slot, s.name.as_str()));
        }
        Panels::Times(list) => list.iter().flat_map(|p| &p.lines).for_each(|l| add(l.slot, l.name.as_str())),
        Panels::Bars(list) => list.iter().flat_map(|p| &p.groups).flat_map(|g| &g.1).for_each(|b| add(b.slot, b.name.as_str())),
        Panels::Stacks(_) => f.legend.iter().enumerate().for_each(|(i, name)| add(i, name.as_str())),
        Panels::Xy(list) => list.iter().flat_map(|p| &p.series).for_each(|s| add(s.slot, s.name.as_str())),
        // Their rows carry their names.
        Panels::Ratios(_) | Panels::Falls(_) | Panels::Heat(_) => return,
    }
    entries.sort_unstable();
    out.push_str("<ul class=\"legend\">\n");
    for (slot, name) in entries {
        let key = match &f.panels {
            Panels::Lines(_) | Panels::Multiples(_) | Panels::Times(_) | Panels::Xy(_) => svg::legend_marker(slot),
            Panels::Bars(_) | Panels::Ratios(_) | Panels::Falls(_) | Panels::Heat(_) => {
                format!("<span class=\"swatch s{}\"></span>", slot % 6)
            }
            Panels::Stacks(_) => format!("<span class=\"swatch g{}\"></span>", slot % svg::PART_COLOURS),
        };
        let _ = writeln!(out, "<li>{key} {}</li>", esc(name));
    }
    out.push_str("</ul>\n");
}
