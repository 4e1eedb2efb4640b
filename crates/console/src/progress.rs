//! What a user sees while perbuck works: one line that changes in a terminal, plain lines elsewhere; all on standard error.

use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use perbuck_lab::progress::Progress;

/// Whether the last line on the terminal is one that the next replaces; other threads write there, too.
static OPEN_LINE: AtomicBool = AtomicBool::new(false);

/// The display of a command.
pub struct Display {
    terminal: bool,
    last: Instant,
}

impl Default for Display {
    fn default() -> Self {
        Self { terminal: stderr().is_terminal(), last: Instant::now() }
    }
}

impl Progress for Display {
    fn line(&mut self, text: &str) {
        say(text);
        self.last = Instant::now();
    }

    /// Without a terminal at most one every ten seconds.
    fn passing(&mut self, text: &str) {
        if self.terminal {
            // Without wrapping: a line that is longer than the terminal would leave its first part on the screen each time.
            write(&format!("\x1b[?7l{text}\x1b[?7h"), true);
        } else if self.last.elapsed() > Duration::from_secs(10) {
            say(text);
            self.last = Instant::now();
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        write("", false);
    }
}

/// A line on standard error.
pub fn say(text: &str) {
    write(&format!("{text}\n"), false);
}

/// Writes to standard error. A terminal or pipe that is gone shows nothing, and the work goes on; `eprintln!` would panic.
/// `stays_open` says that the next text replaces this one.
fn write(text: &str, stays_open: bool) {
    let mut to = stderr().lock();
    let clear = if OPEN_LINE.swap(stays_open, Ordering::Relaxed) { "\r\x1b[K" } else { "" };
    let _ = to.write_all(format!("{clear}{text}").as_bytes()).and_then(|()| to.flush());
}
