//! Aligned tables whose columns wrap. Where a table cannot be that narrow, each of its rows becomes a short list.

use anstyle::Style;

use crate::document::{Cell, Row, RowKind, Table, Tone};
use crate::escape::{terminal, width};

use super::{Writer, toned, wrap};

const GAP: usize = 2;

/// A word in a cell may force its column to this width; a longer one is broken.
const LONGEST_WORD: usize = 24;
/// A row of more lines is read more easily as a list.
const HIGHEST: usize = 5;

pub(super) fn render(out: &mut Writer, table: &Table) {
    let sizes: Vec<Size> = (0..table.columns.len()).map(|i| size(table, i)).collect();
    let columns = out.screen.columns;
    let widths = widths(&sizes, columns);
    let height = |row: &Row| row.cells.iter().zip(&widths).map(|(c, w)| wrap(&cell(c), *w).len()).max().unwrap_or(1);
    if length(&widths) > columns || table.rows.iter().any(|row| height(row) > HIGHEST) {
        return list(out, table);
    }
    let heads: Vec<String> = table.columns.iter().map(|c| terminal(&c.head)).collect();
    line(out, table, &widths, &heads, &[]);
    out.rule('─', length(&widths));
    let mut summed = false;
    for row in &table.rows {
        if row.kind == RowKind::Total && !summed {
            out.rule('─', length(&widths));
            summed = true;
        }
        let cells: Vec<String> = row.cells.iter().map(cell).collect();
        let tones: Vec<Tone> = row.cells.iter().map(|c| c.tone).collect();
        line(out, table, &widths, &cells, &tones);
    }
}

/// `undecided: why` reads better than brackets around a sentence.
fn cell(c: &Cell) -> String {
    if c.tone == Tone::Plain || c.note.is_empty() {
        return terminal(&c.line());
    }
    terminal(&format!("{}: {}", c.text, c.note))
}

/// How wide a column would be, and how narrow it can be.
struct Size {
    natural: usize,
    least: usize,
}

fn size(table: &Table, i: usize) -> Size {
    let longest_word = |text: &str| text.split(' ').map(width).max().unwrap_or(0).min(LONGEST_WORD);
    let head = longest_word(&terminal(&table.columns[i].head));
    let texts = || table.rows.iter().map(|r| cell(&r.cells[i]));
    let natural = texts().map(|t| width(&t)).max().unwrap_or(0).max(head).max(1);
    let least = texts().map(|t| longest_word(&t)).max().unwrap_or(0).max(head).max(1);
    Size { natural, least }
}

/// The widths of all columns: natural, the widest made narrower until the table fits, or no column can be narrower.
fn widths(sizes: &[Size], columns: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = sizes.iter().map(|size| size.natural).collect();
    while length(&widths) > columns {
        let narrower = widths.iter_mut().zip(sizes).filter(|(w, size)| **w > size.least);
        let Some((widest, _)) = narrower.max_by_key(|(w, _)| **w) else { break };
        *widest -= 1;
    }
    widths
}

fn length(widths: &[usize]) -> usize {
    widths.iter().map(|w| w + GAP).sum::<usize>().saturating_sub(GAP)
}

/// One row, as many lines high as its highest cell.
fn line(out: &mut Writer, table: &Table, widths: &[usize], texts: &[String], tones: &[Tone]) {
    let wrapped: Vec<Vec<String>> = widths.iter().zip(texts).map(|(w, text)| wrap(text, *w)).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(1);
    for h in 0..height {
        // Blanks at the end of a line are never written, so that none stands before the end of a style.
        let mut owed = 0;
        for (i, (cell, w)) in wrapped.iter().zip(widths).enumerate() {
            let part = cell.get(h).map_or("", String::as_str);
            let blanks = w.saturating_sub(width(part));
            let (before, after) = if table.columns[i].numeric { (blanks, 0) } else { (0, blanks) };
            owed += before;
            if !part.is_empty() {
                out.blanks(owed);
                out.styled(part, tones.get(i).map_or_else(Style::new, |tone| toned(*tone)));
                owed = 0;
            }
            owed += after + GAP;
        }
        out.end_line();
    }
}

/// Each row under what names it: its texts before the first number.
fn list(out: &mut Writer, table: &Table) {
    let texts = table.columns.iter().take_while(|c| !c.numeric).count();
    // Where there is no number the first text alone names the row.
    let named = if texts == table.columns.len() { 1 } else { texts.max(1) };
    let (heads, columns) = (&table.columns[named..], out.screen.columns);
    let longest = heads.iter().map(|c| width(&terminal(&c.head))).max().unwrap_or(0);
    let label = longest.min(columns / 3);
    for row in &table.rows {
        let name: Vec<String> = row.cells[..named].iter().map(cell).collect();
        wrap(&name.join(" · "), columns).iter().for_each(|part| {
            out.styled(part, Style::new().bold());
            out.end_line();
        });
        for (head, c) in heads.iter().zip(&row.cells[named..]) {
            pair(out, (&terminal(&head.head), label), c);
        }
    }
}

/// A heading and the cell below it, side by side.
fn pair(out: &mut Writer, (head, label): (&str, usize), c: &Cell) {
    let (head, value) = (wrap(head, label), wrap(&cell(c), out.screen.columns.saturating_sub(label + 2 * GAP)));
    for i in 0..head.len().max(value.len()) {
        let (head, value) = (head.get(i).map_or("", String::as_str), value.get(i).map_or("", String::as_str));
        out.blanks(GAP);
        out.styled(head, Style::new());
        if !value.is_empty() {
            out.blanks(label - width(head).min(label) + GAP);
            out.styled(value, toned(c.tone));
        }
        out.end_line();
    }
}
