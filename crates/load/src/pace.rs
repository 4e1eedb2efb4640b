//! When a terminal may start its next transaction: at once (closed loop), or when the next arrival is due (open loop).
//!
//! Arrivals form one queue: a terminal that is free takes the next arrival, waits until it is due, and runs it. An
//! arrival that is due while no terminal is free waits in the queue; none is skipped. Terminals of one worker share a
//! queue, so that no other thread is asked; every worker walks the same schedule and takes each n-th arrival of it, so
//! that the schedule depends on the seed alone. An embedded database has one terminal per thread, and those share one
//! queue behind a lock, which costs nothing beside a transaction that blocks its thread.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use perbuck_core::arrivals::Schedule;
use perbuck_core::load_model::LoadModel;

use crate::window::Window;

/// Where the arrivals of a worker come from; what is handed to its thread.
#[derive(Debug, Clone)]
pub enum Queue {
    /// Each `of`-th arrival of the schedule, from `first` on.
    Own {
        /// The whole schedule, from its begin.
        schedule: Box<Schedule>,
        /// The worker.
        first: usize,
        /// Workers in all.
        of: usize,
    },
    /// One for all threads.
    Shared(Arc<Mutex<Schedule>>),
}

/// The pace of a worker's terminals.
#[derive(Debug, Clone)]
pub enum PacePlan {
    /// Connections are active by the steps of the model.
    Closed(LoadModel),
    /// Arrivals come from the queue.
    Open(Queue),
}

/// As [`PacePlan`], within the worker.
pub(crate) enum Pace {
    /// All connections, always.
    Always,
    /// Connections are active by the steps of the model.
    Steps(LoadModel),
    /// Arrivals of this worker.
    Own(Rc<RefCell<OwnQueue>>),
    /// Arrivals of all workers.
    Shared(Arc<Mutex<Schedule>>),
}

/// Every n-th arrival of a schedule.
pub(crate) struct OwnQueue {
    schedule: Schedule,
    skip: usize,
    of: usize,
}

impl OwnQueue {
    #[inline]
    fn next(&mut self) -> Option<u64> {
        let skip = std::mem::replace(&mut self.skip, self.of - 1);
        self.schedule.nth(skip)
    }
}

/// When the next transaction of a terminal may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Now.
    Now,
    /// An arrival that is due then, relative to the window; it may be in the past.
    Due(i64),
    /// The terminal is idle until then, and then asks again.
    Idle(i64),
    /// Never again.
    Over,
}

impl Pace {
    pub(crate) fn new(plan: PacePlan) -> Self {
        match plan {
            PacePlan::Closed(LoadModel::Closed { steps }) if steps.is_empty() => Self::Always,
            PacePlan::Closed(model) => Self::Steps(model),
            PacePlan::Open(Queue::Shared(schedule)) => Self::Shared(schedule),
            PacePlan::Open(Queue::Own { schedule, first, of }) => {
                Self::Own(Rc::new(RefCell::new(OwnQueue { schedule: *schedule, skip: first, of: of.max(1) })))
            }
        }
    }

    /// Whether transactions are due by a schedule.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Own(_) | Self::Shared(_))
    }

    /// The next arrival, in nanoseconds since the begin of the warm-up.
    #[inline]
    fn arrival(&self) -> Option<u64> {
        match self {
            Self::Own(queue) => queue.borrow_mut().next(),
            Self::Shared(schedule) => schedule.lock().unwrap_or_else(PoisonError::into_inner).next(),
            Self::Always | Self::Steps(_) => None,
        }
    }

    /// What a free terminal does at `now_ns`.
    #[inline]
    pub(crate) fn turn(&self, window: &Window, terminal: u32, now_ns: i64) -> Turn {
        match self {
            Self::Always => Turn::Now,
            Self::Own(_) | Self::Shared(_) => match self.arrival() {
                Some(at) => Turn::Due(at as i64 - window.warmup_ns),
                None => Turn::Over,
            },
            Self::Steps(model) => {
                let at = u64::try_from(now_ns + window.warmup_ns).unwrap_or(0);
                match model.active_from(terminal, at) {
                    Some(from) if from <= at => Turn::Now,
                    Some(from) => Turn::Idle(from as i64 - window.warmup_ns),
                    None => Turn::Over,
                }
            }
        }
    }

    /// Takes all arrivals that nobody started, relative to the window.
    pub(crate) fn rest(&self, window: &Window) -> impl Iterator<Item = i64> {
        let warmup_ns = window.warmup_ns;
        std::iter::from_fn(move || self.arrival().map(|at| at as i64 - warmup_ns))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use perbuck_core::arrivals::Arrivals;
    use perbuck_core::units::Seed;

    use super::*;

    #[test]
    fn the_workers_together_have_every_arrival_once_whatever_their_number() {
        let model = LoadModel::rate(1000, Arrivals::Poisson, 3_000_000_000);
        let LoadModel::Open { arrivals, phases } = model else { panic!("a rate is an open loop") };
        let schedule = Schedule::new(&phases, arrivals, Seed(5));
        let window = Window { opens: Instant::now(), length_ns: 2_000_000_000, warmup_ns: 1_000_000_000 };
        let all: Vec<i64> = schedule.clone().map(|at| at as i64 - window.warmup_ns).collect();
        for of in [1, 2, 3, 7] {
            let queue = |first| PacePlan::Open(Queue::Own { schedule: Box::new(schedule.clone()), first, of });
            let mut seen: Vec<i64> = (0..of).flat_map(|w| Pace::new(queue(w)).rest(&window).collect::<Vec<_>>()).collect();
            seen.sort_unstable();
            assert_eq!(seen, all);
        }
        let shared = Pace::new(PacePlan::Open(Queue::Shared(Arc::new(Mutex::new(schedule)))));
        assert_eq!(shared.turn(&window, 3, 0), Turn::Due(all[0]));
        assert_eq!(shared.rest(&window).count(), all.len() - 1);
        assert_eq!(shared.turn(&window, 3, 0), Turn::Over);
    }
}
