//! What the workers and the collector saw, put together at the end of a trial.

use std::collections::BTreeMap;

use perbuck_core::histogram::Histogram;
use perbuck_core::littles_law;
use perbuck_core::load_model::{LoadModel, Phase};
use perbuck_core::run_record::{
    ErrorRecord, Gap, Health, HistogramRecord, Interval, Measured, OpenLoop, PhaseRecord, StatementCounts, WindowEdges,
};

use crate::arrivals::DueCounter;
use crate::collector::Collector;
use crate::gaps::{Quiet, common_gaps, waited_for};
use crate::lifecycle::WorkerOutcome;
use crate::recorder::{ErrorCounts, Recorder};
use crate::totals::{Names, PausesSeen, TerminalTotals, Totals};
use crate::trial::{TrialOutcome, TrialSpec};
use crate::window::SECOND_NS;

/// The trial with the window that it had in truth, which may be shorter where its transactions were limited, or somebody
/// ended it at `stopped_ns`.
pub(super) fn as_ended(spec: &TrialSpec, outcomes: &[WorkerOutcome], stopped_ns: Option<i64>) -> TrialSpec {
    let mut spec = spec.clone();
    if stopped_ns.is_some() || outcomes.iter().any(|o| o.limited) {
        let last = outcomes.iter().flat_map(|o| &o.terminals).map(|t| t.last_ended_ns).max().unwrap_or(0);
        // A window does not hold its end, and this one has to hold the last transaction: those in flight are waited for and
        // count with the time that they took.
        let last = last.max(stopped_ns.unwrap_or(0)).max(0);
        spec.duration_ns = spec.duration_ns.min(last as u64 + 1);
    }
    spec
}

/// What the collector saw.
#[derive(Default)]
pub(super) struct Seen {
    intervals: Vec<Interval>,
    /// Arrivals started before the window and within it.
    started: (u64, u64),
    /// Whether the window was cut where the last transaction ended.
    ended_early: bool,
}

impl Seen {
    pub(super) fn of(collector: &mut Collector<'_>, spec: &TrialSpec, ended_early: bool) -> Self {
        Self { intervals: collector.intervals(spec), started: collector.started(), ended_early }
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
    let mut phases: Vec<Totals> = spec.phase_ends().iter().map(|_| Totals::new(names.kinds.len())).collect();
    let (mut whole, mut errors, mut health) = (StatementCounts::default(), ErrorCounts::new(), Health::default());
    let (mut gaps, mut unfinished) = (Vec::new(), Histogram::new());
    let (mut lag, mut send_lag) = (Histogram::new(), Histogram::new());
    let mut edges = WindowEdges::default();
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
        edges.in_flight_ns += outcome.recorder.unfinished_ns;
        edges.before_ns += outcome.recorder.before_ns;
        add_worker(outcome.recorder, &mut whole, &mut errors, &mut health, &mut gaps);
    }
    let measured = measured(spec, names, &phases, &seen, &unfinished);
    (health.lag, health.send_lag) = (HistogramRecord::from_histogram(&lag), HistogramRecord::from_histogram(&send_lag));
    if spec.load == LoadModel::closed() && !pauses {
        (edges.in_flight, edges.oldest_ns) = (unfinished.count(), unfinished.max_ns());
        // Terminals that found no more transactions to start were idle while the last ones ended, as they had to be.
        let rest = |t: &TerminalTotals| (spec.duration_ns as i64).saturating_sub(t.last_ended_ns.max(0)).max(0) as u128;
        let idle_ns = if seen.ended_early { terminals.iter().map(rest).sum() } else { 0 };
        health.littles_law = (health.aborted == 0).then(|| law(spec, &phases, &edges, idle_ns));
        health.edges = Some(edges);
    }
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
    TrialOutcome {
        workers,
        measured,
        statements_whole_run: whole,
        errors,
        intervals: seen.intervals,
        health,
        terminals,
        statement_latency,
        failed_latency: failed_latency(names, &phases),
        pauses: if pauses { pauses_seen(names, &phases) } else { BTreeMap::new() },
    }
}

/// Pauses by kind.
fn pauses_seen(names: &Names, phases: &[Totals]) -> BTreeMap<String, PausesSeen> {
    let of = |place: usize| {
        let mut all = PausesSeen::default();
        phases.iter().filter_map(|p| p.kinds.get(place)).for_each(|k| all.merge(&k.pauses));
        all
    };
    names.kinds.iter().enumerate().map(|(place, name)| ((*name).to_owned(), of(place))).collect()
}

/// Times of what was given up, by kind.
fn failed_latency(names: &Names, phases: &[Totals]) -> BTreeMap<String, HistogramRecord> {
    let mut by_kind = BTreeMap::new();
    for (place, name) in names.kinds.iter().enumerate() {
        let mut all = Histogram::new();
        phases.iter().filter_map(|p| p.kinds.get(place)).for_each(|k| all.merge(&k.failed_service));
        if all.count() > 0 {
            by_kind.insert((*name).to_owned(), HistogramRecord::from_histogram(&all));
        }
    }
    by_kind
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

/// Little's law where it is known how many connections should be busy: closed loop, without pauses and phases.
/// `idle_ns` is the time of connections that had nothing left to do.
fn law(spec: &TrialSpec, phases: &[Totals], edges: &WindowEdges, idle_ns: u128) -> littles_law::LittlesLaw {
    let kinds = phases.iter().flat_map(|p| &p.kinds);
    let ended_ns: u128 = kinds.map(|k| k.service.sum_ns() + k.failed_service.sum_ns()).sum();
    let busy_ns = (ended_ns + idle_ns + u128::from(edges.in_flight_ns)).saturating_sub(u128::from(edges.before_ns));
    littles_law::check(spec.connections, busy_ns, spec.duration_ns)
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
