//! Answers, cards and the tables of verdicts.

use perbuck_core::compare::{ContenderResult, Judgement, PricePerformance, Verdict, Why, WorkloadResult};
use perbuck_core::stats::{Interval, Ratio};

use super::{Context, figures, findings, forest, paragraph, rule_text, summary_text};
use crate::document::{Answer, Block, Card, Cell, Strip, Table, Tone};
use crate::escape::clean;
use crate::number::{
    ABSENT, between, column_decimals, delta_decimals, dollar_decimals, fixed, list, measured, or_absent, percent, range, ratio,
    ratio_interval, short_percent, signed_percent,
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
fn rivals<'a>(all: &'a Context<'_>) -> impl Iterator<Item = (&'a WorkloadResult, &'a ContenderResult)> {
    let rival = |c: &&ContenderResult| !all.is_base(&c.contender) && c.control_of.is_none();
    let others = move |w: &'a WorkloadResult| w.contenders.iter().filter(rival).map(move |c| (w, c));
    all.comparison.workloads.iter().flat_map(others)
}

/// One sentence per workload and contender.
pub(crate) fn answers(all: &Context<'_>) -> Vec<Answer> {
    if all.study.contenders.len() == 1 {
        return all.comparison.workloads.iter().map(|w| alone(all, w)).collect();
    }
    rivals(all).map(|(w, c)| answer(all, w, c)).collect()
}

/// Prices with a verdict, of the bills that are paid as the study says.
fn priced<'a>(all: &'a Context<'_>, c: &'a ContenderResult) -> impl Iterator<Item = (&'a PricePerformance, &'a Judgement)> {
    c.price.iter().filter(|p| all.is_headline(&p.region)).filter_map(|p| p.value_for_money.as_ref().map(|j| (p, j)))
}

/// What can be said of a workload that only one contender ran.
fn alone(all: &Context<'_>, w: &WorkloadResult) -> Answer {
    let value = or_absent(w.contenders.first().map(|c| value_cell(w, c).line()));
    let text = format!("{}: {} alone, {value} ({})", clean(&w.workload), all.base_label(), summary_text(&w.summary, all.words()));
    Answer { text: text + ".", tone: Tone::Plain }
}

fn answer(all: &Context<'_>, w: &WorkloadResult, c: &ContenderResult) -> Answer {
    let (label, base, workload) = (all.label(&c.contender), all.base_label(), clean(&w.workload));
    let priced: Vec<(String, &Judgement)> = priced(all, c).map(|(p, j)| (format!("in {}", clean(&p.region)), j)).collect();
    let judged = |what: &str, j: &Judgement| match j.verdict {
        // What that means stands above all answers.
        Verdict::Undecided { why: Why::SingleValue } => format!("{} {what}: undecided, a single value", ratio(&j.ratio)),
        verdict => format!("{} {what} ({}): {}", ratio(&j.ratio), interval_words(all, j), verdict.text()),
    };
    let work = work_per_dollar(all);
    let (first, what) = match (priced.as_slice(), &c.throughput) {
        ([(_, j)], _) => (*j, format!("the {work} of {base}")),
        ([(region, j), ..], _) => (*j, format!("the {work} of {base} {region}")),
        ([], Some(j)) => (j, format!("the throughput of {base}")),
        ([], None) => {
            let text = format!("{workload}: {label} and {base} cannot be compared, because a point of one has no trial.");
            return Answer { text, tone: Tone::Undecided };
        }
    };
    let elsewhere = priced.iter().skip(1).map(|(region, j)| format!("; {}", judged(region, j)));
    let text = format!("{workload}: {label} gives {}{}.", judged(&what, first), elsewhere.collect::<String>());
    Answer { text, tone: tone(first.verdict) }
}

/// A bill of machines that did not run the trials makes the work per dollar notional.
fn work_per_dollar(all: &Context<'_>) -> &'static str {
    if all.study.notional { "notional work per dollar" } else { "work per dollar" }
}

fn interval_words(all: &Context<'_>, j: &Judgement) -> String {
    match j.ratio.interval {
        None => between(&j.ratio),
        Some(_) => format!("{} interval {}", percent(all.comparison.decision.confidence), ratio_interval(&j.ratio)),
    }
}

/// One card per workload and contender: value for money in the first region, or throughput without prices.
pub(super) fn cards(all: &Context<'_>) -> Vec<Card> {
    rivals(all).filter_map(|(w, c)| card(all, w, c)).collect()
}

fn card(all: &Context<'_>, w: &WorkloadResult, c: &ContenderResult) -> Option<Card> {
    let throughput = c.throughput.as_ref()?;
    let mut priced = priced(all, c);
    let headline = priced.next();
    let (judged, measure) = match headline {
        Some((p, j)) => (j, format!("{}, {}", work_per_dollar(all), clean(&p.region))),
        None => (throughput, "throughput".to_owned()),
    };
    let short = |j: &Judgement| format!("{} ({}) {}", ratio(&j.ratio), between(&j.ratio), j.verdict.word());
    let mut details = Vec::new();
    for (p, j) in priced {
        details.push((format!("Work per dollar, {}", clean(&p.region)), short(j)));
    }
    if let Some((p, _)) = headline {
        details.push(("Throughput".to_owned(), short(throughput)));
        details.push(("Cost of a month".to_owned(), cost_detail(all, p)));
    }
    match judged.verdict {
        Verdict::Undecided { .. } => details.push(("Undecided".to_owned(), undecided(judged))),
        Verdict::Equivalent => details.push(("No difference found".to_owned(), detectable(judged))),
        Verdict::Better | Verdict::Worse => {}
    }
    if let Some(noise) = &w.noise {
        details.push(("Noise floor (A/A)".to_owned(), findings::noise_words(noise)));
    }
    let margin = all.comparison.decision.margin;
    Some(Card {
        workload: clean(&w.workload),
        pair: format!("{} against {}", all.label(&c.contender), all.base_label()),
        verdict: judged.verdict.word().to_owned(),
        tone: tone(judged.verdict),
        ratio: ratio(&judged.ratio),
        measure,
        interval: interval_words(all, judged),
        strip: judged.ratio.interval.map(|i| Strip { value: judged.ratio.value, low: i.low, high: i.high, margin }),
        details,
    })
}

fn cost_detail(all: &Context<'_>, p: &PricePerformance) -> String {
    let base = all.comparison.bills.iter().find(|b| all.is_base(&b.contender) && b.region == p.region);
    match base.map(|b| b.horizon_total().as_usd_f64()).filter(|b| *b > 0.0) {
        Some(base) => {
            let share = p.total.as_usd_f64() / base - 1.0;
            format!("{} ({})", p.monthly, signed_percent(share, delta_decimals([share])))
        }
        None => p.monthly.to_string(),
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

fn detectable(j: &Judgement) -> String {
    j.detectable.map(|d| format!("detectable: {}", short_percent(d))).unwrap_or_default()
}

/// A verdict; where no difference was found, with the one that these trials could have found and, if asked for, the reason.
pub(super) fn verdict_cell(j: &Judgement, reason: bool) -> Cell {
    let note = match j.verdict {
        Verdict::Undecided { .. } if reason => undecided(j),
        Verdict::Undecided { .. } | Verdict::Equivalent => detectable(j),
        Verdict::Better | Verdict::Worse => String::new(),
    };
    Cell::noted(j.verdict.word(), note).toned(tone(j.verdict))
}

pub(super) fn ratio_cell(r: &Ratio) -> Cell {
    Cell::noted(ratio(r), ratio_interval(r))
}

/// The summary value with its unit and interval.
fn value_cell(w: &WorkloadResult, c: &ContenderResult) -> Cell {
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
    blocks.extend(findings::folded(all));
    blocks
}

/// The tables of verdicts, also for the terminal.
pub(crate) fn verdict_blocks(all: &Context<'_>) -> Vec<Block> {
    let mut blocks = vec![paragraph(rule_text(&all.comparison.decision)), Block::Table(throughput_table(all))];
    if all.study.sweep.is_open() {
        blocks.push(Block::Note(OFFERED.to_owned()));
    }
    if !all.comparison.bills.is_empty() {
        if !all.study.price.note.trim().is_empty() {
            blocks.push(Block::Note(format!("On prices: {}", clean(&all.study.price.note))));
        }
        let (same, differ): (Vec<&str>, Vec<&str>) = all.regions().into_iter().partition(|r| all.comparison.price_cancels(r));
        blocks.extend(differ.iter().map(|r| Block::Table(price_table(all, r))));
        if !same.is_empty() {
            let regions = list(&same.iter().map(|r| clean(r)).collect::<Vec<_>>());
            blocks.push(paragraph(format!(
                "All contenders cost the same in {regions}. Price cancels out there: work per dollar has the ratios and verdicts of throughput."
            )));
        }
    }
    blocks.extend(findings::shown(all));
    let missing = "— means that there is nothing to show: the baseline has no ratio to itself, a single trial no interval, \
                   and a point without trials no value. Ratios above 1 are in favour of the contender. The \
                   detectable difference is the smallest that four of five studies with trials like these would find.";
    blocks.push(paragraph(missing));
    blocks
}

fn throughput_table(all: &Context<'_>) -> Table {
    let confidence = percent(all.comparison.decision.confidence);
    let caption = format!("Throughput and its {confidence} interval, against {}", all.base_label());
    let mut table = Table::new(caption, "Workload | Contender | #Throughput | #Ratio to baseline | Verdict");
    for w in &all.comparison.workloads {
        for (i, c) in w.contenders.iter().enumerate() {
            let noise = w.noise.as_ref().filter(|_| c.control_of.is_some());
            let verdict = match (&c.throughput, noise) {
                (Some(j), _) => verdict_cell(j, true),
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
    [
        Some(p.total.to_string().into()),
        p.usd_per_unit.map(|v| Cell::noted(format!("${}", fixed(v, dollars)), note(cost, dollars))),
        p.units_per_usd.map(|v| Cell::noted(fixed(v, units), note(work, units))),
        judged.map(|j| ratio_cell(&j.ratio)),
        judged.map(|j| verdict_cell(j, false)).or(baseline),
    ]
}
