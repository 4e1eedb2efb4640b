//! A window in phases: what each of them gave, and throughput over time.

use perbuck_core::run_record::{PhaseRecord, RunRecord};
use perbuck_core::units::{duration_text, thousands, total};

use super::environment::records_by_point;
use super::open_figures::{POINTS, time_line};
use super::open_loop::{completed, percentiles};
use super::steady::seconds;
use super::{Context, paragraph, time_from};
use crate::document::{Block, Figure, Panels, Table, TimePanel};
use crate::escape::clean;
use crate::number::{ABSENT, column_decimals, fixed};

/// One table per workload and contender; empty where no trial has phases.
pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    let open = all.study.sweep.is_open();
    let tables: Vec<Block> = records_by_point(all)
        .into_iter()
        .filter_map(|(workload, name, _, trials)| table(all, workload, name, &trials, open))
        .collect();
    if tables.is_empty() {
        return tables;
    }
    let mut text =
        "All trials of a contender together. A transaction counts in the phase in which it ends, so one that waited in a \
                    phase may show in the next."
            .to_owned();
    if open {
        text += " Response times are those of completed transactions, from the intended start; what had not ended when the window closed is \
                 in none.";
    }
    std::iter::once(paragraph(text)).chain(tables).collect()
}

fn table(all: &Context<'_>, workload: &str, name: &str, trials: &[&RunRecord], open: bool) -> Option<Block> {
    let template = trials.iter().map(|r| &r.measured.phases).find(|p| !p.is_empty())?;
    // Trials of one study have the same phases; one that has not is from another study, and a warning says so.
    let same_phases = |r: &&&RunRecord| {
        let phases = &r.measured.phases;
        phases.len() == template.len() && phases.iter().zip(template).all(|(a, b)| a.phase == b.phase)
    };
    let same_phases: Vec<&RunRecord> = trials.iter().filter(same_phases).copied().collect();
    let caption = format!("{}, {}: throughput and {} by phase", clean(workload), all.label(name), time_from(all.study));
    let mut table = Table::new(caption, "Phase | Time | #Completed per second | #p50 | #p95 | #p99 | #Maximum | #Failed");
    let of = |i: usize| -> Vec<&PhaseRecord> { same_phases.iter().map(|r| &r.measured.phases[i]).collect() };
    let rates: Vec<f64> = (0..template.len()).map(|i| completed_per_second(&of(i))).collect();
    let decimals = column_decimals(rates.iter().copied());
    for (i, (phase, rate)) in template.iter().zip(&rates).enumerate() {
        let records = of(i);
        let kinds = || records.iter().flat_map(|p| p.transactions.values());
        let times = percentiles(kinds().map(|t| if open { &t.response } else { &t.service }), [50.0, 95.0, 99.0, 100.0]);
        let failed = total(kinds().map(|t| t.failed));
        let names = [format!("{}: {}", i + 1, phase.phase.load.text()), duration_text(phase.phase.length_ns)];
        let times = times.map_or_else(|| [ABSENT; 4].map(str::to_owned), |t| t.map(duration_text));
        table.add(names.into_iter().chain([fixed(*rate, decimals)]).chain(times).chain([thousands(failed)]));
    }
    Some(Block::Table(table))
}

fn completed_per_second(records: &[&PhaseRecord]) -> f64 {
    let completed = total(records.iter().map(|p| completed(&p.transactions)));
    let seconds: f64 = records.iter().map(|p| p.phase.length_ns as f64 / 1e9).sum();
    if seconds > 0.0 { completed as f64 / seconds } else { f64::NAN }
}

/// Transactions completed in each second of the window, of the first trial of each contender; `None` without any.
pub(super) fn over_time(all: &Context<'_>) -> Option<Figure> {
    let mut table = Table::of_figure("Workload | Contender | #Trial | #Fewest in a second | #Most in a second");
    let mut panels: Vec<TimePanel> = Vec::new();
    for (workload, name, _, trials) in records_by_point(all) {
        let Some(first) = trials.first() else { continue };
        let points = seconds(first, 0);
        let values = || points.iter().map(|p| p.1);
        let (Some(fewest), Some(most)) = (values().reduce(f64::min), values().reduce(f64::max)) else { continue };
        let title = clean(workload);
        table.add([title.clone(), all.label(name), first.key.trial.to_string(), fixed(fewest, 0), fixed(most, 0)]);
        let line = time_line(all, first, thinned(&points));
        match panels.last_mut().filter(|p| p.title == title) {
            Some(panel) => panel.lines.push(line),
            None => {
                let axis = "transactions completed per second".to_owned();
                panels.push(TimePanel { title, axis, seconds: first.measured.window_ns as f64 / 1e9, lines: vec![line] });
            }
        }
    }
    let title = format!("{}; higher is better", all.words().throughput);
    let caption = "Transactions completed in each second of the window, of the first trial of each contender.";
    Figure::new("throughput", title, caption, Panels::Times, panels, table)
}

/// Means of neighbours where there are too many points.
pub(super) fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mean = |some: &[(f64, f64)]| {
        let n = some.len().max(1) as f64;
        (some.iter().map(|p| p.0).sum::<f64>() / n, some.iter().map(|p| p.1).sum::<f64>() / n)
    };
    points.chunks(points.len().div_ceil(POINTS).max(1)).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_seconds_become_means_of_neighbours() {
        let points: Vec<(f64, f64)> = (0..600).map(|i| (f64::from(i), f64::from(i % 2))).collect();
        let thin = thinned(&points);
        assert_eq!((thin.len(), thin[0], thin[299]), (300, (0.5, 0.5), (598.5, 0.5)));
        assert_eq!(thinned(&points[..3]), &points[..3]);
        assert!(thinned(&[]).is_empty());
    }
}
