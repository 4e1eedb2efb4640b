//! All verdicts in one drawing: each ratio with its interval against the margin.

use super::figures::{LARGE_PANELS, pair};
use super::{Context, verdicts};
use crate::document::{Cell, Figure, Mark, Panels, RatioPanel, RatioRow, Table};
use crate::escape::clean;
use crate::number::{counted, or_absent, percent, ratio, ratio_interval};

/// Ratios of one panel at most; a reader of more than that looks for a row in the table.
const ROWS: usize = 60;

/// The ratios of a workload, headed by its name.
type Group = (String, Vec<RatioRow>);

/// Every ratio of throughput and of work per dollar; `None` where nothing is compared.
pub(super) fn figure(all: &Context<'_>) -> Option<Figure> {
    let mut table = Table::of_figure("Workload | Contender | What | #Ratio | #Interval | Verdict");
    let regions = all.regions();
    // Throughput, then work per dollar in each region, by workload.
    let mut drawn: Vec<Vec<Group>> = vec![Vec::new(); 1 + regions.len()];
    for w in &all.comparison.workloads {
        drawn.iter_mut().for_each(|groups| groups.push((clean(&w.workload), Vec::new())));
        for c in w.contenders.iter().filter(|c| !all.is_base(&c.contender)) {
            let priced = |region: &&str| c.price.iter().find(|p| p.region == **region)?.value_for_money.as_ref();
            let judged = std::iter::once(("throughput".to_owned(), c.throughput.as_ref()))
                .chain(regions.iter().map(|r| (format!("work per dollar, {}", clean(r)), priced(r))));
            for ((what, j), groups) in judged.zip(&mut drawn) {
                let (Some(j), Some((workload, rows))) = (j, groups.last_mut()) else { continue };
                let (name, tone) = (all.label(&c.contender), verdicts::tone(j.verdict));
                let interval = or_absent(Some(ratio_interval(&j.ratio)).filter(|text| !text.is_empty()));
                let texts = [workload.clone(), name.clone(), what, ratio(&j.ratio), interval].map(Cell::new);
                table.add(texts.into_iter().chain([Cell::new(j.verdict.word()).toned(tone)]));
                let label = format!("{} {}", ratio(&j.ratio), j.verdict.word());
                let (value, interval) = (j.ratio.value, j.ratio.interval.map(pair));
                rows.push(RatioRow { name, value, interval, label, mark: Mark::Judged(tone) });
            }
        }
    }
    let titles = regions.iter().map(|r| format!("Work per dollar, {}", clean(r)));
    let titled = std::iter::once("Throughput".to_owned()).chain(titles).zip(drawn);
    let mut panels: Vec<RatioPanel> = titled.filter_map(|(title, groups)| panel(all, title, groups)).collect();
    panels.truncate(LARGE_PANELS);
    let drawn: usize = panels.iter().flat_map(|p| &p.groups).map(|g| g.1.len()).sum();
    let all_ratios = counted(table.rows.len(), "ratio");
    let whole = drawn == table.rows.len();
    let cut = if whole { String::new() } else { format!(" {drawn} of {all_ratios} are drawn; the table has all.") };
    let control = all.comparison.layout.control.as_ref().map(|c| all.label(&c.of));
    let floor = control.map(|of| format!(" The darker band is the noise floor: {of} against itself.")).unwrap_or_default();
    let title = format!("Every ratio to {}; right of 1 is better", all.base_label());
    let (confidence, margin) = (percent(all.comparison.printed_confidence()), percent(all.comparison.decision.margin));
    let caption = format!(
        "Marks are ratios, lines their {confidence} intervals, the shaded band is the margin of {margin}: a line wholly beyond it is \
         better or worse, one wholly inside equivalent.{floor}{cut}"
    );
    Figure::new("forest", title, caption, Panels::Ratios, panels, table)
}

fn panel(all: &Context<'_>, title: String, groups: Vec<Group>) -> Option<RatioPanel> {
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
