//! Figures of bills and of what they buy: how a month's cost adds up, the same money, the same work, and what each
//! advantage is made of.

use perbuck_core::bill::Bill;
use perbuck_core::compare::{Advantage, ContenderResult, PricePerformance, WorkloadResult};

use super::Context;
use super::figures::{LARGE_PANELS, cut, cut_note};
use super::models::{rows, times};
use super::money::{by_region, groups};
use crate::document::{Bar, BarPanel, Fall, FallPanel, Figure, Mark, Panels, RatioPanel, RatioRow, Table};
use crate::escape::clean;
use crate::number::{column_decimals, dollar_decimals, fixed, signed_percent};

/// How the cost of a month adds up, part by part; `None` without bills.
pub(super) fn waterfall(all: &Context<'_>) -> Option<Figure> {
    let mut table = Table::of_figure("Region | Contender | Part | #USD a month | #Sum so far");
    let mut panels = Vec::new();
    for bill in by_region(&all.comparison.bills) {
        let (region, label) = (clean(&bill.region), all.label(&bill.contender));
        let mut sum = 0.0;
        let mut rows = Vec::new();
        for (part, group) in groups(&all.comparison.bills).into_iter().enumerate() {
            let (name, amount, from) = (group.label().to_owned(), bill.monthly_of(group), sum);
            sum += amount.as_usd_f64();
            table.add([region.clone(), label.clone(), name.clone(), amount.to_string(), format!("${}", fixed(sum, 2))]);
            rows.push(Fall { name, from, to: sum, label: amount.to_string(), part: Some(part) });
        }
        let month = bill.monthly();
        rows.push(Fall { name: "month".to_owned(), from: 0.0, to: month.as_usd_f64(), label: month.to_string(), part: None });
        panels.push(FallPanel { title: format!("{label}, {region}"), axis: "USD per month".to_owned(), rows });
    }
    if groups(&all.comparison.bills).len() < 2 {
        return None;
    }
    let note = cut(&mut panels, "bills");
    let caption =
        format!("Each part begins where the one above it ends; the last bar is the month. All bills have one scale.{note}");
    Figure::new("waterfall", "How the cost of a month adds up", caption, Panels::Falls, panels, table)
}

/// A rival of the baseline in one region.
type Rival<'a> = (&'a WorkloadResult, &'a ContenderResult, &'a PricePerformance, &'a Advantage);

/// Every rival with its advantage, by region.
pub(super) fn rivals<'a>(all: &'a Context<'_>) -> Vec<Rival<'a>> {
    let priced = all.regions().into_iter().flat_map(|region| rows(all, region));
    let others = priced.filter(|(_, c, _, _)| !all.is_base(&c.contender) && !all.is_control(&c.contender));
    let found = others.filter_map(|(w, c, p, models)| Some((w, c, p, models.advantage.as_ref()?)));
    found.filter(|(_, _, _, a)| a.work_per_usd.is_finite() && a.work_per_usd > 0.0).collect()
}

/// How much of an advantage is speed, and how much is price; `None` where nothing priced is compared.
pub(super) fn decomposition(all: &Context<'_>) -> Option<Figure> {
    let mut table = Table::of_figure("Region | Workload | Contender | #By throughput | #By price | #Work per dollar");
    let mut panels: Vec<RatioPanel> = Vec::new();
    for (w, c, p, a) in rivals(all) {
        let (region, workload, label) = (clean(&p.region), clean(&w.workload), all.label(&c.contender));
        let numbers = [a.performance, a.price, a.work_per_usd].map(times);
        table.add([region.clone(), workload.clone(), label.clone()].into_iter().chain(numbers));
        let rows = vec![bar("throughput", a.performance, 0), bar("price", a.price, 1), bar("work per dollar", a.work_per_usd, 4)];
        let group = (format!("{workload}: {label}"), rows);
        match panels.last_mut().filter(|last| last.title == region) {
            Some(panel) => panel.groups.push(group),
            None => panels.push(panel(region, format!("over {}; right of 1 is better", all.base_label()), 1.0, group)),
        }
    }
    let most = panels.iter().map(|p| p.groups.len()).max().unwrap_or(0);
    let note = cut_note(most, "comparisons of a region");
    panels.iter_mut().for_each(|p| p.groups.truncate(LARGE_PANELS));
    let title = "How much of the advantage is speed, and how much is price";
    let caption = format!(
        "Work per dollar is throughput times price, so on this logarithmic scale the lengths of the first two bars add up to the \
         third.{note}"
    );
    Figure::new("decomposition", title, caption, Panels::Ratios, panels, table)
}

fn panel(title: String, axis: String, base: f64, group: (String, Vec<RatioRow>)) -> RatioPanel {
    RatioPanel { title, axis, margin: 0.0, base, groups: vec![group], noise: Vec::new() }
}

fn bar(name: &str, value: f64, part: usize) -> RatioRow {
    RatioRow { name: name.to_owned(), value, interval: None, label: times(value), mark: Mark::Bar(part) }
}

/// What each choice of region and scope does to work per dollar, the strongest first; `None` where there is no choice.
pub(super) fn tornado(all: &Context<'_>) -> Option<Figure> {
    let first = all.regions().first().copied()?;
    let mut table = Table::of_figure("Workload | Contender | What is changed | #Work per dollar | #Against the study's");
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
        let (workload, label) = (clean(&w.workload), all.label(&c.contender));
        for (name, value) in &rows {
            let against = signed_percent(value / base - 1.0, 2);
            table.add([workload.clone(), label.clone(), name.clone(), times(*value), against]);
        }
        // What changes nothing has no bar.
        rows.retain(|r| (r.1 / base).ln().abs() > 1e-6);
        if !rows.is_empty() {
            let bars = rows.iter().map(|(name, value)| bar(name, *value, usize::from(*value < base))).collect();
            let group = (format!("as the study says: {}", times(base)), bars);
            let axis = format!("work per dollar over {}", all.base_label());
            panels.push(panel(format!("{workload}: {label}"), axis, base, group));
        }
    }
    let note = cut(&mut panels, "comparisons");
    let caption = format!(
        "Bars begin at the work per dollar of the whole bill in {}; each shows what it would be if less of the bill counted, or in another \
         region or scenario, the strongest first.{note}",
        clean(first)
    );
    Figure::new("sensitivity", "What the answer depends on", caption, Panels::Ratios, panels, table)
}

/// The throughput that the same money buys, and the money that the same throughput takes; `None` without prices.
pub(super) fn same_money(all: &Context<'_>) -> Option<Figure> {
    let first = all.regions().first().copied()?;
    let mut table = Table::of_figure("Workload | Contender | What | #Value");
    let mut panels = Vec::new();
    for w in all.measured() {
        let month = base_bill(all, first)?;
        let base = w.contenders.iter().find(|c| all.is_base(&c.contender)).and_then(|c| c.value);
        let Some(base) = base.filter(|v| *v > 0.0) else { continue };
        let mut rows = vec![(all.comparison.baseline.as_str(), base, month.monthly_exact().as_usd_f64())];
        for (_, c, _, a) in rivals(all).iter().filter(|r| r.0.workload == w.workload && r.2.region == first) {
            rows.push((&c.contender, a.throughput_for_same_money, a.usd_month_for_same_throughput));
        }
        if rows.len() < 2 {
            continue;
        }
        let (units, dollars) = (column_decimals(rows.iter().map(|r| r.1)), dollar_decimals(rows.iter().map(|r| r.2)));
        let (title, unit) = (clean(&w.workload), clean(&w.metric.label));
        let work = rows.iter().map(|r| (r.0, r.1, format!("{} {unit}", fixed(r.1, units)))).collect();
        let cost = rows.iter().map(|r| (r.0, r.2, format!("${}", fixed(r.2, dollars)))).collect();
        for (what, axis, bars) in [
            ("for the same money", format!("{unit} for {} a month", month.monthly()), work),
            ("for the same throughput", format!("USD a month for {} {unit}", fixed(base, units)), cost),
        ] {
            let bars: Vec<(&str, f64, String)> = bars;
            let bar = |(contender, value, label): (&str, f64, String)| {
                let name = all.label(contender);
                table.add([title.clone(), name.clone(), what.to_owned(), label.clone()]);
                Bar { slot: all.slot(contender).unwrap_or(0), name, value, interval: None, label }
            };
            let groups = vec![(clean(first), bars.into_iter().map(bar).collect())];
            panels.push(BarPanel { title: title.clone(), axis, groups });
        }
    }
    let note = cut(&mut panels, "drawings");
    let title = format!("The same money, and the same work, as {}", all.base_label());
    let caption = format!(
        "In {}. Both assume that systems can be bought in any size and that their throughput adds up.{note}",
        clean(first)
    );
    Figure::new("same-money", title, caption, Panels::Bars, panels, table)
}

fn base_bill<'a>(all: &'a Context<'_>, region: &str) -> Option<&'a Bill> {
    all.comparison.bills.iter().find(|b| all.is_base(&b.contender) && b.region == region)
}
