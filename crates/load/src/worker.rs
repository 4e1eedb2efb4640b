//! One worker: an OS thread with a single-threaded event loop that owns its connections, terminals and recorder.
//!
//! [`drive`] is the hot loop of perbuck. Per operation it reads the clock once, allocates nothing and writes to no
//! memory that another thread reads.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::connection::Connection;
use crate::driver::{Driver, SessionId};
use crate::error::{DriverError, ErrorClass};
use crate::executor::RunError;
use crate::recorder::{Outcome, Recorder, Report, SECOND_NS, Sample, Window};
use crate::stop::StopToken;
use crate::workload::{Operation, Terminal, TerminalId, Workload};

/// Connections that one worker opens at the same time; more would overrun a server's listen queue.
const CONNECTS_AT_ONCE: usize = 32;
/// First and longest pause between tries to reach a lost server.
const RECONNECT_PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// What a worker is to do.
#[derive(Debug, Clone)]
pub struct WorkerPlan {
    /// The terminals it owns.
    pub terminals: Range<u32>,
    /// Terminals of all workers.
    pub of: u32,
    /// The seed of the trial's operations.
    pub seed: Seed,
    /// Attempts per transaction, at most.
    pub max_attempts: u32,
    /// How long it waits after the window for transactions in flight.
    pub drain: Duration,
}

/// What a worker knows at its end.
#[derive(Debug)]
pub struct WorkerOutcome {
    /// Its recorder, emptied of buckets.
    pub recorder: Recorder,
    /// Transactions that did not end within the drain limit.
    pub aborted: u64,
}

type Opened<D> = (TerminalId, Connection<<D as Driver>::Session>);

/// Opens the connections, waits for the common start, drives the terminals to the end of the window and drains.
///
/// # Errors
/// The first error that ends a run: a refused connection, a fatal answer, a terminal that died.
pub async fn run<D: Driver, W: Workload>(
    plan: WorkerPlan,
    driver: Arc<D>,
    workload: Arc<W>,
    mut start: watch::Receiver<Option<Window>>,
    stop: StopToken,
    reports: UnboundedSender<Report>,
) -> Result<WorkerOutcome, RunError> {
    let opened = open_all::<D, W>(&plan, &driver, &workload).await?;
    // A closed channel means that another worker failed and the executor gave up; it has the reason.
    let _ = reports.send(Report::Ready);
    let Ok(window) = start.wait_for(Option::is_some).await.map(|w| *w) else { return Err(RunError::Interrupted) };
    let Some(window) = window else { return Err(RunError::Interrupted) };
    let recorder = Rc::new(RefCell::new(Recorder::new(window, workload.kinds().len(), reports)));
    let mut tasks = JoinSet::new();
    for (id, connection) in opened {
        let terminal = workload.terminal(id);
        let lane = Lane {
            id,
            driver: driver.clone(),
            workload: workload.clone(),
            window,
            stop: stop.clone(),
            recorder: recorder.clone(),
            max_attempts: plan.max_attempts,
        };
        tasks.spawn_local(drive(lane, terminal, connection));
    }
    let ticking = tokio::task::spawn_local(tick(window, recorder.clone()));
    let ended = drain(&mut tasks, window, &plan, &stop).await;
    ticking.abort();
    tasks.abort_all();
    while tasks.join_next().await.is_some() {}
    // The ticker may still hold the recorder until its abortion was seen.
    let _ = ticking.await;
    recorder.borrow_mut().finish();
    let aborted = ended?;
    let unique = Rc::try_unwrap(recorder).map_err(|_| RunError::WorkerDied("a terminal outlived its worker".to_owned()))?;
    Ok(WorkerOutcome { recorder: unique.into_inner(), aborted })
}

/// Rolls the recorder each second even when nothing completes.
async fn tick(window: Window, recorder: Rc<RefCell<Recorder>>) {
    loop {
        let next = (window.now_ns().div_euclid(SECOND_NS) + 1) * SECOND_NS;
        let wait = Duration::from_nanos((next - window.now_ns()).max(0) as u64);
        sleep(wait).await;
        recorder.borrow_mut().roll(window.now_ns());
    }
}

async fn open_all<D: Driver, W: Workload>(
    plan: &WorkerPlan,
    driver: &Arc<D>,
    workload: &Arc<W>,
) -> Result<Vec<Opened<D>>, RunError> {
    let gate = Arc::new(Semaphore::new(CONNECTS_AT_ONCE));
    let mut opening = JoinSet::new();
    for index in plan.terminals.clone() {
        let id = TerminalId { index, of: plan.of, seed: plan.seed };
        let (driver, workload, gate) = (driver.clone(), workload.clone(), gate.clone());
        opening.spawn_local(async move {
            // The semaphore is never closed.
            let _permit = gate.acquire().await;
            open::<D, W>(&driver, &workload, id).await.map(|connection| (id, connection))
        });
    }
    let mut opened = Vec::new();
    while let Some(joined) = opening.join_next().await {
        let result = joined.map_err(|e| RunError::WorkerDied(format!("while connecting: {e}")))?;
        opened.push(result.map_err(RunError::Connect)?);
    }
    opened.sort_by_key(|(id, _)| id.index);
    Ok(opened)
}

async fn open<D: Driver, W: Workload>(driver: &D, workload: &W, id: TerminalId) -> Result<Connection<D::Session>, DriverError> {
    let session = driver.connect(SessionId(id.index)).await?;
    Connection::open(session, workload.catalogue()).await
}

/// Waits for the terminals: to the end of the window, then as long as the drain allows. Returns how many did not end.
async fn drain(
    tasks: &mut JoinSet<Result<(), RunError>>,
    window: Window,
    plan: &WorkerPlan,
    stop: &StopToken,
) -> Result<u64, RunError> {
    let limit = window.opens + Duration::from_nanos(window.length_ns as u64) + plan.drain;
    let mut look = Instant::now();
    while !tasks.is_empty() {
        // Looks up now and then, because a stop request wakes nobody.
        look = (look + Duration::from_millis(50)).max(Instant::now());
        match timeout_at(look.min(limit), tasks.join_next()).await {
            Ok(Some(joined)) => match joined.map_err(|e| RunError::WorkerDied(e.to_string())) {
                Ok(Ok(())) => {}
                Ok(Err(error)) | Err(error) => {
                    // Nobody goes on where a run has failed: the other workers see the request.
                    stop.request();
                    return Err(error);
                }
            },
            Ok(None) => break,
            Err(_) if stop.aborted() || Instant::now() >= limit => return Ok(tasks.len() as u64),
            Err(_) => {}
        }
    }
    Ok(0)
}

/// What a terminal's task shares with the others of its worker.
struct Lane<D, W> {
    id: TerminalId,
    driver: Arc<D>,
    workload: Arc<W>,
    window: Window,
    stop: StopToken,
    recorder: Rc<RefCell<Recorder>>,
    max_attempts: u32,
}

/// The hot loop: start a transaction, run it to its end, write it down, until the window is over.
async fn drive<D: Driver, W: Workload>(
    lane: Lane<D, W>,
    mut terminal: W::Terminal,
    connection: Connection<D::Session>,
) -> Result<(), RunError> {
    let mut connection = Some(connection);
    let mut sequence = 0;
    let mut now = lane.window.now_ns();
    while now < lane.window.length_ns && !lane.stop.requested() {
        let mut operation = Operation { sequence, rng: OpRng::at(lane.id.seed, u64::from(lane.id.index), sequence) };
        let kind = terminal.kind(&operation);
        let (outcome, retries) = lane.attempts(&mut terminal, &mut connection, &mut operation).await?;
        let finished = lane.window.now_ns();
        let statements = connection.as_mut().map(Connection::take_counts).unwrap_or_default();
        let sample = Sample { kind, outcome, started_ns: now, finished_ns: finished, retries };
        lane.recorder.borrow_mut().record(sample, &statements);
        now = if connection.is_some() { finished } else { lane.reconnect(&mut connection).await? };
        sequence += 1;
    }
    if let Some(open) = connection {
        open.close().await;
    }
    Ok(())
}

impl<D: Driver, W: Workload> Lane<D, W> {
    /// Tries one operation until it ends. On return the connection is `None` if it was lost on the way.
    async fn attempts(
        &self,
        terminal: &mut W::Terminal,
        connection: &mut Option<Connection<D::Session>>,
        operation: &mut Operation,
    ) -> Result<(Outcome, u32), RunError> {
        let mut retries = 0;
        loop {
            let Some(open) = connection.as_mut() else { return Ok((Outcome::Failed, retries)) };
            let error = match terminal.transaction(open, operation).await {
                Ok(done) if done.rolled_back => return Ok((Outcome::RolledBack, retries)),
                Ok(_) => return Ok((Outcome::Committed, retries)),
                Err(error) => error,
            };
            self.settle(&error, connection).await?;
            let again = error.class == ErrorClass::Retry && connection.is_some() && retries + 1 < self.max_attempts;
            // Past the end of the window, or asked to stop, nobody tries for ever.
            if !again || self.stop.requested() || self.window.now_ns() >= self.window.length_ns {
                return Ok((Outcome::Failed, retries));
            }
            retries += 1;
            operation.rng = OpRng::at(self.id.seed, u64::from(self.id.index), operation.sequence);
        }
    }

    /// Counts an error and leaves the connection without an open transaction, or lost.
    async fn settle(&self, error: &DriverError, connection: &mut Option<Connection<D::Session>>) -> Result<(), RunError> {
        self.recorder.borrow_mut().error(error);
        match error.class {
            ErrorClass::Refused | ErrorClass::Fatal => return Err(RunError::Fatal(error.clone())),
            ErrorClass::Lost => self.lose(connection),
            ErrorClass::Retry | ErrorClass::Failed => {
                // Always an explicit ROLLBACK: after a lock timeout MySQL keeps the rest of the transaction open.
                let rolled_back = match connection.as_mut() {
                    Some(open) => open.rollback().await,
                    None => Ok(()),
                };
                if let Err(second) = rolled_back {
                    self.recorder.borrow_mut().error(&second);
                    match second.class {
                        ErrorClass::Lost => self.lose(connection),
                        _ => return Err(RunError::Fatal(second)),
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives up a connection, keeping what it counted.
    fn lose(&self, connection: &mut Option<Connection<D::Session>>) {
        if let Some(mut gone) = connection.take() {
            let mut recorder = self.recorder.borrow_mut();
            recorder.whole.add(&gone.take_counts());
            recorder.lost += 1;
        }
    }

    /// Opens the connection again, however long the server is away; gives up only at the end of the window.
    async fn reconnect(&self, connection: &mut Option<Connection<D::Session>>) -> Result<i64, RunError> {
        let mut pause = RECONNECT_PAUSE.0;
        loop {
            let now = self.window.now_ns();
            if now >= self.window.length_ns || self.stop.requested() {
                return Ok(now);
            }
            match open::<D, W>(&self.driver, &self.workload, self.id).await {
                Ok(open) => {
                    self.recorder.borrow_mut().reconnects += 1;
                    *connection = Some(open);
                    return Ok(self.window.now_ns());
                }
                Err(error) if error.class == ErrorClass::Lost => self.recorder.borrow_mut().error(&error),
                Err(error) => return Err(RunError::Fatal(error)),
            }
            let end = self.window.opens + Duration::from_nanos(self.window.length_ns as u64);
            sleep_until((Instant::now() + pause).min(end.max(Instant::now()))).await;
            pause = (pause * 2).min(RECONNECT_PAUSE.1);
        }
    }
}
