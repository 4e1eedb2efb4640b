//! Terminals whose own host is away: they work on another host of the target (failover), and return when their own can be
//! reached again (failback).
//!
//! On its own host this costs a terminal nothing: the hot loop compares the time with `until_ns`, which then is the end of the
//! window. After a failover it is the time of its next check, between two transactions. The connection to its own host is opened
//! by a task beside it, because a host that is away may not answer for seconds; the terminal works on meanwhile.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use perbuck_event::TaskSet;

use crate::connection::{Connection, OneSession, Opening};
use crate::driver::Driver;
use crate::error::DriverError;
use crate::workload::Workload;

/// Connections that one worker opens at the same time; more would overrun the listen queue of a server.
pub(crate) const CONNECTS_AT_ONCE: usize = 32;
/// How long a terminal works on another host before it tries its own, and between two attempts.
const RETRY_NS: i64 = 2_000_000_000;
/// How often it checks whether the connection to its own host is open.
const CHECK_NS: i64 = 100_000_000;

/// Which host the connection of a terminal goes to.
pub(crate) struct Host<S> {
    /// When the terminal checks its host next: the end of the window, or earlier after a failover, in nanoseconds of the window.
    pub(crate) until_ns: Cell<i64>,
    /// Position after its own host; 0 is its own.
    pub(crate) offset: Cell<u32>,
    failback: RefCell<Option<Box<Failback<S>>>>,
}

/// A connection to the own host that is being opened.
struct Failback<S> {
    task: TaskSet<Result<Connection<S>, DriverError>>,
    /// Counts it among those of the worker.
    _one: Rc<()>,
}

impl<S: 'static> Host<S> {
    /// The own host, in a window of that length.
    pub(crate) fn own(length_ns: i64) -> Self {
        Self { until_ns: Cell::new(length_ns), offset: Cell::new(0), failback: RefCell::new(None) }
    }

    /// The terminal has a new connection, to the host at this position after its own.
    pub(crate) fn connected(&self, offset: u32, now_ns: i64, length_ns: i64) {
        self.offset.set(offset);
        self.failback.replace(None);
        self.until_ns.set(if offset == 0 { length_ns } else { length_ns.min(now_ns + RETRY_NS) });
    }

    /// Opens a connection to the own host beside the terminal; that connection, once it is there. Each failback of the worker
    /// holds a clone of `failbacks`.
    pub(crate) async fn failback<F>(
        &self,
        now_ns: i64,
        length_ns: i64,
        failbacks: &Rc<()>,
        open: impl FnOnce() -> F,
    ) -> Option<Connection<S>>
    where
        F: Future<Output = Result<Connection<S>, DriverError>> + 'static,
    {
        let opening = self.failback.take();
        let mut next_ns = CHECK_NS;
        match opening {
            None if Rc::strong_count(failbacks) <= CONNECTS_AT_ONCE => {
                let mut task = TaskSet::default();
                task.spawn(open());
                self.failback.replace(Some(Box::new(Failback { task, _one: failbacks.clone() })));
            }
            None => {}
            Some(opening) if opening.task.running() > 0 => {
                self.failback.replace(Some(opening));
            }
            Some(mut opening) => match opening.task.next().await {
                Some(Ok(connection)) => return Some(connection),
                // The host is still away, or not ready yet; nothing was lost by that.
                Some(Err(_)) | None => next_ns = RETRY_NS,
            },
        }
        self.until_ns.set(length_ns.min(now_ns + next_ns));
        None
    }
}

/// The other hosts in the order in which a terminal tries them, so that terminals whose own host is away are spread over them.
pub(crate) fn others(index: u32, hosts: u32) -> impl Iterator<Item = u32> {
    let others = hosts.saturating_sub(1);
    (0..others).map(move |attempt| 1 + (index / hosts + attempt) % others)
}

/// Opens the connection of a terminal, of a load with so many, to the host at this position after its own.
pub(crate) async fn open<D: Driver, W: Workload>(
    driver: &Arc<D>,
    workload: &W,
    (terminal, of): (u32, u32),
    offset: u32,
) -> Result<Connection<D::Session>, DriverError> {
    let catalogue = terminal.checked_sub(of).map_or_else(|| workload.catalogue(), |extra| workload.extra_catalogue(extra));
    let (driver, id) = (Arc::clone(driver), workload.session(terminal, of));
    let opener = move || -> Opening<D::Session> {
        let (driver, catalogue) = (Arc::clone(&driver), Arc::clone(&catalogue));
        Box::pin(async move { OneSession::open(driver.connect_at(id, offset).await?, catalogue).await })
    };
    Connection::opened_by(Box::new(opener)).await
}

#[cfg(test)]
mod tests {
    #[test]
    fn failovers_are_spread_over_the_other_hosts() {
        let order = |index, hosts| super::others(index, hosts).collect::<Vec<_>>();
        assert_eq!((order(0, 0), order(5, 1), order(3, 2)), (vec![], vec![], vec![1]));
        // Of three hosts the first is away: its terminals 0, 3, 6 and 9 go to the second and the third in turn.
        assert_eq!([0, 3, 6, 9].map(|index| order(index, 3)), [[1, 2], [2, 1], [1, 2], [2, 1]].map(Vec::from));
    }
}
