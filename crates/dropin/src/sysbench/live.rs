//! What is printed while a run goes on.

use perbuck_load::observer::SecondSeen;
use perbuck_load::stop::StopToken;

use super::log::Log;
use super::machine::{self, IntervalJson, SummaryJson};
use super::settings::{Output, Settings};
use super::tally::{Checkpoint, Summary, Tally, Trouble};
use super::text;
use crate::heard;
use perbuck_console::print;
use perbuck_lab::error::LabError;
use perbuck_lab::trial::Watch;

/// What was printed while a run went on, and counted for its end.
pub(super) struct Shown {
    /// What was counted at the last checkpoint.
    pub(super) checkpoint: Checkpoint,
    /// The reports of all checkpoints.
    pub(super) checkpoints: Vec<SummaryJson>,
    /// The interval lines.
    pub(super) intervals: Vec<IntervalJson>,
    /// Lost connections before the window opened.
    pub(super) before: Trouble,
    /// In the seconds of the window that were shown.
    pub(super) within: Trouble,
}

/// What is printed while the run goes on.
pub(super) struct Live<'a> {
    settings: &'a Settings,
    log: Log,
    /// Whole seconds of the window that are over.
    seconds: u32,
    /// Since the window opened.
    all: Tally,
    /// Since the last interval line.
    interval: Tally,
    /// Seconds of the last interval line.
    since: u32,
    checkpoint: Checkpoint,
    checkpoints: Vec<SummaryJson>,
    intervals: Vec<IntervalJson>,
    /// Whether the start was told.
    said: bool,
    /// The first failure to print.
    shown: Result<(), LabError>,
    /// Stops the run when nobody can read what it prints.
    stop: StopToken,
    /// Lost connections: before the window, and in its seconds.
    before: Trouble,
    within: Trouble,
}

impl<'a> Live<'a> {
    /// Prints what stands above all lines.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub(super) fn new(settings: &'a Settings, log: Log, stop: &StopToken) -> Result<Self, LabError> {
        if settings.output == Output::Csv {
            print(&machine::csv_header(settings))?;
        }
        Ok(Self {
            settings,
            log,
            seconds: 0,
            all: Tally::default(),
            interval: Tally::default(),
            since: 0,
            checkpoint: Checkpoint::default(),
            checkpoints: Vec::new(),
            intervals: Vec::new(),
            said: false,
            shown: Ok(()),
            stop: stop.clone(),
            before: Trouble::default(),
            within: Trouble::default(),
        })
    }

    fn pass(&mut self, seen: &SecondSeen<'_>) -> Result<(), LabError> {
        self.seconds += 1;
        self.interval.add(seen);
        if !self.settings.checkpoints_s.is_empty() {
            self.all.add(seen);
        }
        let due = self.settings.report_interval_s.is_some_and(|every| self.seconds.is_multiple_of(every));
        if due {
            self.interval_line(seen)?;
        }
        if self.settings.checkpoints_s.contains(&self.seconds) {
            self.checkpoint_report()?;
        }
        Ok(())
    }

    fn interval_line(&mut self, seen: &SecondSeen<'_>) -> Result<(), LabError> {
        let s = self.settings;
        let queue = s.rate.map(|_| (seen.interval.backlog, seen.in_flight));
        let (at_s, length_s) = (i64::from(self.seconds), f64::from(self.seconds - self.since));
        let tally = std::mem::take(&mut self.interval);
        self.since = self.seconds;
        if s.output == Output::Text {
            return self.log.notice(&text::interval(at_s, s, length_s, &tally, queue));
        }
        let json = machine::interval(at_s, s, length_s, &tally, queue);
        if s.output == Output::Csv {
            print(&machine::csv_line(&json, s))?;
        }
        self.intervals.push(json);
        Ok(())
    }

    fn checkpoint_report(&mut self) -> Result<(), LabError> {
        let (s, at_s) = (self.settings, f64::from(self.seconds));
        let summary = Summary::since(&self.checkpoint, s.threads, at_s, &self.all);
        if s.output == Output::Text {
            self.log.notice(&(text::checkpoint(i64::from(self.seconds)) + &text::summary(&summary, s)))?;
        }
        self.checkpoints.push(machine::summary(&summary, s));
        self.checkpoint = Checkpoint { at_s, tally: self.all.clone() };
        Ok(())
    }
}

impl Watch for Live<'_> {
    fn opens(&mut self) {
        self.started();
    }

    fn second(&mut self, seen: &SecondSeen<'_>) {
        self.started();
        let trouble = if seen.interval.start_ms < 0 { &mut self.before } else { &mut self.within };
        trouble.losses += seen.losses;
        trouble.reconnects += seen.reconnects;
        if seen.interval.start_ms >= 0 && self.shown.is_ok() {
            self.shown = self.pass(seen).and_then(|()| heard());
            self.stop_if_unheard();
        }
    }
}

impl Live<'_> {
    /// Says once that connections are open and load is sent.
    fn started(&mut self) {
        if std::mem::replace(&mut self.said, true) {
            return;
        }
        let warmup_s = self.settings.warmup_s;
        let warming = if warmup_s > 0 { format!("Warming up for {warmup_s} seconds...\n\n") } else { String::new() };
        if self.shown.is_ok() {
            self.shown = self.log.notice(&format!("Threads started!\n\n{warming}")).and_then(|()| heard());
            self.stop_if_unheard();
        }
    }

    fn stop_if_unheard(&self) {
        if self.shown.is_err() {
            self.stop.request();
        }
    }

    /// What was shown, once the run is over.
    ///
    /// # Errors
    /// The first failure to print.
    pub(super) fn end(self) -> Result<Shown, LabError> {
        let Self { checkpoint, checkpoints, intervals, before, within, .. } = self;
        self.shown.map(|()| Shown { checkpoint, checkpoints, intervals, before, within })
    }

    /// The failure to print that stopped the run, if one did.
    pub(super) fn unheard(self) -> Option<LabError> {
        self.shown.err()
    }
}
