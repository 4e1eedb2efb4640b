//! A trial as it runs: each of its seconds is shown, and goes to the live file.

use std::time::Duration;

use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::Interval;
use perbuck_load::observer::{Observer, SecondSeen};
use perbuck_load::recorder::Second;

use crate::live::{Counts, Event, Live};

/// Passes on what is seen of a trial.
pub(super) struct Watched<'a> {
    pub(super) key: &'a TrialKey,
    /// Its position in the plan, from 1.
    pub(super) position: usize,
    /// Whether this process applies the load; else its CPU time says nothing of the client.
    pub(super) applies_load: bool,
    pub(super) live: &'a mut Live,
    /// Shows a second, and says how long the run still takes.
    pub(super) shown: &'a mut dyn FnMut(&Interval) -> Duration,
}

impl Watched<'_> {
    fn counts(&mut self, second: &Second) -> Counts {
        let cpu = self.live.cpu();
        Counts { client: self.applies_load.then_some(cpu), ..Counts::of(second) }
    }
}

impl Observer for Watched<'_> {
    fn second(&mut self, seen: &SecondSeen<'_>) {
        let (left, trial, second) = ((self.shown)(seen.interval), self.key.clone(), seen.interval.clone());
        let counts = Some(Counts { in_flight: seen.in_flight, ..self.counts(seen.second) });
        self.live.say(Event::Second { trial, position: self.position, left_s: left.as_secs(), second, counts });
    }

    fn rest(&mut self, rest: &Second) {
        let counts = self.counts(rest);
        self.live.say(Event::Rest { trial: self.key.clone(), counts });
    }
}
