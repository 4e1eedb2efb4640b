//! What a study tells while it runs: lines to keep, and what is done at this moment.

use std::time::Duration;

use perbuck_core::run_record::Interval;
use perbuck_core::units::{duration_text, thousands};

/// Sees how far the work is. Nothing is decided by it.
pub trait Progress {
    /// A line that stays.
    fn line(&mut self, text: &str);
    /// A line about what went wrong, also for those who want nothing but results.
    fn alert(&mut self, text: &str) {
        self.line(text);
    }
    /// A line for those who want to see everything.
    fn detail(&mut self, _text: &str) {}
    /// What is done at this moment; the next one replaces it.
    fn passing(&mut self, text: &str);
    /// The same, with how far the work is.
    fn advancing(&mut self, text: &str, _done: Done) {
        self.passing(text);
    }
}

/// How far some work is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Done {
    /// The share of it that is done, from 0 to 1.
    pub share: f64,
    /// How long the rest takes, about; `None` before that can be told.
    pub left: Option<Duration>,
}

impl Done {
    /// By the time that went by, and the time that is left.
    pub fn of_time(elapsed: Duration, left: Duration) -> Self {
        let whole = (elapsed + left).as_secs_f64();
        let share = if whole > 0.0 { elapsed.as_secs_f64() / whole } else { 1.0 };
        Self { share, left: Some(left) }
    }
}

/// A progress that shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn line(&mut self, _text: &str) {}

    fn passing(&mut self, _text: &str) {}
}

/// What is told here is a detail of the work around it.
pub(crate) struct Details<'a>(pub(crate) &'a mut dyn Progress);

impl Progress for Details<'_> {
    fn line(&mut self, text: &str) {
        self.0.detail(text);
    }

    fn alert(&mut self, text: &str) {
        self.0.alert(text);
    }

    fn detail(&mut self, text: &str) {
        self.0.detail(text);
    }

    fn passing(&mut self, text: &str) {
        self.0.passing(text);
    }

    fn advancing(&mut self, text: &str, done: Done) {
        self.0.advancing(text, done);
    }
}

/// One second for people: throughput, latency, errors.
pub fn second_text(interval: &Interval) -> String {
    let seconds = interval.length_ms as f64 / 1000.0;
    let rate = if seconds > 0.0 { interval.transactions as f64 / seconds } else { 0.0 };
    let errors = if interval.errors > 0 { format!(" · {} errors", interval.errors) } else { String::new() };
    format!("{} transactions/s · p95 {}{errors}", thousands(rate.round() as u64), duration_text(interval.p95_ns))
}

/// Minutes and seconds.
pub fn clock_text(left: Duration) -> String {
    let seconds = left.as_secs();
    if seconds >= 3600 {
        format!("{}:{:02}:{:02} h", seconds / 3600, seconds / 60 % 60, seconds % 60)
    } else {
        format!("{}:{:02} min", seconds / 60, seconds % 60)
    }
}
