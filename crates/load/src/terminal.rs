//! The task of a terminal, and what it does rarely: errors, lost connections, failover and failback. The hot loop is in
//! [`crate::worker`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use perbuck_core::rng::Streams;
use perbuck_event::{Waiters, now, sleep_until, timeout_at};

use crate::connection::Connection;
use crate::driver::Driver;
use crate::error::{DriverError, ErrorClass, ErrorCode};
use crate::failover::{Host, open, others};
use crate::limit::EventLimit;
use crate::listed::List;
use crate::pacer::Pacer;
use crate::recorder::Recorder;
use crate::statement_times::StatementTimes;
use crate::stop::StopToken;
use crate::totals::TerminalTotals;
use crate::trial::{RunError, TrialSpec};
use crate::window::Window;
use crate::workload::{Terminal, Workload};

/// First and longest pause between attempts to reach a lost server.
const RECONNECT_PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// What the terminals of a worker share.
pub(crate) struct Common<D, W> {
    /// Hosts that the connections are spread over; 0 where there is nothing to choose from.
    pub(crate) hosts: u32,
    pub(crate) driver: Arc<D>,
    pub(crate) workload: Arc<W>,
    pub(crate) window: Window,
    pub(crate) pacer: Pacer,
    pub(crate) stop: StopToken,
    pub(crate) recorder: RefCell<Recorder>,
    pub(crate) spec: Arc<TrialSpec>,
    /// Terminals that wait for their next start, with no transaction in flight.
    pub(crate) idle: Cell<usize>,
    /// The worker while it drains: it is told when a terminal gets idle in a run that ends.
    pub(crate) draining: Waiters,
    /// Cloned by each terminal that is opening a connection to its own host after a failover.
    pub(crate) failbacks: Rc<()>,
    pub(crate) pauses: bool,
    /// Whether each terminal has a last transaction.
    pub(crate) ends: bool,
    /// When what each terminal does was due, and has not ended; only in open loop, or where terminals pause.
    pub(crate) taken: RefCell<Vec<Option<i64>>>,
    pub(crate) limit: EventLimit,
    /// Terminals that have run their last transaction.
    pub(crate) over: Cell<usize>,
    /// Where statements are timed, if the trial asks for it.
    pub(crate) times: Option<StatementTimes>,
    /// Transactions one by one, where the observer wants them.
    pub(crate) list: Option<RefCell<List>>,
    /// By position; each terminal writes its own when it ends.
    pub(crate) terminals: RefCell<Vec<TerminalTotals>>,
}

impl<D, W> Common<D, W> {
    /// Whether no terminal starts another transaction.
    pub(crate) fn is_ending(&self) -> bool {
        self.stop.requested() || self.limit.exhausted()
    }
}

impl<D: Driver, W> Common<D, W> {
    /// Whether a failed reconnect may succeed later: a host was away, or had no room because of failovers from another one.
    fn may_pass(&self, error: &DriverError) -> bool {
        error.class == ErrorClass::Lost || (self.hosts > 1 && error.class == ErrorClass::Refused)
    }

    /// A connection that was opened again, counted.
    pub(crate) fn reopened(&self, mut open: Connection<D::Session>) -> Connection<D::Session> {
        self.recorder.borrow_mut().reconnected();
        open.time_statements(self.times.clone());
        open
    }
}

pub(crate) struct TerminalTask<D: Driver, W> {
    pub(crate) index: u32,
    /// The random streams of its operations.
    pub(crate) streams: Streams,
    /// Its position among those of the worker.
    pub(crate) position: u32,
    pub(crate) common: Rc<Common<D, W>>,
    pub(crate) host: Host<D::Session>,
    /// Whether it is no part of the load: no schedule says when it starts.
    pub(crate) beside: bool,
    /// The last error of the transaction at hand, if it met one.
    pub(crate) failed: Cell<Option<(ErrorClass, ErrorCode)>>,
}

impl<D: Driver, W: Workload> TerminalTask<D, W> {
    /// Its number, and how many terminals the load has.
    fn number(&self) -> (u32, u32) {
        (self.index, self.common.spec.connections)
    }

    /// Counts an error and leaves the connection without an open transaction, or lost. Whether another attempt follows.
    #[cold]
    pub(crate) async fn handle_error(
        &self,
        error: &DriverError,
        connection: &mut Option<Connection<D::Session>>,
        retries: u32,
    ) -> Result<bool, RunError> {
        self.common.recorder.borrow_mut().error(error);
        self.failed.set(Some((error.class, error.code)));
        if !self.common.spec.tolerance.tolerates(error) {
            return Err(RunError::Fatal(self.named(error, connection.as_ref())));
        }
        match error.class {
            ErrorClass::Lost => self.lose(connection),
            ErrorClass::Retry | ErrorClass::Failed | ErrorClass::Refused | ErrorClass::Fatal => {
                // Always an explicit ROLLBACK: after a lock timeout MySQL keeps the rest of the transaction open.
                let rolled_back = match connection.as_mut() {
                    Some(open) => open.rollback_all().await,
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
        let retry = error.class == ErrorClass::Retry && connection.is_some() && retries + 1 < common.spec.max_attempts;
        // After the end of the window, or a request to stop, there is no further attempt.
        let retry = retry && !common.stop.requested() && now_ns < common.window.length_ns;
        if let (ErrorClass::Retry, Some(open)) = (error.class, connection.as_ref()) {
            open.step_failed(retry);
        }
        // What it sent was sent now, whenever its transaction ends, if it does.
        let sent = connection.as_mut().map(Connection::take_counts).unwrap_or_default();
        common.recorder.borrow_mut().attempt(&sent, retry, now_ns);
        Ok(retry)
    }

    /// The error that ends the run, with the statement that met it.
    fn named(&self, error: &DriverError, connection: Option<&Connection<D::Session>>) -> DriverError {
        let sql = connection.and_then(Connection::last_sql);
        let message = sql.map_or_else(|| error.message.clone(), |sql| format!("{}, for query '{sql}'", error.message));
        DriverError::new(error.class, error.code, message).because(error.cause)
    }

    /// Lets the terminal send what it still holds, and closes the connection.
    pub(crate) async fn end(&self, mut terminal: W::Terminal, mut connection: Connection<D::Session>) -> Result<(), RunError> {
        let sent = terminal.finish(&mut connection).await;
        // Where the transactions were limited, this is still within the window.
        let now_ns = self.common.window.now_ns();
        self.common.recorder.borrow_mut().sent_after(&connection.take_counts(), now_ns);
        if let Err(error) = sent {
            self.common.recorder.borrow_mut().error(&error);
            return Err(RunError::Fatal(error));
        }
        connection.close().await;
        Ok(())
    }

    /// Closes the connection and opens it again because the workload asks for it. Where that fails it is lost.
    pub(crate) async fn renew(&self, connection: &mut Option<Connection<D::Session>>) -> Result<(), RunError> {
        let Some(old) = connection.take() else { return Ok(()) };
        old.close().await;
        match open::<D, W>(&self.common.driver, &self.common.workload, self.number(), self.host.offset.get()).await {
            Ok(open) => *connection = Some(self.common.reopened(open)),
            Err(error) if self.common.may_pass(&error) => self.common.recorder.borrow_mut().error(&error),
            Err(error) => return Err(RunError::Fatal(error)),
        }
        Ok(())
    }

    fn lose(&self, connection: &mut Option<Connection<D::Session>>) {
        if let Some(mut gone) = connection.take() {
            let mut recorder = self.common.recorder.borrow_mut();
            let now_ns = self.common.window.now_ns();
            recorder.sent_after(&gone.take_counts(), now_ns);
            recorder.lost += 1;
            if now_ns < self.common.window.length_ns {
                recorder.lost_by.insert(self.index);
            }
        }
    }

    /// Opens the connection again, however long the host is away; gives up only at the end of the window. Where the target has
    /// other hosts, the terminal fails over to one of them.
    pub(crate) async fn reconnect(&self, connection: &mut Option<Connection<D::Session>>) -> Result<i64, RunError> {
        let common = &self.common;
        let length_ns = common.window.length_ns;
        let end = common.window.moment(length_ns);
        let mut pause = RECONNECT_PAUSE.0;
        loop {
            for offset in std::iter::once(0).chain(others(self.index, common.hosts)) {
                let now_ns = common.window.now_ns();
                if now_ns >= length_ns || common.stop.requested() {
                    return Ok(now_ns);
                }
                let Ok(opened) = timeout_at(end, open::<D, W>(&common.driver, &common.workload, self.number(), offset)).await
                else {
                    return Ok(common.window.now_ns());
                };
                match opened {
                    Ok(open) => {
                        *connection = Some(common.reopened(open));
                        let now_ns = common.window.now_ns();
                        self.host.connected(offset, now_ns, length_ns);
                        return Ok(now_ns);
                    }
                    Err(error) if common.may_pass(&error) || offset > 0 => common.recorder.borrow_mut().error(&error),
                    Err(error) => return Err(RunError::Fatal(error)),
                }
            }
            sleep_until((now() + pause).min(end.max(now()))).await;
            pause = (pause * 2).min(RECONNECT_PAUSE.1);
        }
    }

    /// Whether the window is still open. After a failover the terminal tries its own host.
    #[cold]
    pub(crate) async fn check_host(&self, now_ns: &mut i64, connection: &mut Option<Connection<D::Session>>) -> bool {
        let (common, length_ns) = (&self.common, self.common.window.length_ns);
        if *now_ns >= length_ns || common.stop.requested() {
            return false;
        }
        let open_own = || {
            let (driver, workload, number) = (common.driver.clone(), common.workload.clone(), self.number());
            async move { open::<D, W>(&driver, &workload, number, 0).await }
        };
        if let Some(own) = self.host.failback(*now_ns, length_ns, &common.failbacks, open_own).await {
            if let Some(other) = connection.replace(common.reopened(own)) {
                other.close().await;
            }
            *now_ns = common.window.now_ns();
            self.host.connected(0, *now_ns, length_ns);
        }
        *now_ns < length_ns
    }
}
