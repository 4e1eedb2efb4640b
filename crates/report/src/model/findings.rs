//! What the verdicts rest on: the noise floor, all workloads together, the latency objective, and, folded, each point of the
//! family, ranks, outliers and the curve of scalability.

use perbuck_core::compare::{ContenderResult, Judgement, Kept, Noise, Outlier, PointResult, Verdict, WorkloadResult};
use perbuck_core::stats::Interval;
use perbuck_core::units::{duration_text, thousands};
use perbuck_core::usl::{Fit, NoTop};

use super::verdicts::{ratio_cell, verdict_cell};
use super::{Context, doubts, ordinal, paragraph};
use crate::document::{Block, Cell, RowKind, Table};
use crate::escape::clean;
use crate::number::{
    ABSENT, between, column_decimals, counted, dollar_decimals, fixed, list, measured, or_absent, range, ratio, rounded_percent,
    short_percent, significant_decimals,
};

/// What also the terminal shows.
pub(super) fn shown(all: &Context<'_>) -> Vec<Block> {
    let tables = [overall(all), objective(all)];
    tables.into_iter().flatten().map(Block::Table).chain(noise_note(all)).collect()
}

/// What only the report has.
pub(super) fn beyond(all: &Context<'_>) -> Vec<Block> {
    let shown = |text: &str, table: Table| {
        let filled = (!table.rows.is_empty()).then(|| [paragraph(text), Block::Table(table)]);
        filled.into_iter().flatten()
    };
    let (points, ranks) = (single_points(all), ranks(all));
    let mut out: Vec<Block> = points_text(all).map(paragraph).into_iter().collect();
    out.extend([points, ranks].into_iter().filter(|t| !t.rows.is_empty()).map(Block::Data));
    out.extend(shown(OUTLIERS, outliers(all)).chain(shown(SCALABILITY, scalability(all))));
    out
}

fn noise_note(all: &Context<'_>) -> Option<Block> {
    let control = all.comparison.layout.control.as_ref()?;
    let one = |w: &WorkloadResult| Some(format!("{} {}", clean(&w.workload), noise_words(w.noise.as_ref()?)));
    let floors: Vec<String> = all.comparison.workloads.iter().filter_map(one).collect();
    let floors = if floors.is_empty() { "not measured yet".to_owned() } else { floors.join("; ") };
    let text = format!("Noise floor ({} measured twice): {floors}.", all.label(&control.of));
    Some(Block::Note(text))
}

/// What is to be said where a contender differs from itself.
pub(crate) fn broken_control(all: &Context<'_>) -> Option<String> {
    let control = all.comparison.layout.control.as_ref()?;
    let broken = |w: &&WorkloadResult| w.noise.as_ref().is_some_and(|n| matches!(n.verdict, Verdict::Better | Verdict::Worse));
    let on: Vec<String> = all.comparison.workloads.iter().filter(broken).map(|w| clean(&w.workload)).collect();
    (!on.is_empty()).then(|| {
        let of = all.label(&control.of);
        format!("{of} differs from itself on {}: something else than the contenders made a difference, and the verdicts cannot be trusted.", list(&on))
    })
}

/// The noise floor of a workload: `1.01× (0.98–1.03), equivalent`.
pub(super) fn noise_words(noise: &Noise) -> String {
    format!("{} ({}), {}", ratio(&noise.ratio), between(&noise.ratio), noise.verdict.word())
}

fn overall(all: &Context<'_>) -> Option<Table> {
    let overall = &all.comparison.overall;
    let first = overall.first()?;
    let even = first.weights.iter().all(|(_, w)| (w - first.weights[0].1).abs() < 1e-9);
    let weight = |(name, w): &(String, f64)| format!("{} {}", clean(name), rounded_percent(*w));
    let weights = if even { "equal weights".to_owned() } else { list(&first.weights.iter().map(weight).collect::<Vec<_>>()) };
    let caption = format!("All workloads: geometric mean of the ratios to {}, {weights}", all.base_label());
    let mut table = Table::new(caption, "Contender | What | #Ratio to baseline | Verdict");
    for o in overall {
        let mut row = |what: String, j: &Judgement, doubt: &str| {
            let verdict = doubts::with_note(verdict_cell(j, true), doubt);
            table.add([all.label(&o.contender).into(), what.into(), ratio_cell(&j.ratio), verdict]);
        };
        row("throughput".to_owned(), &o.throughput, "");
        let prices = o.price.iter().filter(|p| !all.comparison.price_cancels(&p.region));
        for p in prices {
            let ends = p.disputed.as_ref().map(|d| format!("by list {}", doubts::ends(d))).unwrap_or_default();
            row(format!("work per dollar, {}", clean(&p.region)), &p.value_for_money, &ends);
        }
    }
    Some(table)
}

fn objective(all: &Context<'_>) -> Option<Table> {
    let slo = all.comparison.decision.slo.as_ref()?;
    let caption = format!(
        "Most throughput with a {} percentile of at most {}, and what it costs",
        ordinal(slo.percentile),
        duration_text(slo.at_most_ns)
    );
    let mut table = Table::new(
        caption,
        &format!("Workload | Contender | #{} | #Throughput | #{} percentile", all.words().head, ordinal(slo.percentile)),
    );
    let regions = all.regions();
    regions.iter().for_each(|r| table.column(&format!("USD per unit, {}", clean(r)), true));
    for w in &all.comparison.workloads {
        let Some(objective) = &w.objective else { continue };
        for k in &objective.kept {
            let names = [clean(&w.workload), all.label(&k.contender), thousands(k.level.into())].map(Cell::new);
            let cheapest = |region: &str| objective.cheapest.iter().any(|c| c.region == region && c.per_unit == k.contender);
            let prices = regions.iter().map(|region| kept_price(cheapest(region), k, region));
            table.add(names.into_iter().chain(kept_cells(w, k)).chain(prices));
        }
        for name in &objective.broken {
            let mut row = vec![clean(&w.workload).into(), all.label(name).into(), Cell::noted(ABSENT, "kept at no point")];
            row.resize(table.columns.len(), Cell::new(ABSENT));
            table.row(RowKind::Muted, row);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn kept_cells(w: &WorkloadResult, k: &Kept) -> [Cell; 2] {
    let decimals = significant_decimals(k.throughput, 4);
    let between = |i: Interval| format!("{}–{}", duration_text(i.low as u64), duration_text(i.high as u64));
    let sure = if k.surely { "" } else { "; its interval does not wholly keep it" };
    let note = k.interval.map_or_else(|| "single trial".to_owned(), |i| between(i) + sure);
    [Cell::new(measured(k.throughput, decimals, &w.metric)), Cell::noted(duration_text(k.latency_ns), note)]
}

fn kept_price(cheapest: bool, k: &Kept, region: &str) -> Cell {
    let Some(p) = k.price.iter().find(|p| p.region == region) else { return Cell::new(ABSENT) };
    let decimals = dollar_decimals([p.usd_per_unit]);
    Cell::noted(format!("${}", fixed(p.usd_per_unit, decimals)), if cheapest { "the cheapest" } else { "" })
}

/// What the points say one by one, in one line.
fn points_text(all: &Context<'_>) -> Option<String> {
    let judged =
        |c: &PointResult| c.judgement.as_ref().filter(|j| j.level.is_some() && !all.is_control(&c.contender)).map(|j| j.verdict);
    let found: Vec<Verdict> = points(all).filter_map(|(_, c)| judged(c)).collect();
    let count = |word: &str| (found.iter().filter(|v| v.word() == word).count(), word.to_owned());
    let counts = ["better", "worse", "equivalent", "undecided"].map(count);
    let counts: Vec<String> = counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    (!found.is_empty())
        .then(|| format!("Of {}, with Holm's correction for so many: {}.", counted(found.len(), "single point"), list(&counts)))
}

fn single_points(all: &Context<'_>) -> Table {
    let mut table = Table::new(
        "Ratio to the baseline at each point",
        &format!("Workload | #{} | Contender | #Ratio | #Error level | Verdict", all.words().head),
    );
    for (w, point) in points(all) {
        let Some((j, error)) = point.judgement.as_ref().and_then(|j| Some((j, j.level?))) else { continue };
        let names = [clean(&w.workload), thousands(point.level.into()), all.label(&point.contender)].map(Cell::new);
        table.add(names.into_iter().chain([ratio_cell(&j.ratio), fixed(error, 4).into(), verdict_cell(j, true)]));
    }
    table
}

fn points<'a>(all: &'a Context<'_>) -> impl Iterator<Item = (&'a WorkloadResult, &'a PointResult)> {
    all.comparison.workloads.iter().flat_map(|w| w.points.iter().map(move |c| (w, c)))
}

fn results<'a>(all: &'a Context<'_>) -> impl Iterator<Item = (&'a WorkloadResult, &'a ContenderResult)> {
    all.comparison.workloads.iter().flat_map(|w| w.contenders.iter().map(move |c| (w, c)))
}

fn ranks(all: &Context<'_>) -> Table {
    let heads = "Workload | Contender | #Ratio | #Hodges and Lehmann's ratio | #Vargha and Delaney's A";
    let mut table = Table::new("Ranks, against the baseline", heads);
    for (w, c) in results(all) {
        let Some((j, rank)) = c.throughput.as_ref().and_then(|j| Some((j, j.rank?))) else { continue };
        if j.ratio.interval.is_none() {
            continue;
        }
        let note = rank.interval.map_or_else(|| "too few trials for an interval".to_owned(), |i| range(i, 3));
        let median = Cell::noted(format!("{}×", fixed(rank.hodges_lehmann, 3)), note);
        let names = [clean(&w.workload), all.label(&c.contender)].map(Cell::new);
        table.add(names.into_iter().chain([ratio_cell(&j.ratio), median, fixed(rank.superiority, 2).into()]));
    }
    table
}

const OUTLIERS: &str = "Outliers lie far from the median, in robust standard deviations (modified z). A point of normal trials has one in 5 % of cases. They \
     count in every number of this report.";

fn outliers(all: &Context<'_>) -> Table {
    let heads = "Workload | Contender | Trial | #Value | #Modified z | Cause on record | #Mean with and without | \
        #Ratio with and without";
    let mut table = Table::new("Trials that lie apart", heads);
    for (w, point) in points(all) {
        for o in &point.outliers {
            table.add(outlier(all, w, point, o));
        }
    }
    table
}

fn outlier(all: &Context<'_>, w: &WorkloadResult, point: &PointResult, o: &Outlier) -> [String; 8] {
    let decimals = column_decimals(point.values.iter().copied());
    let causes: Vec<String> = o.causes.iter().map(|c| clean(c)).collect();
    let deployment = if o.position.deployment > 1 { format!("deployment {}, ", o.position.deployment) } else { String::new() };
    let both = |with: Option<f64>, without: Option<f64>, decimals| {
        let text = |v: Option<f64>| or_absent(v.map(|v| fixed(v, decimals)));
        format!("{} → {}", text(with), text(without))
    };
    [
        clean(&w.workload),
        all.label(&point.contender),
        format!("{}, {deployment}trial {}", all.words().at(point.level), o.position.trial),
        fixed(o.value, decimals),
        fixed(o.modified_z, 1),
        if causes.is_empty() { "none".to_owned() } else { causes.join("; ") },
        both(point.mean, point.without.map(|x| x.mean), decimals),
        both(point.ratio.map(|r| r.value), point.without.and_then(|x| x.ratio).map(|r| r.value), 3),
    ]
}

const SCALABILITY: &str = "The Universal Scalability Law, λN / (1 + σ(N−1) + κN(N−1)), is fitted to the points, and the knee has the most \
                           throughput² / connections.";

fn scalability(all: &Context<'_>) -> Table {
    let heads = "Workload | Contender | #Knee | #Peak | #Plateau | #λ | #σ | #κ | #Connections at the top | \
        #Error of the curve";
    let mut table = Table::new("How throughput grows with connections", heads);
    for (w, c) in results(all) {
        let Some(s) = &c.scalability else { continue };
        let names = [clean(&w.workload), all.label(&c.contender), thousands(s.knee.into()), thousands(s.peak.into())];
        let plateau = format!("{}–{}", thousands(s.plateau.0.into()), thousands(s.plateau.1.into()));
        table.add(names.into_iter().chain([plateau]).map(Cell::new).chain(fitted(s.fit.as_ref())));
    }
    table
}

fn fitted(fit: Option<&Fit>) -> [Cell; 5] {
    let Some(f) = fit else { return [ABSENT; 5].map(Cell::new) };
    let number = |v: f64| fixed(v, significant_decimals(v, 3));
    let noted = |v: f64, i: Option<Interval>| {
        let digits = significant_decimals(i.map_or(v, |i| i.high), 3);
        Cell::noted(number(v), i.map_or_else(String::new, |i| range(i, digits)))
    };
    let part = |of: fn(&perbuck_core::usl::FitIntervals) -> Interval| f.intervals.as_ref().map(of);
    let top = match f.connections_max {
        Some(n) => noted(n, f.intervals.and_then(|i| i.connections_max)),
        None if f.no_top == Some(NoTop::KappaNotApart) => Cell::noted("none", "κ is not apart from 0"),
        None => Cell::new(format!("none up to {}", fixed(f.reach, 0))),
    };
    let mut lambda = noted(f.lambda, part(|i| i.lambda));
    if !f.from_one {
        lambda.note = format!("{} no point with 1 connection", lambda.note).trim().to_owned();
    }
    [lambda, noted(f.sigma, part(|i| i.sigma)), noted(f.kappa, part(|i| i.kappa)), top, Cell::new(short_percent(f.error))]
}
