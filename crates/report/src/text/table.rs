//! Aligned tables: wide columns wrap, and a table that is still too wide goes on below itself.

use crate::document::{Cell, RowKind, Table, Tone};
use crate::escape::{terminal, width};

use super::wrap;

/// Blanks between columns.
const GAP: usize = 2;

/// A word in a cell may force its column to this width; a longer one is broken.
const LONGEST_WORD: usize = 24;

pub(super) fn render(out: &mut String, table: &Table, columns: usize) {
    let widths = widths(table, columns);
    for chunk in chunks(&widths, columns) {
        let heads: Vec<String> = table.columns.iter().map(|c| terminal(&c.head)).collect();
        line(out, table, &widths, &chunk, &heads);
        rule(out, &widths, &chunk);
        let mut summed = false;
        for row in &table.rows {
            if row.kind == RowKind::Total && !summed {
                rule(out, &widths, &chunk);
                summed = true;
            }
            let cells: Vec<String> = row.cells.iter().map(cell).collect();
            line(out, table, &widths, &chunk, &cells);
        }
        if chunk.last() != Some(&(widths.len() - 1)) {
            out.push('\n');
        }
    }
}

fn cell(c: &Cell) -> String {
    let text = terminal(&c.line());
    if c.tone == Tone::Plain { text } else { c.note_apart() }
}

impl Cell {
    /// `undecided: why` reads better than brackets around a sentence.
    fn note_apart(&self) -> String {
        let between = if self.note.is_empty() { "" } else { ": " };
        terminal(&format!("{}{between}{}", self.text, self.note))
    }
}

/// Natural widths, the widest columns made narrower until the table fits or no column can give more.
fn widths(table: &Table, columns: usize) -> Vec<usize> {
    let texts = |i: usize| table.rows.iter().map(move |r| cell(&r.cells[i]));
    let longest_word = |text: &str| text.split(' ').map(width).max().unwrap_or(0);
    let mut widths = Vec::new();
    let mut least = Vec::new();
    for (i, column) in table.columns.iter().enumerate() {
        let head = longest_word(&column.head).min(LONGEST_WORD);
        let body = texts(i).map(|t| width(&t)).max().unwrap_or(0);
        let word = texts(i).map(|t| longest_word(&t)).max().unwrap_or(0).min(LONGEST_WORD);
        widths.push(body.max(head).max(1));
        least.push(word.max(head).max(1));
    }
    let total = |w: &[usize]| w.iter().sum::<usize>() + GAP * (w.len().saturating_sub(1));
    while total(&widths) > columns {
        let Some(i) = (0..widths.len()).filter(|i| widths[*i] > least[*i]).max_by_key(|i| widths[*i]) else { break };
        widths[i] -= 1;
    }
    widths
}

/// Which columns stand side by side; the first one is repeated in every part.
fn chunks(widths: &[usize], columns: usize) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = vec![Vec::new()];
    let mut used = 0;
    for (i, w) in widths.iter().enumerate() {
        let is_full = used + w + GAP > columns + GAP && parts.last().is_some_and(|p| p.len() > 1);
        if is_full {
            parts.push(vec![0]);
            used = widths[0] + GAP;
        }
        if let Some(part) = parts.last_mut() {
            part.push(i);
        }
        used += w + GAP;
    }
    parts
}

fn rule(out: &mut String, widths: &[usize], chunk: &[usize]) {
    let length = chunk.iter().map(|i| widths[*i]).sum::<usize>() + GAP * (chunk.len() - 1);
    out.extend(std::iter::repeat_n('─', length));
    out.push('\n');
}

/// One row, as many lines high as its highest cell.
fn line(out: &mut String, table: &Table, widths: &[usize], chunk: &[usize], texts: &[String]) {
    let wrapped: Vec<Vec<String>> = chunk.iter().map(|i| wrap(&texts[*i], widths[*i])).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(1);
    for h in 0..height {
        let mut text = String::new();
        for (cell, i) in wrapped.iter().zip(chunk) {
            let part = cell.get(h).map_or("", String::as_str);
            let blanks = widths[*i].saturating_sub(width(part));
            let (before, after) = if table.columns[*i].numeric { (blanks, 0) } else { (0, blanks) };
            text.extend(std::iter::repeat_n(' ', before));
            text.push_str(part);
            text.extend(std::iter::repeat_n(' ', after + GAP));
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
}
