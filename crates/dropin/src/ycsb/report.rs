//! Numbers as lines: what was counted of each operation, in the words of go-ycsb or of YCSB. Nothing here prints.

use std::collections::BTreeMap;
use std::fmt::Write;

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::{HistogramRecord, RunRecord, TransactionRecord};
use perbuck_workloads::ycsb::{KINDS, kind};

use super::settings::Settings;
use crate::style::{self, Style};

/// Titles of go-ycsb's columns after the first: those of counts and of single times, then those of percentiles.
const TITLES: [&str; 6] = ["Takes(s)", "Count", "OPS", "Avg(us)", "Min(us)", "Max(us)"];
const PERCENTILES: [(&str, f64); 6] = [
    ("50th(us)", 50.0),
    ("90th(us)", 90.0),
    ("95th(us)", 95.0),
    ("99th(us)", 99.0),
    ("99.9th(us)", 99.9),
    ("99.99th(us)", 99.99),
];

fn titles() -> impl Iterator<Item = &'static str> {
    TITLES.into_iter().chain(PERCENTILES.map(|(title, _)| title))
}

/// What was counted under one name.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) count: u64,
    /// How long they took; `None` for what is only counted.
    pub(super) times: Option<Histogram>,
}

impl Line {
    pub(super) fn timed(name: impl Into<String>, times: Histogram) -> Self {
        Self { name: name.into(), count: times.count(), times: Some(times) }
    }

    fn counted(name: String, count: u64) -> Self {
        Self { name, count, times: None }
    }

    /// The values of go-ycsb's columns.
    fn values(&self, seconds: f64) -> Vec<String> {
        let rate = if seconds > 0.0 { self.count as f64 / seconds } else { 0.0 };
        let mut all = vec![format!("{seconds:.1}"), self.count.to_string(), format!("{rate:.1}")];
        if let Some(times) = &self.times {
            let us = [mean_us(times), min_us(times), us(times.max_ns())];
            all.extend(us.iter().map(u64::to_string));
            all.extend(PERCENTILES.iter().map(|(_, p)| us_at(times, *p).to_string()));
        }
        all
    }
}

fn us(ns: u64) -> u64 {
    (ns + 500) / 1000
}

fn us_at(times: &Histogram, percent: f64) -> u64 {
    us(times.percentile_ns(percent).unwrap_or(0))
}

fn min_us(times: &Histogram) -> u64 {
    us(times.buckets().next().map_or(0, |(ns, _)| ns))
}

fn mean_us(times: &Histogram) -> u64 {
    us(times.mean_ns().unwrap_or(0.0).round() as u64)
}

#[derive(Debug, Clone, Default)]
pub(super) struct Operation {
    pub(super) name: &'static str,
    pub(super) completed: u64,
    pub(super) failed: u64,
    pub(super) facts: BTreeMap<String, u64>,
    /// How long each took; of READ and UPDATE those within read-modify-writes, too.
    pub(super) service: Histogram,
    /// The same from when each was due, in open loop.
    pub(super) response: Option<Histogram>,
}

impl Operation {
    pub(super) fn fact(&self, name: &str) -> u64 {
        self.facts.get(name).copied().unwrap_or(0)
    }
}

/// The operations of a record, in the order of their kinds; `parts` are the times of statements by label, where they were taken.
pub(super) fn operations(record: &RunRecord, parts: &BTreeMap<String, HistogramRecord>) -> Result<Vec<Operation>, String> {
    let mut all = Vec::new();
    for name in KINDS {
        let none = TransactionRecord::default();
        let transactions = record.measured.transactions.get(name).unwrap_or(&none);
        let read = |histogram: &HistogramRecord| histogram.to_histogram().map_err(|e| format!("{name}: {e}"));
        let service = read(parts.get(name).unwrap_or(&transactions.service))?;
        if service.count() + transactions.failed == 0 {
            continue;
        }
        let response = record.measured.open_loop.as_ref().map(|_| read(&transactions.response)).transpose()?;
        // The update within a read-modify-write was not due by itself.
        let response = response.filter(|r| r.count() > 0);
        let (completed, failed, facts) = (transactions.completed(), transactions.failed, transactions.facts.clone());
        all.push(Operation { name, completed, failed, facts, service, response });
    }
    Ok(all)
}

/// The lines of go-ycsb: operations and all of them together, what failed, and what the program does not tell: rows that were
/// not there, that were wrong, or that were there already.
pub(super) fn lines(operations: &[Operation]) -> Vec<Line> {
    let mut all = Vec::new();
    let mut total = Histogram::new();
    for operation in operations {
        let name = operation.name;
        // A read-modify-write is no operation of the database, but the two within it are.
        if name != KINDS[usize::from(kind::READ_MODIFY_WRITE)] {
            total.merge(&operation.service);
        }
        let counted = |what: &str, count: u64| (count > 0).then(|| Line::counted(format!("{name}_{what}"), count));
        if operation.service.count() > 0 {
            all.push(Line::timed(name, operation.service.clone()));
        }
        all.extend(operation.response.clone().map(|response| Line::timed(format!("INTENDED_{name}"), response)));
        all.extend(counted("ERROR", operation.failed));
        for fact in ["missing", "wrong", "duplicate", "rows"] {
            all.extend(counted(&fact.to_ascii_uppercase(), operation.fact(fact)));
        }
    }
    all.push(Line::timed("TOTAL", total));
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Lines in the layout that was asked for.
pub(super) fn go_ycsb(lines: &[Line], seconds: f64, style: Style) -> String {
    match style {
        Style::Plain => lines.iter().map(|line| plain(line, seconds)).collect(),
        Style::Table => table(lines, seconds),
        Style::Json => json(lines, seconds),
    }
}

fn plain(line: &Line, seconds: f64) -> String {
    let values: Vec<String> = titles().zip(line.values(seconds)).map(|(title, value)| format!("{title}: {value}")).collect();
    format!("{:<6} - {}\n", line.name, values.join(", "))
}

fn table(lines: &[Line], seconds: f64) -> String {
    let mut rows: Vec<Vec<String>> = vec![["Operation"].into_iter().chain(titles()).map(str::to_ascii_uppercase).collect()];
    for line in lines {
        let mut row = [vec![line.name.clone()], line.values(seconds)].concat();
        row.resize(rows[0].len(), String::new());
        rows.push(row);
    }
    style::table(&rows, |_, cell, width| format!("{cell:>width$}"))
}

fn json(lines: &[Line], seconds: f64) -> String {
    let object = |line: &Line| {
        let mut all = BTreeMap::from([("Operation", line.name.clone())]);
        all.extend(titles().zip(line.values(seconds)));
        all
    };
    let all: Vec<_> = lines.iter().map(object).collect();
    // Text and maps of text always are JSON.
    serde_json::to_string(&all).unwrap_or_default() + "\n"
}

/// The lines of YCSB.
pub(super) fn ycsb(operations: &[Operation], seconds: f64, settings: &Settings) -> String {
    let completed: u64 = operations.iter().map(|o| o.completed).sum();
    let rate = if seconds > 0.0 { completed as f64 / seconds } else { 0.0 };
    let mut out = format!("[OVERALL], RunTime(ms), {:.0}\n[OVERALL], Throughput(ops/sec), {rate}\n", seconds * 1000.0);
    let (mut verified, mut missing, mut wrong) = (0, 0, 0);
    for operation in operations {
        let name = operation.name.replace('_', "-");
        timed(&mut out, &name, &operation.service, settings);
        let lost = operation.fact("missing");
        let returns = [
            ("OK", operation.service.count().saturating_sub(lost + operation.fact("duplicate"))),
            ("NOT_FOUND", lost),
            ("BAD_REQUEST", operation.fact("duplicate")),
            ("ERROR", operation.failed),
        ];
        for (status, count) in returns.iter().filter(|(_, count)| *count > 0) {
            let _ = writeln!(out, "[{name}], Return={status}, {count}");
        }
        if operation.failed > 0 {
            let _ = writeln!(out, "[{name}-FAILED], Operations, {}", operation.failed);
        }
        if let Some(response) = &operation.response {
            timed(&mut out, &format!("Intended-{name}"), response, settings);
        }
        if operation.facts.contains_key("wrong") || name == "READ" {
            verified += operation.completed;
            missing += lost;
            wrong += operation.fact("wrong");
        }
    }
    if settings.options.dataintegrity && verified > 0 {
        let _ = writeln!(out, "[VERIFY], Operations, {verified}");
        let right = verified.saturating_sub(missing + wrong);
        for (status, count) in [("OK", right), ("UNEXPECTED_STATE", wrong), ("ERROR", missing)] {
            if count > 0 {
                let _ = writeln!(out, "[VERIFY], Return={status}, {count}");
            }
        }
    }
    out
}

fn timed(out: &mut String, name: &str, times: &Histogram, settings: &Settings) {
    let _ = writeln!(out, "[{name}], Operations, {}", times.count());
    let _ = writeln!(out, "[{name}], AverageLatency(us), {}", times.mean_ns().unwrap_or(0.0) / 1000.0);
    let _ = writeln!(out, "[{name}], MinLatency(us), {}", min_us(times));
    let _ = writeln!(out, "[{name}], MaxLatency(us), {}", us(times.max_ns()));
    for (label, percent) in &settings.percentiles {
        let ordinal = match label.as_str() {
            _ if label.contains('.') => "",
            l if l.ends_with('1') && !l.ends_with("11") => "st",
            l if l.ends_with('2') && !l.ends_with("12") => "nd",
            l if l.ends_with('3') && !l.ends_with("13") => "rd",
            _ => "th",
        };
        let _ = writeln!(out, "[{name}], {label}{ordinal}PercentileLatency(us), {}", us_at(times, *percent));
    }
}

/// A status line of YCSB, for standard error.
pub(super) fn status(seconds: u32, completed: u64, since: u64, over_s: u32, lines: &[Line]) -> String {
    let rate = since as f64 / f64::from(over_s.max(1));
    let parts = lines.iter().filter_map(|line| {
        let times = line.times.as_ref().filter(|_| line.count > 0)?;
        let percentiles: Vec<String> = [90.0, 99.0, 99.9, 99.99].iter().map(|p| format!("{p}={}", us_at(times, *p))).collect();
        let (max, min, mean) = (us(times.max_ns()), min_us(times), times.mean_ns().unwrap_or(0.0) / 1000.0);
        let (name, count) = (line.name.replace('_', "-"), line.count);
        Some(format!("[{name}: Count={count}, Max={max}, Min={min}, Avg={mean:.2}, {}]", percentiles.join(", ")))
    });
    let parts: Vec<String> = parts.collect();
    format!("{seconds} sec: {completed} operations; {rate:.2} current ops/sec; {}", parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::golden;
    use super::*;
    use crate::cases;

    fn histogram(us: &[u64]) -> Histogram {
        cases::histogram(us.iter().map(|us| us * 1000))
    }

    fn operations() -> Vec<Operation> {
        let read = Operation {
            name: "READ",
            completed: 4,
            facts: BTreeMap::from([("missing".to_owned(), 1), ("wrong".to_owned(), 2)]),
            service: histogram(&[100, 200, 300, 400]),
            ..Operation::default()
        };
        let insert = Operation { name: "INSERT", completed: 1, failed: 3, service: histogram(&[50]), ..Operation::default() };
        let both = Operation { name: "READ_MODIFY_WRITE", completed: 1, service: histogram(&[500]), ..Operation::default() };
        vec![read, insert, both]
    }

    #[test]
    fn go_ycsb_lines_are_sorted_and_tell_what_was_missing() {
        let text = go_ycsb(&lines(&operations()), 2.0, Style::Plain);
        let names: Vec<&str> = text.lines().map(|l| l.split(" - ").next().unwrap().trim()).collect();
        assert_eq!(names, ["INSERT", "INSERT_ERROR", "READ", "READ_MISSING", "READ_MODIFY_WRITE", "READ_WRONG", "TOTAL"]);
        let insert = "INSERT - Takes(s): 2.0, Count: 1, OPS: 0.5, Avg(us): 50, Min(us): 50, Max(us): 50, 50th(us): 50, 90th(us): 50, \
                      95th(us): 50, 99th(us): 50, 99.9th(us): 50, 99.99th(us): 50";
        assert_eq!(text.lines().next(), Some(insert));
        assert!(text.contains("READ_MISSING - Takes(s): 2.0, Count: 1, OPS: 0.5\n"), "{text}");
        assert!(text.contains("TOTAL  - Takes(s): 2.0, Count: 5, OPS: 2.5, Avg(us): 210, "), "{text}");
    }

    #[test]
    fn ycsb_lines_have_its_names_and_returns() {
        let line = ["run", "mysql", "-P", "workloada", "-p", "dataintegrity=true", "--shape=ycsb"];
        let settings = golden::settings(&line).unwrap();
        let text = ycsb(&operations(), 2.0, &settings);
        for line in [
            "[OVERALL], RunTime(ms), 2000",
            "[OVERALL], Throughput(ops/sec), 3",
            "[READ], Operations, 4",
            "[READ], AverageLatency(us), 250",
            "[READ], Return=OK, 3",
            "[READ], Return=NOT_FOUND, 1",
            "[INSERT], Return=ERROR, 3",
            "[INSERT-FAILED], Operations, 3",
            "[READ-MODIFY-WRITE], Operations, 1",
            "[VERIFY], Return=UNEXPECTED_STATE, 2",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
        assert!(text.contains("[READ], 99thPercentileLatency(us), 400\n"), "{text}");
    }
}
