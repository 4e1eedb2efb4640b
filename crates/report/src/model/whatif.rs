//! What the page's script needs to compute a bill, a ratio and a verdict at other prices: whatever does not depend on them.
//!
//! Money stands as text, because a number of JavaScript has 53 bits. The script is `html/whatif.js`; a test holds it against this
//! program (`crates/cli/tests/e2e/pages/whatif.rs`).

use perbuck_core::bill::{Amount, Bill, BillLine, LineGroup, Rounding};
use perbuck_core::compare::{ContenderResult, Judgement, WorkloadResult};
use perbuck_core::metric::{Better, Metric};
use perbuck_core::stats::Interval;
use perbuck_core::study::{Decision, Summary};
use serde::Serialize;

use super::Context;
use super::verdicts::{detectable, work_per_dollar};
use crate::escape::{clean, json};

/// The stated prices and what was measured.
#[derive(Debug, Serialize)]
struct WhatIf {
    /// That of the study, which is printed.
    confidence: f64,
    /// That of an interval after more trials.
    confidence_of_more: f64,
    margin: f64,
    /// The most trials of a study that ends by its verdicts.
    most: Option<u32>,
    published: bool,
    months: u32,
    hours: u32,
    round: Rounding,
    /// What the ratio is called.
    work: &'static str,
    /// Labels, in the order of the study.
    contenders: Vec<String>,
    baseline: usize,
    regions: Vec<String>,
    bills: Vec<Priced>,
    workloads: Vec<Work>,
    /// The contenders over all workloads; their rows have a ratio and no value.
    overall: Vec<Row>,
}

/// A bill.
#[derive(Debug, Serialize)]
struct Priced {
    contender: usize,
    region: usize,
    lines: Vec<Line>,
}

/// A line of a bill.
#[derive(Debug, Serialize)]
struct Line {
    group: LineGroup,
    item: String,
    sku: String,
    unit: String,
    /// Dollars for a unit, in digits.
    price: String,
    priced: bool,
    amount: Terms,
}

/// [`Amount`], with its whole numbers as texts.
#[derive(Debug, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
enum Terms {
    Units { units: String },
    Discount { percent: String },
    Share { percent: String, at_least: String, times: String, order: usize },
}

/// A workload.
#[derive(Debug, Serialize)]
struct Work {
    name: String,
    unit: String,
    contenders: Vec<Row>,
}

/// A contender's throughput.
#[derive(Debug, Serialize)]
struct Row {
    contender: usize,
    value: Option<f64>,
    interval: Option<Interval>,
    /// The value in transactions per second, where it counts some.
    per_second: Option<f64>,
    /// Against the baseline; `None` for the baseline itself.
    ratio: Option<Ratio>,
    /// The detectable difference in words; prices do not move it.
    detectable: String,
}

/// A ratio of throughputs with its error.
#[derive(Debug, Serialize)]
struct Ratio {
    value: f64,
    interval: Option<Interval>,
    log_error: f64,
    freedom: f64,
    units: usize,
    /// Whether the units are deployments.
    deployed: bool,
    /// Trials before which the plan allows no verdict.
    missing: u32,
}

/// The data as JSON for a page; empty where nothing is priced, or a bill does not say how its amounts come about.
pub(super) fn data(all: &Context<'_>) -> String {
    made(all).and_then(|found| serde_json::to_string(&found).ok()).map(|text| json(&text)).unwrap_or_default()
}

fn made(all: &Context<'_>) -> Option<WhatIf> {
    let (c, regions) = (all.comparison, all.regions());
    let first = c.bills.first()?;
    let region = |bill: &Bill| regions.iter().position(|r| *r == bill.region);
    let bill = |b: &Bill| {
        let lines = b.lines.iter().map(line).collect::<Option<_>>()?;
        Some(Priced { contender: all.slot(&b.contender)?, region: region(b)?, lines })
    };
    let deployed = c.layout.deployments > 1;
    let overall = |o: &perbuck_core::compare::Overall| {
        Some(Row {
            ratio: Some(ratio(&o.throughput, deployed)),
            detectable: detectable(&o.throughput),
            ..Row::of(all.slot(&o.contender)?)
        })
    };
    Some(WhatIf {
        confidence: c.printed_confidence(),
        confidence_of_more: Decision { confidence: c.confidence(), ..c.decision.clone() }.confidence_of_more(),
        most: c.decision.until.as_ref().map(|until| until.most),
        margin: c.decision.margin,
        published: c.published.is_some(),
        months: first.horizon_months,
        hours: first.hours_per_month,
        round: first.round,
        work: work_per_dollar(all),
        contenders: all.labels.clone(),
        baseline: all.slot(&c.baseline)?,
        regions: regions.iter().map(|r| clean(r)).collect(),
        bills: c.bills.iter().map(bill).collect::<Option<_>>()?,
        workloads: c.workloads.iter().filter(|w| w.metric.better == Better::Higher).map(|w| work(all, w)).collect(),
        overall: c.overall.iter().filter_map(overall).collect(),
    })
}

fn line(l: &BillLine) -> Option<Line> {
    let amount = match l.amount.as_ref()? {
        Amount::Units { units } => Terms::Units { units: units.to_string() },
        Amount::Discount { percent } => Terms::Discount { percent: percent.clone() },
        Amount::Share { percent, at_least, times, order } => {
            Terms::Share { percent: percent.clone(), at_least: at_least.0.to_string(), times: times.to_string(), order: *order }
        }
    };
    let (item, sku, unit) = (clean(&l.item), clean(&l.sku), clean(&l.unit));
    Some(Line { group: l.group, item, sku, unit, price: l.unit_price.digits(), priced: l.priced, amount })
}

fn work(all: &Context<'_>, w: &WorkloadResult) -> Work {
    // An A/A control has no bill.
    let priced = w.contenders.iter().filter(|c| c.control_of.is_none());
    let contenders = priced.filter_map(|c| row(all, w, c)).collect();
    Work { name: clean(&w.workload), unit: clean(&w.metric.label), contenders }
}

fn row(all: &Context<'_>, w: &WorkloadResult, c: &ContenderResult) -> Option<Row> {
    let against = c.throughput.as_ref();
    Some(Row {
        value: c.value,
        interval: c.interval,
        per_second: c.value.and_then(|v| Metric::transactions_per_s(&w.metric, v)),
        ratio: against.map(|j| ratio(j, deployed(w, c))),
        detectable: against.map(detectable).unwrap_or_default(),
        ..Row::of(all.slot(&c.contender)?)
    })
}

/// Whether a contender's trials at the points that are compared lie on several deployments.
fn deployed(w: &WorkloadResult, c: &ContenderResult) -> bool {
    let compared = |level: u32| match &w.summary {
        Summary::Peak => true,
        Summary::MeanOver(levels) => levels.contains(&level),
    };
    let mine = w.points.iter().filter(|p| p.contender == c.contender && compared(p.level));
    mine.flat_map(|p| &p.positions).any(|p| p.deployment > 1)
}

impl Row {
    fn of(contender: usize) -> Self {
        Self { contender, value: None, interval: None, per_second: None, ratio: None, detectable: String::new() }
    }
}

fn ratio(j: &Judgement, deployed: bool) -> Ratio {
    let r = &j.ratio;
    Ratio {
        value: r.value,
        interval: r.interval,
        log_error: r.log_error,
        freedom: r.freedom,
        units: j.units,
        deployed,
        missing: j.missing(),
    }
}
