//! The charts of the brief: work per dollar with intervals, the cost of a month, throughput by load.

use perbuck_core::compare::{Judgement, WorkloadResult};

use crate::document::{Figure, LinePanel, Mark, Panels, RatioPanel, RatioRow, Scale, Stack, StackPanel, Table};
use crate::escape::clean;
use crate::model::figures::{line_panel, mean_point, pair};
use crate::model::money::groups;
use crate::model::verdicts::{tone, work_per_dollar};
use crate::model::{Context, capital};
use crate::number::{delta_decimals, percent, ratio, ratio_interval, signed_percent};

/// Rows, bars and drawings that have room on one screen.
const ROWS: usize = 10;
const BARS: usize = 6;
const WORKLOADS: usize = 4;

/// The name of the rows over all workloads.
const ALL: &str = "all workloads";

/// Levels that a drawing has room for.
const LEVELS: usize = 8;

pub(super) fn figures(all: &Context<'_>) -> Vec<Figure> {
    let found = [work(all), cost(all), throughput(all)].into_iter().flatten();
    found.map(|f| Figure { narrow: true, ..f }).collect()
}

/// A row: the workload (or all of them), the contender, and what is judged.
type Row<'a> = (String, &'a str, &'a Judgement);

/// Ratios with their intervals, those over all workloads first; `None` where nothing is compared.
fn work(all: &Context<'_>) -> Option<Figure> {
    let c = all.comparison;
    let region = all.regions().into_iter().find(|r| all.is_headline(r));
    let mut rows: Vec<Row<'_>> = Vec::new();
    for o in &c.overall {
        let priced = region.and_then(|r| o.price.iter().find(|p| p.region == r)).map(|p| &p.value_for_money);
        rows.push((ALL.to_owned(), &o.contender, priced.unwrap_or(&o.throughput)));
    }
    let mut money = false;
    for w in &c.workloads {
        for rival in w.contenders.iter().filter(|c| !all.is_base(&c.contender) && c.control_of.is_none()) {
            let priced = region.and_then(|r| rival.price.iter().find(|p| p.region == r)?.value_for_money.as_ref());
            money |= priced.is_some();
            rows.extend(priced.or(rival.throughput.as_ref()).map(|j| (clean(&w.workload), rival.contender.as_str(), j)));
        }
    }
    let cut = shortened(&mut rows, c.overall.len());
    let one = rows.iter().all(|r| r.1 == rows[0].1);
    let mut groups: Vec<(String, Vec<RatioRow>)> = Vec::new();
    for (workload, contender, j) in rows {
        let label = format!("{} {}", ratio(&j.ratio), ratio_interval(&j.ratio));
        // The name of a workload stays as the study has it.
        let head = if workload == ALL { capital(ALL) } else { workload.clone() };
        let (name, head) = if one { (workload, String::new()) } else { (all.label(contender), head) };
        let row = RatioRow {
            name,
            value: j.ratio.value,
            interval: j.ratio.interval.map(pair),
            label: label.trim().to_owned(),
            mark: Mark::Judged(tone(j.verdict)),
        };
        match groups.last_mut().filter(|g| g.0 == head) {
            Some(group) => group.1.push(row),
            None => groups.push((head, vec![row])),
        }
    }
    let what = if money { capital(work_per_dollar(all)) } else { "Throughput".to_owned() };
    let title = format!("{what} against {}", all.base_label());
    let located = region.filter(|_| money).map(|r| format!(" in {}", clean(r))).unwrap_or_default();
    let known = groups.iter().flat_map(|g| &g.1).any(|r| r.interval.is_some());
    let bounds = if known { format!(" with {} intervals", percent(c.printed_confidence())) } else { String::new() };
    let margin = percent(c.decision.margin);
    let caption = format!("Ratios{located}{bounds}; right of 1 is better; band: margin of {margin}.{cut}");
    let panel =
        RatioPanel { title: title.clone(), axis: String::new(), margin: c.decision.margin, base: 1.0, groups, noise: Vec::new() };
    let panels = if panel.groups.is_empty() { Vec::new() } else { vec![panel] };
    Figure::new("brief-work", title, caption, Panels::Ratios, panels, Table::default())
}

/// Keeps the rows over all workloads, and of many others the lowest and the highest; says so.
fn shortened(rows: &mut Vec<Row<'_>>, overall: usize) -> String {
    let parts = rows.len() - overall;
    if rows.len() <= ROWS {
        return String::new();
    }
    let mut sorted: Vec<usize> = (overall..rows.len()).collect();
    sorted.sort_by(|a, b| rows[*b].2.ratio.value.total_cmp(&rows[*a].2.ratio.value));
    let each = ROWS.saturating_sub(overall).max(2) / 2;
    let kept: Vec<usize> = sorted[..each].iter().chain(&sorted[sorted.len() - each..]).copied().collect();
    *rows = (0..overall).chain(kept).map(|i| rows[i].clone()).collect();
    format!(" The {each} highest and the {each} lowest of {parts} are shown.")
}

/// What a month costs in the first region; `None` where all contenders cost the same.
fn cost(all: &Context<'_>) -> Option<Figure> {
    let region = all.regions().into_iter().find(|r| all.is_headline(r))?;
    let bills: Vec<_> = all.comparison.bills.iter().filter(|b| b.region == region && !all.is_control(&b.contender)).collect();
    let base = bills.iter().find(|b| all.is_base(&b.contender)).map(|b| b.horizon_total().as_usd_f64());
    if bills.windows(2).all(|w| w[0].horizon_total() == w[1].horizon_total()) && bills.len() > 1 {
        return None;
    }
    let used = |g: &perbuck_core::bill::LineGroup| bills.iter().any(|b| b.monthly_of(*g).0 > 0);
    let groups: Vec<_> = groups(&all.comparison.bills).into_iter().filter(used).collect();
    let stack = |b: &&perbuck_core::bill::Bill| {
        let parts = groups.iter().map(|g| b.monthly_of(*g)).map(|m| (m.as_usd_f64(), m.to_string())).collect();
        let share = base.filter(|b| *b > 0.0).map(|base| b.horizon_total().as_usd_f64() / base - 1.0);
        let against =
            share.filter(|_| !all.is_base(&b.contender)).map(|s| format!(" ({})", signed_percent(s, delta_decimals([s]))));
        Stack { name: all.label(&b.contender), parts, label: b.monthly().to_string() + &against.unwrap_or_default() }
    };
    let stacks: Vec<Stack> = bills.iter().take(BARS).map(stack).collect();
    let cut = if bills.len() > BARS { format!(" {BARS} of {} contenders are shown.", bills.len()) } else { String::new() };
    let caption = format!("USD in {}.{cut}", clean(region));
    let title = "Cost of a month".to_owned();
    let panel = StackPanel { title: title.clone(), axis: String::new(), stacks };
    let figure = Figure::new("brief-cost", title, caption, Panels::Stacks, vec![panel], Table::default())?;
    Some(Figure { legend: groups.iter().map(|g| g.label().to_owned()).collect(), ..figure })
}

/// Throughput by load, as grouped bars; `None` where nothing was measured.
fn throughput(all: &Context<'_>) -> Option<Figure> {
    let measured = all.measured();
    let cut = if measured.len() > WORKLOADS {
        format!(" The first {WORKLOADS} of {} workloads are shown.", measured.len())
    } else {
        String::new()
    };
    let panels: Vec<LinePanel> = measured.iter().take(WORKLOADS).map(|w| bars(all, w)).collect();
    let confidence = percent(all.comparison.printed_confidence());
    let known = panels.iter().flat_map(|p| &p.series).flat_map(|s| &s.points).any(|p| p.interval.is_some());
    let bars = if known { format!(" with their {confidence} intervals") } else { String::new() };
    let caption = format!("Means{bars} by {}; higher is better.{cut}", all.words().unit);
    Figure::new("brief-throughput", "Throughput by load", caption, Panels::Columns, panels, Table::default())
}

/// The bars of a workload. Of many levels the first, the last and those between them at equal steps have room.
fn bars(all: &Context<'_>, w: &WorkloadResult) -> LinePanel {
    let mut panel = line_panel(all, w, clean(&w.metric.title()), Scale::Linear, |_, c| mean_point(c));
    panel.series.retain(|s| all.study.contenders.get(s.slot).is_none_or(|c| c.control_of.is_none()));
    panel.series.truncate(BARS);
    panel.title = format!("{}, {}", panel.title, clean(&w.metric.label));
    let n = panel.levels.len();
    if n > LEVELS {
        let kept: Vec<u32> = (0..LEVELS).map(|i| panel.levels[i * (n - 1) / (LEVELS - 1)]).collect();
        panel.levels = kept;
    }
    panel
}
