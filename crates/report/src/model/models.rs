//! Cost and throughput by the models that people publish with.

use perbuck_core::compare::{Advantage, ContenderResult, Models, PricePerformance, WorkloadResult};

use super::{Context, money_figures, paragraph, tradeoff};
use crate::document::{Block, Cell, Table};
use crate::escape::clean;
use crate::number::{column_decimals, dollar_decimals, fixed, measured, or_absent, rounded_percent, significant_decimals};

pub(super) type Row<'a> = (&'a WorkloadResult, &'a ContenderResult, &'a PricePerformance, &'a Models);

/// The tables of all models; empty without prices or throughput.
pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    let mut out = Vec::new();
    if super::money::cancels_out(&all.comparison.bills) {
        return out;
    }
    for (i, region) in all.regions().into_iter().enumerate() {
        let rows = rows(all, region);
        if rows.is_empty() {
            continue;
        }
        // The first region is for reading, the others are for calculating.
        let block = if i == 0 { Block::Table } else { Block::Data };
        out.push(block(units(all, region, &rows)));
        let rivals: Vec<(Row<'_>, &Advantage)> = rows.iter().filter_map(|r| r.3.advantage.as_ref().map(|a| (*r, a))).collect();
        if !rivals.is_empty() {
            out.push(block(sources(all, region, &rivals)));
            out.push(Block::Data(fixed_cost(all, region, &rivals)));
        }
    }
    if out.is_empty() {
        return out;
    }
    out.extend(sensitivity(all).map(Block::Table));
    let figures = [
        money_figures::decomposition(all),
        tradeoff::break_even(all),
        tradeoff::pareto(all),
        money_figures::same_money(all),
        money_figures::tornado(all),
    ];
    out.extend(figures.into_iter().flatten().map(Block::Figure));
    let head = "The same cost and throughput in the models that people compare by; none is another measurement.";
    out.insert(0, paragraph(head));
    out
}

/// Every priced contender of a region with its models.
pub(super) fn rows<'a>(all: &'a Context<'_>, region: &str) -> Vec<Row<'a>> {
    let all = all.comparison.workloads.iter().flat_map(|w| w.contenders.iter().map(move |c| (w, c)));
    let priced = all.flat_map(|(w, c)| c.price.iter().map(move |p| (w, c, p))).filter(|(_, _, p)| p.region == region);
    priced.filter_map(|(w, c, p)| Some((w, c, p, p.models.as_ref()?))).collect()
}

fn usd(value: Option<f64>) -> String {
    or_absent(value.map(|v| format!("${}", fixed(v, dollar_decimals([v])))))
}

fn number(value: Option<f64>) -> String {
    or_absent(value.map(|v| fixed(v, column_decimals([v]))))
}

fn work(w: &WorkloadResult, value: f64) -> String {
    measured(value, column_decimals([value]), &w.metric)
}

pub(super) fn times(ratio: f64) -> String {
    format!("{}×", fixed(ratio, significant_decimals(ratio, 4).clamp(2, 4)))
}

/// What a unit costs, however it is counted.
fn units(all: &Context<'_>, region: &str, rows: &[Row<'_>]) -> Table {
    let heads = "Workload | Contender | #Throughput per dollar and hour | #USD per million transactions | \
        #USD per vCPU and month | #USD per core and month | #Throughput per vCPU | #Throughput per core";
    let mut table = Table::new(format!("Units of cost in {}", clean(region)), heads);
    for (w, c, _, m) in rows {
        let unit = if w.metric.kinds().is_some() { clean(&w.metric.short) } else { String::new() };
        table.add([
            clean(&w.workload).into(),
            all.label(&c.contender).into(),
            work(w, m.throughput_per_usd_hour).into(),
            Cell::noted(usd(m.usd_per_million_transactions), unit),
            usd(m.usd_per_vcpu_month).into(),
            usd(m.usd_per_core_month).into(),
            number(m.throughput_per_vcpu).into(),
            number(m.throughput_per_core).into(),
        ]);
    }
    table
}

/// How much of the advantage is price, and how much is speed.
fn sources(all: &Context<'_>, region: &str, rivals: &[(Row<'_>, &Advantage)]) -> Table {
    let caption =
        format!("Where the advantage over {} comes from, and what would end it, in {}", all.base_label(), clean(region));
    let heads = "Workload | Contender | #Work per dollar | #By throughput | #By price | #Share of price | \
        #Break-even cost of a month | #Break-even throughput";
    let mut table = Table::new(caption, heads);
    for ((w, c, _, _), a) in rivals {
        let factors = [a.work_per_usd, a.performance, a.price].map(times);
        let share = or_absent(a.price_share.map(rounded_percent));
        let ends = [share, usd(Some(a.break_even_usd_month)), work(w, a.break_even_throughput)];
        table.add([clean(&w.workload), all.label(&c.contender)].into_iter().chain(factors).chain(ends));
    }
    table
}

/// The same money, and the same work.
fn fixed_cost(all: &Context<'_>, region: &str, rivals: &[(Row<'_>, &Advantage)]) -> Table {
    let caption = format!("For the money, and for the throughput, of {} in {}", all.base_label(), clean(region));
    let heads = "Workload | Contender | #Systems for the same money | #Their throughput | \
        #USD a month for the same throughput";
    let mut table = Table::new(caption, heads);
    for ((w, c, _, _), a) in rivals {
        table.add([
            clean(&w.workload),
            all.label(&c.contender),
            fixed(a.systems_for_same_money, 3),
            work(w, a.throughput_for_same_money),
            usd(Some(a.usd_month_for_same_throughput)),
        ]);
    }
    table
}

/// Work per dollar by region and by what counts as cost.
fn sensitivity(all: &Context<'_>) -> Option<Table> {
    let regions = all.regions();
    let mut table = Table::new(
        format!("How the answer depends on region and scope: work per dollar over {}", all.base_label()),
        "Workload | Contender | What counts as cost",
    );
    regions.iter().for_each(|r| table.column(&clean(r), true));
    for w in &all.comparison.workloads {
        for c in w.contenders.iter().filter(|c| !all.is_base(&c.contender)) {
            let advantage = |region: &str| c.price.iter().find(|p| p.region == region)?.models.as_ref()?.advantage.as_ref();
            let Some(first) = regions.iter().find_map(|r| advantage(r)) else { continue };
            for scope in &first.scopes {
                let at = |region: &&str| {
                    let found = advantage(region).and_then(|a| a.scopes.iter().find(|s| s.name == scope.name));
                    or_absent(found.map(|s| times(s.work_per_usd)))
                };
                let head = [clean(&w.workload), all.label(&c.contender), scope.name.clone()];
                table.add(head.into_iter().chain(regions.iter().map(at)));
            }
        }
    }
    (!table.rows.is_empty()).then_some(table)
}
