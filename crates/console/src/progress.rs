//! What a user sees while perbuck works: a bar that moves in a terminal, plain lines elsewhere; all on standard error.

use std::io::{IsTerminal, Write, stderr};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use perbuck_core::printable::printable;
use perbuck_lab::progress::{Done, Progress, clock_text};

use crate::verbosity::{Verbosity, verbosity};

/// Where there is no terminal, what passes is told this often.
const SELDOM: Duration = Duration::from_secs(10);
/// Steps of a bar.
const STEPS: f64 = 1000.0;

/// The bar of this process, once there is one. Other threads write lines above it.
static BAR: OnceLock<ProgressBar> = OnceLock::new();

/// The display of a command.
pub struct Display {
    bar: Option<&'static ProgressBar>,
    last: Instant,
    verbosity: Verbosity,
}

impl Default for Display {
    fn default() -> Self {
        let verbosity = verbosity();
        // On a terminal that cannot move its cursor indicatif would show nothing.
        let moves = stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        let bar = (moves && verbosity != Verbosity::Quiet)
            .then(|| BAR.get_or_init(|| ProgressBar::with_draw_target(Some(STEPS as u64), ProgressDrawTarget::stderr())));
        if let Some(bar) = bar {
            bar.reset();
        }
        Self { bar, last: Instant::now(), verbosity }
    }
}

impl Display {
    fn pass(&mut self, text: &str, done: Option<Done>) {
        match self.bar {
            Some(bar) => draw(bar, text, done),
            None if self.verbosity != Verbosity::Quiet && self.last.elapsed() > SELDOM => self.line(&plain(text, done)),
            None => (),
        }
    }
}

impl Progress for Display {
    fn line(&mut self, text: &str) {
        if self.verbosity != Verbosity::Quiet {
            self.alert(text);
        }
    }

    fn alert(&mut self, text: &str) {
        say(text);
        self.last = Instant::now();
    }

    fn detail(&mut self, text: &str) {
        if self.verbosity == Verbosity::Verbose {
            self.alert(text);
        }
    }

    fn passing(&mut self, text: &str) {
        self.pass(text, None);
    }

    fn advancing(&mut self, text: &str, done: Done) {
        self.pass(text, Some(done));
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The bar, the time left and what is done now; what is longer than the terminal is cut.
fn draw(bar: &ProgressBar, text: &str, done: Option<Done>) {
    // A template is a constant, and right.
    let style = |template| ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let text = printable(text).replace('\n', " ");
    match done {
        Some(Done { share, left }) => {
            bar.set_style(style("{bar:16} {wide_msg}").progress_chars("█▉▊▋▌▍▎▏ "));
            bar.set_position((share.clamp(0.0, 1.0) * STEPS) as u64);
            let left = left.map(|left| format!("{} left · ", clock_text(left))).unwrap_or_default();
            bar.set_message(left + &text);
        }
        None => {
            bar.set_style(style("{wide_msg}"));
            bar.set_message(text);
        }
    }
}

/// The same without a bar.
fn plain(text: &str, done: Option<Done>) -> String {
    let Some(Done { share, left }) = done else { return text.to_owned() };
    let left = left.map(|left| format!(", {} left", clock_text(left))).unwrap_or_default();
    format!("{text} · {:.0} %{left}", share * 100.0)
}

/// A line on standard error, without what would steer a terminal.
pub fn say(text: &str) {
    say_styled(&printable(text));
}

/// A line on standard error that may hold styles, and nothing else that would steer a terminal.
pub(crate) fn say_styled(text: &str) {
    beside_bar(|| {
        let mut to = stderr().lock();
        // A terminal or pipe that is gone shows nothing, and the work goes on; `eprintln!` would panic.
        let _ = to.write_all(format!("{text}\n").as_bytes()).and_then(|()| to.flush());
    });
}

/// Does something that writes to the terminal while the bar is away.
pub(crate) fn beside_bar<T>(write: impl FnOnce() -> T) -> T {
    match BAR.get() {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_terminal_a_line_says_how_far_the_work_is() {
        let done = |share, left| Some(Done { share, left: Some(left).filter(|s| *s > 0).map(Duration::from_secs) });
        assert_eq!(plain("[2/4] a", None), "[2/4] a");
        assert_eq!(plain("[2/4] a", done(0.254, 90)), "[2/4] a · 25 %, 1:30 min left");
        assert_eq!(plain("loading", done(0.999, 0)), "loading · 100 %");
    }
}
