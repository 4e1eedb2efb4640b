//! go-tpc's lines and tables, in the shape that their parsers know: labels, order and digits. The numbers are exact where
//! go-tpc's are not: no latency is cut off, rounded to one digit or raised to a millisecond.

use perbuck_core::histogram::Histogram;
use perbuck_load::totals::PausesSeen;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::go_tpc::kinds::{Times, paired};
use crate::go_tpc::layout::{self, Span, table};
use crate::style::Style;

/// A column of JSON alone.
const JSON_ONLY: &str = "99.99th(ms)";

/// One kind of transaction in a time, or what failed of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// Its name in upper case; with `_ERR` after it for what failed.
    pub(super) operation: String,
    takes_s: f64,
    count: u64,
    /// By go-tpc's names of columns.
    values: [(&'static str, f64); 10],
}

impl Row {
    fn new(operation: String, times: &Histogram, takes_s: f64) -> Self {
        let ms = |ns: u64| ns as f64 / 1e6;
        let at = |percent| ms(times.percentile_ns(percent).unwrap_or(0));
        let (count, sum_ms) = (times.count(), times.sum_ns() as f64 / 1e6);
        let values = [
            ("TPM", if takes_s > 0.0 { count as f64 / takes_s * 60.0 } else { 0.0 }),
            ("Sum(ms)", sum_ms),
            ("Avg(ms)", sum_ms / count.max(1) as f64),
            ("50th(ms)", at(50.0)),
            ("90th(ms)", at(90.0)),
            ("95th(ms)", at(95.0)),
            ("99th(ms)", at(99.0)),
            ("99.9th(ms)", at(99.9)),
            (JSON_ONLY, at(99.99)),
            ("Max(ms)", ms(times.max_ns())),
        ];
        Self { operation, takes_s, count, values }
    }

    /// Names and cells of the columns after prefix and operation, as go-tpc writes them.
    fn cells(&self) -> Vec<(&'static str, String)> {
        let mut cells = vec![("Takes(s)", format!("{:.1}", self.takes_s)), ("Count", self.count.to_string())];
        let values = self.values.iter().filter(|(name, _)| *name != JSON_ONLY);
        cells.extend(values.map(|(name, value)| (*name, format!("{value:.1}"))));
        cells
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("Operation", &self.operation)?;
        map.serialize_entry("Takes(s)", &self.takes_s)?;
        map.serialize_entry("Count", &self.count)?;
        self.values.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

/// Rows of kinds in the order of go-tpc; nothing for those without any.
pub(super) fn rows<'a>(kinds: impl IntoIterator<Item = Times<'a>>, takes_s: f64) -> Vec<Row> {
    paired(kinds).into_iter().map(|(operation, times)| Row::new(operation, times, takes_s)).collect()
}

/// How long terminals keyed before transactions of one kind, or thought after them, on average.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wait {
    /// `KEYINGTIME-NEW_ORDER`, `THINKINGTIME-NEW_ORDER`.
    pub(super) operation: String,
    /// In seconds.
    pub(super) mean_s: f64,
}

/// The waits of all kinds, in the order of go-tpc; nothing for those without any.
pub(super) fn waits<'a>(kinds: impl IntoIterator<Item = (&'a str, PausesSeen)>) -> Vec<Wait> {
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(name, _)| *name);
    let wait = |what: &str, name: &str, mean_s: Option<f64>| {
        mean_s.map(|mean_s| Wait { operation: format!("{what}-{}", name.to_uppercase()), mean_s })
    };
    let keyed = kinds.iter().filter_map(|(name, p)| wait("KEYINGTIME", name, p.before.mean_s()));
    let thought = kinds.iter().filter_map(|(name, p)| wait("THINKINGTIME", name, p.after.mean_s()));
    keyed.chain(thought).collect()
}

/// A block of lines of waits, or a table.
pub(super) fn wait_block(span: Span, waits: &[Wait], output: Style) -> String {
    let cells = |wait: &Wait| vec![span.prefix().to_owned(), wait.operation.clone(), format!("{:.1}s", wait.mean_s)];
    let rows: Vec<Vec<String>> = waits.iter().map(cells).collect();
    match output {
        Style::Plain => rows.iter().map(|row| format!("{}{:<6} - {}\n", row[0], row[1], row[2])).collect(),
        Style::Table => table(&["Prefix", "Operation", "Avg(s)"], rows),
        Style::Json => String::new(),
    }
}

/// A block of lines, or a table.
pub(super) fn block(span: Span, rows: &[Row], output: Style) -> String {
    layout::block(span, rows.iter().map(|row| (row.operation.as_str(), row.cells())), output)
}

/// The closing line: new orders a minute, all transactions a minute, and the efficiency in percent.
pub(super) fn closing(tpmc: f64, tpm_total: f64, efficiency_percent: f64, output: Style) -> String {
    let cells = [format!("{tpmc:.1}"), format!("{tpm_total:.1}"), format!("{efficiency_percent:.1}%")];
    match output {
        Style::Plain => format!("tpmC: {}, tpmTotal: {}, efficiency: {}\n", cells[0], cells[1], cells[2]),
        Style::Table => table(&["tpmC", "tpmTotal", "efficiency"], vec![cells.to_vec()]),
        Style::Json => String::new(),
    }
}

/// The closing line of go-tpc from July to November 2020.
pub(super) fn closing_of_2020(tpmc: f64, output: Style) -> String {
    let cell = format!("{tpmc:.1}");
    match output {
        Style::Plain => format!("tpmC: {cell}\n"),
        Style::Table => table(&["tpmC"], vec![vec![cell]]),
        Style::Json => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::histogram;

    fn example() -> Vec<Row> {
        let times = |values_ms: &[u64]| histogram(values_ms.iter().map(|ms| ms * 1_000_000));
        let (orders, failed, none) = (times(&[2, 4, 30_000]), times(&[5]), times(&[]));
        rows([("payment", &orders, &none), ("new_order", &orders, &failed), ("delivery", &none, &none)], 10.0)
    }

    #[test]
    fn lines_are_those_of_go_tpc() {
        let expected = "\
[Current] NEW_ORDER - Takes(s): 10.0, Count: 3, TPM: 18.0, Sum(ms): 30006.0, Avg(ms): 10002.0, 50th(ms): 4.0, 90th(ms): 30000.0, 95th(ms): 30000.0, 99th(ms): 30000.0, 99.9th(ms): 30000.0, Max(ms): 30000.0
[Current] NEW_ORDER_ERR - Takes(s): 10.0, Count: 1, TPM: 6.0, Sum(ms): 5.0, Avg(ms): 5.0, 50th(ms): 5.0, 90th(ms): 5.0, 95th(ms): 5.0, 99th(ms): 5.0, 99.9th(ms): 5.0, Max(ms): 5.0
[Current] PAYMENT - Takes(s): 10.0, Count: 3, TPM: 18.0, Sum(ms): 30006.0, Avg(ms): 10002.0, 50th(ms): 4.0, 90th(ms): 30000.0, 95th(ms): 30000.0, 99th(ms): 30000.0, 99.9th(ms): 30000.0, Max(ms): 30000.0
";
        assert_eq!(block(Span::Current, &example(), Style::Plain), expected);
        assert!(block(Span::Summary, &example(), Style::Plain).starts_with("[Summary] NEW_ORDER - Takes(s): 10.0, "));
        assert_eq!(closing(1234.56, 2743.2, 960.0, Style::Plain), "tpmC: 1234.6, tpmTotal: 2743.2, efficiency: 960.0%\n");
        assert_eq!(
            (block(Span::Summary, &[], Style::Plain), block(Span::Summary, &[], Style::Table)),
            <(String, String)>::default()
        );
    }

    #[test]
    fn the_closing_line_of_2020_has_tpmc_alone() {
        assert_eq!(closing_of_2020(11_673.24, Style::Plain), "tpmC: 11673.2\n");
        assert!(closing_of_2020(11_673.24, Style::Table).contains("| 11673.2 |\n"));
    }

    #[test]
    fn waits_are_lines_of_go_tpc_too() {
        let mut pauses = PausesSeen::default();
        (pauses.before.count, pauses.before.sum_ns) = (2, 36_000_000_000);
        let waits = waits([("new_order", pauses), ("delivery", PausesSeen::default())]);
        assert_eq!(wait_block(Span::Summary, &waits, Style::Plain), "[Summary] KEYINGTIME-NEW_ORDER - 18.0s\n");
        assert!(wait_block(Span::Current, &waits, Style::Table).contains("| KEYINGTIME-NEW_ORDER | 18.0s  |\n"));
        assert_eq!(wait_block(Span::Current, &[], Style::Table), "");
    }

    #[test]
    fn tables_are_those_of_go_tpc() {
        let expected = "\
+--------+----------+------------+
|  TPMC  | TPMTOTAL | EFFICIENCY |
+--------+----------+------------+
| 1234.6 |   2743.2 | 960.0%     |
+--------+----------+------------+
";
        assert_eq!(closing(1234.56, 2743.2, 960.0, Style::Table), expected);
        // go-tpc 682637f on MariaDB, with the numbers of the example.
        let expected = "\
+------------+---------------+----------+-------+------+---------+---------+----------+----------+----------+----------+------------+---------+
|   PREFIX   |   OPERATION   | TAKES(S) | COUNT | TPM  | SUM(MS) | AVG(MS) | 50TH(MS) | 90TH(MS) | 95TH(MS) | 99TH(MS) | 99.9TH(MS) | MAX(MS) |
+------------+---------------+----------+-------+------+---------+---------+----------+----------+----------+----------+------------+---------+
| [Summary]  | NEW_ORDER     |     10.0 |     3 | 18.0 | 30006.0 | 10002.0 |      4.0 |  30000.0 |  30000.0 |  30000.0 |    30000.0 | 30000.0 |
";
        let text = block(Span::Summary, &example(), Style::Table);
        assert!(text.starts_with(expected), "{text}");
        assert!(text.lines().all(|line| line.len() == text.find('\n').unwrap_or(0)), "{text}");
    }
}
