//! What every number rests on: the formulas by name, and each trial with the counters that its value is made of.

use perbuck_core::metric::{Metric, Period};
use perbuck_core::run_record::RunRecord;
use perbuck_core::units::thousands;

use super::{Context, paragraph};
use crate::document::{Block, Table};
use crate::escape::clean;
use crate::number::{counted, fixed, measured, significant_decimals};

/// Trials that the table shows; a page of ten thousand of them would not open at once.
const SHOWN: usize = 400;

/// What the value of a trial counts. Every page since the first says it in these words, and verify compares pages byte by byte.
const COUNTED: &str = "completed transactions, or statements, or 60 × new orders";

/// The part that says how to check the report.
pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    let what = if all.records.is_empty() {
        "the study with its published numbers and the prices".to_owned()
    } else {
        format!("the study, the prices and {} without loss", counted(all.records.len(), "trial"))
    };
    let head = format!(
        "This page holds what it was made from: {what}. `perbuck verify` with the page makes every number and the whole page again from them, \
         and with the results folder holds them against the files."
    );
    let mut out = vec![paragraph(head), Block::Table(formulas(all))];
    if !all.records.is_empty() {
        let hidden = all.records.len().saturating_sub(SHOWN);
        let rest = format!(
            "The first {SHOWN} trials in the order of their paths; {} more are in the embedded data.",
            counted(hidden, "trial")
        );
        let blocks = (hidden > 0).then(|| paragraph(rest)).into_iter().chain([Block::Table(trials(all))]).collect();
        out.push(Block::Folded("What each trial's value is made of".to_owned(), blocks));
    }
    out
}

/// How each kind of number follows from others.
fn formulas(all: &Context<'_>) -> Table {
    let mut table = Table::new("How each number is made", "Number | Formula | From");
    let published = all.comparison.published.is_some();
    let from = if published { "the published numbers" } else { "the records of the trials" };
    let mut row = |number: &str, formula: &str, from: &str| table.add([number, formula, from]);
    if !published {
        let own = all.own_metrics().map(|m| format!(", or {}{}", times(m.per), clean(&m.short)));
        let more: String = own.filter(|counted| !COUNTED.ends_with(counted)).collect();
        let made = format!("{COUNTED}{more}, divided by the true seconds of the window");
        row("value of a trial", &made, from);
        row("point", "mean of the values of its trials", "values of trials");
        row("percentile", "of the merged histograms of all trials of the point", from);
    }
    row("summary", "mean over the named points, or the highest point", if published { from } else { "points" });
    row("ratio", "summary of the contender / summary of the baseline", "summaries");
    row("difference", "(contender − baseline) / baseline, from unrounded values", "points, summaries, totals");
    if !all.comparison.bills.is_empty() {
        row("line of a bill", "its own formula, printed beside it", "the price snapshot");
        row("month", "sum of the billed lines", "lines of the bill");
        row("total", "month × months", "the bill");
        row("USD per unit", "total / summary", "total, summary");
        row("work per dollar over the baseline", "ratio × total of the baseline / total of the contender", "ratio, totals");
    }
    table
}

fn trials(all: &Context<'_>) -> Table {
    let mut table = Table::new("Trials and their values", "Record | #Value | Made of");
    let mut ordered: Vec<(String, &RunRecord)> = all.records.iter().map(|r| (r.key.path(), r)).collect();
    ordered.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, r) in ordered.into_iter().take(SHOWN) {
        let metric = all.metric_of(r);
        let value = r.metric(metric);
        table.add([clean(&path), measured(value, significant_decimals(value, 6), metric), made_of(r, metric)]);
    }
    table
}

/// `8,123 transactions / 60.000 s`, `60 × 8,123 new orders / 60.000 s`.
fn made_of(r: &RunRecord, metric: &Metric) -> String {
    let seconds = fixed(r.measured.window_ns as f64 / 1e9, 6);
    format!("{}{} {} / {seconds} s", times(metric.per), thousands(r.counted(metric)), clean(&metric.short))
}

/// What a count is multiplied by.
fn times(per: Period) -> String {
    if per == Period::Second { String::new() } else { format!("{} × ", per.seconds()) }
}
