//! go-tpc's lines and tables of the queries: labels, order and digits. Times are exact and not raised to a tenth of a millisecond.

use perbuck_core::histogram::Histogram;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::go_tpc::kinds::{Times, paired};
use crate::go_tpc::layout::{self, Span};
use crate::style::Style;

/// One query in a time, or what failed of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// `Q1`; `Q1_ERR` for what failed of it.
    operation: String,
    count: u64,
    sum_ms: f64,
}

impl Row {
    fn new(operation: String, times: &Histogram) -> Self {
        Self { operation, count: times.count(), sum_ms: times.sum_ns() as f64 / 1e6 }
    }

    fn mean_ms(&self) -> f64 {
        self.sum_ms / self.count.max(1) as f64
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("Operation", &self.operation)?;
        map.serialize_entry("Count", &self.count)?;
        map.serialize_entry("Sum(ms)", &self.sum_ms)?;
        map.serialize_entry("Avg(ms)", &self.mean_ms())?;
        map.end()
    }
}

/// Rows of queries in the order of go-tpc; nothing for those without any.
pub(super) fn rows<'a>(queries: impl IntoIterator<Item = Times<'a>>) -> Vec<Row> {
    paired(queries).into_iter().map(|(operation, times)| Row::new(operation, times)).collect()
}

/// A block of lines, or a table.
pub(super) fn block(span: Span, rows: &[Row], output: Style) -> String {
    let cells = |row: &Row| {
        vec![
            ("Count", row.count.to_string()),
            ("Sum(ms)", format!("{:.1}", row.sum_ms)),
            ("Avg(ms)", format!("{:.1}", row.mean_ms())),
        ]
    };
    layout::block(span, rows.iter().map(|row| (row.operation.as_str(), cells(row))), output)
}

/// go-tpc's queries an hour: an hour by the mean time of a query, however many streams ask. `None` where no query ended.
pub(super) fn qphh(rows: &[Row]) -> Option<f64> {
    let completed = || rows.iter().filter(|row| !row.operation.ends_with("_ERR"));
    let (count, sum_ms): (u64, f64) = (completed().map(|row| row.count).sum(), completed().map(|row| row.sum_ms).sum());
    (sum_ms > 0.0).then(|| 3_600.0 * 1_000.0 / sum_ms * count as f64)
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
    fn lines_and_tables_are_those_of_go_tpc() {
        let expected = "\
[Summary] Q1     - Count: 2, Sum(ms): 90.0, Avg(ms): 45.0
[Summary] Q10    - Count: 3, Sum(ms): 7000.0, Avg(ms): 2333.3
[Summary] Q1_ERR - Count: 3, Sum(ms): 7000.0, Avg(ms): 2333.3
[Summary] Q2     - Count: 3, Sum(ms): 7000.0, Avg(ms): 2333.3
";
        assert_eq!(block(Span::Summary, &example(), Style::Plain), expected);
        let table = block(Span::Current, &example(), Style::Table);
        assert!(table.contains("\n|   PREFIX   | OPERATION | COUNT | SUM(MS) | AVG(MS) |\n"), "{table}");
        assert!(table.contains("\n| [Current]  | Q1        |     2 |    90.0 |    45.0 |\n"), "{table}");
        assert_eq!((block(Span::Summary, &[], Style::Plain), block(Span::Summary, &[], Style::Table)), Default::default());
    }

    #[test]
    fn queries_an_hour_are_those_of_one_stream_and_failed_ones_are_none() {
        let expected = 3_600_000.0 / 14_090.0 * 8.0;
        assert!((qphh(&example()).unwrap() - expected).abs() < 1e-6);
        assert_eq!(qphh(&[]), None);
    }
}
