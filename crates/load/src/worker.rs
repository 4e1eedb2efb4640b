//! The hot loop: what one terminal does from its first transaction to its last.
//!
//! Per operation [`drive`] reads the clock once, allocates nothing and writes to no memory that another thread reads; only
//! in an open loop with several workers does it take the lock of their queue (see [`crate::pace`]).
//! What happens before and after it, to all terminals of a worker, is in [`crate::shift`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use perbuck_core::rng::{OpRng, Streams};
use perbuck_event::{now, rarely, sleep_until, timeout_at};

use crate::connection::Connection;
use crate::driver::Driver;
use crate::error::{DriverError, ErrorClass};
use crate::executor::{RunError, TerminalTotals};
use crate::guest::{Visit, others};
use crate::limit::{EventLimit, Tolerance};
use crate::pace::{Pace, Turn};
use crate::recorder::{Outcome, Recorder, Sample};
use crate::shift::open;
use crate::statement_times::StatementTimes;
use crate::stop::StopToken;
use crate::window::Window;
use crate::workload::{Facts, Operation, Pauses, Terminal, Workload};

/// First and longest pause between tries to reach a lost server.
const RECONNECT_PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// What the terminals of a worker share.
pub(crate) struct Common<D, W> {
    /// Servers that the connections are spread over; 0 where there is nothing to choose from.
    pub(crate) hosts: u32,
    pub(crate) driver: Arc<D>,
    pub(crate) workload: Arc<W>,
    pub(crate) window: Window,
    pub(crate) pace: Pace,
    pub(crate) stop: StopToken,
    pub(crate) recorder: RefCell<Recorder>,
    pub(crate) max_attempts: u32,
    /// Terminals that wait for their turn, with no transaction in flight.
    pub(crate) idle: Cell<usize>,
    /// Terminals that are opening a connection to their own server while they are guests of another.
    pub(crate) going_home: Rc<Cell<usize>>,
    /// Whether terminals pause between transactions.
    pub(crate) pauses: bool,
    /// When what each terminal does was due, and has not ended; only in open loop, or where terminals pause.
    pub(crate) taken: RefCell<Vec<Option<i64>>>,
    pub(crate) limit: EventLimit,
    pub(crate) tolerance: Tolerance,
    /// Where statements are timed, if anybody asked.
    pub(crate) times: Option<StatementTimes>,
    /// By place; each terminal writes its own when it ends.
    pub(crate) terminals: RefCell<Vec<TerminalTotals>>,
}

impl<D: Driver, W> Common<D, W> {
    /// Whether a connection that could not be opened again may be had later: a server was away, or had no room, because guests
    /// whose own server is away took it.
    fn may_pass(&self, error: &DriverError) -> bool {
        error.class == ErrorClass::Lost || (self.hosts > 1 && error.class == ErrorClass::Refused)
    }

    /// A connection that was opened again, counted.
    pub(crate) fn opened_again(&self, mut open: Connection<D::Session>) -> Connection<D::Session> {
        self.recorder.borrow_mut().reconnected();
        open.time_statements(self.times.clone());
        open
    }
}

/// A terminal's task.
pub(crate) struct Lane<D: Driver, W> {
    /// The terminal's number.
    pub(crate) index: u32,
    /// Those of its operations.
    pub(crate) streams: Streams,
    /// Its place among those of the worker.
    pub(crate) place: u32,
    pub(crate) common: Rc<Common<D, W>>,
    pub(crate) visit: Visit<D::Session>,
}

/// What a terminal has done; kept with its task and handed in when the task ends, however it does.
struct Tally<'a, D: Driver, W> {
    lane: &'a Lane<D, W>,
    totals: TerminalTotals,
}

impl<D: Driver, W> Tally<'_, D, W> {
    #[inline]
    fn count(&mut self, outcome: Outcome, started_ns: i64, ended_ns: i64) {
        self.totals.last_ended_ns = ended_ns;
        if outcome != Outcome::Failed && ended_ns >= 0 && ended_ns < self.lane.common.window.length_ns {
            self.totals.transactions += 1;
            self.totals.busy_ns += (ended_ns - started_ns).max(0) as u64;
        }
    }
}

impl<D: Driver, W> Drop for Tally<'_, D, W> {
    fn drop(&mut self) {
        if let Some(place) = self.lane.common.terminals.borrow_mut().get_mut(self.lane.place as usize) {
            *place = self.totals;
        }
    }
}

/// The hot loop: wait for the turn, run a transaction to its end, write it down, until the window is over.
#[expect(clippy::manual_async_fn, reason = "an async fn holds each parameter twice: as given, and as the variable it becomes")]
pub(crate) fn drive<D: Driver, W: Workload>(
    lane: Lane<D, W>,
    mut terminal: W::Terminal,
    mut connection: Option<Connection<D::Session>>,
) -> impl Future<Output = Result<(), RunError>> {
    async move {
        let common = &*lane.common;
        let mut sequence = 0;
        let mut tally = Tally { lane: &lane, totals: TerminalTotals::default() };
        // The start is given a moment ahead, so that all begin together.
        let mut now = lane.idle_until(-common.window.warmup_ns).await;
        while lane.may_go_on(now) || rarely(|| lane.look_home(&mut now, &mut connection)).await {
            let (mut intended_ns, mut started_ns) = match common.pace.turn(&common.window, lane.index, now) {
                Turn::Now => (now, now),
                Turn::Due(at) => match lane.await_arrival(at, now).await {
                    Some(started) => (at, started),
                    None => break,
                },
                Turn::Idle(until) => {
                    now = lane.idle_until(until).await;
                    continue;
                }
            };
            let mut operation = Operation { sequence, rng: lane.stream(sequence, 0) };
            let kind = terminal.kind(&operation);
            let mut pauses = Pauses::default();
            if common.pauses {
                pauses = terminal.pauses(&operation);
                // The first one may be longer, so that terminals do not begin in step: it is not counted.
                let Some(at) = lane.begin_after(now, pauses.before_ns, (sequence > 0).then_some(kind)).await else { break };
                (intended_ns, started_ns) = (at, at);
            }
            if started_ns >= 0 && !common.limit.take() {
                break;
            }
            let mut retries = 0;
            let (outcome, facts) = loop {
                let Some(open) = connection.as_mut() else { break (Outcome::Failed, Facts::default()) };
                let error = match terminal.transaction(open, &mut operation).await {
                    Ok(done) => break (if done.rolled_back { Outcome::RolledBack } else { Outcome::Committed }, done.facts),
                    Err(error) => error,
                };
                if !rarely(|| lane.settle(&error, &mut connection, retries)).await? {
                    break (Outcome::Failed, Facts::default());
                }
                retries += 1;
                operation.rng = lane.stream(sequence, if terminal.redraws() { retries } else { 0 });
            };
            let statements = connection.as_mut().map(Connection::take_counts).unwrap_or_default();
            if terminal.reconnects_after(sequence) {
                rarely(|| lane.renew(&mut connection)).await?;
            }
            let finished_ns = common.window.now_ns();
            let sample = Sample { kind, outcome, intended_ns, started_ns, finished_ns, statements, facts };
            common.recorder.borrow_mut().record(sample);
            tally.count(outcome, started_ns, finished_ns);
            common.limit.settle(outcome != Outcome::Failed, started_ns, finished_ns);
            lane.ended();
            now = if connection.is_some() { finished_ns } else { rarely(|| lane.reconnect(&mut connection)).await? };
            sequence += 1;
            if pauses.after_ns > 0 {
                now = lane.think(now, pauses.after_ns, kind).await;
            }
        }
        if let Some(open) = connection {
            rarely(|| lane.end(terminal, open)).await?;
        }
        Ok(())
    }
}

impl<D: Driver, W: Workload> Lane<D, W> {
    /// Whether nothing but the next transaction is to be done now.
    #[inline]
    fn may_go_on(&self, now_ns: i64) -> bool {
        now_ns < self.visit.until_ns() && !self.common.stop.requested()
    }

    /// The random stream of an attempt; the first has number 0.
    #[inline]
    fn stream(&self, sequence: u64, attempt: u32) -> OpRng {
        self.streams.at(sequence | u64::from(attempt) << 40)
    }

    /// Waits until an arrival is due and starts it; `None` where the window closed first.
    #[inline]
    async fn await_arrival(&self, due_ns: i64, mut now_ns: i64) -> Option<i64> {
        self.common.taken.borrow_mut()[self.place as usize] = Some(due_ns);
        let free = due_ns > now_ns;
        if free {
            now_ns = self.idle_until(due_ns).await;
        }
        if now_ns >= self.common.window.length_ns || self.common.stop.requested() {
            return None;
        }
        self.common.recorder.borrow_mut().started(due_ns, now_ns, free);
        Some(now_ns)
    }

    /// The arrival has ended, if the load has any.
    #[inline]
    fn ended(&self) {
        if let Some(taken) = self.common.taken.borrow_mut().get_mut(self.place as usize) {
            *taken = None;
        }
    }

    /// Pauses before a transaction, which is asked for from then on; `None` where the window closed first. The pause counts
    /// for its kind, if one is given.
    async fn begin_after(&self, now_ns: i64, length_ns: u64, kind: Option<u8>) -> Option<i64> {
        let at = self.pause(now_ns, length_ns).await;
        if let Some(kind) = kind {
            self.common.recorder.borrow_mut().paused(kind, true, at - now_ns, at);
        }
        let begins = at < self.common.window.length_ns && !self.common.stop.requested();
        self.common.taken.borrow_mut()[self.place as usize] = begins.then_some(at);
        begins.then_some(at)
    }

    /// Pauses after a transaction of that kind.
    async fn think(&self, now_ns: i64, length_ns: u64, kind: u8) -> i64 {
        let at = self.pause(now_ns, length_ns).await;
        self.common.recorder.borrow_mut().paused(kind, false, at - now_ns, at);
        at
    }

    /// Lets time pass outside of any transaction, until the window closes at the latest.
    async fn pause(&self, now_ns: i64, length_ns: u64) -> i64 {
        let until = now_ns.saturating_add(i64::try_from(length_ns).unwrap_or(i64::MAX));
        self.idle_until(until.min(self.common.window.length_ns)).await
    }

    async fn idle_until(&self, at_ns: i64) -> i64 {
        let idle = &self.common.idle;
        idle.set(idle.get() + 1);
        sleep_until(self.common.window.moment(at_ns)).await;
        idle.set(idle.get() - 1);
        self.common.window.now_ns()
    }

    /// Counts an error and leaves the connection without an open transaction, or lost. Whether to try again.
    #[cold]
    async fn settle(
        &self,
        error: &DriverError,
        connection: &mut Option<Connection<D::Session>>,
        retries: u32,
    ) -> Result<bool, RunError> {
        self.common.recorder.borrow_mut().error(error);
        if !self.common.tolerance.tolerates(error) {
            return Err(RunError::Fatal(self.named(error, connection.as_ref())));
        }
        match error.class {
            ErrorClass::Lost => self.lose(connection),
            ErrorClass::Retry | ErrorClass::Failed | ErrorClass::Refused | ErrorClass::Fatal => {
                // Always an explicit ROLLBACK: after a lock timeout MySQL keeps the rest of the transaction open.
                let rolled_back = match connection.as_mut() {
                    Some(open) => open.rollback().await,
                    None => Ok(()),
                };
                if let Err(second) = rolled_back {
                    self.common.recorder.borrow_mut().error(&second);
                    match second.class {
                        ErrorClass::Lost => self.lose(connection),
                        _ => return Err(RunError::Fatal(second)),
                    }
                }
            }
        }
        let (common, now_ns) = (&self.common, self.common.window.now_ns());
        let again = error.class == ErrorClass::Retry && connection.is_some() && retries + 1 < common.max_attempts;
        // Past the end of the window, or asked to stop, nobody tries for ever.
        let again = again && !common.stop.requested() && now_ns < common.window.length_ns;
        // What it sent was sent now, whenever its transaction ends, if it does.
        let sent = connection.as_mut().map(Connection::take_counts).unwrap_or_default();
        common.recorder.borrow_mut().attempt(&sent, again, now_ns);
        Ok(again)
    }

    /// The error that ends the run, with the statement that met it.
    fn named(&self, error: &DriverError, connection: Option<&Connection<D::Session>>) -> DriverError {
        let sql = connection.and_then(Connection::last_sql);
        let message = sql.map_or_else(|| error.message.clone(), |sql| format!("{}, for query '{sql}'", error.message));
        DriverError::new(error.class, error.code, message)
    }

    /// Lets the terminal send what it still holds, and closes the connection.
    async fn end(&self, mut terminal: W::Terminal, mut connection: Connection<D::Session>) -> Result<(), RunError> {
        let sent = terminal.finish(&mut connection).await;
        // Where the transactions were limited, this is still within the window.
        let now_ns = self.common.window.now_ns();
        self.common.recorder.borrow_mut().sent_behind(&connection.take_counts(), now_ns);
        if let Err(error) = sent {
            self.common.recorder.borrow_mut().error(&error);
            return Err(RunError::Fatal(error));
        }
        connection.close().await;
        Ok(())
    }

    /// Closes the connection and opens it anew because the workload asks for it. Where that fails it is lost.
    async fn renew(&self, connection: &mut Option<Connection<D::Session>>) -> Result<(), RunError> {
        let Some(open) = connection.take() else { return Ok(()) };
        open.close().await;
        match self::open::<D, W>(&self.common.driver, &self.common.workload, self.index, self.visit.away()).await {
            Ok(open) => *connection = Some(self.common.opened_again(open)),
            Err(error) if self.common.may_pass(&error) => self.common.recorder.borrow_mut().error(&error),
            Err(error) => return Err(RunError::Fatal(error)),
        }
        Ok(())
    }

    /// Gives up a connection, keeping what it counted.
    fn lose(&self, connection: &mut Option<Connection<D::Session>>) {
        if let Some(mut gone) = connection.take() {
            let mut recorder = self.common.recorder.borrow_mut();
            let now_ns = self.common.window.now_ns();
            recorder.sent_behind(&gone.take_counts(), now_ns);
            recorder.lost += 1;
        }
    }

    /// Opens the connection again, however long the server is away; gives up only at the end of the window. Where the target
    /// has other servers, the terminal becomes a guest of one of them.
    async fn reconnect(&self, connection: &mut Option<Connection<D::Session>>) -> Result<i64, RunError> {
        let common = &self.common;
        let length_ns = common.window.length_ns;
        let end = common.window.moment(length_ns);
        let mut pause = RECONNECT_PAUSE.0;
        loop {
            for away in std::iter::once(0).chain(others(self.index, common.hosts)) {
                let now_ns = common.window.now_ns();
                if now_ns >= length_ns || common.stop.requested() {
                    return Ok(now_ns);
                }
                let Ok(opened) = timeout_at(end, open::<D, W>(&common.driver, &common.workload, self.index, away)).await else {
                    return Ok(common.window.now_ns());
                };
                match opened {
                    Ok(open) => {
                        *connection = Some(common.opened_again(open));
                        let now_ns = common.window.now_ns();
                        self.visit.arrives(away, now_ns, length_ns);
                        return Ok(now_ns);
                    }
                    Err(error) if common.may_pass(&error) || away > 0 => common.recorder.borrow_mut().error(&error),
                    Err(error) => return Err(RunError::Fatal(error)),
                }
            }
            sleep_until((now() + pause).min(end.max(now()))).await;
            pause = (pause * 2).min(RECONNECT_PAUSE.1);
        }
    }
}
