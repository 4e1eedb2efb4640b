//! What is printed while a run goes on.

use perbuck_core::histogram::Histogram;
use perbuck_load::observer::SecondSeen;
use perbuck_load::stop::StopToken;
use perbuck_workloads::ycsb::KINDS;

use super::report::{Line, go_ycsb, status};
use super::settings::{Settings, Shape};
use crate::heard;
use perbuck_console::print;
use perbuck_console::say;
use perbuck_lab::error::LabError;
use perbuck_lab::trial::Watch;

/// Prints the figures since the start at every interval, as go-ycsb does: by operation, where a read-modify-write is one.
pub(super) struct Live<'a> {
    settings: &'a Settings,
    stop: StopToken,
    /// Whole seconds of the window that are over.
    seconds: u32,
    kinds: Vec<Histogram>,
    completed: u64,
    /// Completed at the last status line.
    told: u64,
    /// The first failure to print.
    shown: Result<(), LabError>,
}

impl<'a> Live<'a> {
    pub(super) fn new(settings: &'a Settings, stop: &StopToken) -> Self {
        let kinds = KINDS.iter().map(|_| Histogram::new()).collect();
        Self { settings, stop: stop.clone(), seconds: 0, kinds, completed: 0, told: 0, shown: Ok(()) }
    }

    fn lines(&self) -> Vec<Line> {
        let mut all = Histogram::new();
        self.kinds.iter().for_each(|h| all.merge(h));
        let operations = KINDS.iter().zip(&self.kinds).map(|(name, times)| Line::timed(*name, times.clone()));
        let mut lines: Vec<Line> = operations.chain([Line::timed("TOTAL", all)]).filter(|l| l.count > 0).collect();
        lines.sort_by(|a, b| a.name.cmp(&b.name));
        lines
    }

    fn report(&mut self) -> Result<(), LabError> {
        let s = self.settings;
        if let Some(every) = s.status_s.filter(|every| self.seconds.is_multiple_of(*every)) {
            say(&status(self.seconds, self.completed, self.completed - self.told, every, &self.lines()));
            self.told = self.completed;
        }
        if s.shape == Shape::GoYcsb && self.seconds.is_multiple_of(s.interval_s) {
            print(&go_ycsb(&self.lines(), f64::from(self.seconds), s.style))?;
        }
        heard()
    }

    /// The first failure to print.
    ///
    /// # Errors
    /// That failure.
    pub(super) fn end(self) -> Result<(), LabError> {
        self.shown
    }
}

impl Watch for Live<'_> {
    fn second(&mut self, seen: &SecondSeen<'_>) {
        if seen.interval.start_ms < 0 || self.shown.is_err() {
            return;
        }
        self.seconds += 1;
        self.completed += seen.interval.transactions;
        self.kinds.iter_mut().zip(seen.kinds).for_each(|(all, one)| all.merge(&one.completed));
        // What ends in the last second is part of the figures at the end.
        self.shown = self.report();
        if self.shown.is_err() {
            self.stop.request();
        }
    }

    fn by_kind(&self) -> bool {
        true
    }
}
