//! The tables of verdicts.

use perbuck_core::compare::{ContenderResult, DisputedRatio, Judgement, PricePerformance, Verdict, Why, WorkloadResult};
use perbuck_core::stats::{Interval, Ratio};

use super::{Context, conclusions, doubts, figures, findings, forest, paragraph, rule_text, summary_text};
use crate::document::{Block, Cell, Table, Tone};
use crate::escape::clean;
use crate::number::{
    ABSENT, between, column_decimals, dollar_decimals, fixed, list, measured, percent, range, ratio, ratio_interval,
    short_percent,
};

/// What an open loop does to a comparison of throughputs.
const OFFERED: &str = "The load is an open loop: a target that keeps the rate completes what is offered, however much more it could \
                       do. Throughputs differ by capacity only where a target could not keep the rate; below that, compare the \
                       response times.";

pub(super) fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Better => Tone::Better,
        Verdict::Worse => Tone::Worse,
        Verdict::Equivalent => Tone::Equivalent,
        Verdict::Undecided { .. } => Tone::Undecided,
    }
}

/// Contenders other than the baseline and A/A controls, with their workload.
pub(super) fn rivals<'a>(all: &'a Context<'_>) -> impl Iterator<Item = (&'a WorkloadResult, &'a ContenderResult)> {
    let rival = |c: &&ContenderResult| !all.is_base(&c.contender) && c.control_of.is_none();
    let others = move |w: &'a WorkloadResult| w.contenders.iter().filter(rival).map(move |c| (w, c));
    all.comparison.workloads.iter().flat_map(others)
}

/// Prices with a verdict, of the bills that are paid as the study says.
pub(super) fn priced<'a>(
    all: &'a Context<'_>,
    c: &'a ContenderResult,
) -> impl Iterator<Item = (&'a PricePerformance, &'a Judgement)> {
    c.price.iter().filter(|p| all.is_headline(&p.region)).filter_map(|p| p.value_for_money.as_ref().map(|j| (p, j)))
}

/// A bill of machines that did not run the trials makes the work per dollar notional.
pub(super) fn work_per_dollar(all: &Context<'_>) -> &'static str {
    if all.study.notional { "notional work per dollar" } else { "work per dollar" }
}

pub(super) fn interval_words(all: &Context<'_>, j: &Judgement) -> String {
    match j.ratio.interval {
        None => between(&j.ratio),
        Some(_) => format!("{} interval {}", percent(all.comparison.printed_confidence()), ratio_interval(&j.ratio)),
    }
}

/// Why nothing is decided and what would have been found.
fn undecided(j: &Judgement) -> String {
    let why = j.verdict.text();
    let why = why.strip_prefix("undecided: ").unwrap_or_default();
    match detectable(j) {
        found if why.is_empty() || found.is_empty() => format!("{why}{found}"),
        found => format!("{why}; {found}"),
    }
}

pub(super) fn detectable(j: &Judgement) -> String {
    j.detectable.map(|d| format!("detectable: {}", short_percent(d))).unwrap_or_default()
}

/// A verdict; where no difference was found, with the one that these trials could have found and, if asked for, the reason.
pub(crate) fn verdict_cell(j: &Judgement, reason: bool) -> Cell {
    // The brief says once what that means.
    if j.verdict == (Verdict::Undecided { why: Why::SingleValue }) {
        return Cell::new("no interval");
    }
    let note = match j.verdict {
        Verdict::Undecided { .. } if reason => undecided(j),
        Verdict::Undecided { .. } | Verdict::Equivalent => detectable(j),
        Verdict::Better | Verdict::Worse => String::new(),
    };
    Cell::noted(j.verdict.word(), note).toned(tone(j.verdict))
}

pub(crate) fn ratio_cell(r: &Ratio) -> Cell {
    Cell::noted(ratio(r), ratio_interval(r))
}

/// The summary value with its unit and interval.
pub(super) fn value_cell(w: &WorkloadResult, c: &ContenderResult) -> Cell {
    let Some(value) = c.value else { return Cell::new(ABSENT) };
    let decimals = column_decimals(w.contenders.iter().filter_map(|c| c.value));
    let note = c.interval.map(|i| range(i, decimals)).unwrap_or_default();
    Cell::noted(measured(value, decimals, &w.metric), note)
}

pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    // The decision rule stands right above, among the facts.
    let mut blocks = verdict_blocks(all).split_off(1);
    blocks.extend(forest::figure(all).map(Block::Figure));
    blocks.extend(figures::price_performance(all).map(Block::Figure));
    blocks.extend(findings::beyond(all));
    blocks
}

/// The tables of verdicts, also for the terminal.
pub(crate) fn verdict_blocks(all: &Context<'_>) -> Vec<Block> {
    let mut blocks =
        vec![paragraph(rule_text(&all.comparison.decision, all.comparison.looks.as_ref())), Block::Table(throughput_table(all))];
    blocks.extend(doubts::stalled(all));
    if all.study.sweep.is_open() {
        blocks.push(Block::Note(OFFERED.to_owned()));
    }
    if !all.comparison.bills.is_empty() {
        if !all.study.price.note.trim().is_empty() {
            blocks.push(Block::Note(format!("On prices: {}", clean(&all.study.price.note))));
        }
        let (same, differ): (Vec<&str>, Vec<&str>) = all.regions().into_iter().partition(|r| all.comparison.price_cancels(r));
        let priced = |r: &&str| [Some(Block::Table(price_table(all, r))), doubts::disputed(all, r)];
        blocks.extend(differ.iter().flat_map(priced).flatten());
        if !same.is_empty() {
            let regions = list(&same.iter().map(|r| clean(r)).collect::<Vec<_>>());
            blocks.push(paragraph(format!(
                "All contenders cost the same in {regions}. Price cancels out there: work per dollar has the ratios and verdicts of throughput."
            )));
        }
    }
    blocks.extend(findings::shown(all));
    blocks.extend(conclusions::blocks(all));
    let detectable = throughputs(all).any(|j| j.detectable.is_some());
    let words = "The detectable difference is the smallest that four of five such studies would find.";
    blocks.extend(detectable.then(|| paragraph(words)));
    blocks.extend(doubts::unseen(all).map(paragraph));
    blocks
}

/// Every verdict on throughput.
fn throughputs<'a>(all: &'a Context<'_>) -> impl Iterator<Item = &'a Judgement> {
    rivals(all).filter_map(|(_, c)| c.throughput.as_ref())
}

fn throughput_table(all: &Context<'_>) -> Table {
    let confidence = percent(all.comparison.printed_confidence());
    let caption = format!("Throughput and its {confidence} interval, against {}", all.base_label());
    let mut table = Table::new(caption, "Workload | Contender | #Throughput | #Ratio to baseline | Verdict");
    for w in &all.comparison.workloads {
        for (i, c) in w.contenders.iter().enumerate() {
            let noise = w.noise.as_ref().filter(|_| c.control_of.is_some());
            let verdict = match (&c.throughput, noise) {
                (Some(j), _) => doubts::with_note(verdict_cell(j, true), doubts::of_ratio(all, w, c)),
                (None, _) if all.is_base(&c.contender) => Cell::new("baseline"),
                (None, Some(noise)) => Cell::noted("A/A control", noise.verdict.word()).toned(tone(noise.verdict)),
                (None, None) => Cell::new(ABSENT),
            };
            let known = c.throughput.as_ref().map(|j| &j.ratio).or(noise.map(|n| &n.ratio));
            let ratio = known.map_or_else(|| Cell::new(ABSENT), ratio_cell);
            // Its first row says how the points of a workload become one value.
            let note = if i == 0 { summary_text(&w.summary, all.words()) } else { String::new() };
            let workload = Cell::noted(clean(&w.workload), note);
            table.add([workload, all.label(&c.contender).into(), value_cell(w, c), ratio, verdict]);
        }
    }
    table
}

fn price_table(all: &Context<'_>, region: &str) -> Table {
    let months = all.comparison.bills.iter().find(|b| b.region == region).map_or(0, |b| b.horizon_months);
    let caption = format!("Price-performance in {}: the cost of {months} months against the throughput", clean(region));
    let heads = format!(
        "Workload | Contender | #{months} months | #USD per unit, lower is better | \
        #Units per USD, higher is better | #Work per dollar against baseline | Verdict"
    );
    let mut table = Table::new(caption, &heads);
    for w in &all.comparison.workloads {
        let prices: Vec<_> = w.contenders.iter().map(|c| c.price.iter().find(|p| p.region == region)).collect();
        let dollars = dollar_decimals(prices.iter().flatten().filter_map(|p| p.usd_per_unit));
        let units = column_decimals(prices.iter().flatten().filter_map(|p| p.units_per_usd));
        for (i, (c, p)) in w.contenders.iter().zip(&prices).enumerate() {
            let note = if i == 0 { format!("unit: {}", clean(&w.metric.label)) } else { String::new() };
            let baseline = all.is_base(&c.contender).then(|| Cell::new("baseline"));
            let names = [Cell::noted(clean(&w.workload), note), all.label(&c.contender).into()];
            let found = p.map(|p| price_cells(p, dollars, units, baseline)).unwrap_or_default();
            table.add(names.into_iter().chain(found.map(|cell| cell.unwrap_or_else(|| Cell::new(ABSENT)))));
        }
    }
    table
}

/// Total, cost of a unit, units for a dollar, ratio and verdict.
fn price_cells(p: &PricePerformance, dollars: usize, units: usize, baseline: Option<Cell>) -> [Option<Cell>; 5] {
    let note = |i: Option<Interval>, decimals| i.map(|i| range(i, decimals)).unwrap_or_default();
    let cost = p.usd_per_unit_interval;
    let work = cost.filter(|i| i.low > 0.0).map(|i| Interval { low: 1.0 / i.high, high: 1.0 / i.low });
    let judged = p.value_for_money.as_ref();
    let disputed = p.disputed.as_ref();
    let totals = disputed.filter(|d| d.low != d.high).map(|d| format!("{}–{} by list", d.low, d.high)).unwrap_or_default();
    let depends = disputed.and_then(|d| d.ratio.as_ref()).is_some_and(DisputedRatio::decides);
    let depends = if depends { "depends on disputed prices" } else { "" };
    [
        Some(Cell::noted(p.total.to_string(), totals)),
        p.usd_per_unit.map(|v| Cell::noted(format!("${}", fixed(v, dollars)), note(cost, dollars))),
        p.units_per_usd.map(|v| Cell::noted(fixed(v, units), note(work, units))),
        judged.map(|j| ratio_cell(&j.ratio)),
        judged.map(|j| doubts::with_note(verdict_cell(j, false), depends)).or(baseline),
    ]
}
