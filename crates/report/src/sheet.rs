//! A table as CSV (RFC 4180): what a reader takes away to calculate with.

use std::fmt::Write as _;

use crate::document::{Cell, Table};

/// A table as CSV. Numbers lose their thousands separators; a text that a spreadsheet would take for a formula gets an
/// apostrophe before it, as OWASP advises.
pub(crate) fn csv(t: &Table) -> String {
    let noted = |i: usize| t.rows.iter().any(|r| r.cells.get(i).is_some_and(|c| !c.note.is_empty()));
    let noted: Vec<bool> = (0..t.columns.len()).map(noted).collect();
    let pair = |i: usize, text: String, note: &str| std::iter::once(text).chain(noted[i].then(|| harmless(note)));
    let heads = t.columns.iter().enumerate().flat_map(|(i, c)| pair(i, harmless(&c.head), &format!("{}, note", c.head)));
    let mut lines: Vec<Vec<String>> = vec![heads.collect()];
    for row in &t.rows {
        let text = |c: &Cell, numeric| if numeric { number(&c.text) } else { harmless(&c.text) };
        let cells = row.cells.iter().zip(&t.columns).enumerate();
        lines.push(cells.flat_map(|(i, (c, column))| pair(i, text(c, column.numeric), &c.note)).collect());
    }
    lines.iter().map(|cells| cells.iter().map(|c| quoted(c)).collect::<Vec<_>>().join(",") + "\r\n").collect()
}

/// The table as the address of a link that saves it.
pub(crate) fn link(t: &Table) -> String {
    let mut out = "data:text/csv;charset=utf-8,".to_owned();
    for b in csv(t).bytes() {
        if b.is_ascii_alphanumeric() || b".,-_~/:;()$".contains(&b) {
            out.push(char::from(b));
        } else {
            let _ = write!(out, "%{b:02X}");
        }
    }
    out
}

/// The text of a column of numbers as a program reads it: `1,234` → `1234`, `−3.1 %` → `-3.1 %`, `$5.00` → `5.00`.
fn number(text: &str) -> String {
    let plain = text.replace('−', "-");
    let plain = plain.strip_prefix('+').unwrap_or(&plain);
    let (digits, unit) = plain.strip_suffix(" %").map_or((plain, ""), |digits| (digits, " %"));
    let digits = digits.strip_prefix('$').unwrap_or(digits).replace(',', "");
    let is_number = digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-')) && digits.parse::<f64>().is_ok();
    if is_number { digits + unit } else { harmless(text) }
}

/// A text that no spreadsheet takes for a formula.
pub(crate) fn harmless(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) { format!("'{text}") } else { text.to_owned() }
}

/// A cell in quotes where it needs them.
pub(crate) fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(names: &[&str], numbers: &[&str]) -> Table {
        let mut t = Table::new("t", "=Name | #Value");
        for (name, number) in names.iter().zip(numbers) {
            t.add([Cell::new(*name), Cell::noted(*number, "±1")]);
        }
        t
    }

    #[test]
    fn numbers_are_numbers_and_formulas_are_texts() {
        let t = table(&["=cmd|' /C calc'!A0", "a,\"b\"", "-x", "@y"], &["1,234.5", "−3.10 %", "$5.00", "12 tpmC"]);
        let expected = "'=Name,Value,\"Value, note\"\r\n'=cmd|' /C calc'!A0,1234.5,±1\r\n\"a,\"\"b\"\"\",-3.10 %,±1\r\n'-x,5.00,±1\r\n'@y,12 tpmC,±1\r\n";
        assert_eq!(csv(&t), expected);
        let address = link(&t);
        assert!(!address.contains(['"', '<', '>', '#', ' ', '&', '\'']) && address.contains("%0D%0A"), "{address}");
    }

    proptest! {
        #[test]
        fn no_cell_begins_like_a_formula(name in "\\PC{0,12}", value in "\\PC{0,12}") {
            let made = csv(&table(&[&name], &[&value]));
            let mut reader = made.split("\r\n").skip(1);
            let line = reader.next().unwrap_or_default();
            // A quote begins a quoted cell; a second one is a quote in it, and no formula begins with one.
            let first = line.strip_prefix('"').unwrap_or(line).chars().next();
            prop_assert!(!matches!(first, Some('=' | '@' | '+' | '-')), "{line}");
        }
    }
}
