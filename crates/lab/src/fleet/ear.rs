//! What an agent hears of its coordinator during a share, and what it says to it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use perbuck_fleet::{Channel, Received};
use perbuck_load::executor::Coordinator;
use perbuck_load::observer::Observer;
use perbuck_load::recorder::Second;
use perbuck_load::stop::StopToken;
use perbuck_load::window::steady_ns;

use super::agent::LOOK;
use super::member::SILENT;
use super::messages::{Answer, Order, TrialOrder};
use crate::sampler::Sampler;

/// Listens to the coordinator during a share.
pub(super) struct Ear<'a> {
    pub(super) channel: &'a Channel,
    pub(super) order: &'a TrialOrder,
    pub(super) clock_ahead_ns: i64,
    pub(super) stop: &'a StopToken,
    /// When the window opens, and how late that came.
    pub(super) opens_ns: &'a Mutex<Option<(i64, u64)>>,
}

impl Ear<'_> {
    /// Until the share is done; why the coordinator is gone, if it is.
    pub(super) fn listen(&self, of_agent: &StopToken, done: &AtomicBool) -> Option<String> {
        let mut gone = None;
        while !done.load(Ordering::Acquire) {
            if gone.is_none() && !of_agent.requested() {
                gone = self.hear();
            } else {
                // Nothing of the share counts any more; who still writes to a coordinator that is gone need not wait for it.
                if gone.is_some() {
                    self.channel.close();
                }
                (self.stop.stops()..2).for_each(|_| self.stop.request());
                thread::sleep(LOOK);
            }
        }
        gone
    }

    fn hear(&self) -> Option<String> {
        match self.channel.receive(LOOK) {
            Received::Message(Order::Start { opens_ns: at }) => {
                // By the clock of this process, as its workers read it.
                let at = at - self.clock_ahead_ns;
                let missed = steady_ns() - (at - self.order.spec.warmup_ns as i64);
                *self.opens_ns.lock().unwrap_or_else(PoisonError::into_inner) = Some((at, missed.max(0) as u64));
                None
            }
            Received::Message(Order::Stop) => {
                self.stop.request();
                None
            }
            Received::Message(_) => Some("it ordered something else during a trial".to_owned()),
            Received::Closed(why) => Some(why),
            Received::Nothing => {
                let silent = self.channel.silent_for();
                (silent > SILENT).then(|| format!("it was silent for {:.1} s", silent.as_secs_f64()))
            }
        }
    }
}

/// The coordinator, as the engine of the agent sees it.
pub(super) struct Far<'a, 's> {
    pub(super) channel: &'a Channel,
    pub(super) opens_ns: &'a Mutex<Option<(i64, u64)>>,
    pub(super) sampler: &'a mut Sampler<'s>,
}

impl Far<'_, '_> {
    fn say(&self, answer: &Answer) {
        // Where that fails the coordinator is gone, which the other thread sees.
        let _ = self.channel.send(answer);
    }
}

impl Coordinator for Far<'_, '_> {
    fn ready(&mut self) {
        self.say(&Answer::Ready);
    }

    fn opens_at(&mut self) -> Option<i64> {
        self.opens_ns.lock().unwrap_or_else(PoisonError::into_inner).map(|(at, _)| at)
    }

    fn second(&mut self, second: Second) {
        self.say(&Answer::Second(Box::new(second)));
    }

    fn opens(&mut self) {
        self.sampler.opens();
    }

    fn closes(&mut self) {
        self.sampler.closes();
    }
}
