//! go-tpc's lines and tables, in the shape that their parsers know: labels, order and digits. The numbers are exact where
//! go-tpc's are not: no time is raised to a tenth of a second.

use perbuck_core::histogram::Histogram;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::go_tpc::kinds::{Times, paired};
use crate::go_tpc::layout::{Span, table};
use crate::style::Style;

/// One query in a time, or what failed of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// `Q1`; `Q1_ERR` for what failed of it.
    pub(super) operation: String,
    pub(super) count: u64,
    pub(super) mean_s: f64,
    pub(super) median_s: f64,
    pub(super) max_s: f64,
}

impl Row {
    fn new(operation: String, times: &Histogram) -> Self {
        let seconds = |ns: u64| ns as f64 / 1e9;
        Self {
            operation,
            count: times.count(),
            mean_s: times.mean_ns().unwrap_or(0.0) / 1e9,
            median_s: seconds(times.percentile_ns(50.0).unwrap_or(0)),
            max_s: seconds(times.max_ns()),
        }
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("Operation", &self.operation)?;
        map.serialize_entry("Count", &self.count)?;
        map.serialize_entry("Avg(s)", &self.mean_s)?;
        map.serialize_entry("50th(s)", &self.median_s)?;
        map.serialize_entry("Max(s)", &self.max_s)?;
        map.end()
    }
}

/// Rows of queries in the order of go-tpc; nothing for those without any.
pub(super) fn rows<'a>(queries: impl IntoIterator<Item = Times<'a>>) -> Vec<Row> {
    paired(queries).into_iter().map(|(operation, times)| Row::new(operation, times)).collect()
}

/// A block of lines, or a table.
pub(super) fn block(span: Span, rows: &[Row], output: Style) -> String {
    let cells = |row: &Row| vec![span.prefix().to_owned(), row.operation.clone(), format!("{:.2}s", row.mean_s)];
    match output {
        Style::Plain => rows.iter().map(cells).map(|row| format!("{}{}: {}\n", row[0], row[1], row[2])).collect(),
        Style::Table => table(&["Prefix", "Operation", "Avg(s)"], rows.iter().map(cells).collect()),
        Style::Json => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::histogram;

    fn example() -> Vec<Row> {
        let times = |values_ms: &[u64]| histogram(values_ms.iter().map(|ms| ms * 1_000_000));
        let (fast, slow, none) = (times(&[40, 50]), times(&[1_500, 2_500, 3_000]), times(&[]));
        rows([("Q2", &slow, &none), ("Q1", &fast, &slow), ("Q10", &slow, &none), ("Q22", &none, &none)])
    }

    #[test]
    fn lines_are_those_of_go_tpc() {
        let expected = "[Summary] Q1: 0.04s\n[Summary] Q10: 2.33s\n[Summary] Q1_ERR: 2.33s\n[Summary] Q2: 2.33s\n";
        assert_eq!(block(Span::Summary, &example(), Style::Plain), expected);
        assert!(block(Span::Current, &example(), Style::Plain).starts_with("[Current] Q1: 0.04s\n"));
        assert_eq!((block(Span::Summary, &[], Style::Plain), block(Span::Summary, &[], Style::Table)), Default::default());
        assert_eq!(example()[0].count, 2);
    }
}
