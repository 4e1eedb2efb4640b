//! go-tpc's lines and tables, in the shape that their parsers know: labels, order and digits. The figures are exact where
//! go-tpc's are not: no latency is cut off, rounded to one digit or raised to a millisecond.

use perbuck_core::histogram::Histogram;
use perbuck_load::totals::PausesSeen;
use serde::Serialize;

use super::settings::Output;

/// The names of the columns.
const COLUMNS: [&str; 13] = [
    "Prefix",
    "Operation",
    "Takes(s)",
    "Count",
    "TPM",
    "Sum(ms)",
    "Avg(ms)",
    "50th(ms)",
    "90th(ms)",
    "95th(ms)",
    "99th(ms)",
    "99.9th(ms)",
    "Max(ms)",
];

/// What a block of lines is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    /// The time since the last line.
    Current,
    /// The whole measured window.
    Summary,
}

impl Span {
    fn prefix(self) -> &'static str {
        match self {
            Self::Current => "[Current] ",
            Self::Summary => "[Summary] ",
        }
    }
}

/// One kind of transaction in a time, or what failed of it, under go-tpc's names of columns; times in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    /// Its name in upper case; with `_ERR` behind it for what failed.
    #[serde(rename = "Operation")]
    pub(super) operation: String,
    /// The length of the time in seconds.
    #[serde(rename = "Takes(s)")]
    takes_s: f64,
    /// How many ended in it.
    #[serde(rename = "Count")]
    count: u64,
    /// How many ended in a minute.
    #[serde(rename = "TPM")]
    tpm: f64,
    #[serde(rename = "Sum(ms)")]
    sum: f64,
    #[serde(rename = "Avg(ms)")]
    avg: f64,
    #[serde(rename = "50th(ms)")]
    p50: f64,
    #[serde(rename = "90th(ms)")]
    p90: f64,
    #[serde(rename = "95th(ms)")]
    p95: f64,
    #[serde(rename = "99th(ms)")]
    p99: f64,
    #[serde(rename = "99.9th(ms)")]
    p999: f64,
    /// Of JSON alone.
    #[serde(rename = "99.99th(ms)")]
    p9999: f64,
    #[serde(rename = "Max(ms)")]
    max: f64,
}

impl Row {
    fn new(operation: String, times: &Histogram, takes_s: f64) -> Self {
        let ms = |ns: u64| ns as f64 / 1e6;
        let at = |percent| ms(times.percentile_ns(percent).unwrap_or(0));
        let (count, sum) = (times.count(), times.sum_ns() as f64 / 1e6);
        Self {
            operation,
            takes_s,
            count,
            tpm: if takes_s > 0.0 { count as f64 / takes_s * 60.0 } else { 0.0 },
            sum,
            avg: sum / count.max(1) as f64,
            p50: at(50.0),
            p90: at(90.0),
            p95: at(95.0),
            p99: at(99.0),
            p999: at(99.9),
            p9999: at(99.99),
            max: ms(times.max_ns()),
        }
    }

    /// The cells after prefix and operation, as go-tpc writes them.
    fn cells(&self) -> Vec<String> {
        let mut cells = vec![format!("{:.1}", self.takes_s), self.count.to_string()];
        let figures = [self.tpm, self.sum, self.avg, self.p50, self.p90, self.p95, self.p99, self.p999, self.max];
        cells.extend(figures.iter().map(|f| format!("{f:.1}")));
        cells
    }
}

/// Rows of kinds with the times of what was completed and of what failed, in the order of go-tpc; nothing for those without
/// any.
pub(super) fn rows<'a>(kinds: impl IntoIterator<Item = (&'a str, &'a Histogram, &'a Histogram)>, takes_s: f64) -> Vec<Row> {
    let row = |operation, times: &Histogram| (times.count() > 0).then(|| Row::new(operation, times, takes_s));
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(name, ..)| *name);
    let both = |(name, completed, failed): (&str, &Histogram, &Histogram)| {
        let name = name.to_uppercase();
        [row(name.clone(), completed), row(name + "_ERR", failed)]
    };
    kinds.into_iter().flat_map(both).flatten().collect()
}

/// How long terminals keyed before transactions of one kind, or thought after them, on average.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wait {
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
pub(super) fn wait_block(span: Span, waits: &[Wait], output: Output) -> String {
    let cells = |wait: &Wait| vec![span.prefix().to_owned(), wait.operation.clone(), format!("{:.1}s", wait.mean_s)];
    let rows: Vec<Vec<String>> = waits.iter().map(cells).collect();
    match output {
        Output::Plain => rows.iter().map(|row| format!("{}{:<6} - {}\n", row[0], row[1], row[2])).collect(),
        Output::Table => table(&["Prefix", "Operation", "Avg(s)"], &rows),
        Output::Json => String::new(),
    }
}

/// A block of lines, or a table.
pub(super) fn block(span: Span, rows: &[Row], output: Output) -> String {
    let line = |row: &Row| {
        let cells = row.cells();
        let labelled: Vec<String> = COLUMNS[2..].iter().zip(&cells).map(|(label, cell)| format!("{label}: {cell}")).collect();
        format!("{}{:<6} - {}\n", span.prefix(), row.operation, labelled.join(", "))
    };
    match output {
        Output::Plain => rows.iter().map(line).collect(),
        Output::Table => {
            let cells = |row: &Row| [vec![span.prefix().to_owned(), row.operation.clone()], row.cells()].concat();
            table(&COLUMNS, &rows.iter().map(cells).collect::<Vec<_>>())
        }
        Output::Json => String::new(),
    }
}

/// The closing line: new orders a minute, all transactions a minute, and the efficiency in percent.
pub(super) fn closing(tpmc: f64, tpm_total: f64, efficiency_percent: f64, output: Output) -> String {
    let cells = [format!("{tpmc:.1}"), format!("{tpm_total:.1}"), format!("{efficiency_percent:.1}%")];
    match output {
        Output::Plain => format!("tpmC: {}, tpmTotal: {}, efficiency: {}\n", cells[0], cells[1], cells[2]),
        Output::Table => table(&["tpmC", "tpmTotal", "efficiency"], &[cells.to_vec()]),
        Output::Json => String::new(),
    }
}

/// A table as tablewriter draws it: headings in capitals in the middle, numbers to the right, words to the left.
fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(String::len);
        cells.chain([headings[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let rule: String = widths.iter().map(|w| format!("+{}", "-".repeat(w + 2))).collect::<String>() + "+\n";
    let mut out = rule.clone();
    out += &headings.iter().zip(&widths).map(|(h, w)| format!("| {} ", centred(&h.to_uppercase(), *w))).collect::<String>();
    out += &format!("|\n{rule}");
    for row in rows {
        for (cell, width) in row.iter().zip(&widths) {
            // What has a unit is a word.
            let number = cell.parse::<f64>().is_ok();
            out += &if number { format!("| {cell:>width$} ") } else { format!("| {cell:<width$} ") };
        }
        out += "|\n";
    }
    out + &rule
}

/// Text in the middle; what is left over stands to the right.
fn centred(text: &str, width: usize) -> String {
    let left = (width - text.len()) / 2;
    format!("{}{text}{}", " ".repeat(left), " ".repeat(width - text.len() - left))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values_ms: &[u64]) -> Histogram {
        let mut h = Histogram::new();
        values_ms.iter().for_each(|ms| h.record(ms * 1_000_000));
        h
    }

    fn example() -> Vec<Row> {
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
        assert_eq!(block(Span::Current, &example(), Output::Plain), expected);
        assert!(block(Span::Summary, &example(), Output::Plain).starts_with("[Summary] NEW_ORDER - Takes(s): 10.0, "));
        assert_eq!(closing(1234.56, 2743.2, 960.0, Output::Plain), "tpmC: 1234.6, tpmTotal: 2743.2, efficiency: 960.0%\n");
        assert_eq!(
            (block(Span::Summary, &[], Output::Plain), block(Span::Summary, &[], Output::Table)),
            <(String, String)>::default()
        );
    }

    #[test]
    fn waits_are_lines_of_go_tpc_too() {
        let mut pauses = PausesSeen::default();
        (pauses.before.count, pauses.before.sum_ns) = (2, 36_000_000_000);
        let waits = waits([("new_order", pauses), ("delivery", PausesSeen::default())]);
        assert_eq!(wait_block(Span::Summary, &waits, Output::Plain), "[Summary] KEYINGTIME-NEW_ORDER - 18.0s\n");
        assert!(wait_block(Span::Current, &waits, Output::Table).contains("| KEYINGTIME-NEW_ORDER | 18.0s  |\n"));
        assert_eq!(wait_block(Span::Current, &[], Output::Table), "");
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
        assert_eq!(closing(1234.56, 2743.2, 960.0, Output::Table), expected);
        // go-tpc 682637f on MariaDB, with the figures of the example.
        let expected = "\
+------------+---------------+----------+-------+------+---------+---------+----------+----------+----------+----------+------------+---------+
|   PREFIX   |   OPERATION   | TAKES(S) | COUNT | TPM  | SUM(MS) | AVG(MS) | 50TH(MS) | 90TH(MS) | 95TH(MS) | 99TH(MS) | 99.9TH(MS) | MAX(MS) |
+------------+---------------+----------+-------+------+---------+---------+----------+----------+----------+----------+------------+---------+
| [Summary]  | NEW_ORDER     |     10.0 |     3 | 18.0 | 30006.0 | 10002.0 |      4.0 |  30000.0 |  30000.0 |  30000.0 |    30000.0 | 30000.0 |
";
        let text = block(Span::Summary, &example(), Output::Table);
        assert!(text.starts_with(expected), "{text}");
        assert!(text.lines().all(|line| line.len() == text.find('\n').unwrap_or(0)), "{text}");
    }
}
