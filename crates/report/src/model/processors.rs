//! What the processors of the machines did while the best point was measured.

use perbuck_core::compare::WorkloadResult;
use perbuck_core::run_record::{MachineSamples, ProcessorTime, RunRecord};

use super::Context;
use super::figures::cut;
use crate::document::{Figure, HeatGroup, HeatPanel, HeatRow, Panels, Table};
use crate::escape::clean;
use crate::number::fixed;

/// A part of a processor's time: its name, and where it stands.
type Part = (&'static str, fn(&ProcessorTime) -> &[u8]);

const PARTS: [Part; 4] = [
    ("programs and kernel", |p| &p.work.0),
    ("softirqs", |p| &p.softirq.0),
    ("interrupts", |p| &p.irq.0),
    ("stolen by the hypervisor", |p| &p.stolen.0),
];

/// The trial of each contender, at the point of its highest throughput, in which a single processor of a machine was busiest; `None`
/// where no record says what processors did.
pub(super) fn figure(all: &Context<'_>) -> Option<Figure> {
    let heads = format!(
        "Workload | Contender | Machine | {} | #Trial | #Processors | #Busiest, mean | #All, mean | \
        #Most softirqs of one, mean | #Stolen by the hypervisor, mean",
        all.words().head
    );
    let mut table = Table::of_figure(&heads);
    let mut panels = Vec::new();
    for w in all.measured() {
        for name in all.contenders_of(w) {
            for Fullest { machine, record, times } in fullest(all, w, name) {
                let label = all.label(name);
                let (level, trial) = (record.key.level().to_string(), record.key.trial.to_string());
                let count = times.processors.len().to_string();
                let texts = [clean(&w.workload), label.clone(), clean(&machine), level.clone(), trial.clone(), count];
                table.add(texts.into_iter().chain(means(times)));
                let title = format!("{} · {label} · {} · {level}, trial {trial}", clean(&w.workload), clean(&machine));
                panels.push(heat_of(title, times));
            }
        }
    }
    let note = cut(&mut panels, "trials");
    let beside =
        if all.records.iter().any(|r| r.host.shared_with_server) { ", on the client's the server among them" } else { "" };
    let caption = format!(
        "A row for each processor of a machine, with all its programs{beside}; time runs to the right, and full \
         colour is all of a processor. Of each contender the trial at its highest throughput in which one processor was \
         busiest. One full row beside empty ones is a limit that no mean shows. Idle time is not drawn.{note}"
    );
    Figure::new("processors", "Was a processor full?", caption, Panels::Heat, panels, table)
}

/// What each processor did, as the numbers of a drawing.
pub(crate) fn heat_of(title: String, times: &MachineSamples) -> HeatPanel {
    HeatPanel { title, ends_s: times.steps_ms.iter().map(|ms| f64::from(*ms) / 1000.0).collect(), groups: groups(times) }
}

/// How many processors were busy in each step, all together.
pub(crate) fn machine_busy(times: &MachineSamples) -> Vec<f64> {
    let step = |i: usize| times.processors.iter().map(|p| busy(p, i)).sum::<f64>() / 100.0;
    (0..times.steps_ms.len()).map(step).collect()
}

/// The trial in which a processor of a machine was busiest.
struct Fullest<'a> {
    machine: String,
    record: &'a RunRecord,
    times: &'a MachineSamples,
}

/// Of each machine that trials of a contender's best point sampled.
fn fullest<'a>(all: &Context<'a>, w: &WorkloadResult, name: &str) -> Vec<Fullest<'a>> {
    let Some(best) = w.best_of(name) else { return Vec::new() };
    let mut found: Vec<Fullest<'a>> = Vec::new();
    let busiest = |times: &MachineSamples| of_processors(times, busy).into_iter().fold(0.0, f64::max);
    let mut trials = all.trials_of(&w.workload, name, best.level);
    trials.sort_by(|a, b| a.key.cmp(&b.key));
    for record in trials {
        let known = record.sampled().into_iter().filter(|(_, p)| !p.processors.is_empty() && !p.steps_ms.is_empty());
        for (machine, times) in known {
            match found.iter_mut().find(|one| one.machine == machine) {
                Some(one) if busiest(times) > busiest(one.times) => (one.record, one.times) = (record, times),
                Some(_) => {}
                None => found.push(Fullest { machine, record, times }),
            }
        }
    }
    found
}

/// Percent of a step in which a processor was not idle.
fn busy(p: &ProcessorTime, step: usize) -> f64 {
    PARTS.iter().map(|(_, of)| percent(of(p), step)).sum()
}

fn percent(list: &[u8], step: usize) -> f64 {
    list.get(step).map_or(0.0, |p| f64::from(*p))
}

/// The mean of each processor over the window, steps weighed by their length.
fn of_processors(times: &MachineSamples, of: impl Fn(&ProcessorTime, usize) -> f64) -> Vec<f64> {
    let starts = std::iter::once(0).chain(times.steps_ms.iter().copied());
    let lengths: Vec<f64> = times.steps_ms.iter().zip(starts).map(|(end, start)| f64::from(end.saturating_sub(start))).collect();
    let whole = lengths.iter().sum::<f64>().max(1.0);
    let mean = |p: &ProcessorTime| lengths.iter().enumerate().map(|(i, l)| of(p, i) * l).sum::<f64>() / whole;
    times.processors.iter().map(mean).collect()
}

/// The busiest processor, all of them, the one with most softirqs, and what others had, in percent.
fn means(times: &MachineSamples) -> [String; 4] {
    let most = |list: Vec<f64>| list.into_iter().fold(0.0, f64::max);
    let mean = |list: Vec<f64>| list.iter().sum::<f64>() / list.len().max(1) as f64;
    let all = of_processors(times, busy);
    let softirq = of_processors(times, |p, i| percent(&p.softirq.0, i));
    let stolen = of_processors(times, |p, i| percent(&p.stolen.0, i));
    [most(all.clone()), mean(all), most(softirq), mean(stolen)].map(|v| format!("{} %", fixed(v, 1)))
}

/// The parts that any processor had.
fn groups(times: &MachineSamples) -> Vec<HeatGroup> {
    let row = |(i, list): (usize, &[u8])| HeatRow { name: i.to_string(), percents: list.to_vec() };
    let group = |(name, of): &Part| {
        let rows: Vec<HeatRow> = times.processors.iter().map(of).enumerate().map(row).collect();
        rows.iter().any(|r| !r.percents.is_empty()).then(|| HeatGroup { name: (*name).to_owned(), rows })
    };
    PARTS.iter().filter_map(group).collect()
}

#[cfg(test)]
mod tests {
    use perbuck_core::run_record::Percents;

    use super::*;

    fn times() -> MachineSamples {
        // A step of one second and one of three.
        let first = ProcessorTime { work: Percents(vec![100, 20]), softirq: Percents(vec![0, 40]), ..ProcessorTime::default() };
        let second = ProcessorTime { stolen: Percents(vec![8, 8]), ..ProcessorTime::default() };
        MachineSamples { steps_ms: vec![1000, 4000], processors: vec![first, second], series: Vec::new() }
    }

    #[test]
    fn means_weigh_steps_by_their_length() {
        // The first: 100 % of 1 s and 60 % of 3 s. Both: with 8 % of the second. Softirqs: 40 % of 3 s of the first.
        assert_eq!(means(&times()), ["70.0 %", "39.0 %", "30.0 %", "4.0 %"]);
    }

    #[test]
    fn busy_processors_are_summed_over_all_parts() {
        assert_eq!(machine_busy(&times()), [1.08, 0.68]);
    }

    #[test]
    fn parts_that_no_processor_had_are_left_out() {
        let found = groups(&times());
        let names: Vec<&str> = found.iter().map(|g| g.name.as_str()).collect();
        assert_eq!(names, ["programs and kernel", "softirqs", "stolen by the hypervisor"]);
        assert!(found.iter().all(|g| g.rows.len() == 2) && found[2].rows[0].percents.is_empty());
    }
}
