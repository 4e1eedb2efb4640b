//! What a user sees while perbuck works: one line that changes in a terminal, plain lines elsewhere; all on standard error.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use perbuck_core::printable::printable;
use perbuck_lab::progress::Progress;

/// The display of a command.
pub struct Display {
    terminal: bool,
    open_line: bool,
    last: Instant,
}

impl Default for Display {
    fn default() -> Self {
        Self { terminal: stderr().is_terminal(), open_line: false, last: Instant::now() }
    }
}

impl Progress for Display {
    fn line(&mut self, text: &str) {
        self.clear();
        say(text);
    }

    /// Without a terminal at most one every ten seconds.
    fn passing(&mut self, text: &str) {
        if self.terminal {
            self.clear();
            // Without wrapping: a line that is longer than the terminal would leave its first part on the screen each time.
            write(&format!("\x1b[?7l{}\x1b[?7h", printable(text)));
            self.open_line = true;
        } else if self.last.elapsed() > Duration::from_secs(10) {
            say(text);
            self.last = Instant::now();
        }
    }
}

impl Display {
    fn clear(&mut self) {
        if std::mem::take(&mut self.open_line) {
            write("\r\x1b[K");
        }
        self.last = Instant::now();
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A line on standard error, without what would steer a terminal.
pub fn say(text: &str) {
    write(&format!("{}\n", printable(text)));
}

/// Writes to standard error. A terminal or pipe that is gone shows nothing, and the work goes on; `eprintln!` would panic.
fn write(text: &str) {
    let mut to = stderr().lock();
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}
