//! How go-tpc lays out lines: their prefixes, and its tables.

use crate::style::{self, Style};

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

/// A row of numbers as go-tpc writes them: its operation, and labels with their cells.
pub(crate) type Labelled<'a> = (&'a str, Vec<(&'static str, String)>);

/// A block of lines of labelled numbers, or a table.
pub(crate) fn block<'a>(span: Span, rows: impl Iterator<Item = Labelled<'a>>, output: Style) -> String {
    let rows: Vec<Labelled<'_>> = rows.collect();
    let line = |(operation, cells): &Labelled<'_>| {
        let labelled: Vec<String> = cells.iter().map(|(label, cell)| format!("{label}: {cell}")).collect();
        format!("{}{operation:<6} - {}\n", span.prefix(), labelled.join(", "))
    };
    match output {
        Style::Plain => rows.iter().map(line).collect(),
        Style::Table => {
            let names = rows.iter().take(1).flat_map(|(_, cells)| cells.iter().map(|(name, _)| *name));
            let headings: Vec<&str> = ["Prefix", "Operation"].into_iter().chain(names).collect();
            let cells = |(operation, cells): &Labelled<'_>| {
                let own = [span.prefix().to_owned(), (*operation).to_owned()];
                own.into_iter().chain(cells.iter().map(|(_, cell)| cell.clone())).collect()
            };
            table(&headings, rows.iter().map(cells).collect())
        }
        Style::Json => String::new(),
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
