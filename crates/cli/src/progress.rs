//! What a user sees while perbuck works: one line that changes in a terminal, plain lines elsewhere; all on standard error.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use perbuck_core::run_record::Interval;
use perbuck_core::units::{duration_text, thousands};

/// The display of a command.
pub(crate) struct Progress {
    terminal: bool,
    open_line: bool,
    last: Instant,
}

impl Progress {
    /// A display on standard error.
    pub(crate) fn new() -> Self {
        Self { terminal: stderr().is_terminal(), open_line: false, last: Instant::now() }
    }

    /// A line that stays.
    pub(crate) fn line(&mut self, text: &str) {
        self.clear();
        say(text);
    }

    /// A line that the next one replaces; without a terminal at most one every ten seconds.
    pub(crate) fn passing(&mut self, text: &str) {
        if self.terminal {
            self.clear();
            // Without wrapping: a line that is longer than the terminal would leave its first part behind each time.
            write(&format!("\x1b[?7l{text}\x1b[?7h"));
            self.open_line = true;
        } else if self.last.elapsed() > Duration::from_secs(10) {
            say(text);
            self.last = Instant::now();
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.open_line) {
            write("\r\x1b[K");
        }
        self.last = Instant::now();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A line on standard error.
pub(crate) fn say(text: &str) {
    write(&format!("{text}\n"));
}

/// Writes to standard error. A terminal or pipe that is gone shows nothing, and the work goes on; `eprintln!` would panic.
fn write(text: &str) {
    let mut to = stderr().lock();
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}

/// One second for people: throughput, latency, errors.
pub(crate) fn second_text(interval: &Interval) -> String {
    let seconds = interval.length_ms as f64 / 1000.0;
    let rate = if seconds > 0.0 { interval.transactions as f64 / seconds } else { 0.0 };
    let errors = if interval.errors > 0 { format!(" · {} errors", interval.errors) } else { String::new() };
    format!("{} transactions/s · p95 {}{errors}", thousands(rate.round() as u64), duration_text(interval.p95_ns))
}

/// Minutes and seconds.
pub(crate) fn clock_text(left: Duration) -> String {
    let seconds = left.as_secs();
    if seconds >= 3600 {
        format!("{}:{:02}:{:02} h", seconds / 3600, seconds / 60 % 60, seconds % 60)
    } else {
        format!("{}:{:02} min", seconds / 60, seconds % 60)
    }
}
