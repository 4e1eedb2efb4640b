//! Who applies the load of a trial: the workers of this process, or agents in others. Each has a thread here.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, Scope, ScopedJoinHandle};

use crate::lifecycle::WorkerOutcome;
use crate::recorder::{Report, Second};
use crate::start::StartSignal;
use crate::stop::StopToken;
use crate::trial::RunError;

/// What one of them does on its thread.
pub(super) type Hand<'a> = Box<dyn FnOnce(Signals) -> Result<Vec<WorkerOutcome>, RunError> + Send + 'a>;

/// An agent that applies a share of a trial in another process.
pub trait Agent: Send {
    /// Has the share applied, and says at its end what its workers saw.
    ///
    /// # Errors
    /// What ended its share; that it was lost.
    fn apply(self: Box<Self>, signals: &Signals) -> Result<Vec<WorkerOutcome>, RunError>;
}

/// What a trial tells those who apply its load, and they tell it.
#[derive(Clone)]
pub struct Signals {
    pub(super) start: StartSignal,
    pub(super) stop: StopToken,
    pub(super) reports: Sender<Report>,
}

impl Signals {
    pub(super) fn new(stop: &StopToken) -> (Self, Receiver<Report>) {
        let (reports, received) = mpsc::channel();
        (Self { start: StartSignal::default(), stop: stop.of_trial(), reports }, received)
    }

    /// The connections of this share are open.
    pub fn ready(&self) {
        // A closed channel means that another one failed and the trial was given up; it has the reason.
        let _ = self.reports.send(Report::Ready);
    }

    /// A second of one worker is over.
    pub fn second(&self, second: Second) {
        let _ = self.reports.send(Report::Second(Box::new(second)));
    }

    /// When the measured window opens, by [`crate::window::steady_ns`], if that is said by now; `None` inside where the trial was
    /// given up.
    pub fn opens_at(&self) -> Option<Option<i64>> {
        Some(self.start.given()?.map(|window| window.opens.ns()))
    }

    /// How often a stop was requested: once ends the load, twice at once.
    pub fn stops(&self) -> u8 {
        self.stop.stops()
    }
}

type Threads<'s> = Vec<Result<ScopedJoinHandle<'s, Result<Vec<WorkerOutcome>, RunError>>, RunError>>;

/// Starts a thread for each hand. Their reports end only when every sender is gone, this one included.
pub(super) fn spawn<'s>(scope: &'s Scope<'s, '_>, hands: Vec<Hand<'s>>, signals: Signals) -> Threads<'s> {
    let one = move |hand: Hand<'s>| {
        let (signals, trouble) = (signals.clone(), signals.stop.clone());
        let spawned = thread::Builder::new().name("load".to_owned()).spawn_scoped(scope, move || {
            let reports = signals.reports.clone();
            let outcome = catch_unwind(AssertUnwindSafe(|| hand(signals)));
            let outcome = outcome.unwrap_or_else(|panic| Err(RunError::WorkerDied(panic_text(panic.as_ref()))));
            if outcome.is_err() {
                // The collector may have ended already, with the error of another hand.
                let _ = reports.send(Report::GaveUp);
            }
            outcome
        });
        spawned.map_err(|e| {
            // The threads that there are wait for a start that will not come; the collector tells them.
            trouble.request();
            RunError::Machine(format!("cannot start a load thread: {e}"))
        })
    };
    hands.into_iter().map(one).collect()
}

/// Waits for all of them.
pub(super) fn joined(threads: Threads<'_>) -> Vec<Result<Vec<WorkerOutcome>, RunError>> {
    let join =
        |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|_| Err(RunError::WorkerDied("it panicked".to_owned())));
    threads.into_iter().map(|thread| thread.and_then(join)).collect()
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|t| (*t).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it panicked".to_owned())
}
