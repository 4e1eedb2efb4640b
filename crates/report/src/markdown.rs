//! The report as Markdown: CommonMark with GitHub's tables, the same words as the page.

use crate::document::{Block, Brief, Cell, Figure, ReportModel, RowKind, Table, Tone};
use crate::escape::{markdown, markdown_line};
use crate::svg;

/// The folder beside the Markdown that holds the drawings.
pub const FIGURES: &str = "figures";

/// Renders a report as Markdown, which shows the [`crate::slides`] from the folder [`FIGURES`].
pub fn render(report: &ReportModel) -> String {
    let mut out = String::new();
    line(&mut out, &format!("# {}", markdown(&report.title)));
    line(&mut out, &format!("Study: {}", markdown(&report.study)));
    brief(&mut out, &report.brief);
    for section in &report.sections {
        line(&mut out, &format!("## {}", markdown(&section.title)));
        section.blocks.iter().for_each(|b| block(&mut out, b));
    }
    out
}

fn brief(out: &mut String, brief: &Brief) {
    line(out, &format!("{}**{}**", sign(brief.answer.tone), markdown(&brief.answer.text)));
    if !brief.remarks.is_empty() {
        line(out, &markdown_line(&brief.remarks.join(" ")));
    }
    // A part alone is the answer.
    for part in brief.parts.iter().filter(|_| brief.parts.len() > 1) {
        line_tight(out, &format!("- {}{}", sign(part.tone), markdown(&part.text)));
    }
    out.push('\n');
    brief.figures.iter().for_each(|f| chart(out, f));
    for caveat in &brief.caveats {
        line(out, &format!("> **Note:** {}", markdown(caveat)));
    }
    brief.sources.iter().for_each(|(label, value)| line_tight(out, &format!("- **{}:** {}", markdown(label), markdown(value))));
    out.push('\n');
}

/// A drawing of the brief; its numbers are in the tables below.
fn chart(out: &mut String, f: &Figure) {
    line(out, &format!("**{}** {}", markdown(&f.headline()), markdown(&f.caption)));
    drawings(out, f, &f.title);
}

fn drawings(out: &mut String, f: &Figure, name: &str) {
    for (title, file) in svg::slide::names(f, &svg::panels(f)) {
        let text = markdown(&format!("{name}: {title}")).replace(['[', ']'], " ");
        line(out, &format!("![{text}]({FIGURES}/{file}.svg)"));
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push_str("\n\n");
}

fn line_tight(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// The sign of a verdict, for readers who see no colours.
fn sign(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Better => "▲ ",
        Tone::Worse => "▼ ",
        Tone::Equivalent => "≈ ",
        Tone::Undecided => "○ ",
    }
}

fn block(out: &mut String, block_: &Block) {
    match block_ {
        Block::Heading(text) => line(out, &format!("### {}", markdown(text))),
        Block::Paragraph(text) => line(out, &markdown_line(text)),
        Block::Note(text) => line(out, &format!("> {}", markdown_line(text))),
        Block::List(items) => {
            items.iter().for_each(|i| line_tight(out, &format!("- {}", markdown_line(i))));
            out.push('\n');
        }
        Block::Table(t) => table(out, t),
        Block::Data(_) => {}
        Block::Figure(f) => figure(out, f),
        Block::Codes(all) => {
            for code in all {
                line(out, &format!("**{}**", markdown(&code.title)));
                // An indented block of code has no end that a line of it could write.
                code.lines.iter().for_each(|text| line_tight(out, &format!("    {text}")));
                out.push('\n');
            }
        }
        Block::Folded(summary, blocks) => {
            line(out, &format!("<details><summary>{}</summary>", crate::escape::html(summary)));
            blocks.iter().for_each(|b| block(out, b));
            line(out, "</details>");
        }
    }
}

/// The drawings are files of their own, in [`FIGURES`].
fn figure(out: &mut String, f: &Figure) {
    line(out, &format!("**Figure {}. {}** {}", f.number, markdown(&f.headline()), markdown(&f.caption)));
    drawings(out, f, &format!("Figure {}", f.number));
}

fn table(out: &mut String, t: &Table) {
    line(out, &format!("**{}**", markdown(&t.caption)));
    rows(out, t);
}

fn rows(out: &mut String, t: &Table) {
    let heads: Vec<String> = t.columns.iter().map(|c| markdown(&c.head)).collect();
    line_tight(out, &format!("| {} |", heads.join(" | ")));
    let rules: Vec<&str> = t.columns.iter().map(|c| if c.numeric { "---:" } else { "---" }).collect();
    line_tight(out, &format!("|{}|", rules.join("|")));
    for row in &t.rows {
        let cells: Vec<String> = row.cells.iter().map(|c| cell(c, row.kind)).collect();
        line_tight(out, &format!("| {} |", cells.join(" | ")));
    }
    out.push('\n');
}

fn cell(c: &Cell, kind: RowKind) -> String {
    let text = markdown(&c.line());
    match (kind, c.tone) {
        _ if text.is_empty() => text,
        (RowKind::Total, _) => format!("**{text}**"),
        (RowKind::Delta, _) => format!("*{text}*"),
        (_, Tone::Plain) => text,
        (_, tone) => format!("{}{text}", sign(tone)),
    }
}
