//! How go-tpc lays out lines: their prefixes, and its tables.

use crate::style;

/// What a block of lines is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    /// The time since the last line.
    Current,
    /// The whole measured window.
    Summary,
}

impl Span {
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Current => "[Current] ",
            Self::Summary => "[Summary] ",
        }
    }
}

/// A table as tablewriter draws it: headings in capitals in the middle, numbers to the right, words to the left. What has a
/// unit is a word.
pub(crate) fn table(headings: &[&str], mut rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    rows.insert(0, headings.iter().map(|h| h.to_uppercase()).collect());
    style::table(&rows, |is_heading, cell, width| match cell.parse::<f64>() {
        _ if is_heading => format!("{cell:^width$}"),
        Ok(_) => format!("{cell:>width$}"),
        Err(_) => format!("{cell:<width$}"),
    })
}
