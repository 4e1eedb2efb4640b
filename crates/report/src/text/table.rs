//! Aligned tables: wide columns wrap, and a table that is still too wide goes on below itself.

use crate::document::{Cell, RowKind, Table, Tone};
use crate::escape::{terminal, width};

use super::wrap;

const GAP: usize = 2;

/// A word in a cell may force its column to this width; a longer one is broken.
const LONGEST_WORD: usize = 24;

pub(super) fn render(out: &mut String, table: &Table, columns: usize) {
    let sizes: Vec<Size> = (0..table.columns.len()).map(|i| size(table, i)).collect();
    let parts = parts(&sizes, columns);
    for (p, part) in parts.iter().enumerate() {
        if p > 0 {
            out.push('\n');
        }
        let widths = widths(&sizes, part, columns);
        let heads: Vec<String> = table.columns.iter().map(|c| terminal(&c.head)).collect();
        line(out, table, &widths, &heads);
        rule(out, &widths);
        let mut summed = false;
        for row in &table.rows {
            if row.kind == RowKind::Total && !summed {
                rule(out, &widths);
                summed = true;
            }
            let cells: Vec<String> = row.cells.iter().map(cell).collect();
            line(out, table, &widths, &cells);
        }
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

/// Which columns stand side by side; the first one is repeated in every part.
fn parts(sizes: &[Size], columns: usize) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = vec![Vec::new()];
    let mut used = 0;
    for (i, size) in sizes.iter().enumerate() {
        if used + size.least > columns && parts.last().is_some_and(|p| p.len() > 1) {
            parts.push(vec![0]);
            used = sizes[0].least + GAP;
        }
        if let Some(part) = parts.last_mut() {
            part.push(i);
        }
        used += size.least + GAP;
    }
    parts
}

/// Columns of a part with their widths: natural, the widest made narrower until the part fits.
fn widths(sizes: &[Size], part: &[usize], columns: usize) -> Vec<(usize, usize)> {
    let mut widths: Vec<(usize, usize)> = part.iter().map(|i| (*i, sizes[*i].natural)).collect();
    while length(&widths) > columns {
        let Some(widest) = widths.iter_mut().filter(|(i, w)| *w > sizes[*i].least).max_by_key(|(_, w)| *w) else { break };
        widest.1 -= 1;
    }
    widths
}

fn length(widths: &[(usize, usize)]) -> usize {
    widths.iter().map(|(_, w)| w + GAP).sum::<usize>().saturating_sub(GAP)
}

fn rule(out: &mut String, widths: &[(usize, usize)]) {
    out.extend(std::iter::repeat_n('─', length(widths)));
    out.push('\n');
}

/// One row, as many lines high as its highest cell.
fn line(out: &mut String, table: &Table, widths: &[(usize, usize)], texts: &[String]) {
    let wrapped: Vec<Vec<String>> = widths.iter().map(|(i, w)| wrap(&texts[*i], *w)).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(1);
    for h in 0..height {
        let mut text = String::new();
        for (cell, (i, w)) in wrapped.iter().zip(widths) {
            let part = cell.get(h).map_or("", String::as_str);
            let blanks = w.saturating_sub(width(part));
            let (before, after) = if table.columns[*i].numeric { (blanks, 0) } else { (0, blanks) };
            text.extend(std::iter::repeat_n(' ', before));
            text.push_str(part);
            text.extend(std::iter::repeat_n(' ', after + GAP));
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
}
