//! What the workers and the collector saw, put together at the end of a trial.

use std::collections::BTreeMap;

use perbuck_core::histogram::Histogram;
use perbuck_core::littles_law;
use perbuck_core::load_model::{LoadModel, Phase};
use perbuck_core::run_record::{
    ErrorRecord, Gap, Health, HistogramRecord, Interval, Measured, NetworkRecord, OpenLoop, PhaseRecord, StatementCounts,
    WindowEdges,
};

use crate::arrivals::DueCounter;
use crate::collector::Collector;
use crate::gaps::{Quiet, common_gaps, waited_for};
use crate::lifecycle::WorkerOutcome;
use crate::recorder::Recorded;
use crate::statement_times::StepTotals;
use crate::totals::{TerminalTotals, Totals};
use crate::trial::{TrialOutcome, TrialSpec};
use crate::window::SECOND_NS;
use crate::workload::Workload;

/// The trial with its actual window. It is shorter where the transactions were limited, or where the user ended it at
/// `stopped_ns`.
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

/// The longest time in which no worker completed a transaction, and those of a second or more.
fn longest_and_listed(gaps: &[Vec<Quiet>]) -> (u64, Vec<Gap>) {
    let common = waited_for(common_gaps(gaps));
    let longest_ns = common.iter().map(|(f, t)| (t - f) as u64).max().unwrap_or(0);
    let listed = common.iter().filter(|(f, t)| t - f >= SECOND_NS);
    let gap = |(f, t): &(i64, i64)| Gap { start_ms: f / 1_000_000, length_ms: ((t - f) / 1_000_000) as u64 };
    (longest_ns, listed.map(gap).collect())
}

pub(super) fn finish<W: Workload>(
    spec: &TrialSpec,
    workload: &W,
    blocking: bool,
    outcomes: Vec<WorkerOutcome>,
    seen: Seen,
) -> TrialOutcome {
    let (kinds, pauses) = (workload.kinds(), workload.pauses());
    let mut phases: Vec<Totals> = spec.phase_ends().iter().map(|_| Totals::new(kinds.len())).collect();
    let (mut whole, mut errors, mut health) = (StatementCounts::default(), BTreeMap::new(), Health::default());
    let (mut gaps, mut unfinished, mut unstarted) = (Vec::new(), Histogram::new(), 0);
    let (mut lag, mut send_lag) = (Histogram::new(), Histogram::new());
    let (mut edges, mut network) = (WindowEdges::default(), NetworkRecord::default());
    let workers = outcomes.len() as u32;
    let (mut terminals, mut statement_latency, mut steps) = (Vec::new(), BTreeMap::new(), Vec::new());
    for outcome in outcomes {
        terminals.extend(outcome.terminals);
        add_steps(&mut steps, &outcome.steps);
        for (label, times) in outcome.statement_times {
            statement_latency.entry(label).or_insert_with(Histogram::new).merge(&times);
        }
        health.aborted += outcome.aborted;
        network.segments_sent += outcome.network.segments_sent;
        network.segments_retransmitted += outcome.network.segments_retransmitted;
        if !blocking {
            health.workers.push(outcome.health);
            lag.merge(&outcome.lag);
        }
        phases.iter_mut().zip(&outcome.recorded.phases).for_each(|(all, one)| all.merge(one));
        unfinished.merge(&outcome.recorded.unfinished);
        unstarted += outcome.recorded.unstarted;
        send_lag.merge(&outcome.recorded.send_lag);
        edges.in_flight_ns += outcome.recorded.unfinished_ns;
        edges.before_ns += outcome.recorded.before_ns;
        add_worker(outcome.recorded, &mut whole, &mut errors, &mut health, &mut gaps);
    }
    // An embedded database has no connection, and sends nothing.
    health.network = (network.segments_sent > 0).then_some(network);
    let mut total = Totals::new(kinds.len());
    phases.iter().for_each(|phase| total.merge(phase));
    (health.lag, health.send_lag) = (HistogramRecord::from_histogram(&lag), HistogramRecord::from_histogram(&send_lag));
    if spec.load == LoadModel::closed() && !pauses && !spec.streams && workload.extra_terminals() == 0 {
        (edges.in_flight, edges.oldest_ns) = (unfinished.count(), unfinished.max_ns());
        // Terminals that found no more transactions to start were idle while the last ones ended, as they had to be.
        let rest = |t: &TerminalTotals| (spec.duration_ns as i64).saturating_sub(t.last_ended_ns.max(0)).max(0) as u128;
        let idle_ns = if seen.ended_early { terminals.iter().map(rest).sum() } else { 0 };
        health.littles_law = (health.aborted == 0).then(|| law(spec, &total, &edges, idle_ns));
        health.edges = Some(edges);
    }
    // A terminal that has a last transaction may need long for one, and others wait for it.
    if !spec.streams {
        (health.longest_gap_ns, health.gaps) = longest_and_listed(&gaps);
    }
    let records = |(label, times): (_, Histogram)| (label, HistogramRecord::from_histogram(&times));
    let by_kind = || kinds.iter().map(|name| (*name).to_owned()).zip(&total.kinds);
    let failed = by_kind().filter(|(_, kind)| kind.failed_service.count() > 0);
    TrialOutcome {
        workers,
        failed_latency: failed.map(|(name, kind)| (name, HistogramRecord::from_histogram(&kind.failed_service))).collect(),
        pauses: by_kind().filter(|_| pauses).map(|(name, kind)| (name, kind.pauses)).collect(),
        measured: measured(spec, workload, (&total, &phases[..]), &seen, (&unfinished, unstarted)),
        statements_whole_run: whole,
        errors,
        intervals: seen.intervals,
        health,
        terminals,
        statement_latency: statement_latency.into_iter().map(records).collect(),
        steps,
    }
}

fn add_steps(all: &mut Vec<StepTotals>, of_worker: &[StepTotals]) {
    all.resize(all.len().max(of_worker.len()), StepTotals::default());
    all.iter_mut().zip(of_worker).for_each(|(all, one)| all.merge(one));
}

fn measured<W: Workload>(
    spec: &TrialSpec,
    workload: &W,
    (total, phases): (&Totals, &[Totals]),
    seen: &Seen,
    (unfinished, unstarted): (&Histogram, u64),
) -> Measured {
    let scheduled = workload.schedule_ns(spec.connections).filter(|_| spec.streams).map(|_| {
        let ended: u64 = total.kinds.iter().map(|k| k.committed + k.rolled_back + k.failed).sum();
        let unfinished = HistogramRecord::from_histogram(unfinished);
        OpenLoop { offered: ended, started: ended, backlog_at_open: 0, backlog_at_close: unstarted, unfinished }
    });
    let open_loop = spec.load.is_open().then(|| {
        let mut due = DueCounter::new(spec);
        let early = due.until(0);
        let backlog_at_open = early - seen.started.0.min(early);
        let offered = due.until(spec.duration_ns as i64);
        let backlog_at_close = (backlog_at_open + offered).saturating_sub(seen.started.1);
        let unfinished = HistogramRecord::from_histogram(unfinished);
        OpenLoop { offered, started: seen.started.1, backlog_at_open, backlog_at_close, unfinished }
    });
    let record = |(phase, totals): (&Phase, &Totals)| PhaseRecord { phase: *phase, transactions: totals.record(workload) };
    Measured {
        window_ns: spec.duration_ns,
        transactions: total.record(workload),
        statements: total.statements,
        retries: total.retries,
        open_loop: open_loop.or(scheduled),
        phases: spec.phases.iter().zip(phases).map(record).collect(),
    }
}

/// Little's law where it is known how many connections should be busy: closed loop, without pauses and phases.
/// `idle_ns` is the time of connections that had nothing left to do.
fn law(spec: &TrialSpec, total: &Totals, edges: &WindowEdges, idle_ns: u128) -> littles_law::LittlesLaw {
    let ended_ns: u128 = total.kinds.iter().map(|k| k.service.sum_ns() + k.failed_service.sum_ns()).sum();
    let busy_ns = (ended_ns + idle_ns + u128::from(edges.in_flight_ns)).saturating_sub(u128::from(edges.before_ns));
    littles_law::check(spec.connections, busy_ns, spec.duration_ns)
}

fn add_worker(
    recorded: Recorded,
    whole: &mut StatementCounts,
    errors: &mut BTreeMap<String, ErrorRecord>,
    health: &mut Health,
    gaps: &mut Vec<Vec<Quiet>>,
) {
    whole.add(&recorded.statements_whole_run);
    health.connections_lost += recorded.lost;
    health.terminals_lost += recorded.terminals_lost;
    health.reconnects += recorded.reconnects;
    health.late_sends += recorded.late_sends;
    health.drained += recorded.drained;
    gaps.push(recorded.gaps);
    for (code, error) in recorded.errors {
        errors.entry(code).and_modify(|known| known.count += error.count).or_insert(error);
    }
}
