//! What every number rests on: each trial with the counters that its value is made of.

use perbuck_core::metric::{Counted, Metric, Period};
use perbuck_core::run_record::RunRecord;
use perbuck_core::units::thousands;

use super::{Context, paragraph};
use crate::document::{Block, Table};
use crate::escape::clean;
use crate::number::{counted, fixed, measured, significant_decimals};

/// The part that says how to check the report.
pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    let what = if all.records.is_empty() {
        "the study with its published numbers and the prices".to_owned()
    } else {
        format!("the study, the prices and {} without loss", counted(all.records.len(), "trial"))
    };
    let head = format!("This page holds what it was made from: {what}. `perbuck verify` makes every number of it again.");
    let trials = (!all.records.is_empty()).then(|| Block::Data(trials(all)));
    std::iter::once(paragraph(head)).chain(trials).collect()
}

fn trials(all: &Context<'_>) -> Table {
    let mut table = Table::new("What each trial's value is made of", "Record | #Value | Made of");
    let mut ordered: Vec<(String, &RunRecord)> = all.records.iter().map(|r| (r.key.path(), r)).collect();
    ordered.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, r) in ordered {
        let metric = all.metric_of(r);
        let value = r.metric(metric);
        table.add([clean(&path), measured(value, significant_decimals(value, 6), metric), made_of(r, metric)]);
    }
    table
}

/// `8,123 transactions / 60.000 s`, `60 × 8,123 new orders / 60.000 s`.
fn made_of(r: &RunRecord, metric: &Metric) -> String {
    if let Counted::Composite(composite) = &metric.of {
        // What is missing stands beside the trial as its flag.
        return composite.values(r, metric.per.seconds()).map_or_else(
            |why| clean(&why),
            |found| {
                let [power, throughput] =
                    [found.power, found.throughput].map(|value| fixed(value, significant_decimals(value, 6)));
                format!("√ (power {power} × throughput {throughput})")
            },
        );
    }
    let seconds = fixed(r.measured.window_ns as f64 / 1e9, 6);
    format!("{}{} {} / {seconds} s", times(metric.per), thousands(r.counted(metric)), clean(&metric.short))
}

/// What a count is multiplied by.
fn times(per: Period) -> String {
    if per == Period::Second { String::new() } else { format!("{} × ", per.seconds()) }
}
