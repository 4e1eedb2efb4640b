//! What the workers and the collector saw, put together at the end of a trial.

use std::collections::BTreeMap;

use perbuck_core::histogram::Histogram;
use perbuck_core::littles_law;
use perbuck_core::load_model::{LoadModel, Phase};
use perbuck_core::run_record::{
    ErrorRecord, Gap, Health, HistogramRecord, Interval, Measured, OpenLoop, PhaseRecord, StatementCounts,
};

use crate::arrivals::DueCounter;
use crate::collector::Collector;
use crate::executor::{TrialOutcome, TrialSpec, phase_ends};
use crate::gaps::{Quiet, common_gaps, waited_for};
use crate::recorder::{ErrorCounts, Recorder};
use crate::shift::WorkerOutcome;
use crate::totals::{Names, Totals};
use crate::window::SECOND_NS;

/// The trial with the window that it had in truth, which may be shorter where its transactions were limited.
pub(super) fn as_ended(spec: &TrialSpec, outcomes: &[WorkerOutcome]) -> TrialSpec {
    let mut spec = spec.clone();
    if outcomes.iter().any(|o| o.limited) {
        let last = outcomes.iter().flat_map(|o| &o.terminals).map(|t| t.last_ended_ns).max().unwrap_or(0);
        // A window does not hold its end, and this one has to hold the last transaction.
        spec.duration_ns = spec.duration_ns.min(last.max(0) as u64 + 1);
    }
    spec
}

/// What the collector saw.
#[derive(Default)]
pub(super) struct Seen {
    intervals: Vec<Interval>,
    /// Arrivals started before the window and within it.
    started: (u64, u64),
}

impl Seen {
    pub(super) fn of(collector: &mut Collector<'_>, spec: &TrialSpec) -> Self {
        Self { intervals: collector.intervals(spec), started: collector.started() }
    }
}

/// Adds up what all workers saw.
pub(super) fn finish(
    spec: &TrialSpec,
    names: &Names,
    (blocking, pauses): (bool, bool),
    outcomes: Vec<WorkerOutcome>,
    seen: Seen,
) -> TrialOutcome {
    let mut phases: Vec<Totals> = phase_ends(spec).iter().map(|_| Totals::new(names.kinds.len())).collect();
    let (mut whole, mut errors, mut health) = (StatementCounts::default(), ErrorCounts::new(), Health::default());
    let (mut gaps, mut unfinished) = (Vec::new(), Histogram::new());
    let (mut lag, mut send_lag) = (Histogram::new(), Histogram::new());
    let workers = outcomes.len() as u32;
    let (mut terminals, mut statement_latency) = (Vec::new(), BTreeMap::new());
    for outcome in outcomes {
        terminals.extend(outcome.terminals);
        for (label, times) in outcome.statement_times {
            statement_latency.entry(label).or_insert_with(Histogram::new).merge(&times);
        }
        health.aborted += outcome.aborted;
        if !blocking {
            health.workers.push(outcome.health);
            lag.merge(&outcome.lag);
        }
        phases.iter_mut().zip(outcome.recorder.phases()).for_each(|(all, one)| all.merge(one));
        unfinished.merge(&outcome.recorder.unfinished);
        send_lag.merge(&outcome.recorder.send_lag);
        add_worker(outcome.recorder, &mut whole, &mut errors, &mut health, &mut gaps);
    }
    let measured = measured(spec, names, &phases, &seen, &unfinished);
    (health.lag, health.send_lag) = (HistogramRecord::from_histogram(&lag), HistogramRecord::from_histogram(&send_lag));
    health.littles_law = law(spec, &phases).filter(|_| !pauses);
    let common = waited_for(common_gaps(&gaps));
    health.longest_gap_ns = common.iter().map(|(f, t)| (t - f) as u64).max().unwrap_or(0);
    let long = |(f, t): &(i64, i64)| t - f >= SECOND_NS;
    health.gaps = common
        .iter()
        .filter(|g| long(g))
        .map(|(f, t)| Gap { start_ms: f / 1_000_000, length_ms: ((t - f) / 1_000_000) as u64 })
        .collect();
    let errors = errors
        .into_iter()
        .map(|(code, e)| (code.to_string(), ErrorRecord { count: e.count, class: e.class.word().to_owned(), example: e.example }))
        .collect();
    let statement_latency =
        statement_latency.into_iter().map(|(label, h)| (label.to_owned(), HistogramRecord::from_histogram(&h))).collect();
    let intervals = seen.intervals;
    TrialOutcome { workers, measured, statements_whole_run: whole, errors, intervals, health, terminals, statement_latency }
}

fn measured(spec: &TrialSpec, names: &Names, phases: &[Totals], seen: &Seen, unfinished: &Histogram) -> Measured {
    let mut total = Totals::new(names.kinds.len());
    phases.iter().for_each(|p| total.merge(p));
    let open_loop = spec.load.is_open().then(|| {
        let mut due = DueCounter::new(spec);
        let early = due.until(0);
        let backlog_at_open = early - seen.started.0.min(early);
        let offered = due.until(spec.duration_ns as i64);
        let backlog_at_close = (backlog_at_open + offered).saturating_sub(seen.started.1);
        let unfinished = HistogramRecord::from_histogram(unfinished);
        OpenLoop { offered, started: seen.started.1, backlog_at_open, backlog_at_close, unfinished }
    });
    let record = |(phase, totals): (&Phase, &Totals)| PhaseRecord { phase: *phase, transactions: totals.record(names) };
    Measured {
        window_ns: spec.duration_ns,
        transactions: total.record(names),
        statements: total.statements,
        retries: total.retries,
        open_loop,
        phases: spec.phases.iter().zip(phases).map(record).collect(),
    }
}

/// Little's law where the number of busy connections is known: closed loop, without pauses, phases and failures, whose times
/// are in no histogram.
fn law(spec: &TrialSpec, phases: &[Totals]) -> Option<littles_law::LittlesLaw> {
    let kinds = || phases.iter().flat_map(|p| &p.kinds);
    let failed: u64 = kinds().map(|k| k.failed).sum();
    if spec.load != LoadModel::closed() || failed > 0 {
        return None;
    }
    let ended: u64 = kinds().map(|k| k.committed + k.rolled_back).sum();
    let sum_ns: u128 = kinds().map(|k| k.service.sum_ns()).sum();
    let mean_ns = if ended == 0 { 0.0 } else { sum_ns as f64 / ended as f64 };
    Some(littles_law::check(spec.connections, ended, mean_ns, spec.duration_ns))
}

fn add_worker(
    recorder: Recorder,
    whole: &mut StatementCounts,
    errors: &mut ErrorCounts,
    health: &mut Health,
    gaps: &mut Vec<Vec<Quiet>>,
) {
    whole.add(&recorder.statements_whole_run());
    health.connections_lost += recorder.lost;
    health.reconnects += recorder.reconnects;
    health.late_sends += recorder.late_sends;
    health.drained += recorder.drained();
    gaps.push(recorder.gaps);
    for (code, error) in recorder.errors {
        match errors.get_mut(&code) {
            Some(existing) => existing.count += error.count,
            None => {
                errors.insert(code, error);
            }
        }
    }
}
