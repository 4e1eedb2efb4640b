//! Terminals whose own server is away: they are guests of another one, and go home when it is back.
//!
//! A terminal is where [`Visit`] says. At home that costs nothing: the hot loop compares the time with `until_ns`, which then is
//! the end of the window. A guest's is its next look, between two transactions. The connection home is opened by a task
//! beside it, because a server that is away may take seconds to say nothing; the terminal works on meanwhile.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use perbuck_event::TaskSet;

use crate::connection::Connection;
use crate::driver::Driver;
use crate::error::DriverError;
use crate::shift::{CONNECTS_AT_ONCE, open};
use crate::worker::Lane;
use crate::workload::Workload;

/// How long a guest waits before it tries its own server, and between two tries.
const REST_NS: i64 = 2_000_000_000;
/// How often it looks whether its connection home is open.
const LOOK_NS: i64 = 100_000_000;

/// Where the connection of a terminal is.
pub(crate) struct Visit<S> {
    /// Until then the terminal needs no look: the end of the window, or the next look of a guest, in nanoseconds of the window.
    until_ns: Cell<i64>,
    /// Servers behind its own; 0 is at home.
    away: Cell<u32>,
    opening: RefCell<Option<Box<Opening<S>>>>,
}

/// A connection home that is being opened.
struct Opening<S> {
    task: TaskSet<Result<Connection<S>, DriverError>>,
    _one_of_many: OneOfMany,
}

/// Counts those of a worker that open a connection home.
struct OneOfMany(Rc<Cell<usize>>);

impl OneOfMany {
    fn of(all: &Rc<Cell<usize>>) -> Option<Self> {
        (all.get() < CONNECTS_AT_ONCE).then(|| {
            all.set(all.get() + 1);
            Self(all.clone())
        })
    }
}

impl Drop for OneOfMany {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl<S> Visit<S> {
    /// At home, in a window of that length.
    pub(crate) fn home(length_ns: i64) -> Self {
        Self { until_ns: Cell::new(length_ns), away: Cell::new(0), opening: RefCell::new(None) }
    }

    /// Until when no look is needed.
    #[inline]
    pub(crate) fn until_ns(&self) -> i64 {
        self.until_ns.get()
    }

    /// How many servers behind its own the terminal is.
    pub(crate) fn away(&self) -> u32 {
        self.away.get()
    }

    /// The terminal has a new connection, so many servers behind its own.
    pub(crate) fn arrives(&self, away: u32, now_ns: i64, length_ns: i64) {
        self.away.set(away);
        self.opening.replace(None);
        self.until_ns.set(if away == 0 { length_ns } else { length_ns.min(now_ns + REST_NS) });
    }
}

/// In which order a terminal asks the other servers when its own is away, so that the guests are spread over them.
pub(crate) fn others(index: u32, hosts: u32) -> impl Iterator<Item = u32> {
    let others = hosts.saturating_sub(1);
    (0..others).map(move |turn| 1 + (index / hosts + turn) % others)
}

impl<D: Driver, W: Workload> Lane<D, W> {
    /// What a terminal does when [`Visit::until_ns`] has come: a guest looks for its own server. Whether the window is still open.
    #[cold]
    pub(crate) async fn look_home(&self, now_ns: &mut i64, connection: &mut Option<Connection<D::Session>>) -> bool {
        let (common, visit) = (&self.common, &self.visit);
        let length_ns = common.window.length_ns;
        if *now_ns >= length_ns || common.stop.requested() {
            return false;
        }
        let opening = visit.opening.take();
        let mut next_ns = LOOK_NS;
        match opening {
            None => {
                let opening = OneOfMany::of(&common.going_home).map(|one_of_many| {
                    let (driver, workload, index) = (common.driver.clone(), common.workload.clone(), self.index);
                    let mut task = TaskSet::default();
                    task.spawn(async move { open::<D, W>(&driver, &workload, index, 0).await });
                    Box::new(Opening { task, _one_of_many: one_of_many })
                });
                visit.opening.replace(opening);
            }
            Some(opening) if opening.task.running() > 0 => {
                visit.opening.replace(Some(opening));
            }
            Some(mut opening) => match opening.task.next().await {
                Some(Ok(home)) => {
                    if let Some(guest) = connection.replace(common.opened_again(home)) {
                        guest.close().await;
                    }
                    *now_ns = common.window.now_ns();
                    visit.arrives(0, *now_ns, length_ns);
                    return *now_ns < length_ns;
                }
                // It is away still, or not ready yet; nothing was lost by that.
                Some(Err(_)) | None => next_ns = REST_NS,
            },
        }
        visit.until_ns.set(length_ns.min(*now_ns + next_ns));
        true
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn guests_are_spread_over_the_other_servers() {
        let order = |index, hosts| super::others(index, hosts).collect::<Vec<_>>();
        assert_eq!((order(0, 0), order(5, 1), order(3, 2)), (vec![], vec![], vec![1]));
        // Of three servers the first is away: its terminals 0, 3, 6 and 9 go to the second and the third in turn.
        assert_eq!([0, 3, 6, 9].map(|index| order(index, 3)), [[1, 2], [2, 1], [1, 2], [2, 1]].map(Vec::from));
    }
}
