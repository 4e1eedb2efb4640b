//! The report on a terminal: tables that fit its width, and colours where they are wanted.
//!
//! Figures and folded details are left out; they are in the Markdown and HTML reports.

mod table;

use anstyle::{AnsiColor, Style};
use perbuck_core::audit::Audit;
use perbuck_core::bill::Bill;
use perbuck_core::compare::{Comparison, Regression, Remark};
use perbuck_core::study::Study;
use perbuck_core::units::thousands;

use crate::document::{Answer, Block, Brief, ReportModel, Section, Table, Tone};
use crate::escape::{clean, terminal, width};
use crate::model::{
    Context, audit_blocks, bill_blocks, brief, broken_control, caveats, doubts, nothing_measured, regression_blocks,
    verdict_blocks,
};
use crate::number::counted;

/// Lines of text are not longer, however wide the terminal is.
const LONGEST_LINE: usize = 100;
/// Nor are they shorter, however narrow it is.
const SHORTEST_LINE: usize = 30;

/// What a text is laid out for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Columns that tables may take; paragraphs take 100 at most.
    pub columns: usize,
    /// Whether colours are wanted, as escape sequences of the form `ESC [ … m`.
    pub colour: bool,
}

impl Default for Screen {
    /// A file or a pipe: a hundred columns, no colours.
    fn default() -> Self {
        Self { columns: LONGEST_LINE, colour: false }
    }
}

/// Renders a report for a terminal.
pub fn render(report: &ReportModel, screen: Screen) -> String {
    let mut writer = Writer::new(screen);
    writer.heading(&report.title, '═');
    writer.brief(&report.brief);
    writer.warnings(report.brief.caveats.iter().map(String::as_str));
    for (label, value) in &report.brief.sources {
        writer.wrapped(&format!("{label:<10}"), value);
    }
    writer.end_line();
    report.sections.iter().for_each(|section| writer.section(section));
    writer.finish()
}

/// What another thing than a comparison found.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Its heading.
    pub title: String,
    /// What was found, in sentences.
    pub sentences: Vec<String>,
    /// What limits it.
    pub caveats: Vec<String>,
    /// Label and value.
    pub facts: Vec<(String, String)>,
    /// Its numbers.
    pub details: Section,
}

/// Renders a summary for a terminal.
pub fn summary(found: &Summary, screen: Screen) -> String {
    let mut writer = Writer::new(screen);
    writer.heading(&found.title, '═');
    writer.marked_lines(found.sentences.iter().map(|text| ("• ", text.as_str(), Style::new())));
    writer.warnings(found.caveats.iter().map(String::as_str));
    for (label, value) in &found.facts {
        writer.wrapped(&format!("{label:<18}"), value);
    }
    writer.end_line();
    writer.section(&found.details);
    writer.finish()
}

/// What each contender costs, for `perbuck price`.
pub fn bills(study: &Study, bills: &[Bill], screen: Screen) -> String {
    alone(&bill_blocks(study, bills), screen)
}

/// What an audit found, for `perbuck audit`.
pub fn audit(found: &Audit, screen: Screen) -> String {
    alone(&audit_blocks(found), screen)
}

/// A new results folder beside an old one, for `perbuck compare --baseline`.
pub fn regression(found: &Regression, screen: Screen) -> String {
    alone(&regression_blocks(found), screen)
}

/// A table by itself. ` | ` divides its headings; one that starts with `#` is a column of numbers. Each row has a cell for every heading.
pub fn table(heads: &str, rows: &[Vec<String>], screen: Screen) -> String {
    // A heading stays on one line.
    let mut table = Table::new("", &heads.replace(' ', "\u{a0}").replace("\u{a0}|\u{a0}", " | "));
    rows.iter().for_each(|row| table.add(row.iter().map(String::as_str)));
    let mut writer = Writer::new(screen);
    table::render(&mut writer, &table);
    writer.finish()
}

/// Blocks without a report around them.
fn alone(list: &[Block], screen: Screen) -> String {
    let mut writer = Writer::new(screen);
    writer.blocks(list);
    writer.finish()
}

/// Answers and verdicts, for `perbuck compare`.
pub fn verdicts(study: &Study, comparison: &Comparison, screen: Screen) -> String {
    let all = Context::new(study, comparison, &[]);
    let mut writer = Writer::new(screen);
    let mut warnings: Vec<String> = broken_control(&all).into_iter().collect();
    if comparison.found < comparison.planned && comparison.published.is_none() {
        warnings.push(format!("Incomplete: {} of {} planned trials were found.", comparison.found, comparison.planned));
    }
    warnings.extend(comparison.published.as_ref().map(|source| nothing_measured(comparison, &clean(source))));
    warnings.extend(doubts(&all));
    warnings.extend(comparison.remarks.iter().map(|remark| remark_line(comparison, remark)));
    writer.brief(&brief(&all, &caveats(&all)));
    writer.warnings(warnings.iter().map(String::as_str));
    writer.blocks(&verdict_blocks(&all));
    writer.finish()
}

/// `client-limited: the client was the limit (4 of 30 trials, first a/rw/c00008/002.json)`.
fn remark_line(comparison: &Comparison, remark: &Remark) -> String {
    let (what, all) = match comparison.published {
        Some(_) => ("point", comparison.planned),
        None => ("trial", comparison.found),
    };
    let flag = remark.flag.as_ref().map(|flag| format!("{flag}: ")).unwrap_or_default();
    let count = counted(all, what);
    let which = match remark.trials {
        n if n == all && n > 1 => format!("all {count}"),
        1 => format!("1 of {count}, {}", remark.example),
        n => format!("{} of {count}, first {}", thousands(n as u64), remark.example),
    };
    clean(&format!("{flag}{} ({which})", remark.text))
}

/// The style of something judged.
fn toned(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Better => AnsiColor::Green.on_default(),
        Tone::Worse => AnsiColor::Red.on_default(),
        Tone::Equivalent => AnsiColor::Cyan.on_default(),
        Tone::Undecided => AnsiColor::Yellow.on_default(),
    }
}

/// A text that grows.
struct Writer {
    out: String,
    screen: Screen,
}

impl Writer {
    fn new(screen: Screen) -> Self {
        Self { out: String::new(), screen: Screen { columns: screen.columns.max(SHORTEST_LINE), ..screen } }
    }

    /// One newline at the end, whatever came before.
    fn finish(&self) -> String {
        let mut out: String = self.out.lines().map(|l| format!("{}\n", l.trim_end())).collect();
        out.truncate(out.trim_end().len());
        out.push('\n');
        out
    }

    fn end_line(&mut self) {
        self.out.push('\n');
    }

    /// A part of a line in its style; nothing in it steers a terminal but the style.
    fn styled(&mut self, text: &str, style: Style) {
        if self.screen.colour && style != Style::new() && !text.is_empty() {
            self.out.push_str(&format!("{style}{text}{style:#}"));
        } else {
            self.out.push_str(text);
        }
    }

    fn blanks(&mut self, columns: usize) {
        self.out.extend(std::iter::repeat_n(' ', columns));
    }

    fn rule(&mut self, rule: char, columns: usize) {
        self.out.extend(std::iter::repeat_n(rule, columns));
        self.end_line();
    }

    fn columns_of_text(&self) -> usize {
        self.screen.columns.min(LONGEST_LINE)
    }

    fn warnings<'t>(&mut self, texts: impl Iterator<Item = &'t str>) {
        self.marked_lines(texts.map(|text| ("! ", text, AnsiColor::Yellow.on_default().bold())));
    }

    fn answers(&mut self, answers: &[Answer]) {
        self.marked_lines(answers.iter().map(|a| ("• ", a.text.as_str(), toned(a.tone).bold())));
    }

    /// The answer and its parts.
    fn brief(&mut self, brief: &Brief) {
        self.wrapped("", &brief.answer.text);
        brief.remarks.iter().for_each(|remark| self.wrapped("", remark));
        self.end_line();
        // A part alone is the answer.
        if brief.parts.len() > 1 {
            self.answers(&brief.parts);
        }
    }

    fn section(&mut self, section: &Section) {
        let mut inner = Writer::new(self.screen);
        inner.blocks(&section.blocks);
        // A section of figures alone has nothing for a terminal.
        if !inner.out.is_empty() {
            self.heading(&section.title, '─');
            self.out.push_str(&inner.out);
        }
    }

    /// Paragraphs with a mark in its style, and an empty line after them if there are any.
    fn marked_lines<'t>(&mut self, lines: impl Iterator<Item = (&'t str, &'t str, Style)>) {
        let before = self.out.len();
        lines.for_each(|(mark, text, style)| self.marked(mark, text, style));
        if self.out.len() > before {
            self.end_line();
        }
    }

    fn heading(&mut self, text: &str, rule: char) {
        let lines = wrap(&terminal(text), self.columns_of_text());
        let longest = lines.iter().map(|l| width(l)).max().unwrap_or(0);
        for line in &lines {
            self.styled(line, Style::new().bold());
            self.end_line();
        }
        self.rule(rule, longest);
        self.end_line();
    }

    fn blocks(&mut self, list: &[Block]) {
        for block in list {
            match block {
                Block::Heading(text) => self.wrapped("", &text.to_uppercase()),
                Block::Paragraph(text) | Block::Note(text) => self.wrapped("", text),
                Block::List(items) => items.iter().for_each(|i| self.wrapped("• ", i)),
                Block::Table(t) => {
                    self.wrapped("", &t.caption);
                    table::render(self, t);
                }
                Block::Figure(_) | Block::Data(_) | Block::Codes(_) | Block::Folded(..) => continue,
            }
            self.end_line();
        }
    }

    /// A paragraph with a mark before its first line and as many blanks before the others.
    fn wrapped(&mut self, mark: &str, text: &str) {
        self.marked(mark, text, Style::new());
    }

    fn marked(&mut self, mark: &str, text: &str, style: Style) {
        let indent = width(mark);
        for (i, part) in wrap(&terminal(text), self.columns_of_text() - indent).iter().enumerate() {
            if i == 0 {
                self.styled(mark, style);
            } else {
                self.blanks(indent);
            }
            self.out.push_str(part);
            self.end_line();
        }
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
    use crate::document::Cell;
    use proptest::prelude::*;

    #[test]
    fn words_wrap_and_giants_break() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("abcdefgh i", 3), ["abc", "def", "gh", "i"]);
        assert_eq!(wrap("", 3), [""]);
    }

    /// A table as it is shown; every third column holds numbers.
    fn shown(heads: &[&str], rows: &[Vec<String>], screen: Screen) -> String {
        let mut table = Table::default();
        heads.iter().enumerate().for_each(|(i, head)| table.column(head, i % 3 == 2));
        rows.iter().for_each(|row| table.add(row.iter().map(|text| Cell::noted(text.as_str(), "note").toned(Tone::Better))));
        alone(&[Block::Table(table)], screen)
    }

    #[test]
    fn a_table_that_cannot_be_so_narrow_is_a_list() {
        let row = ["points", "Arm", "52,728 TPS", "0.86×", "worse"].map(str::to_owned).to_vec();
        let heads = ["Workload", "Contender", "Throughput", "Ratio to baseline", "Verdict"];
        let table = shown(&heads, std::slice::from_ref(&row), Screen::default());
        assert!(table.trim_start().starts_with("Workload"), "{table}");
        let list = shown(&heads, &[row], Screen { columns: 40, colour: false });
        let lines: Vec<&str> = list.lines().filter(|l| !l.is_empty()).collect();
        assert_eq!(lines[0], "points: note · Arm: note");
        assert_eq!(lines[1], "  Throughput     52,728 TPS: note");
        assert_eq!(lines[2..4], ["  Ratio to       0.86×: note", "  baseline"]);
    }

    #[test]
    fn what_is_judged_has_a_colour_and_the_same_width() {
        let row = vec!["a".to_owned(), "b".to_owned()];
        let coloured = shown(&["One", "Two"], std::slice::from_ref(&row), Screen { columns: 80, colour: true });
        assert!(coloured.contains("\u{1b}[32ma: note\u{1b}[0m  \u{1b}[32mb: note\u{1b}[0m\n"), "{coloured:?}");
        let plain = shown(&["One", "Two"], &[row], Screen { columns: 80, colour: false });
        assert_eq!(coloured.replace("\u{1b}[32m", "").replace("\u{1b}[0m", ""), plain);
    }

    proptest! {
        #[test]
        fn no_table_is_wider_than_the_screen_and_no_letter_is_lost(
            rows in proptest::collection::vec(proptest::collection::vec("[a-z0-9]{1,9}( [a-z]{1,30}){0,3}", 7), 1..4),
            columns in 30usize..130,
        ) {
            let heads = ["Workload", "Contender", "60 months", "Work per dollar against baseline", "D", "E", "Fifth"];
            let text = shown(&heads, &rows, Screen { columns, colour: false });
            prop_assert!(text.lines().all(|l| width(l) <= columns), "{}", text);
            let letters: String = rows.iter().flatten().flat_map(|t| t.chars()).filter(|c| !c.is_whitespace()).collect();
            for c in letters.chars() {
                prop_assert!(text.matches(c).count() >= letters.matches(c).count());
            }
        }

        #[test]
        fn no_line_is_too_long_and_no_letter_is_lost(text in "\\PC{0,80}", columns in 2usize..30) {
            let lines = wrap(&text, columns);
            prop_assert!(lines.iter().all(|l| width(l) <= columns));
            let letters = |t: &str| t.replace([' ', '\u{a0}'], "");
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
