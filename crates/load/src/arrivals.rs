//! The arrivals of a trial, counted apart from those who start them: what was due is a function of the seed.

use std::iter::Peekable;

use perbuck_core::arrivals::Schedule;
use perbuck_core::load_model::LoadModel;

use crate::share::ShareOfSchedule;
use crate::trial::TrialSpec;

/// The schedule of this process's share of an open loop, from the start of its warm-up; `None` in closed loop.
pub(crate) fn schedule(spec: &TrialSpec) -> Option<ShareOfSchedule> {
    match &spec.load {
        LoadModel::Open { arrivals, phases } => Some(spec.share.arrivals(Schedule::new(phases, *arrivals, spec.seed))),
        LoadModel::Closed { .. } => None,
    }
}

/// Counts what was due, second by second.
pub(crate) struct DueCounter {
    schedule: Option<Peekable<ShareOfSchedule>>,
    warmup_ns: i64,
}

impl DueCounter {
    pub(crate) fn new(spec: &TrialSpec) -> Self {
        Self { schedule: schedule(spec).map(Iterator::peekable), warmup_ns: spec.warmup_ns as i64 }
    }

    /// How many were due since the last call and before `end_ns`, relative to the window.
    pub(crate) fn until(&mut self, end_ns: i64) -> u64 {
        let (mut count, warmup_ns) = (0, self.warmup_ns);
        if let Some(schedule) = &mut self.schedule {
            while schedule.next_if(|at| (*at as i64) - warmup_ns < end_ns).is_some() {
                count += 1;
            }
        }
        count
    }
}
