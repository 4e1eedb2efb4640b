//! Words and numbers of a report, made once for all renderings.

mod audit;
mod brief;
mod client;
mod conclusions;
mod conformance;
mod distribution;
mod doubts;
mod environment;
mod explained;
mod figures;
mod findings;
mod forest;
mod health;
mod imported;
mod interference;
mod kinds;
mod levels;
mod measured;
mod method;
mod models;
mod money;
mod money_figures;
mod open_figures;
mod open_loop;
mod order;
mod phases;
mod plans;
mod processors;
mod published;
mod regression;
mod scaling;
mod spent;
mod steady;
mod storage;
mod summary;
mod system;
mod times;
mod trace;
mod tradeoff;
mod verdicts;
mod warnings;
mod whatif;

use std::collections::{HashMap, HashSet};

use perbuck_core::compare::{Comparison, Looks, WorkloadResult};
use perbuck_core::metric::Metric;
use perbuck_core::run_record::RunRecord;
use perbuck_core::study::{Decision, Rounding, Study, Summary};
use perbuck_core::units::duration_text;

use crate::document::{Block, Brief, ReportModel, Section, Table};
use crate::escape::{clean, clean_to, json};
use crate::number::{ABSENT, counted, fixed, list, percent};
pub(crate) use audit::blocks as audit_blocks;
pub(crate) use brief::brief;
pub(crate) use doubts::caveats as doubts;
pub(crate) use findings::broken_control;
use levels::Words;
pub(crate) use money::bill_blocks;
pub(crate) use processors::{heat_of, machine_busy};
pub(crate) use published::nothing_measured;
pub use published::replay;
pub(crate) use regression::blocks as regression_blocks;
pub use summary::page_of;
pub(crate) use system::figure as system_figure;
pub(crate) use verdicts::{ratio_cell, verdict_blocks, verdict_cell};
use warnings::Caveats;
pub(crate) use warnings::caveats;

/// Characters of a contender's label at most: it heads columns and stands in every sentence.
const LONGEST_LABEL: usize = 60;

/// Makes the report of a study: pure, so that the same input gives the same report.
pub fn model(study: &Study, comparison: &Comparison, records: &[RunRecord]) -> ReportModel {
    let all = Context::new(study, comparison, records);
    let latency = format!("{} and errors", capital(time_text(study)));
    let latencies = measured::latency(&all).into_iter().chain(imported::printed(&all)).collect();
    let caveats = caveats(&all);
    let brief = brief(&all, &caveats);
    let runs = [steady::figure(&all), order::figure(&all)].into_iter().flatten().map(Block::Figure).collect();
    let client = health::section(&all).into_iter().chain(processors::figure(&all).map(Block::Figure)).collect();
    let machines = system::blocks(&all);
    let trials = if machines.is_empty() { "" } else { "Trials" };
    let performance = vec![
        ("Throughput", measured::throughput(&all)),
        ("Why", explained::section(&all)),
        ("Processor time by symbol", explained::by_symbol(&all)),
        (latency.as_str(), latencies),
        ("Interference", interference::section(&all)),
        ("Times of each transaction", times::section(&all)),
        ("Plans of the queries", plans::section(&all)),
        ("Kinds of transaction and statements", kinds::section(&all)),
        ("Phases", phases::section(&all)),
    ];
    let own = spent::section(&all);
    let cost = vec![("", money::section(&all)), ("Models of cost", models::section(&all)), ("What this answer cost", own)];
    let parts = [
        (ANSWER, vec![("", verdicts::section(&all))]),
        (COST, cost),
        (PERFORMANCE, performance),
        (
            ENVIRONMENT,
            vec![("Machines", machines), (trials, environment::section(&all)), ("Runs", runs), ("Client health", client)],
        ),
        (METHOD, vec![("", rest(&all, &caveats, &brief)), ("Method", method::section(&all)), ("Evidence", trace::section(&all))]),
    ];
    report(&all, brief, parts)
}

/// The five parts below the brief: where links point to, and the heading.
const ANSWER: (&str, &str) = ("answer", "The answer in detail");
const COST: (&str, &str) = ("cost", "Cost");
const PERFORMANCE: (&str, &str) = ("performance", "Performance");
const ENVIRONMENT: (&str, &str) = ("environment", "Environment and runs");
/// The same of a published study, of which nothing ran.
const SYSTEM: (&str, &str) = ("environment", "Environment");
const METHOD: (&str, &str) = ("method", "Method and evidence");

/// A part of a report: id and title, and its pieces with their headings.
type Part<'t> = ((&'static str, &'static str), Vec<(&'t str, Vec<Block>)>);

/// A report of this brief and these parts; what is empty is left out.
fn report<const N: usize>(all: &Context<'_>, brief: Brief, parts: [Part<'_>; N]) -> ReportModel {
    let study = all.study;
    let title = if study.question.trim().is_empty() { &study.name } else { &study.question };
    let headed = |(title, blocks): (&str, Vec<Block>)| {
        let heading = (!blocks.is_empty() && !title.is_empty()).then(|| Block::Heading(title.to_owned()));
        heading.into_iter().chain(blocks).collect::<Vec<_>>()
    };
    let section = |((id, title), pieces): Part<'_>| {
        let blocks: Vec<Block> = pieces.into_iter().flat_map(headed).collect();
        Section { id, title: title.to_owned(), blocks }
    };
    let mut sections: Vec<Section> = parts.into_iter().map(section).filter(|s| !s.blocks.is_empty()).collect();
    number_figures(&mut sections);
    ReportModel {
        title: clean(title),
        study: clean(&study.name),
        brief,
        sections,
        data: serde_json::to_string(all.comparison).map_or_else(|_| "null".to_owned(), |text| json(&text)),
        what_if: whatif::data(all),
        evidence: String::new(),
    }
}

/// What the brief has no room for: all its caveats in full, and what the numbers rest on.
fn rest(all: &Context<'_>, caveats: &Caveats, brief: &Brief) -> Vec<Block> {
    let caveats = caveats.beyond(brief.caveats.len());
    let mut out = Vec::new();
    if !caveats.is_empty() {
        out.extend([Block::Heading("Caveats".to_owned()), Block::List(caveats)]);
    }
    let mut table = Table::new("What the numbers rest on", "What | Value");
    facts(all).into_iter().for_each(|(label, value)| table.add([label, value]));
    out.push(Block::Table(table));
    out
}

/// Numbers figures in the order in which a reader meets them. Folded details hold none.
fn number_figures(sections: &mut [Section]) {
    let mut number = 0;
    for block in sections.iter_mut().flat_map(|s| &mut s.blocks) {
        if let Block::Figure(figure) = block {
            number += 1;
            figure.number = number;
        }
    }
}

/// What every part of the report is made from.
pub(crate) struct Context<'a> {
    pub(crate) study: &'a Study,
    pub(crate) comparison: &'a Comparison,
    pub(crate) records: &'a [RunRecord],
    /// Printable labels, in the order of the study's contenders.
    labels: Vec<String>,
    /// The trials of each point, in the order of their blocks.
    points: HashMap<PointName<'a>, Vec<&'a RunRecord>>,
}

/// Workload, contender and level.
type PointName<'a> = (&'a str, &'a str, u32);

impl<'a> Context<'a> {
    pub(crate) fn new(study: &'a Study, comparison: &'a Comparison, records: &'a [RunRecord]) -> Self {
        let mut points: HashMap<PointName<'a>, Vec<&'a RunRecord>> = HashMap::new();
        for r in records {
            points.entry((&r.key.workload, &r.key.contender, r.key.level())).or_default().push(r);
        }
        points.values_mut().for_each(|trials| trials.sort_by_key(|r| (r.key.deployment(), r.key.trial)));
        Self { study, comparison, records, labels: labels(study), points }
    }

    fn label(&self, name: &str) -> String {
        self.slot(name).map_or_else(|| clean_to(name, LONGEST_LABEL), |i| self.labels[i].clone())
    }

    fn slot(&self, name: &str) -> Option<usize> {
        self.study.contenders.iter().position(|c| c.name == name)
    }

    fn is_base(&self, name: &str) -> bool {
        name == self.comparison.baseline
    }

    /// Whether a contender is the second run of another one.
    fn is_control(&self, name: &str) -> bool {
        self.study.contender(name).is_some_and(|c| c.control_of.is_some())
    }

    /// What a contender is compared with: the baseline, or what a control repeats; `None` for the baseline.
    fn compared_with(&self, name: &str) -> Option<&'a str> {
        let of = self.study.contender(name)?.control_of.as_deref();
        of.or(Some(self.comparison.baseline.as_str())).filter(|to| *to != name)
    }

    fn base_label(&self) -> String {
        self.label(&self.comparison.baseline)
    }

    /// What the points of the study are called.
    fn words(&self) -> Words {
        Words::of(&self.study.sweep)
    }

    fn trials_of(&self, workload: &str, contender: &str, level: u32) -> Vec<&'a RunRecord> {
        self.points.get(&(workload, contender, level)).cloned().unwrap_or_default()
    }

    fn metric_of(&self, r: &'a RunRecord) -> &'a Metric {
        let workload = self.comparison.workloads.iter().find(|w| w.workload == r.key.workload);
        workload.map_or_else(|| r.workload.metric.metric(), |w| &w.metric)
    }

    fn measured(&self) -> Vec<&'a WorkloadResult> {
        self.comparison.workloads.iter().filter(|w| w.points.iter().any(|c| !c.values.is_empty())).collect()
    }

    /// Names of the contenders that have a measured point of a workload, in the order of the study.
    fn contenders_of(&self, w: &WorkloadResult) -> Vec<&'a str> {
        let has = |name: &str| w.points.iter().any(|c| c.contender == name && !c.values.is_empty());
        self.study.contenders.iter().map(|c| c.name.as_str()).filter(|n| has(n)).collect()
    }

    /// Whether a bill is paid as the study says; those of its scenarios are in the tables, and not in the first sentences.
    fn is_headline(&self, region: &str) -> bool {
        self.comparison.bills.iter().any(|b| b.region == region && b.scenario.is_none())
    }

    /// The regions of the bills, in their order.
    fn regions(&self) -> Vec<&'a str> {
        distinct(self.comparison.bills.iter().map(|b| b.region.as_str()))
    }
}

/// Each name once, in the order in which they come first.
fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut seen = HashSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// Labels made printable; two contenders of one label get their names beside it.
pub(crate) fn labels(study: &Study) -> Vec<String> {
    let plain: Vec<String> = study.contenders.iter().map(|c| clean_to(c.label.trim(), LONGEST_LABEL)).collect();
    let label = |(i, label): (usize, &String)| {
        let name = &study.contenders[i].name;
        let twins = plain.iter().filter(|l| *l == label).count();
        match label.as_str() {
            "" => name.clone(),
            _ if twins > 1 && label != name => format!("{label} [{name}]"),
            _ => label.clone(),
        }
    };
    plain.iter().enumerate().map(label).collect()
}

/// What latency is called under the load of a study.
fn time_text(study: &Study) -> &'static str {
    if study.sweep.is_open() { "response time" } else { "service time" }
}

/// The same, and what it is counted from.
fn time_from(study: &Study) -> &'static str {
    if study.sweep.is_open() { "response time (from the intended start)" } else { "service time" }
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map(|c| c.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// `peak`, or the points over which the mean is taken.
fn summary_text(summary: &Summary, words: Words) -> String {
    let Summary::MeanOver(points) = summary else { return "peak".to_owned() };
    let points: Vec<String> = points.iter().map(|p| fixed(f64::from(*p), 0)).collect();
    format!("mean over {} {}", list(&points), words.unit)
}

fn rule_text(rule: &Decision, looks: Option<&Looks>) -> String {
    // Looks that were planned have it together, others each by itself.
    let each = looks.filter(|looks| looks.until.is_none()).map_or(rule.confidence, |looks| looks.confidence);
    let (confidence, margin) = (percent(each), percent(rule.margin));
    let (low, high) = (fixed(1.0 / (1.0 + rule.margin), 3), fixed(1.0 + rule.margin, 3));
    format!(
        "A difference counts when the whole {confidence} interval of the ratio to the baseline lies beyond the margin of {margin}: \
         better above {high}, worse below {low}, equivalent when the whole interval lies between, undecided otherwise.{}",
        looks.map(|looks| looks_text(looks, &percent(rule.confidence))).unwrap_or_default()
    )
}

/// What more than one look makes of the intervals.
fn looks_text(looks: &Looks, all: &str) -> String {
    let each = fixed(100.0 * looks.confidence, 2);
    match &looks.until {
        Some(until) => format!(
            " The results were looked at after every block from block {} on, until the verdicts were there. Each interval is printed as one of \
             {all}: by itself it has {each} %, so that all looks together have {all}.",
            until.least
        ),
        None => format!(" That is {each} % in place of {all}, because it is look {}.", looks.rules.len()),
    }
}

fn rounding_text(round: Rounding) -> &'static str {
    match round {
        Rounding::None => "amounts are exact and rounded only when printed",
        Rounding::Monthly => "the monthly total is rounded to cents before it is multiplied by the months",
    }
}

/// What the numbers rest on, as label and value.
fn facts(all: &Context<'_>) -> Vec<(String, String)> {
    let (study, c) = (all.study, all.comparison);
    let others = study.contenders.iter().filter(|o| !all.is_base(&o.name) && o.control_of.is_none());
    let others: Vec<String> = others.map(|o| all.label(&o.name)).collect();
    let objective = c.decision.slo.as_ref().map(|slo| {
        let (percentile, most) = (ordinal(slo.percentile), duration_text(slo.at_most_ns));
        format!("{percentile} percentile of {} at most {most}", time_text(study))
    });
    let evidence = match &c.published {
        None if study.imported => format!("{} imported from logs", counted(c.found, "trial")),
        None => format!("{} of {} planned", fixed(c.found as f64, 0), counted(c.planned, "trial")),
        Some(source) => format!("{} published by {}", counted(c.found, "point"), clean(source)),
    };
    let known = [
        ("Baseline", Some(all.base_label())),
        ("Compared with it", (!others.is_empty()).then(|| list(&others))),
        ("Decision rule", Some(rule_text(&c.decision, c.looks.as_ref()))),
        ("Latency objective", objective),
        ("Metric compared", Some(compared(all))),
        ("Load", levels::load_text(study)),
        ("Evidence", Some(evidence)),
        ("Prices", Some(price_basis(all))),
    ];
    known.into_iter().filter_map(|(label, value)| Some((label.to_owned(), value?))).collect()
}

/// The summary rule, by workload where they differ.
fn compared(all: &Context<'_>) -> String {
    let workloads = &all.comparison.workloads;
    if workloads.iter().any(|w| w.summary != workloads[0].summary) {
        let one = |w: &WorkloadResult| format!("{}: {}", clean(&w.workload), summary_text(&w.summary, all.words()));
        return workloads.iter().map(one).collect::<Vec<_>>().join("; ");
    }
    summary_text(workloads.first().map_or(&all.study.summary, |w| &w.summary), all.words())
}

fn price_basis(all: &Context<'_>) -> String {
    let Some(bill) = all.comparison.bills.first() else { return format!("{ABSENT} (the study prices nothing)") };
    let regions: Vec<String> = all.regions().iter().map(|r| clean(r)).collect();
    format!(
        "snapshot {} in {}; {} h a month, {} in total; {}",
        clean(&bill.snapshot),
        list(&regions),
        bill.hours_per_month,
        counted(bill.horizon_months as usize, "month"),
        rounding_text(bill.round)
    )
}

/// `95th`, `99.9th`.
fn ordinal(percentile: f64) -> String {
    let number = percent(percentile / 100.0).replace(" %", "");
    let teens = number.ends_with("11") || number.ends_with("12") || number.ends_with("13");
    let suffix = match number.chars().last() {
        Some('1') if !teens => "st",
        Some('2') if !teens => "nd",
        Some('3') if !teens => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

fn paragraph(text: impl Into<String>) -> Block {
    Block::Paragraph(text.into())
}
