//! When a terminal may start its next transaction: at once (closed loop), or when the next arrival is due (open loop).
//!
//! Arrivals form one queue for all connections: a terminal that is free takes the next arrival, waits until it is due, and
//! runs it. An arrival that is due while no terminal is free waits in the queue; none is skipped. Were the queue divided
//! among the workers, an arrival would wait at one while connections of another are free, and the response time would
//! depend on how many processors the client has. So several workers share a queue with a lock. A
//! terminal takes the lock once per transaction, when it has nothing else to do. A single worker needs no lock.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use perbuck_core::load_model::LoadModel;

use crate::share::ShareOfSchedule;
use crate::window::Window;

/// The arrivals of an open loop, which all workers take from.
pub(crate) type Arrivals = Arc<Mutex<ShareOfSchedule>>;

/// When the terminals of a worker start transactions.
pub(crate) enum Pacer {
    /// All connections, always.
    Always,
    /// Connections are active by the steps of the model.
    Steps(LoadModel),
    /// The arrivals of the only worker.
    Alone(RefCell<ShareOfSchedule>),
    /// The arrivals of all workers.
    Shared(Arrivals),
}

/// When the next transaction of a terminal may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextStart {
    /// Now.
    Now,
    /// An arrival that is due then, relative to the window; it may be in the past.
    Due(i64),
    /// The terminal is idle until then, and then asks again; to the end of the window where nothing comes any more.
    Idle(i64),
}

impl Pacer {
    /// The pacer of `load`; `arrivals` are those of an open loop. A worker that is the only one to hold them needs no lock.
    pub(crate) fn new(load: &LoadModel, arrivals: Option<Arrivals>) -> Self {
        match (load, arrivals.map(Arc::try_unwrap)) {
            (_, Some(Ok(alone))) => Self::Alone(RefCell::new(alone.into_inner().unwrap_or_else(PoisonError::into_inner))),
            (_, Some(Err(shared))) => Self::Shared(shared),
            (LoadModel::Closed { steps }, None) if steps.is_empty() => Self::Always,
            (model, None) => Self::Steps(model.clone()),
        }
    }

    /// Whether transactions are due by a schedule.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Alone(_) | Self::Shared(_))
    }

    /// The next arrival, in nanoseconds since the start of the warm-up.
    #[inline]
    fn arrival(&self) -> Option<u64> {
        match self {
            Self::Alone(schedule) => schedule.borrow_mut().next(),
            Self::Shared(schedule) => schedule.lock().unwrap_or_else(PoisonError::into_inner).next(),
            Self::Always | Self::Steps(_) => None,
        }
    }

    /// What a free terminal does at `now_ns`.
    #[inline]
    pub(crate) fn next_start(&self, window: &Window, terminal: u32, now_ns: i64) -> NextStart {
        match self {
            Self::Always => NextStart::Now,
            Self::Alone(_) | Self::Shared(_) => match self.arrival() {
                Some(at) => NextStart::Due(at as i64 - window.warmup_ns),
                None => NextStart::Idle(window.length_ns),
            },
            Self::Steps(model) => {
                let at = u64::try_from(now_ns + window.warmup_ns).unwrap_or(0);
                match model.active_from(terminal, at) {
                    Some(from) if from <= at => NextStart::Now,
                    Some(from) => NextStart::Idle(from as i64 - window.warmup_ns),
                    None => NextStart::Idle(window.length_ns),
                }
            }
        }
    }

    /// Takes all arrivals that were not started, relative to the window.
    pub(crate) fn rest(&self, window: &Window) -> impl Iterator<Item = i64> {
        let warmup_ns = window.warmup_ns;
        std::iter::from_fn(move || self.arrival().map(|at| at as i64 - warmup_ns))
    }
}

#[cfg(test)]
mod tests {
    use perbuck_core::arrivals::Schedule;
    use perbuck_core::units::Seed;

    use super::*;
    use crate::share::Share;

    #[test]
    fn a_terminal_takes_the_next_arrival_and_none_is_taken_twice() {
        let model = LoadModel::rate(1000, perbuck_core::arrivals::Arrivals::Poisson, 3_000_000_000);
        let LoadModel::Open { arrivals, phases } = &model else { panic!("a rate is an open loop") };
        let schedule = Share::WHOLE.arrivals(Schedule::new(phases, *arrivals, Seed(5)));
        let window = Window { opens: perbuck_event::now(), length_ns: 2_000_000_000, warmup_ns: 1_000_000_000 };
        let all: Vec<i64> = schedule.clone().map(|at| at as i64 - window.warmup_ns).collect();
        let alone = Pacer::new(&model, Some(Arc::new(Mutex::new(schedule.clone()))));
        assert!(matches!(alone, Pacer::Alone(_)));
        assert_eq!(alone.rest(&window).collect::<Vec<_>>(), all);
        let queue = Arc::new(Mutex::new(schedule));
        let workers = [0, 1].map(|_| Pacer::new(&model, Some(queue.clone())));
        for (i, due) in all.iter().enumerate() {
            assert_eq!(workers[i % 2].next_start(&window, 3, 0), NextStart::Due(*due));
        }
        // Nothing comes any more, and yet no terminal leaves before the window closes.
        assert_eq!(workers[0].next_start(&window, 3, 0), NextStart::Idle(window.length_ns));
        assert_eq!(workers[1].rest(&window).count(), 0);
    }
}
