//! The report of a published study: its numbers, and what can and cannot be said of them.

use perbuck_core::audit::Audit;
use perbuck_core::compare::{Comparison, WorkloadResult};
use perbuck_core::study::{Published, Study};

use super::{
    ANSWER, COST, Context, METHOD, PERFORMANCE, SYSTEM, audit, brief, caveats, figures, measured, models, money, paragraph,
    report, rest, rounding_text, system, trace, verdicts,
};
use crate::document::{Block, ReportModel, Table};
use crate::escape::clean;
use crate::number::or_absent;

/// Makes the report of a published study: pure, so that the same input gives the same report.
pub fn replay(study: &Study, comparison: &Comparison, found: &Audit) -> ReportModel {
    let all = Context::new(study, comparison, &[]);
    let caveats = caveats(&all);
    let brief = brief(&all, &caveats);
    let performance = vec![("Throughput", measured::throughput(&all)), ("Other published numbers", columns(&all))];
    let last = vec![
        ("", rest(&all, &caveats, &brief)),
        ("Audit", audit::on_page(found)),
        ("Method and limits", method(&all)),
        ("Evidence", trace::section(&all)),
    ];
    let parts = [
        (ANSWER, vec![("", verdicts::section(&all))]),
        (COST, vec![("", money::section(&all)), ("Models of cost", models::section(&all))]),
        (PERFORMANCE, performance),
        (SYSTEM, vec![("Machines", system::blocks(&all))]),
        (METHOD, last),
    ];
    report(&all, brief, parts)
}

/// That nothing was measured, and which numbers can have verdicts.
pub(crate) fn nothing_measured(comparison: &Comparison, source: &str) -> String {
    let repeated = comparison.workloads.iter().flat_map(|w| &w.points).any(|c| c.values.len() > 1);
    let so = if repeated {
        "A point needs several published values for an interval, and a comparison without one is undecided."
    } else {
        "A single published value has no interval, so every comparison of throughputs is undecided."
    };
    format!("perbuck measured nothing here: {source} published these numbers. {so}")
}

/// The columns of a workload that are not the compared metric.
fn columns(all: &Context<'_>) -> Vec<Block> {
    let Some(published) = &all.study.published else { return Vec::new() };
    let one = |w: &WorkloadResult| others(all, published, w).map(Block::Table);
    all.comparison.workloads.iter().filter_map(one).collect()
}

fn others(all: &Context<'_>, published: &Published, w: &WorkloadResult) -> Option<Table> {
    let mine = || published.rows.iter().filter(|r| r.workload == w.workload);
    let mut names: Vec<&str> = mine().flat_map(|r| r.columns.keys()).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|n| *n != w.metric.name);
    if names.is_empty() {
        return None;
    }
    let mut table = Table::new(format!("{}: other numbers as published", clean(&w.workload)), "Contender | #Connections");
    names.iter().for_each(|n| table.column(&clean(n), true));
    for row in mine() {
        let value = |name: &&str| {
            let repeats: Vec<String> = row.columns.get(*name).into_iter().flatten().map(|v| v.full_text()).collect();
            or_absent((!repeats.is_empty()).then(|| repeats.join(" · ")))
        };
        table.add([all.label(&row.contender), row.connections.to_string()].into_iter().chain(names.iter().map(value)));
    }
    Some(table)
}

fn method(all: &Context<'_>) -> Vec<Block> {
    let mut made = vec![
        "Throughputs are the published ones. The value of a workload is their mean over the named points, or the highest point that the \
         article shows."
            .to_owned(),
    ];
    if let Some(bill) = all.comparison.bills.first() {
        made.push(format!("Costs are computed from the bill of materials; {}.", rounding_text(bill.round)));
    }
    let mut out = vec![Block::List(made)];
    let software = all.study.published.as_ref().map(|p| p.software.as_slice()).unwrap_or_default();
    if !software.is_empty() {
        let mut table = Table::new("Software, as published", "Name | Version");
        software.iter().for_each(|(name, version)| table.add([clean(name), clean(version)]));
        out.push(Block::Table(table));
    }
    out.push(paragraph(
        "How the audit recognises numbers that were rounded, truncated, or computed from rounded values: docs/method/audit.md.",
    ));
    out
}

/// Whether a study has so many workloads that only small drawings show them together.
pub(super) fn many(all: &Context<'_>) -> bool {
    all.measured().len() > figures::LARGE_PANELS
}
