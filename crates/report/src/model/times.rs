//! How long each kind of transaction took, for a metric that every one of them belongs to: a table, and the ratios to the baseline in a drawing.

use perbuck_core::compare::{Rate, WorkloadResult};
use perbuck_core::metric::Counted;
use perbuck_core::stats::Ratio;
use perbuck_core::units::thousands;

use super::Context;
use super::figures::{LARGE_PANELS, pair};
use super::levels::levels_of;
use super::measured::point_of;
use crate::document::{Block, Cell, Figure, Mark, Panels, RatioPanel, RatioRow, Table, Tone};
use crate::escape::clean;
use crate::number::{ABSENT, fixed, percent, range, ratio, ratio_interval, significant_decimals};

/// The kinds of both tests, and what to call each.
type Tests<'w> = [(&'static str, Vec<&'w str>); 2];

/// Table and drawing of each workload with such a metric.
pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    let measured = all.measured();
    let timed: Vec<(&WorkloadResult, Tests<'_>)> = measured.iter().filter_map(|w| Some((*w, names(w)?))).collect();
    let tables = timed.iter().map(|(w, tests)| Block::Table(table(all, w, tests)));
    figure(all, &timed).map(Block::Figure).into_iter().chain(tables).collect()
}

/// The kinds of a workload in the order of their tests.
fn names(w: &WorkloadResult) -> Option<Tests<'_>> {
    let Counted::Composite(composite) = &w.metric.of else { return None };
    let alone = composite.alone.iter().map(AsRef::as_ref).collect();
    let together = composite.together.iter().chain([&composite.elapsed]).map(AsRef::as_ref).collect();
    Some([("one after the other", alone), ("in streams", together)])
}

fn seconds_of<'w>(w: &'w WorkloadResult, (contender, level): (&str, u32), kind: &str) -> Option<&'w Rate> {
    point_of(w, contender, level)?.kinds.iter().find(|k| k.kind == kind)?.seconds.as_ref()
}

/// The time of a query by itself against that of what its contender is compared with; `None` where it has none, or where trials of several
/// levels give several.
pub(super) fn against(all: &Context<'_>, w: &WorkloadResult, contender: &str, query: &str) -> Option<String> {
    let [(_, alone), _] = names(w)?;
    let kind = alone.into_iter().find(|kind| kind.rsplit(' ').next() == Some(query))?;
    let [level] = levels_of(w)[..] else { return None };
    all.compared_with(contender)?;
    seconds_of(w, (contender, level), kind)?.ratio.map(|time| ratio(&time))
}

/// Seconds of each kind, side by side. What failed has no time.
fn table(all: &Context<'_>, w: &WorkloadResult, tests: &Tests<'_>) -> Table {
    let caption = format!("{}: seconds of each transaction; one that failed in every trial has no time", clean(&w.workload));
    let mut table = Table::new(caption, &format!("Kind | #{}", all.words().head));
    let contenders = all.contenders_of(w);
    for name in &contenders {
        table.column(&format!("{}, s", all.label(name)), true);
        if let Some(to) = all.compared_with(name) {
            table.column(&format!("{} against {}", all.label(name), all.label(to)), true);
        }
    }
    for kind in tests.iter().flat_map(|(_, names)| names) {
        for level in levels_of(w) {
            let mut cells = vec![Cell::new(clean(kind)), Cell::new(thousands(level.into()))];
            for name in &contenders {
                let time = seconds_of(w, (name, level), kind);
                cells.push(time.map_or_else(|| Cell::new(ABSENT), seconds));
                if all.compared_with(name).is_some() {
                    let against = time.and_then(|time| time.ratio);
                    cells.push(against.map_or_else(|| Cell::new(ABSENT), |r| Cell::noted(ratio(&r), ratio_interval(&r))));
                }
            }
            table.add(cells);
        }
    }
    table
}

fn seconds(time: &Rate) -> Cell {
    let decimals = significant_decimals(time.mean, 3);
    Cell::noted(fixed(time.mean, decimals), time.interval.map(|i| range(i, decimals)).unwrap_or_default())
}

/// The ratios of the times, a panel for each test of each workload and level; left of 1 is faster.
fn figure(all: &Context<'_>, timed: &[(&WorkloadResult, Tests<'_>)]) -> Option<Figure> {
    let mut drawn = Table::of_figure(&format!("Workload | {} | Contender | Kind | #Ratio | #Interval", all.words().head));
    let mut panels = Vec::new();
    for (w, tests) in timed {
        for level in levels_of(w) {
            panels.extend(tests.iter().filter_map(|test| panel(all, w, level, test, &mut drawn)));
        }
    }
    panels.truncate(LARGE_PANELS);
    let title = format!("The time of each transaction against {}; left of 1 is faster", all.base_label());
    let (confidence, margin) = (percent(all.comparison.printed_confidence()), percent(all.comparison.decision.margin));
    let caption = format!(
        "Marks are ratios of times, lines their {confidence} intervals, the shaded band is the margin of {margin}. A green line is wholly faster, a \
         red one wholly slower. The intervals are not corrected for their number: some of so many miss by chance, so these are no verdicts."
    );
    Figure::new("times", title, caption, Panels::Ratios, panels, drawn)
}

fn panel(
    all: &Context<'_>,
    w: &WorkloadResult,
    level: u32,
    (called, names): &(&str, Vec<&str>),
    drawn: &mut Table,
) -> Option<RatioPanel> {
    let mut groups = Vec::new();
    for contender in all.contenders_of(w).into_iter().filter(|name| all.compared_with(name).is_some()) {
        let mut rows = Vec::new();
        for kind in names {
            let Some(time) = seconds_of(w, (contender, level), kind).and_then(|time| time.ratio) else { continue };
            let (name, label, interval) = (clean(kind), ratio(&time), ratio_interval(&time));
            let at = [clean(&w.workload), thousands(level.into()), all.label(contender), name.clone(), label.clone(), interval];
            drawn.add(at.map(Cell::new));
            let mark = Mark::Judged(tone(&time, all.comparison.decision.margin));
            rows.push(RatioRow { name, value: time.value, interval: time.interval.map(pair), label, mark });
        }
        groups.extend((!rows.is_empty()).then(|| (all.label(contender), rows)));
    }
    (!groups.is_empty()).then(|| RatioPanel {
        title: format!("{}, {}: {called}", clean(&w.workload), all.words().at(level)),
        axis: format!("time in units of {}", all.base_label()),
        margin: all.comparison.decision.margin,
        base: 1.0,
        noise: vec![None; groups.len()],
        groups,
    })
}

/// Which way a time differs, where its whole interval lies beyond the margin.
fn tone(time: &Ratio, margin: f64) -> Tone {
    match time.interval {
        Some(interval) if interval.high < 1.0 / (1.0 + margin) => Tone::Better,
        Some(interval) if interval.low > 1.0 + margin => Tone::Worse,
        _ => Tone::Plain,
    }
}
