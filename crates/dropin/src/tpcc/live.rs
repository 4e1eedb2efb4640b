//! What is printed while a run goes on.

use perbuck_core::histogram::Histogram;
use perbuck_load::observer::SecondSeen;
use perbuck_load::stop::StopToken;
use perbuck_load::totals::PausesSeen;
use perbuck_workloads::tpcc::KINDS;

use super::lines::{self, Row, Span, Wait};
use super::settings::{Output, Settings};
use crate::heard;
use perbuck_console::print;
use perbuck_lab::error::LabError;
use perbuck_lab::trial::Watch;

/// The lines of one interval.
pub(super) struct Shown {
    /// When it ended, in seconds since the window opened.
    pub(super) at_s: u32,
    /// One for each kind that had any.
    pub(super) rows: Vec<Row>,
    /// How long terminals keyed and thought.
    pub(super) waits: Vec<Wait>,
}

/// What is printed while the run goes on.
pub(super) struct Live<'a> {
    settings: &'a Settings,
    /// Whole seconds of the window that are over.
    seconds: u32,
    /// By kind since the last lines: what was completed, and what failed.
    kinds: Vec<(Histogram, Histogram)>,
    pauses: Vec<PausesSeen>,
    intervals: Vec<Shown>,
    /// The first failure to print.
    shown: Result<(), LabError>,
    /// Stops the run when nobody can read what it prints.
    stop: StopToken,
}

impl<'a> Live<'a> {
    /// Nothing seen yet.
    pub(super) fn new(settings: &'a Settings, stop: &StopToken) -> Self {
        let kinds = KINDS.iter().map(|_| Default::default()).collect();
        let pauses = vec![PausesSeen::default(); KINDS.len()];
        Self { settings, seconds: 0, kinds, pauses, intervals: Vec::new(), shown: Ok(()), stop: stop.clone() }
    }

    fn pass(&mut self, seen: &SecondSeen<'_>) -> Result<(), LabError> {
        self.seconds += 1;
        for ((completed, failed), kind) in self.kinds.iter_mut().zip(seen.kinds) {
            completed.merge(&kind.completed);
            failed.merge(&kind.failed);
        }
        self.pauses.iter_mut().zip(seen.kinds).for_each(|(all, kind)| all.merge(&kind.pauses));
        if !self.seconds.is_multiple_of(self.settings.interval_s) {
            return Ok(());
        }
        let kinds = KINDS.iter().zip(&self.kinds).map(|(name, (completed, failed))| (*name, completed, failed));
        let rows = lines::rows(kinds, f64::from(self.settings.interval_s));
        let waits = lines::waits(KINDS.iter().copied().zip(self.pauses.iter().copied()));
        self.pauses.fill(PausesSeen::default());
        self.kinds.iter_mut().for_each(|(completed, failed)| {
            completed.reset();
            failed.reset();
        });
        if self.settings.output == Output::Json {
            self.intervals.push(Shown { at_s: self.seconds, rows, waits });
            return Ok(());
        }
        let output = self.settings.output;
        print(&(lines::block(Span::Current, &rows, output) + &lines::wait_block(Span::Current, &waits, output)))
    }

    /// What was shown, once the run is over.
    ///
    /// # Errors
    /// The first failure to print.
    pub(super) fn end(self) -> Result<Vec<Shown>, LabError> {
        self.shown.map(|()| self.intervals)
    }
}

impl Watch for Live<'_> {
    fn by_kind(&self) -> bool {
        true
    }

    fn second(&mut self, seen: &SecondSeen<'_>) {
        if seen.interval.start_ms >= 0 && self.shown.is_ok() {
            self.shown = self.pass(seen).and_then(|()| heard());
            if self.shown.is_err() {
                self.stop.request();
            }
        }
    }
}
