//! Throughput as the articles print it, and service times.

use std::collections::{BTreeMap, BTreeSet};

use perbuck_core::compare::{PointResult as Measured, WorkloadResult};
use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::RunRecord;
use perbuck_core::stats::Interval;
use perbuck_core::study::Slo;
use perbuck_core::units::{duration_text, thousands};
use perbuck_core::workload_kind::{Disclosed, Disclosure};

use super::levels::{levels_of, points_of};
use super::{
    Context, conformance, distribution, figures, open_figures, open_loop, ordinal, paragraph, scaling, summary_text, time_from,
};
use crate::document::{Block, Cell, RowKind, Table};
use crate::escape::clean;
use crate::number::{ABSENT, column_decimals, delta_decimals, fixed, or_absent, percent, range, signed_percent};

/// What times of a closed loop are, and are not.
const CLOSED: &str = "Service time of completed transactions with all their attempts. In a closed loop a slow answer delays the next question, so \
                      this is not the response time of users who arrive on their own.";

pub(super) fn throughput(all: &Context<'_>) -> Vec<Block> {
    let measured = all.measured();
    if measured.is_empty() {
        return vec![paragraph("Nothing was measured.")];
    }
    let mut blocks: Vec<Block> = figures::throughput(all).into_iter().chain(scaling::figure(all)).map(Block::Figure).collect();
    let confidence = percent(all.comparison.printed_confidence());
    blocks.push(paragraph(format!("Means over the trials of a point, with their {confidence} intervals.")));
    // The small drawings of many workloads are for reading, their numbers for calculating.
    let block = if super::published::many(all) { Block::Data } else { Block::Table };
    blocks.extend(measured.iter().map(|w| block(throughput_table(all, w))));
    for w in measured {
        blocks.extend(disclosure(all, w));
        blocks.extend(conformance::audit(all, w));
    }
    blocks.extend(open_loop::offered(all));
    blocks.extend(open_figures::backlog(all).map(Block::Figure));
    blocks
}

pub(super) fn point_of<'w>(w: &'w WorkloadResult, contender: &str, level: u32) -> Option<&'w Measured> {
    w.points.iter().find(|c| c.contender == contender && c.level == level)
}

fn throughput_table(all: &Context<'_>, w: &WorkloadResult) -> Table {
    let caption = format!("{}: {} by {}", clean(&w.workload), clean(&w.metric.title()), all.words().unit);
    let mut table = Table::new(caption, "Contender");
    let points = levels_of(w);
    for p in &points {
        table.column(&thousands(u64::from(*p)), true);
    }
    table.column(&summary_text(&w.summary, all.words()), true);
    let decimals = column_decimals(w.points.iter().filter_map(|c| c.mean));
    // The baseline comes first, so that each difference stands below both of its rows.
    let mut names = all.contenders_of(w);
    names.sort_by_key(|n| !all.is_base(n));
    for name in names {
        let cell = |value: Option<f64>, interval: Option<Interval>| match value {
            Some(value) => Cell::noted(fixed(value, decimals), interval.map(|i| range(i, decimals)).unwrap_or_default()),
            None => Cell::new(ABSENT),
        };
        let at = |p: &u32| point_of(w, name, *p).map_or_else(|| cell(None, None), |c| cell(c.mean, c.interval));
        let summary = w.contenders.iter().find(|c| c.contender == name);
        let cells = points.iter().map(at).chain([cell(summary.and_then(|c| c.value), summary.and_then(|c| c.interval))]);
        table.add([Cell::new(all.label(name))].into_iter().chain(cells));
        if !all.is_base(name) {
            table.row(RowKind::Delta, delta_row(all, w, name, &points));
        }
    }
    table
}

/// (contender − baseline) / baseline at each point and of the summary.
fn delta_row(all: &Context<'_>, w: &WorkloadResult, name: &str, points: &[u32]) -> Vec<String> {
    let base = &all.comparison.baseline;
    let share = |other: Option<f64>, base: Option<f64>| Some(other? / base.filter(|b| *b != 0.0)? - 1.0);
    let mean = |name: &str, p: u32| point_of(w, name, p).and_then(|c| c.mean);
    let value = |name: &str| w.contenders.iter().find(|c| c.contender == name).and_then(|c| c.value);
    let mut shares: Vec<Option<f64>> = points.iter().map(|p| share(mean(name, *p), mean(base, *p))).collect();
    shares.push(share(value(name), value(base)));
    let decimals = delta_decimals(shares.iter().flatten().copied());
    let text = |s: &Option<f64>| or_absent(s.map(|s| signed_percent(s, decimals)));
    let head = format!("against {}", all.base_label());
    std::iter::once(head).chain(shares.iter().map(text)).collect()
}

/// What must be said wherever a workload is shown.
fn disclosure(all: &Context<'_>, w: &WorkloadResult) -> Option<Block> {
    let text: Vec<String> = of_kind(all, w).into_iter().chain(caches(all, w)).collect();
    (!text.is_empty()).then(|| Block::Note(text.join(" ")))
}

/// How cold the caches were in which trials began. Streams have no warm-up, so of them it is also said where they were kept.
fn caches(all: &Context<'_>, w: &WorkloadResult) -> Option<String> {
    const KEPT: &str = "kept: no server was restarted, no cache dropped";
    let mut ways: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut is_told = all.study.sweep_of(&w.workload).of_streams;
    for record in all.records.iter().filter(|r| r.key.workload == w.workload) {
        let cold = record.workload.cold.as_ref().map(|cold| clean(&cold.text()));
        is_told |= cold.is_some();
        ways.entry(cold.unwrap_or_else(|| KEPT.to_owned())).or_default().insert(&record.key.contender);
    }
    let whose = |names: BTreeSet<&str>| names.into_iter().map(|name| all.label(name)).collect::<Vec<_>>().join(", ");
    let each: Vec<String> = match ways.len() {
        1 => ways.into_keys().collect(),
        _ => ways.into_iter().map(|(way, names)| format!("{}: {way}", whose(names))).collect(),
    };
    (is_told && !each.is_empty()).then(|| format!("Caches: {}.", each.join("; ")))
}

/// What the kind of a workload says, and how near each contender comes to what the kind allows.
fn of_kind(all: &Context<'_>, w: &WorkloadResult) -> Option<String> {
    let spec = all.study.workload(&w.workload)?;
    let record = all.records.iter().find(|r| r.key.workload == w.workload);
    let parameters = record.map_or_else(|| spec.declared(), |r| r.workload.parameters.clone());
    let workload = clean(&w.workload);
    let disclosed = Disclosed { workload: &workload, metric: &w.metric, parameters: &parameters };
    let Disclosure { mut text, ceiling } = (spec.known?.disclosure)(&disclosed)?;
    if let Some((ceiling, at)) = ceiling {
        let one = |name: &str| {
            let value = w.contenders.iter().find(|c| c.contender == name)?.value?;
            Some(format!("{}: efficiency {} % at {at}", all.label(name), fixed(value / ceiling * 100.0, 1)))
        };
        let efficiencies: Vec<String> = all.contenders_of(w).into_iter().filter_map(one).collect();
        text += &format!(" {}.", efficiencies.join("; "));
    }
    Some(text)
}

pub(super) fn latency(all: &Context<'_>) -> Vec<Block> {
    let measured = all.measured();
    if measured.is_empty() {
        return vec![paragraph("Nothing was measured.")];
    }
    let open = all.study.sweep.is_open();
    let mut blocks = vec![paragraph(if open { open_loop::explanation(all) } else { CLOSED.to_owned() })];
    blocks.extend(open_figures::response(all).map(Block::Figure));
    for w in measured {
        blocks.push(Block::Table(latency_table(all, w)));
        blocks.extend(failures_table(all, w).map(Block::Table));
        blocks.extend(open.then(|| Block::Table(open_loop::wait_table(all, w))));
    }
    blocks.extend(distribution::hockey_stick(all).map(Block::Figure));
    blocks.extend(distribution::distribution(all).map(Block::Figure));
    blocks
}

/// The column of p99.
const P99: usize = 6;

/// The table that articles print: transactions and statements per second with the latency of each point.
fn latency_table(all: &Context<'_>, w: &WorkloadResult) -> Table {
    let caption = format!("{}: throughput, and {} of all trials together", clean(&w.workload), time_from(all.study));
    let heads = format!("{} | Contender | #TPS | #QPS | #p50 | #p95 | #p99 | #Maximum | #Trials", all.words().head);
    let mut table = Table::new(caption, &heads);
    let rates = || w.points.iter().filter_map(|p| p.rates.as_ref());
    let transactions = column_decimals(rates().map(|r| r.transactions.mean));
    let statements = column_decimals(rates().filter_map(|r| Some(r.statements.as_ref()?.mean)));
    for (level, name, trials) in points_of(all, w) {
        let Some(point) = point_of(w, name, level) else { continue };
        let bound = open_loop::bound(&trials);
        let rates = point.rates.as_ref();
        let tps = rates.map(|r| fixed(r.transactions.mean, transactions));
        let qps = rates.and_then(|r| Some(fixed(r.statements.as_ref()?.mean, statements)));
        let l = point.latency;
        // Logs may have no histogram, and then there is no percentile of a point.
        let time = |ns| (l.max_ns > 0).then(|| format!("{bound}{}", duration_text(ns)));
        let times = [l.p50_ns, l.p95_ns, l.p99_ns, l.max_ns].map(time);
        let numbers = [tps, qps].into_iter().chain(times).map(or_absent);
        let names = [thousands(level.into()), all.label(name)];
        let mut row: Vec<Cell> =
            names.into_iter().chain(numbers).chain([point.values.len().to_string()]).map(Cell::new).collect();
        if !point.stalled.is_empty() {
            // Whether its p99 is that of stalls depends on how many of so few trials stalled.
            row[P99].note = format!("{} of {} stalled", point.stalled.len(), point.values.len());
        }
        table.add(row);
    }
    table
}

/// Failures and retries of each point, and whether it meets the latency objective; `None` where there is none of them.
fn failures_table(all: &Context<'_>, w: &WorkloadResult) -> Option<Table> {
    let slo = all.comparison.decision.slo.as_ref();
    let what =
        if slo.is_some() { "latency objective, failed transactions and retries" } else { "failed transactions and retries" };
    let heads = format!("{} | Contender | #Failed | #Retries", all.words().head);
    let mut table = Table::new(format!("{}: {what} of all trials together", clean(&w.workload)), &heads);
    if let Some(slo) = slo {
        table.column(&format!("{} percentile at most {}", ordinal(slo.percentile), duration_text(slo.at_most_ns)), false);
    }
    for (level, name, trials) in points_of(all, w) {
        let Some(point) = point_of(w, name, level).filter(|p| !p.values.is_empty()) else { continue };
        let texts = [thousands(level.into()), all.label(name), thousands(point.failed), thousands(point.retries)];
        table.add(texts.into_iter().chain(slo.map(|slo| objective(&trials, slo))));
    }
    (slo.is_some() || w.points.iter().any(|p| p.failed > 0 || p.retries > 0)).then_some(table)
}

/// Whether a point meets the latency objective, by its own percentile.
fn objective(trials: &[&RunRecord], slo: &Slo) -> String {
    let mut merged = Histogram::new();
    for record in trials {
        match record.latency() {
            Ok(h) => merged.merge(&h),
            Err(_) => return ABSENT.to_owned(),
        }
    }
    let bound = open_loop::bound(trials);
    match merged.percentile_ns(slo.percentile) {
        Some(ns) if ns > slo.at_most_ns => format!("no, {bound}{}", duration_text(ns)),
        // A lower bound below the limit proves nothing.
        Some(ns) if !bound.is_empty() => format!("unknown, {bound}{}", duration_text(ns)),
        Some(ns) => format!("yes, {}", duration_text(ns)),
        None => ABSENT.to_owned(),
    }
}
