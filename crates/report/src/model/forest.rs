//! All verdicts in one drawing: each ratio with its interval against the margin.

use perbuck_core::compare::Judgement;

use super::figures::{LARGE_PANELS, pair};
use super::{Context, verdicts};
use crate::document::{Cell, Figure, Mark, Panels, RatioPanel, RatioRow, RowKind, Table};
use crate::escape::clean;
use crate::number::{ABSENT, counted, percent, ratio, ratio_interval};

/// Ratios of one panel at most; a reader of more than that looks for a row in the table.
const ROWS: usize = 60;

/// Every ratio of throughput and of work per dollar; `None` where nothing is compared.
pub(super) fn figure(all: &Context<'_>) -> Option<Figure> {
    let confidence = percent(all.comparison.decision.confidence);
    let heads = ["Workload", "Contender", "What", "#Ratio", "#Interval", "Verdict"];
    let mut table = Table::new("Data of the figure", &heads);
    let mut speed: Vec<(String, Vec<RatioRow>)> = Vec::new();
    let regions = all.regions();
    let mut money: Vec<Vec<(String, Vec<RatioRow>)>> = vec![Vec::new(); regions.len()];
    for w in &all.comparison.workloads {
        let mut by_speed = Vec::new();
        let mut by_money: Vec<Vec<RatioRow>> = vec![Vec::new(); regions.len()];
        for c in w.contenders.iter().filter(|c| !all.is_base(&c.contender)) {
            let label = all.label(&c.contender);
            let mut add = |rows: &mut Vec<RatioRow>, what: &str, j: &Judgement| {
                let verdict = Cell::new(j.verdict.word()).toned(verdicts::tone(j.verdict));
                let interval = Some(ratio_interval(&j.ratio)).filter(|t| !t.is_empty()).unwrap_or_else(|| ABSENT.to_owned());
                let texts = [clean(&w.workload), label.clone(), what.to_owned(), ratio(&j.ratio), interval].map(Cell::new);
                table.row(RowKind::Plain, texts.into_iter().chain([verdict]).collect());
                rows.push(row(label.clone(), j));
            };
            if let Some(j) = &c.throughput {
                add(&mut by_speed, "throughput", j);
            }
            for (place, region) in regions.iter().enumerate() {
                let price = c.price.iter().find(|p| p.region == *region);
                let Some(j) = price.and_then(|p| p.value_for_money.as_ref()) else { continue };
                add(&mut by_money[place], &format!("work per dollar, {}", clean(region)), j);
            }
        }
        speed.push((clean(&w.workload), by_speed));
        money.iter_mut().zip(by_money).for_each(|(groups, rows)| groups.push((clean(&w.workload), rows)));
    }
    let titles = regions.iter().map(|r| format!("Work per dollar, {}", clean(r)));
    let mut panels: Vec<RatioPanel> = std::iter::once(("Throughput".to_owned(), speed))
        .chain(titles.zip(money))
        .filter_map(|(title, groups)| panel(all, title, groups))
        .collect();
    panels.truncate(LARGE_PANELS);
    let drawn: usize = panels.iter().flat_map(|p| &p.groups).map(|g| g.1.len()).sum();
    let cut = if drawn < table.rows.len() {
        format!(" {drawn} of {} are drawn; the table has all.", counted(table.rows.len(), "ratio"))
    } else {
        String::new()
    };
    let control = all.comparison.layout.control.as_ref();
    let floor = control
        .map_or_else(String::new, |c| format!(" The darker band is the noise floor: {} against itself.", all.label(&c.of)));
    (!panels.is_empty()).then(|| Figure {
        number: 0,
        id: "forest",
        title: format!("Every ratio to {}; right of 1 is better", all.base_label()),
        caption: format!(
            "Marks are ratios, lines their {confidence} intervals, the shaded band is the margin of {}: a line wholly beyond it is \
             better or worse, one wholly inside equivalent.{floor}{cut}",
            percent(all.comparison.decision.margin)
        ),
        legend: Vec::new(),
        panels: Panels::Ratios(panels),
        table,
    })
}

fn row(name: String, j: &Judgement) -> RatioRow {
    RatioRow {
        name,
        value: j.ratio.value,
        interval: j.ratio.interval.map(|i| (i.low, i.high)),
        label: format!("{} {}", ratio(&j.ratio), j.verdict.word()),
        mark: Mark::Judged(verdicts::tone(j.verdict)),
    }
}

fn panel(all: &Context<'_>, title: String, groups: Vec<(String, Vec<RatioRow>)>) -> Option<RatioPanel> {
    let mut left = ROWS;
    let (mut kept, mut noise) = (Vec::new(), Vec::new());
    for ((name, mut rows), w) in groups.into_iter().zip(&all.comparison.workloads) {
        rows.truncate(left);
        left -= rows.len();
        if !rows.is_empty() {
            kept.push((name, rows));
            noise.push(w.noise.as_ref().and_then(|n| n.ratio.interval).map(pair));
        }
    }
    (!kept.is_empty()).then(|| RatioPanel {
        title,
        axis: format!("ratio to {}", all.base_label()),
        margin: all.comparison.decision.margin,
        base: 1.0,
        groups: kept,
        noise,
    })
}
