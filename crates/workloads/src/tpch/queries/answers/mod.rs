//! What a right answer is (2.1.3.5), where right answers come from, and their text.

use perbuck_database::Dialect;
use perbuck_load::values::Rows;

mod columns;
mod compare;
mod number;
mod official;
#[cfg(test)]
mod small;
#[cfg(test)]
mod tests;

pub(in crate::tpch) use compare::{Difference, compare, digest};
use number::Number;

/// How a text writes a value that is not there.
const NULL: &str = "\\N";

/// The rows that a query returns, in the units of the specification and without blanks at the ends of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tpch) struct Answer {
    number: usize,
    /// Row after row; `None` is NULL.
    cells: Vec<Option<String>>,
}

impl Answer {
    /// What a database answered to query 1 to 22.
    ///
    /// # Errors
    /// Where the rows were not kept, have other columns, or a unit that must be converted has no number.
    pub(in crate::tpch) fn found(number: usize, rows: &Rows, dialect: &dyn Dialect) -> Result<Self, Difference> {
        let columns = columns::of(number).columns;
        if !rows.is_empty() && rows.width() != columns.len() {
            return Err(Difference::Columns { expected: columns.len(), found: rows.width() });
        }
        let mut cells = Vec::new();
        for row in 0..rows.len() as usize {
            for (at, column) in columns.iter().enumerate() {
                let wrong =
                    |found: String| Difference::Cell { row: row + 1, column: column.name, expected: "a value".to_owned(), found };
                if rows.is_null(row, at).map_err(|error| wrong(error.to_string()))? {
                    cells.push(None);
                    continue;
                }
                let text = rows.display(row, at).map_err(|error| wrong(error.to_string()))?.trim().to_owned();
                let whole = column.scale > 0 && !dialect.exact_decimals();
                cells.push(Some(if whole { in_units(&text, column.scale).ok_or_else(|| wrong(text))? } else { text }));
            }
        }
        Ok(Self { number, cells })
    }

    /// An answer of query 1 to 22 as [`Self::to_text`] writes it: a line with the names of the columns, then a line for each row, with `|`
    /// between values and blanks as they like. Empty lines do not count.
    ///
    /// # Errors
    /// The line that has other columns.
    pub(in crate::tpch) fn parse(number: usize, text: &str) -> Result<Self, String> {
        let columns = columns::of(number).columns.len();
        let mut cells = Vec::new();
        let rows = text.lines().filter(|line| !line.trim().is_empty()).skip(1);
        for line in rows {
            let before = cells.len();
            cells.extend(line.split('|').map(str::trim).map(|cell| (cell != NULL).then(|| cell.to_owned())));
            if cells.len() - before != columns {
                return Err(format!("`{line}` has {} columns, the answer of query {number} has {columns}", cells.len() - before));
            }
        }
        Ok(Self { number, cells })
    }

    /// As text, for a file of reference answers.
    #[cfg(test)]
    pub(in crate::tpch) fn to_text(&self) -> String {
        let columns = columns::of(self.number).columns;
        let mut text = columns.iter().map(|column| column.name).collect::<Vec<_>>().join("|") + "\n";
        for row in self.rows() {
            text += &row.iter().map(|cell| cell.as_deref().unwrap_or(NULL)).collect::<Vec<_>>().join("|");
            text.push('\n');
        }
        text
    }

    /// Answers from one file, each after a line such as `# 7` with the number of its query. Other lines that start with `#` are comments.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub(in crate::tpch) fn parse_all(text: &str) -> Result<Vec<Self>, String> {
        let mut parts: Vec<(usize, String)> = Vec::new();
        for line in text.lines() {
            match (line.strip_prefix('#'), parts.last_mut()) {
                (Some(after), _) => match after.trim().parse() {
                    Ok(number @ 1..=22) => parts.push((number, String::new())),
                    Ok(number) => return Err(format!("there is no query {number}")),
                    Err(_) => {}
                },
                (None, Some((_, part))) => *part += &format!("{line}\n"),
                (None, None) if line.trim().is_empty() => {}
                (None, None) => return Err(format!("`{line}` stands before the number of a query")),
            }
        }
        parts.into_iter().map(|(number, part)| Self::parse(number, &part)).collect()
    }

    /// The text that [`Self::parse_all`] reads.
    #[cfg(test)]
    pub(in crate::tpch) fn all_to_text(answers: &[Self]) -> String {
        answers.iter().map(|answer| format!("# {}\n{}", answer.number, answer.to_text())).collect()
    }

    /// The number of its query.
    #[cfg(test)]
    pub(in crate::tpch) fn number(&self) -> usize {
        self.number
    }

    fn rows(&self) -> std::slice::ChunksExact<'_, Option<String>> {
        self.cells.chunks_exact(columns::of(self.number).columns.len())
    }
}

/// A whole number of small units in units of the specification.
fn in_units(text: &str, scale: u32) -> Option<String> {
    Some(Number::parse(text)?.shifted(scale).text())
}
