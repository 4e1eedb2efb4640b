//! What a study tells while it runs: lines to keep, lines that the next one replaces, and events.

use std::time::Duration;

use perbuck_core::run_record::Interval;
use perbuck_core::units::{duration_text, thousands};

/// Sees how far the work is. Nothing is decided by it.
pub trait Progress {
    /// A line that stays.
    fn line(&mut self, text: &str);
    /// A line that the next one replaces.
    fn passing(&mut self, text: &str);
}

/// A progress that shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn line(&mut self, _text: &str) {}

    fn passing(&mut self, _text: &str) {}
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
