//! What an agent does in place of the collector: it passes on what its workers report, and the start that the coordinator gives.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use perbuck_event::Moment;

use super::hands::Signals;
use crate::recorder::{Report, Second};
use crate::start::StartSignal;
use crate::stop::StopToken;
use crate::trial::{RunError, TrialSpec};
use crate::window::Window;

/// How often it looks for the start, and for requests to stop.
const CHECK: Duration = Duration::from_millis(5);

/// The process that coordinates a trial, as one that applies a share of it sees it.
pub trait Coordinator {
    /// All connections of this share are open.
    fn ready(&mut self);
    /// When the measured window opens, by [`crate::window::steady_ns`]; `None` while that is not said.
    fn opens_at(&mut self) -> Option<i64>;
    /// A second of one worker is over.
    fn second(&mut self, second: Second);
    /// The measured window opens.
    fn opens(&mut self);
    /// The measured window closes.
    fn closes(&mut self);
}

pub(super) struct Relay<'a> {
    spec: &'a TrialSpec,
    workers: usize,
    ready: usize,
    stop: StopToken,
    start: StartSignal,
    window: Option<Window>,
    /// How many edges of the window were told.
    edges: usize,
    coordinator: &'a mut dyn Coordinator,
}

impl<'a> Relay<'a> {
    /// For so many workers, which are told by these signals.
    pub(super) fn new(spec: &'a TrialSpec, workers: usize, signals: &Signals, coordinator: &'a mut dyn Coordinator) -> Self {
        let (stop, start) = (signals.stop.clone(), signals.start.clone());
        Self { spec, workers, ready: 0, stop, start, window: None, edges: 0, coordinator }
    }

    /// Until the last worker has ended.
    pub(super) fn pass_on(&mut self, reports: &Receiver<Report>, stop: &StopToken) -> Result<(), RunError> {
        loop {
            match reports.recv_timeout(self.wait()) {
                Ok(Report::Second(second)) => self.coordinator.second(*second),
                Ok(Report::Ready) => {
                    self.ready += 1;
                    if self.ready == self.workers {
                        self.coordinator.ready();
                    }
                }
                Ok(Report::GaveUp) => self.stop.request(),
                // A coordinator asks for none.
                Ok(Report::Listed(_)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.check(stop);
        }
        self.start.give(None);
        let Some(window) = self.window else { return Err(RunError::Interrupted) };
        self.pass_edges(&window, i64::MAX);
        Ok(())
    }

    /// To the next look for a request, or to the next edge of the window.
    fn wait(&self) -> Duration {
        let edge = self.window.and_then(|w| w.edges().get(self.edges).map(|at_ns| w.moment(*at_ns) - perbuck_event::now()));
        edge.map_or(CHECK, |left| left.min(CHECK))
    }

    fn check(&mut self, stop: &StopToken) {
        for _ in self.stop.stops()..stop.stops() {
            self.stop.request();
        }
        if self.window.is_none() {
            if self.stop.requested() {
                self.start.give(None);
            } else if let Some(opens) = self.coordinator.opens_at() {
                let (length_ns, warmup_ns) = (self.spec.duration_ns as i64, self.spec.warmup_ns as i64);
                let window = Window { opens: Moment::from_ns(opens), length_ns, warmup_ns };
                self.window = Some(window);
                self.start.give(Some(window));
            }
        }
        if let Some(window) = self.window {
            self.pass_edges(&window, window.now_ns());
        }
    }

    /// Tells of the edges of the window that lie before `until_ns`.
    fn pass_edges(&mut self, window: &Window, until_ns: i64) {
        while window.edges().get(self.edges).is_some_and(|at_ns| *at_ns <= until_ns) {
            if self.edges == 0 {
                self.coordinator.opens();
            } else {
                self.coordinator.closes();
            }
            self.edges += 1;
        }
    }
}
