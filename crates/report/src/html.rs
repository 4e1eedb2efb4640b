//! The report as one self-contained page: no request leaves it, and its one script ([`script`]) is not needed to read it.
//!
//! Markup is made by a library that escapes by type: a text gets into a page as text.

mod brief;
pub mod script;

use std::collections::HashMap;

use maud::{DOCTYPE, Markup, PreEscaped, Render, html};
use perbuck_core::compare::Regression;

use crate::document::{Block, Cell, Figure, Panels, ReportModel, RowKind, Table, Tone};
use crate::evidence::ELEMENT;
use crate::model::regression_blocks;
use crate::{sheet, svg};

/// The style sheet of a report.
pub const STYLE: &str = concat!(
    include_str!("html/colours.css"),
    include_str!("html/style.css"),
    include_str!("html/drawing.css"),
    include_str!("html/whatif.css")
);

/// Characters of a cell that stays on one line.
const SHORT: usize = 18;

/// Words and characters of the name of an anchor.
const ANCHOR_WORDS: usize = 8;
const ANCHOR_CHARACTERS: usize = 60;

/// The end of a line. A page has many, so that `perbuck verify` can name the line that was changed.
const NL: PreEscaped<&str> = PreEscaped("\n");

/// Where the evidence belongs, while a page is made: a character that no text of a page holds.
const GAP: PreEscaped<&str> = PreEscaped("\0");

struct Words<'t>(&'t str);

impl Render for Words<'_> {
    fn render_to(&self, out: &mut String) {
        // A number keeps its percent sign.
        out.push_str(&crate::escape::html(self.0).replace(" %", "\u{a0}%"));
    }
}

/// Names of what links point to, with how often each was wanted.
#[derive(Default)]
struct Anchors(HashMap<String, u32>);

impl Anchors {
    /// A name: the words of `text` in small letters, numbered where it is taken already.
    fn name(&mut self, kind: &str, text: &str) -> String {
        let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
        let words: String = text.chars().map(word).collect();
        let slug: String = words.split_whitespace().take(ANCHOR_WORDS).collect::<Vec<_>>().join("-");
        let name = format!("{kind}-{}", slug.chars().take(ANCHOR_CHARACTERS).collect::<String>());
        let wanted = self.0.entry(name.clone()).or_insert(0);
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
    blocks(&mut Anchors::default(), &regression_blocks(found)).into_string()
}

/// Foreign text as it may stand in a page: cut where it is very long, without marks that mislead, escaped.
pub fn shown(text: &str) -> String {
    Words(&crate::escape::clean(text)).render().into_string()
}

/// The page in two parts. Between them belongs [`ReportModel::evidence`], if it is `embedded`: it may be most of the page, and
/// need not be in memory to be written.
pub fn around_evidence(report: &ReportModel, embedded: bool) -> [String; 2] {
    let mut anchors = Anchors::default();
    let page = html! {
        (DOCTYPE) (NL)
        html lang="en" { (NL)
            (head(report))
            body { (NL)
                main { (NL)
                    (brief::brief(report, true))
                    nav aria-label="Contents" { (NL)
                        ul { (NL) @for s in &report.sections { li { a href={ "#" (s.id) } { (Words(&s.title)) } } (NL) } } (NL)
                    } (NL)
                    @for s in &report.sections {
                        details class="part" { (NL)
                            summary { h2 { (Words(&s.title)) } } (NL)
                            // A link to what is inside of closed details opens them.
                            div id=(s.id) { (NL)
                                (blocks(&mut anchors, &s.blocks))
                                @if s.id == "cost" && !report.what_if.is_empty() { div id="what-if" {} (NL) }
                            } (NL)
                        } (NL)
                    }
                } (NL)
                script type="application/json" id="comparison" { (PreEscaped(&report.data)) } (NL)
                @if embedded { (PreEscaped(ELEMENT)) (GAP) (PreEscaped("</script>\n")) } @else { (GAP) }
                @if !report.what_if.is_empty() {
                    script type="application/json" id="prices" { (PreEscaped(&report.what_if)) } (NL)
                }
                script { (PreEscaped(script::SCRIPT)) } (NL)
            } (NL)
        } (NL)
    };
    let (before, after) = page.0.split_once(GAP.0).unwrap_or((&page.0, ""));
    [before.to_owned(), after.to_owned()]
}

/// The brief alone, as a page.
pub fn brief_page(report: &ReportModel) -> String {
    let page = html! {
        (DOCTYPE) (NL)
        html lang="en" { (NL)
            (head(report))
            body { (NL) main { (NL) (brief::brief(report, false)) } (NL) } (NL)
        } (NL)
    };
    page.into_string()
}

/// What browsers, and programs that show a link to the page, read.
fn head(report: &ReportModel) -> Markup {
    let (title, answer) = (Words(&report.title), Words(&report.brief.answer.text));
    html! {
        head { (NL)
            meta charset="utf-8"; (NL)
            meta name="viewport" content="width=device-width, initial-scale=1"; (NL)
            meta name="color-scheme" content="light dark"; (NL)
            meta name="generator" content="perbuck"; (NL)
            meta http-equiv="Content-Security-Policy" content={ "default-src 'none'; style-src 'unsafe-inline'; script-src " (PreEscaped(script::source())) }; (NL)
            title { (title) } (NL)
            meta name="description" content=(answer); (NL)
            meta property="og:type" content="article"; (NL)
            meta property="og:title" content=(title); (NL)
            meta property="og:description" content=(answer); (NL)
            style { (NL) (PreEscaped(STYLE)) } (NL)
        } (NL)
    }
}

/// The mark beside a heading that is a link to it.
fn anchor(id: &str, title: &str) -> Markup {
    html! { " " a class="anchor" href={ "#" (id) } aria-label={ "Link to " (Words(title)) } { "#" } }
}

/// Words of which short ones with hyphens, such as regions, stay on one line.
fn unbroken(text: &str) -> Markup {
    let keep = |word: &str| {
        let whole = word.contains('-') && word.chars().count() <= SHORT;
        html! { @if whole { span class="k" { (Words(word)) } } @else { (Words(word)) } }.into_string()
    };
    PreEscaped(text.split(' ').map(keep).collect::<Vec<_>>().join(" ").replace(" %", "\u{a0}%"))
}

fn list(items: &[String]) -> Markup {
    html! { ul { (NL) @for item in items { li { (Words(item)) } (NL) } } (NL) }
}

fn blocks(anchors: &mut Anchors, blocks: &[Block]) -> Markup {
    html! { @for b in blocks { (block(anchors, b)) } }
}

fn block(anchors: &mut Anchors, block: &Block) -> Markup {
    html! {
        @match block {
            Block::Heading(text) => { h3 { (Words(text)) } (NL) }
            Block::Paragraph(text) => { p { (Words(text)) } (NL) }
            Block::Note(text) => { p class="note" { (Words(text)) } (NL) }
            Block::List(items) => (list(items)),
            Block::Table(t) => (table(t, &anchors.name("table", &t.caption))),
            Block::Figure(f) => (figure(f)),
            Block::Data(t) => { p class="save" { (save(&anchors.name("data", &t.caption), t, &t.caption)) } (NL) }
            Block::Codes(all) => {
                div class="panels" { (NL)
                    @for code in all {
                        div class="panel" { (NL)
                            p class="panel-title" { (Words(&code.title)) } (NL)
                            pre class="code" tabindex="0" { @for line in &code.lines { (Words(line)) (NL) } } (NL)
                        } (NL)
                    }
                } (NL)
            }
            Block::Folded(summary, inner) => {
                details { (NL) summary { (Words(summary)) } (NL) (blocks(anchors, inner)) } (NL)
            }
        }
    }
}

fn table(t: &Table, id: &str) -> Markup {
    let caption = Words(&t.caption);
    let kind = |kind| match kind {
        RowKind::Plain => None,
        RowKind::Delta => Some("delta"),
        RowKind::Total => Some("total"),
        RowKind::Muted => Some("muted"),
    };
    html! {
        div class="scroll" id=(id) role="group" aria-label=(caption) tabindex="0" { (NL)
            table { (NL)
                caption { span { (caption) } } (NL)
                thead {
                    tr { @for c in &t.columns { th scope="col" class=[c.numeric.then_some("n")] { (unbroken(&c.head)) } } }
                } (NL)
                tbody { (NL)
                    @for row in &t.rows {
                        tr class=[kind(row.kind)] {
                            @for (i, (c, column)) in row.cells.iter().zip(&t.columns).enumerate() {
                                (cell(c, i == 0, column.numeric))
                            }
                        } (NL)
                    }
                } (NL)
            } (NL)
        } (NL)
    }
}

fn cell(c: &Cell, heads: bool, numeric: bool) -> Markup {
    // Short texts such as dates and names look best on one line.
    let short = c.text.chars().count() + c.note.chars().count() <= SHORT;
    let class = if numeric { Some("n") } else { short.then_some("k") };
    let content = html! {
        @if c.tone == Tone::Plain { (Words(&c.text)) } @else { span class={ "verdict " (c.tone.class()) } { (Words(&c.text)) } }
        @if !c.note.is_empty() { " " small { "(" (Words(&c.note)) ")" } }
    };
    html! { @if heads { th scope="row" class=[class] { (content) } } @else { td class=[class] { (content) } } }
}

/// A link that saves a table as a file.
fn save(name: &str, t: &Table, what: &str) -> Markup {
    html! { a download={ (name) ".csv" } href=(sheet::link(t)) { (Words(what)) " (CSV)" } }
}

fn figure(f: &Figure) -> Markup {
    let id = format!("figure-{}", f.id);
    let class = match f.panels {
        Panels::Multiples(_) => "panels small",
        Panels::System(_) => "panels system",
        _ => "panels",
    };
    html! {
        figure id=(id) { (NL)
            figcaption {
                strong { "Figure " (f.number) ". " (Words(&f.headline())) } " " (Words(&f.caption)) (anchor(&id, &f.title))
            } (NL)
            (legend(f))
            div class=(class) { (NL)
                @for (title, drawing) in svg::panels(f) {
                    div class="panel" { (NL)
                        p class="panel-title" { (Words(&title)) } (NL)
                        (PreEscaped(drawing)) (NL)
                    } (NL)
                }
            } (NL)
            p class="save" { (save(f.id, &f.table, &format!("Data of figure {}", f.number))) } (NL)
        } (NL)
    }
}

/// Contenders by marker, or the parts of a stack by colour.
fn legend(f: &Figure) -> Markup {
    let entries = svg::slide::entries(f);
    if entries.is_empty() {
        return Markup::default();
    }
    let key = |slot: usize| match &f.panels {
        Panels::Bars(_) | Panels::Columns(_) => html! { span class={ "swatch s" (slot % 6) } {} },
        Panels::Stacks(_) => html! { span class={ "swatch g" (slot % svg::PART_COLOURS) } {} },
        _ => PreEscaped(svg::legend_marker(slot)),
    };
    html! { ul class="legend" { (NL) @for (slot, name) in entries { li { (key(slot)) " " (Words(name)) } (NL) } } (NL) }
}
