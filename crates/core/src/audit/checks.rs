//! What else must hold: claims of the text, and published results against themselves.

use super::evaluate::{Cut, Evaluator, Source, Span};
use super::{Check, Ground, Holds, Weight};
use crate::exact::Exact;
use crate::littles_law;
use crate::study::{Claim, Published, ResultRow, Scalar, Study, WorkloadSpec};

/// Printed rates and means have few digits; a statement count may be this far from a whole number because of that.
const COUNT_TOLERANCE: f64 = 0.005;

/// A run shorter than this lies inside caches, burst credit and warm-up: a minute, which is sysbench's and go-tpc's usual
/// shortest window.
const SHORT_S: f64 = 60.0;

pub(super) fn claim(evaluator: &Evaluator<'_>, claim: &Claim) -> Check {
    let bounds = bounds_text(claim.at_least, claim.at_most);
    let how = format!("{} must be {bounds}", claim.rule.text);
    let (found, holds) = match evaluator.value(&claim.rule.formula, &Cut::Never) {
        Err(why) => (why, Holds::Unknown),
        Ok(span) => {
            let holds = within(span, claim.at_least, claim.at_most);
            let range = if span.low == span.high {
                String::new()
            } else {
                format!(", from {} to {} with the reading error", span.low.text(4), span.high.text(4))
            };
            (format!("{}{range}", short(span.value)), holds)
        }
    };
    let source = match evaluator.source(&claim.rule.formula) {
        Source::Article => format!("and the article's own numbers give {found}"),
        source => format!("and {} it is {found}", source.words()),
    };
    let note = if claim.note.is_empty() { String::new() } else { format!(": {}", claim.note) };
    let (kind, case) = claim.text.split_once(": ").unwrap_or((&claim.text, ""));
    let sentence = match (claim.own, case.is_empty()) {
        (false, _) => format!("The claim \"{}\": the value must be {bounds}, {source}{note}.", claim.text),
        (true, true) => format!("{kind} must be {bounds}, {source}{note}."),
        (true, false) => format!("{kind} ({case}) must be {bounds}, {source}{note}."),
    };
    Check { text: claim.text.clone(), found, holds, how, weight: claim.weight, sentence }
}

/// The bounds of a claim in words.
pub(super) fn bounds_text(at_least: Option<Exact>, at_most: Option<Exact>) -> String {
    match (at_least, at_most) {
        (Some(low), Some(high)) if low == high => format!("exactly {low}"),
        (Some(low), Some(high)) => format!("from {low} to {high}"),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => "any value".to_owned(),
    }
}

/// Whether a value lies within bounds, reading error included.
pub(super) fn within(span: Span, at_least: Option<Exact>, at_most: Option<Exact>) -> Holds {
    let inside = |v: Exact| at_least.is_none_or(|low| v >= low) && at_most.is_none_or(|high| v <= high);
    let outside = at_least.is_some_and(|low| span.high < low) || at_most.is_some_and(|high| span.low > high);
    match (inside(span.low) && inside(span.high), outside) {
        (true, _) => Holds::Yes,
        (_, true) => Holds::No,
        _ => Holds::Unknown,
    }
}

/// A value with four decimals, or all it has where those are fewer.
pub(super) fn short(value: Exact) -> String {
    let full = value.full_text();
    let fraction = full.split_once('.').map_or(0, |(_, f)| f.len());
    if fraction > 4 { value.text(4) } else { full }
}

/// Whether published results agree with themselves, as far as their columns tell: Little's law from mean latencies,
/// percentiles above the mean, statements per transaction, the share of reads, and how long so many operations took.
pub(super) fn of_results(ground: &Ground<'_>) -> Vec<Check> {
    let study = ground.study;
    let Some(published) = &study.published else { return Vec::new() };
    let mut out = Vec::new();
    for workload in &study.workloads {
        out.extend(latencies(published, workload));
        out.extend(statements(published, workload));
        out.extend(shares(published, workload));
        out.extend(durations(study, published, workload));
    }
    out
}

fn rows<'p>(published: &'p Published, workload: &WorkloadSpec) -> impl Iterator<Item = (String, &'p ResultRow)> {
    let of = workload.name.clone();
    let point = |r: &'p ResultRow| (format!("{}, {} at {} connections", r.workload, r.contender, r.connections), r);
    published.rows.iter().filter(move |r| r.workload == of).map(point)
}

pub(super) fn number(row: &ResultRow, column: &str) -> Option<f64> {
    row.mean(column)?.ok().map(Exact::as_f64).filter(|v| v.is_finite())
}

fn check(text: String, found: String, holds: bool, how: &str) -> Check {
    of_weight(Weight::Number, text, found, holds, how)
}

/// A check whose sentence is made of its words and of what was found.
pub(super) fn of_weight(weight: Weight, text: String, found: String, holds: bool, how: &str) -> Check {
    let sentence = format!("{}: found {found}.", text.strip_suffix('.').unwrap_or(&text));
    Check { text, found, holds: holds.into(), how: how.to_owned(), weight, sentence }
}

/// In a closed loop N connections that complete X a second take N / X each on average.
fn latencies(published: &Published, workload: &WorkloadSpec) -> Vec<Check> {
    let mut out = Vec::new();
    for (point, row) in rows(published, workload) {
        let Some(rate) = number(row, "tps").filter(|r| *r > 0.0) else { continue };
        let implied_ms = f64::from(row.connections) / rate * 1000.0;
        if let Some(mean_ms) = number(row, "mean_ms") {
            let ratio = mean_ms / implied_ms;
            let found = format!("{:.1} of {} connections are accounted for", ratio * f64::from(row.connections), row.connections);
            let how = "tps × mean_ms / 1000 is the number of connections, within 3 %";
            out.push(check(format!("Little's law: {point}"), found, littles_law::holds(ratio), how));
        }
        if let Some(p95_ms) = number(row, "p95_ms") {
            let found = format!("95th percentile {p95_ms} ms, mean by Little's law {implied_ms:.2} ms");
            let how = "connections / tps is the mean time of a closed loop; only a twentieth of the times is longer than the percentile, so it lies above the mean unless these are enormous";
            out.push(check(format!("the percentile is above the mean: {point}"), found, p95_ms >= implied_ms, how));
        }
    }
    out
}

/// Statements of a transaction, where the kind of workload knows their number.
fn statements(published: &Published, workload: &WorkloadSpec) -> Vec<Check> {
    let known = workload.known.and_then(|kind| (kind.statements_per_transaction)(&workload.parameters));
    let Some(expected) = known else { return Vec::new() };
    let one = |(point, row): (String, &ResultRow)| {
        let share = number(row, "qps")? / number(row, "tps").filter(|t| *t > 0.0)?;
        let holds = (share / expected - 1.0).abs() <= COUNT_TOLERANCE;
        let how = "qps / tps is the number of statements in a transaction of the script, within 0.5 %";
        Some(check(format!("{expected} statements in a transaction: {point}"), format!("{share:.4}"), holds, how))
    };
    rows(published, workload).filter_map(one).collect()
}

/// The share of reads, where a workload says what it should be and the results tell reads from updates.
fn shares(published: &Published, workload: &WorkloadSpec) -> Vec<Check> {
    let declared = match workload.parameters.get("read_share").map(|s| &s.value) {
        Some(Scalar::Float(share)) => *share,
        Some(Scalar::Int(share)) => *share as f64,
        _ => return Vec::new(),
    };
    let one = |(point, row): (String, &ResultRow)| {
        let (reads, updates) = (number(row, "reads_per_s")?, number(row, "updates_per_s").unwrap_or(0.0));
        let share = reads / (reads + updates);
        // The workload draws each operation: with a million of them the share is off by less than 0.2 % of all.
        let holds = (share - declared).abs() <= 0.002;
        let how = "reads / (reads + updates) is the declared share, within 0.2 percentage points";
        Some(check(format!("{} % reads: {point}", declared * 100.0), format!("{:.3} %", share * 100.0), holds, how))
    };
    rows(published, workload).filter_map(one).collect()
}

/// How long so many operations took, and that several counters of one run agree on it.
fn durations(study: &Study, published: &Published, workload: &WorkloadSpec) -> Vec<Check> {
    let operations = match workload.parameters.get("operations").map(|s| &s.value) {
        Some(Scalar::Int(n)) if *n > 0 => *n as f64,
        _ => return Vec::new(),
    };
    let column = study.metric_of(&workload.name).name.as_ref();
    let one = |(point, row): (String, &ResultRow)| {
        let seconds = operations / number(row, column).filter(|r| *r > 0.0)?;
        let found = format!("{seconds:.1} s for {operations} operations");
        let how = "operations / rate; what is shorter lies inside caches, burst credit and warm-up";
        let sentence =
            format!("{point}: at the printed rate the run took {seconds:.1} s, too short for caches and burst credit to settle.");
        let text = format!("a run of at least {SHORT_S} s: {point}");
        Some(Check { sentence, ..of_weight(Weight::Reproduction, text, found, seconds >= SHORT_S, how) })
    };
    rows(published, workload).filter_map(one).collect()
}
