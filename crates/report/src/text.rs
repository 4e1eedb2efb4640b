//! The report on a terminal: aligned tables within a hundred columns where that is possible, no colours.
//!
//! Figures and folded details are left out; they are in the Markdown and HTML reports.

mod table;

use perbuck_core::audit::Audit;
use perbuck_core::bill::Bill;
use perbuck_core::compare::{Comparison, Regression};
use perbuck_core::study::Study;

use crate::document::{Answer, Block, ReportModel};
use crate::escape::{clean, terminal, width};
use crate::model::{Context, answers, audit_blocks, bill_blocks, nothing_measured, regression_blocks, verdict_blocks};
use crate::number::counted;

/// Columns of a terminal that tables and paragraphs keep to.
const COLUMNS: usize = 100;

/// Renders a report for a terminal.
pub fn render(report: &ReportModel) -> String {
    let mut out = String::new();
    heading(&mut out, &report.title, '═');
    marked_lines(&mut out, "! ", report.warnings.iter().map(String::as_str));
    answer_lines(&mut out, &report.answers);
    if !report.price_note.is_empty() {
        wrapped(&mut out, "", &format!("On prices: {}", report.price_note));
        out.push('\n');
    }
    for (label, value) in &report.facts {
        wrapped(&mut out, &format!("{label:<18}"), value);
    }
    out.push('\n');
    for section in &report.sections {
        let mut inner = String::new();
        blocks(&mut inner, &section.blocks);
        // A section of figures alone has nothing for a terminal.
        if !inner.is_empty() {
            heading(&mut out, &section.title, '─');
            out.push_str(&inner);
        }
    }
    finish(&out)
}

/// What each contender costs, for `perbuck price`.
pub fn bills(study: &Study, bills: &[Bill]) -> String {
    alone(&bill_blocks(study, bills))
}

/// What an audit found, for `perbuck audit`.
pub fn audit(found: &Audit) -> String {
    alone(&audit_blocks(found))
}

/// A new results folder beside an old one, for `perbuck compare --baseline`.
pub fn regression(found: &Regression) -> String {
    alone(&regression_blocks(found))
}

/// Blocks without a report around them.
fn alone(list: &[Block]) -> String {
    let mut out = String::new();
    blocks(&mut out, list);
    finish(&out)
}

/// Answers and verdicts, for `perbuck compare`.
pub fn verdicts(study: &Study, comparison: &Comparison) -> String {
    let all = Context::new(study, comparison, &[]);
    let mut out = String::new();
    let mut warnings = Vec::new();
    if comparison.found < comparison.planned && comparison.published.is_none() {
        warnings.push(format!("Incomplete: {} of {} planned trials were found.", comparison.found, comparison.planned));
    }
    warnings.extend(comparison.published.as_ref().map(|source| nothing_measured(comparison, &clean(source))));
    let what = if comparison.published.is_some() { "point" } else { "trial" };
    warnings.extend(
        comparison
            .remarks
            .iter()
            .map(|remark| clean(&format!("{} ({}, the first is {})", remark.text, counted(remark.trials, what), remark.example))),
    );
    marked_lines(&mut out, "! ", warnings.iter().map(String::as_str));
    answer_lines(&mut out, &answers(&all));
    blocks(&mut out, &verdict_blocks(&all));
    finish(&out)
}

/// One newline at the end, whatever came before.
fn finish(text: &str) -> String {
    let mut out: String = text.lines().map(|l| format!("{}\n", l.trim_end())).collect();
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn answer_lines(out: &mut String, answers: &[Answer]) {
    marked_lines(out, "• ", answers.iter().map(|a| a.text.as_str()));
}

/// Marked paragraphs, and an empty line after them if there are any.
fn marked_lines<'t>(out: &mut String, mark: &str, texts: impl Iterator<Item = &'t str>) {
    let before = out.len();
    texts.for_each(|text| wrapped(out, mark, text));
    if out.len() > before {
        out.push('\n');
    }
}

fn heading(out: &mut String, text: &str, rule: char) {
    let lines = wrap(&terminal(text), COLUMNS);
    let longest = lines.iter().map(|l| width(l)).max().unwrap_or(0);
    lines.iter().for_each(|l| out.extend([l, "\n"]));
    out.extend(std::iter::repeat_n(rule, longest));
    out.push_str("\n\n");
}

fn blocks(out: &mut String, list: &[Block]) {
    for block in list {
        match block {
            Block::Heading(text) => wrapped(out, "", &text.to_uppercase()),
            Block::Paragraph(text) | Block::Note(text) => wrapped(out, "", text),
            Block::List(items) => items.iter().for_each(|i| wrapped(out, "• ", i)),
            Block::Table(t) => {
                wrapped(out, "", &t.caption);
                table::render(out, t, COLUMNS);
            }
            Block::Figure(_) | Block::Folded(..) => continue,
        }
        out.push('\n');
    }
}

/// A paragraph with a mark before its first line and as many blanks before the others.
fn wrapped(out: &mut String, mark: &str, text: &str) {
    let indent = width(mark);
    for (i, part) in wrap(&terminal(text), COLUMNS - indent).iter().enumerate() {
        if i == 0 {
            out.push_str(mark);
        } else {
            out.extend(std::iter::repeat_n(' ', indent));
        }
        out.extend([part, "\n"]);
    }
}

/// Lines of at most so many columns, broken at blanks; a longer word is broken anywhere.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    // A number keeps its percent sign.
    let text = text.replace(" %", "\u{a0}%");
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        let used = width(&line);
        if used > 0 && used + 1 + width(word) <= columns {
            line.extend([" ", word]);
            continue;
        }
        if used > 0 {
            lines.push(std::mem::take(&mut line));
        }
        for c in word.chars() {
            if !line.is_empty() && width(&line) + width(c.encode_utf8(&mut [0; 4])) > columns {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
    lines.into_iter().map(|l| l.replace('\u{a0}', " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_wrap_and_giants_break() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("abcdefgh i", 3), ["abc", "def", "gh", "i"]);
        assert_eq!(wrap("", 3), [""]);
    }

    proptest! {
        #[test]
        fn no_line_is_too_long_and_no_letter_is_lost(text in "\\PC{0,80}", columns in 2usize..30) {
            let lines = wrap(&text, columns);
            prop_assert!(lines.iter().all(|l| width(l) <= columns));
            let letters = |t: &str| t.replace([' ', '\u{a0}'], "");
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
