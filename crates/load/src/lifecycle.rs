//! The lifecycle of a worker, an OS thread with a single-threaded event loop: it opens its connections, waits for the common
//! start, drives its terminals to the end of the window and drains. The hot loop itself is in [`crate::worker`].

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::task::Poll;
use std::time::Duration;

use perbuck_core::histogram::Histogram;
use perbuck_core::rng::Streams;
use perbuck_core::run_record::{NetworkRecord, WorkerHealth};
use perbuck_event::{Segments, TaskSet, Waiters, cpu, now, sleep_until, tcp};
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::driver::Driver;
use crate::failover::{CONNECTS_AT_ONCE, Host, open};
use crate::latch::Latch;
use crate::limit::EventLimit;
use crate::listed::List;
use crate::observer::Wanted;
use crate::pacer::{Arrivals, Pacer};
use crate::recorder::{Recorded, Recorder, Report};
use crate::share::Terminals;
use crate::start::StartSignal;
use crate::statement_times::{StatementTimes, StepTotals};
use crate::stop::StopToken;
use crate::terminal::{Common, TerminalTask};
use crate::totals::TerminalTotals;
use crate::trial::{RunError, TrialSpec};
use crate::watch::until_stopped;
use crate::window::{SECOND_NS, Window};
use crate::worker::drive;
use crate::workload::{Terminal, TerminalId, Workload};

/// How long a request to stop waits for what is in flight, however long the end of a window would.
const DRAIN_AT_STOP: Duration = Duration::from_secs(10);
/// How often the event loop's lag is probed.
const PROBE_NS: i64 = 10_000_000;

#[derive(Debug, Clone)]
pub(crate) struct WorkerPlan {
    pub(crate) terminals: Terminals,
    pub(crate) spec: Arc<TrialSpec>,
    pub(crate) arrivals: Option<Arrivals>,
    /// How many transactions may be started, by all workers.
    pub(crate) limit: EventLimit,
    /// What all terminals of this process wait for each other by.
    pub(crate) latch: Latch,
    /// What the observer asks for.
    pub(crate) wanted: Wanted,
}

/// What a worker saw of a trial; it can be sent to another process.
#[derive(Debug, Serialize, Deserialize)]
pub struct WorkerOutcome {
    /// Its numbers but those by second, which were sent before.
    pub(crate) recorded: Recorded,
    /// Transactions that did not end within the drain limit.
    pub(crate) aborted: u64,
    /// Its thread during the window.
    pub(crate) health: WorkerHealth,
    /// How late its event loop woke.
    pub(crate) lag: Histogram,
    /// What its connections sent in the window.
    pub(crate) network: NetworkRecord,
    /// What each of its terminals did.
    pub(crate) terminals: Vec<TerminalTotals>,
    /// Times of statements by label.
    pub(crate) statement_times: BTreeMap<String, Histogram>,
    /// What its terminals did by step; empty unless times were taken.
    pub(crate) steps: Vec<StepTotals>,
    /// How long after the start of its warm-up it began, in nanoseconds.
    pub(crate) began_late_ns: u64,
    /// Whether the run ended because as many transactions were started as it may have, or because each terminal has a last one.
    pub(crate) limited: bool,
}

impl WorkerOutcome {
    /// Its thread during the window.
    pub fn health(&self) -> &WorkerHealth {
        &self.health
    }

    /// How long after the common start it began, in nanoseconds; 0 where it knew of it before.
    pub fn began_late_ns(&self) -> u64 {
        self.began_late_ns
    }
}

type Opened<D, W> = (TerminalId, <W as Workload>::Terminal, Connection<<D as Driver>::Session>);

pub(crate) async fn run<D: Driver, W: Workload>(
    plan: WorkerPlan,
    driver: Arc<D>,
    workload: Arc<W>,
    start: StartSignal,
    stop: StopToken,
    reports: Sender<Report>,
) -> Result<WorkerOutcome, RunError> {
    let opened = open_until_stopped::<D, W>(&plan, &driver, &workload, &stop).await?;
    let (spec, phase_ends) = (plan.spec.clone(), plan.spec.phase_ends());
    let pacer = Pacer::new(&spec.load, plan.arrivals);
    let schedule_ns = workload.schedule_ns(spec.connections).filter(|_| spec.streams);
    let open_loop = pacer.is_open() || schedule_ns.is_some();
    let (pauses, ends) = (workload.pauses() && !open_loop, spec.streams);
    // Histograms are large, and clearing memory that was in use takes time, above all where an embedded database has a thread for
    // each connection. The start is only a few milliseconds ahead when it is given, so everything is made before.
    let mut recorder = Recorder::new(Window::unknown(), &phase_ends, workload.kinds().len(), open_loop, reports.clone())
        .with(pauses, plan.wanted.by_kind)
        .closing_at(schedule_ns);
    let times = spec.time_statements.then(|| StatementTimes::new(Window::unknown(), &workload.catalogue()));
    // A closed channel means that another worker failed and the executor gave up; it has the reason.
    let _ = reports.send(Report::Ready);
    let window = start.wait().await.ok_or(RunError::Interrupted)?;
    let began_late_ns = (window.now_ns() + window.warmup_ns).max(0) as u64;
    recorder.start(window);
    times.iter().for_each(|t| t.start(window));
    let common = Rc::new(Common {
        hosts: driver.hosts().len() as u32,
        driver,
        workload,
        window,
        pacer,
        stop,
        recorder: RefCell::new(recorder),
        spec,
        idle: Cell::new(0),
        draining: Waiters::default(),
        failbacks: Rc::default(),
        pauses,
        ends,
        taken: RefCell::new(if open_loop || pauses { vec![None; opened.len()] } else { Vec::new() }),
        limit: plan.limit,
        over: Cell::new(0),
        times,
        list: plan.wanted.lists.then(|| RefCell::new(List::new(reports, window.length_ns))),
        terminals: RefCell::new(vec![TerminalTotals::default(); opened.len()]),
    });
    let mut tasks = spawn_terminals(opened, &common);
    let (probe, mut probing) = (Rc::new(Probe::default()), TaskSet::default());
    probing.spawn(watch(common.clone(), probe.clone(), phase_ends));
    let ended = drain(&mut tasks, &common).await;
    // The last terminal may have ended before the probe ran.
    probe.close();
    tasks.abort_all();
    probing.abort_all();
    let aborted = ended?;
    let Some(common) = Rc::into_inner(common) else {
        return Err(RunError::WorkerDied("a terminal outlived its worker".to_owned()));
    };
    let terminals = common.terminals.take();
    let limited = ends || common.limit.exhausted() || common.over.get() == terminals.len();
    let statement_times = times_by_label(&common);
    let steps = common.times.as_ref().map_or_else(Vec::new, StatementTimes::steps);
    let open_ns = window.now_ns().clamp(1, window.length_ns.max(1));
    let recorded = finish_recorder(common).into();
    let health = probe.health(terminals.len() as u32, open_ns);
    let (lag, Segments { sent, retransmitted }) = (probe.lag.take(), probe.segments.get());
    let network = NetworkRecord { segments_sent: sent, segments_retransmitted: retransmitted };
    Ok(WorkerOutcome { recorded, aborted, health, lag, network, terminals, statement_times, steps, began_late_ns, limited })
}

/// Times of statements by label.
fn times_by_label<D, W: Workload>(common: &Common<D, W>) -> BTreeMap<String, Histogram> {
    let mut all = BTreeMap::new();
    if let Some(times) = &common.times {
        times.add_to(&common.workload.catalogue(), &mut all);
    }
    all
}

/// Opens the connections of the trial, which Ctrl-C ends.
async fn open_until_stopped<D: Driver, W: Workload>(
    plan: &WorkerPlan,
    driver: &Arc<D>,
    workload: &Arc<W>,
    stop: &StopToken,
) -> Result<Vec<Opened<D, W>>, RunError> {
    let _waits = stop.waits().enter("opening the connections of the trial".to_owned(), None);
    until_stopped(stop, open_all::<D, W>(plan, driver, workload)).await.unwrap_or(Err(RunError::Interrupted))
}

fn spawn_terminals<D: Driver, W: Workload>(
    opened: Vec<Opened<D, W>>,
    common: &Rc<Common<D, W>>,
) -> TaskSet<Result<(), RunError>> {
    let mut tasks = TaskSet::default();
    for (position, (id, mut terminal, mut connection)) in (0..).zip(opened) {
        terminal.window(&common.window);
        connection.time_statements(common.times.clone());
        let (streams, host) = (Streams::new(id.seed, u64::from(id.index)), Host::own(common.window.length_ns));
        let (index, beside) = (id.index, id.index >= id.of);
        let task = TerminalTask { index, streams, position, common: common.clone(), host, beside, failed: Cell::new(None) };
        tasks.spawn(drive(task, terminal, Some(connection)));
    }
    tasks
}

/// Writes down what was due and had not ended, and sends the last second.
fn finish_recorder<D, W>(common: Common<D, W>) -> Recorder {
    common.list.into_iter().for_each(|list| list.into_inner().send());
    let mut recorder = common.recorder.into_inner();
    // A trial that is thrown away needs none of this, and a long schedule takes time to walk.
    if !common.taken.borrow().is_empty() && !common.stop.requested() && !common.limit.exhausted() {
        common.taken.into_inner().into_iter().flatten().for_each(|due| recorder.unfinished(due));
        common.pacer.rest(&common.window).for_each(|due| recorder.unfinished(due));
    }
    recorder.finish();
    recorder
}

/// What is known of a worker's own state.
#[derive(Default)]
struct Probe {
    opened_cpu_ns: Cell<Option<u64>>,
    cpu_ns: Cell<Option<u64>>,
    /// What its connections sent: before the window, and after its end within it.
    segments: Cell<Segments>,
    /// The largest share of a processor in one phase.
    busiest: Cell<f64>,
    lag: RefCell<Histogram>,
}

impl Probe {
    fn open(&self) {
        if self.opened_cpu_ns.get().is_none() {
            self.segments.set(tcp::segments());
            self.opened_cpu_ns.set(Some(cpu::thread_cpu_ns()));
        }
    }

    /// The thread with so many connections, in a window that was open for so long.
    fn health(&self, connections: u32, open_ns: i64) -> WorkerHealth {
        let cpu_ns = self.cpu_ns.get().unwrap_or(0);
        let whole = cpu_ns as f64 / open_ns as f64;
        WorkerHealth { connections, cpu_ns, busiest_phase: self.busiest.get().max(whole) }
    }

    fn close(&self) {
        if let (None, Some(opened)) = (self.cpu_ns.get(), self.opened_cpu_ns.get()) {
            self.cpu_ns.set(Some(cpu::thread_cpu_ns().saturating_sub(opened)));
            self.segments.set(tcp::segments().since(self.segments.get()));
        }
    }
}

/// Rolls the recorder even when nothing completes, probes the lag of the event loop, and takes the thread's CPU time at
/// the edges of the window.
async fn watch<D, W>(common: Rc<Common<D, W>>, probe: Rc<Probe>, phase_ends: Vec<i64>) {
    let window = common.window;
    let (mut phases, mut phase_start) = (phase_ends.into_iter().peekable(), None);
    loop {
        let now_ns = window.now_ns();
        common.recorder.borrow_mut().roll(now_ns);
        common.list.iter().for_each(|list| list.borrow_mut().send_old(now_ns));
        if now_ns >= 0 {
            probe.open();
            let (from_ns, from_cpu_ns) = *phase_start.get_or_insert_with(|| (now_ns, cpu::thread_cpu_ns()));
            if phases.next_if(|end| now_ns >= *end).is_some() {
                let used = cpu::thread_cpu_ns();
                let share = used.saturating_sub(from_cpu_ns) as f64 / (now_ns - from_ns).max(1) as f64;
                probe.busiest.set(probe.busiest.get().max(share));
                phase_start = Some((now_ns, used));
            }
        }
        if now_ns >= window.length_ns {
            probe.close();
            break;
        }
        let edge = if now_ns < 0 { 0 } else { window.length_ns };
        let next = ((now_ns.div_euclid(PROBE_NS) + 1) * PROBE_NS).min(edge.max(now_ns + 1));
        sleep_until(window.moment(next)).await;
        if now_ns >= 0 {
            probe.lag.borrow_mut().record((window.now_ns() - next).max(0) as u64);
        }
    }
    loop {
        let next = (window.now_ns().div_euclid(SECOND_NS) + 1) * SECOND_NS;
        sleep_until(window.moment(next)).await;
        common.recorder.borrow_mut().roll(window.now_ns());
    }
}

async fn open_all<D: Driver, W: Workload>(
    plan: &WorkerPlan,
    driver: &Arc<D>,
    workload: &Arc<W>,
) -> Result<Vec<Opened<D, W>>, RunError> {
    let next = Rc::new(RefCell::new(plan.terminals.indexes().enumerate()));
    let TrialSpec { connections: of, seed, share, streams, .. } = *plan.spec;
    let mut opening = TaskSet::default();
    for _ in 0..CONNECTS_AT_ONCE.min(plan.terminals.count as usize) {
        let (driver, workload, next, latch) = (driver.clone(), workload.clone(), next.clone(), plan.latch.clone());
        opening.spawn(async move {
            let mut mine: Vec<(usize, Opened<D, W>)> = Vec::new();
            let take = || next.borrow_mut().next();
            while let Some((position, index)) = take() {
                let id = TerminalId { index, of, seed, share };
                let mut connection = open::<D, W>(&driver, &workload, (index, of), 0).await.map_err(RunError::Connect)?;
                if workload.prepares_ahead() {
                    connection.prepare_ahead().await.map_err(RunError::Connect)?;
                }
                let mut terminal = workload.terminal(id);
                terminal.start(&mut connection).await.map_err(RunError::Fatal)?;
                if streams || index >= of {
                    if !workload.keeps_timeout() {
                        connection.lift_timeout();
                    }
                    terminal.join(latch.clone());
                }
                mine.push((position, (id, terminal, connection)));
            }
            Ok::<_, RunError>(mine)
        });
    }
    // By their positions: a sort would be compiled for each pair of database and workload.
    let mut opened: Vec<Option<Opened<D, W>>> = plan.terminals.indexes().map(|_| None).collect();
    while let Some(mine) = opening.next().await {
        for (position, one) in mine? {
            opened[position] = Some(one);
        }
    }
    Ok(opened.into_iter().flatten().collect())
}

/// Waits for the terminals: to the end of the window or a request to stop, then as long as the drain allows. Returns how
/// many did not end.
async fn drain<D, W>(tasks: &mut TaskSet<Result<(), RunError>>, common: &Common<D, W>) -> Result<u64, RunError> {
    let length = Duration::from_nanos(common.spec.drain_ns);
    let mut limit = common.window.moment(common.window.length_ns) + length;
    let mut timer = sleep_until(limit);
    let mut stopping = false;
    poll_fn(|cx| {
        common.stop.wake_at_request(cx.waker());
        common.limit.wake_at_end(cx.waker());
        common.draining.add(cx.waker());
        while let Poll::Ready(ended) = tasks.poll_next(cx) {
            match ended {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    // A run that has failed ends for all: the other workers see the request.
                    common.stop.request();
                    return Poll::Ready(Err(error));
                }
                None => return Poll::Ready(Ok(0)),
            }
        }
        if common.stop.requested() && !std::mem::replace(&mut stopping, true) {
            limit = limit.min(now() + length.min(DRAIN_AT_STOP));
            timer = sleep_until(limit);
        }
        let busy = tasks.running() - common.idle.get().min(tasks.running());
        if common.stop.aborted() || timer.poll_passed().is_ready() || (busy == 0 && common.is_ending()) {
            return Poll::Ready(Ok(busy as u64));
        }
        Poll::Pending
    })
    .await
}
