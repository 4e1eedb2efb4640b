//! Figures of bills and of what they buy: how a month's cost adds up, the same money, the same work, and what each
//! advantage is made of.

use perbuck_core::bill::Bill;
use perbuck_core::compare::{Advantage, ContenderResult, PricePerformance, WorkloadResult};

use super::Context;
use super::figures::{LARGE_PANELS, cut_note};
use super::models::times;
use super::money::{by_region, groups};
use crate::document::{Bar, BarPanel, Cell, Fall, FallPanel, Figure, Mark, Panels, RatioPanel, RatioRow, RowKind, Table};
use crate::escape::clean;
use crate::number::{column_decimals, dollar_decimals, fixed, signed_percent};

/// How the cost of a month adds up, part by part; `None` without bills.
pub(super) fn waterfall(all: &Context<'_>) -> Option<Figure> {
    let bills = by_region(&all.comparison.bills);
    let mut table = Table::new("Data of the figure", &["Region", "Contender", "Part", "#USD a month", "#Sum so far"]);
    let mut panels = Vec::new();
    for bill in &bills {
        let mut sum = 0.0;
        let mut rows = Vec::new();
        for (part, group) in groups(&all.comparison.bills).into_iter().enumerate() {
            let amount = bill.monthly_of(group);
            let from = sum;
            sum += amount.as_usd_f64();
            let texts = [clean(&bill.region), all.label(&bill.contender), group.label().to_owned(), amount.to_string()];
            table.texts(texts.into_iter().chain([format!("${}", fixed(sum, 2))]));
            rows.push(Fall { name: group.label().to_owned(), from, to: sum, label: amount.to_string(), part: Some(part) });
        }
        let total = bill.monthly().to_string();
        rows.push(Fall { name: "month".to_owned(), from: 0.0, to: bill.monthly().as_usd_f64(), label: total, part: None });
        let title = format!("{}, {}", all.label(&bill.contender), clean(&bill.region));
        panels.push(FallPanel { title, axis: "USD per month".to_owned(), rows });
    }
    let note = cut_note(panels.len(), "bills");
    panels.truncate(LARGE_PANELS);
    (!panels.is_empty()).then(|| Figure {
        number: 0,
        id: "waterfall",
        title: "How the cost of a month adds up".to_owned(),
        caption: format!(
            "Each part begins where the one above it ends; the last bar is the month. All bills have one scale.{note}"
        ),
        legend: Vec::new(),
        panels: Panels::Falls(panels),
        table,
    })
}

/// A rival of the baseline in one region.
type Rival<'a> = (&'a WorkloadResult, &'a ContenderResult, &'a PricePerformance, &'a Advantage);

/// Every rival with its advantage, by region.
pub(super) fn rivals<'a>(all: &'a Context<'_>) -> Vec<Rival<'a>> {
    let mut out = Vec::new();
    for region in all.regions() {
        for w in &all.comparison.workloads {
            for c in w.contenders.iter().filter(|c| !all.is_base(&c.contender) && !all.is_control(&c.contender)) {
                let price = c.price.iter().find(|p| p.region == region);
                let found = price.and_then(|p| Some((w, c, p, p.models.as_ref()?.advantage.as_ref()?)));
                out.extend(found.filter(|r| r.3.work_per_usd.is_finite() && r.3.work_per_usd > 0.0));
            }
        }
    }
    out
}

/// How much of an advantage is speed, and how much is price; `None` where nothing priced is compared.
pub(super) fn decomposition(all: &Context<'_>) -> Option<Figure> {
    let heads = ["Region", "Workload", "Contender", "#By throughput", "#By price", "#Work per dollar"];
    let mut table = Table::new("Data of the figure", &heads);
    let mut panels: Vec<RatioPanel> = Vec::new();
    for (w, c, p, a) in rivals(all) {
        let (region, label) = (clean(&p.region), all.label(&c.contender));
        let numbers = [a.performance, a.price, a.work_per_usd].map(times);
        table.texts([region.clone(), clean(&w.workload), label.clone()].into_iter().chain(numbers));
        let bar = |name: &str, value: f64, part| RatioRow {
            name: name.to_owned(),
            value,
            interval: None,
            label: times(value),
            mark: Mark::Bar(part),
        };
        let rows = vec![bar("throughput", a.performance, 0), bar("price", a.price, 1), bar("work per dollar", a.work_per_usd, 4)];
        let group = (format!("{}: {label}", clean(&w.workload)), rows);
        match panels.last_mut().filter(|last| last.title == region) {
            Some(panel) => panel.groups.push(group),
            None => panels.push(RatioPanel {
                title: region,
                axis: format!("over {}; right of 1 is better", all.base_label()),
                margin: 0.0,
                base: 1.0,
                groups: vec![group],
                noise: Vec::new(),
            }),
        }
    }
    let all_groups = panels.iter().map(|p| p.groups.len()).max().unwrap_or(0);
    let note = cut_note(all_groups, "comparisons of a region");
    panels.iter_mut().for_each(|p| p.groups.truncate(LARGE_PANELS));
    (!panels.is_empty()).then(|| Figure {
        number: 0,
        id: "decomposition",
        title: "How much of the advantage is speed, and how much is price".to_owned(),
        caption: format!(
            "Work per dollar is throughput times price, so on this logarithmic scale the lengths of the first two bars add up to the \
             third.{note}"
        ),
        legend: Vec::new(),
        panels: Panels::Ratios(panels),
        table,
    })
}

/// What each choice of region and scope does to work per dollar, the strongest first; `None` where there is no choice.
pub(super) fn tornado(all: &Context<'_>) -> Option<Figure> {
    let first = all.regions().first().copied()?;
    let heads = ["Workload", "Contender", "What is changed", "#Work per dollar", "#Against the study's"];
    let mut table = Table::new("Data of the figure", &heads);
    let mut panels = Vec::new();
    let rivals = rivals(all);
    for (w, c, _, headline) in rivals.iter().filter(|r| r.2.region == first) {
        let mut rows: Vec<(String, f64)> = Vec::new();
        let whole = headline.scopes.len().saturating_sub(1);
        rows.extend(headline.scopes[..whole].iter().map(|s| (s.name.clone(), s.work_per_usd)));
        let elsewhere =
            rivals.iter().filter(|r| r.0.workload == w.workload && r.1.contender == c.contender && r.2.region != first);
        rows.extend(elsewhere.map(|r| (clean(&r.2.region), r.3.work_per_usd)));
        let base = headline.work_per_usd;
        rows.retain(|r| r.1.is_finite() && r.1 > 0.0);
        rows.sort_by(|a, b| (b.1 / base).ln().abs().total_cmp(&(a.1 / base).ln().abs()).then(a.0.cmp(&b.0)));
        let label = all.label(&c.contender);
        for (name, value) in &rows {
            let against = signed_percent(value / base - 1.0, 2);
            table.texts([clean(&w.workload), label.clone(), name.clone(), times(*value), against]);
        }
        // What changes nothing has no bar.
        rows.retain(|r| (r.1 / base).ln().abs() > 1e-6);
        let bar = |(name, value): (String, f64)| RatioRow {
            name,
            value,
            interval: None,
            label: times(value),
            mark: Mark::Bar(usize::from(value < base)),
        };
        let group = (format!("as the study says: {}", times(base)), rows.into_iter().map(bar).collect::<Vec<_>>());
        if !group.1.is_empty() {
            panels.push(RatioPanel {
                title: format!("{}: {label}", clean(&w.workload)),
                axis: format!("work per dollar over {}", all.base_label()),
                margin: 0.0,
                base,
                groups: vec![group],
                noise: Vec::new(),
            });
        }
    }
    let note = cut_note(panels.len(), "comparisons");
    panels.truncate(LARGE_PANELS);
    (!panels.is_empty()).then(|| Figure {
        number: 0,
        id: "sensitivity",
        title: "What the answer depends on".to_owned(),
        caption: format!(
            "Bars begin at the work per dollar of the whole bill in {}; each shows what it would be if less of the bill counted, or in another \
             region or scenario, the strongest first.{note}",
            clean(first)
        ),
        legend: Vec::new(),
        panels: Panels::Ratios(panels),
        table,
    })
}

/// The throughput that the same money buys, and the money that the same throughput takes; `None` without prices.
pub(super) fn same_money(all: &Context<'_>) -> Option<Figure> {
    let first = all.regions().first().copied()?;
    let mut table = Table::new("Data of the figure", &["Workload", "Contender", "What", "#Value"]);
    let mut panels = Vec::new();
    for w in all.measured() {
        let money = base_bill(all, first)?.monthly_exact().as_usd_f64();
        let base = w.contenders.iter().find(|c| all.is_base(&c.contender)).and_then(|c| c.value);
        let Some(base) = base.filter(|v| *v > 0.0) else { continue };
        let mut rows = vec![(all.comparison.baseline.as_str(), base, money)];
        for (_, c, _, a) in rivals(all).iter().filter(|r| r.0.workload == w.workload && r.2.region == first) {
            rows.push((&c.contender, a.throughput_for_same_money, a.usd_month_for_same_throughput));
        }
        if rows.len() < 2 {
            continue;
        }
        let (units, dollars) = (column_decimals(rows.iter().map(|r| r.1)), dollar_decimals(rows.iter().map(|r| r.2)));
        let unit = clean(&w.metric.label);
        let work: Vec<Bar> = rows.iter().map(|r| bar(all, r.0, r.1, format!("{} {unit}", fixed(r.1, units)))).collect();
        let cost: Vec<Bar> = rows.iter().map(|r| bar(all, r.0, r.2, format!("${}", fixed(r.2, dollars)))).collect();
        for (what, bars) in [("for the same money", &work), ("for the same throughput", &cost)] {
            for b in bars {
                table.row(
                    RowKind::Plain,
                    [clean(&w.workload), b.name.clone(), what.to_owned(), b.label.clone()].map(Cell::new).to_vec(),
                );
            }
        }
        let title = clean(&w.workload);
        let money_text = format!("{unit} for {} a month", base_bill(all, first)?.monthly());
        let work_text = format!("USD a month for {} {unit}", fixed(base, units));
        panels.push(BarPanel { title: title.clone(), axis: money_text, groups: vec![(clean(first), work)] });
        panels.push(BarPanel { title, axis: work_text, groups: vec![(clean(first), cost)] });
    }
    let note = cut_note(panels.len(), "drawings");
    panels.truncate(LARGE_PANELS);
    (!panels.is_empty()).then(|| Figure {
        number: 0,
        id: "same-money",
        title: format!("The same money, and the same work, as {}", all.base_label()),
        caption: format!(
            "In {}. Both assume that systems can be bought in any size and that their throughput adds up.{note}",
            clean(first)
        ),
        legend: Vec::new(),
        panels: Panels::Bars(panels),
        table,
    })
}

fn base_bill<'a>(all: &'a Context<'_>, region: &str) -> Option<&'a Bill> {
    all.comparison.bills.iter().find(|b| all.is_base(&b.contender) && b.region == region)
}

fn bar(all: &Context<'_>, name: &str, value: f64, label: String) -> Bar {
    Bar { slot: all.slot(name).unwrap_or(0), name: all.label(name), value, interval: None, label }
}
