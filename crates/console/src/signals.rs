//! Ctrl-C and SIGTERM, and what is said while perbuck waits.
//!
//! The first signal asks the work to stop. The second one ends the process in any case: it is handled by the thread that receives
//! signals, whatever the other threads wait for.

use std::io::{self, stdin};
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use perbuck_lab::{ErrorKind, LabError};
use perbuck_load::stop::StopToken;
use perbuck_load::watch::Reporter;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::{exit_code, say};

/// What the first Ctrl-C does to a study.
pub const TRIAL_STOPS: &str = "stopping; a trial that runs is thrown away";

/// How long the work may take to end by itself after the second signal: to restore settings of a server that answers.
const GRACE: Duration = Duration::from_millis(600);
/// How long the last words may take: a terminal or pipe may take none.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// How often perbuck looks whether something is waited for.
const LOOK: Duration = Duration::from_secs(1);

/// Signals that come together are one: a terminal that closes sends two.
const TOGETHER: Duration = Duration::from_millis(50);

/// When the first signal came.
static FIRST: OnceLock<Instant> = OnceLock::new();
/// Whether a password is being typed.
static PROMPTING: AtomicBool = AtomicBool::new(false);

/// A token that Ctrl-C and SIGTERM raise: the first asks the work to stop, the second ends the process. `doing` says what the first one does.
pub fn stop_on_signal(doing: &'static str) -> Result<StopToken, LabError> {
    stop_by_signal(StopToken::default(), doing)
}

/// The same by a token that says what becomes of what was measured.
pub fn stop_by_signal(stop: StopToken, doing: &'static str) -> Result<StopToken, LabError> {
    let (raised, terminal) = (stop.clone(), tcgetattr(stdin()).ok());
    let handler = move || {
        let known = FIRST.get();
        if known.is_some_and(|first| first.elapsed() < TOGETHER) {
            return;
        }
        let second = known.is_some();
        FIRST.get_or_init(Instant::now);
        raised.request();
        if PROMPTING.load(Ordering::Relaxed) {
            end(terminal.as_ref());
        } else if second {
            thread::sleep(GRACE);
            say_beside(abandoned(&raised.waits().left()));
            thread::sleep(LAST_WORDS);
            // Only a prompt changes the terminal, and a process in the background may not.
            end(None);
        } else {
            say_beside(format!("\nperbuck: {doing}. Press Ctrl-C again to abort."));
        }
    };
    ctrlc::set_handler(handler).map_err(|e| LabError::new(ErrorKind::Failed, format!("cannot listen for Ctrl-C: {e}"), ""))?;
    report_waits(stop.clone()).map_err(|e| LabError::new(ErrorKind::Failed, format!("cannot start a thread: {e}"), ""))?;
    Ok(stop)
}

/// Says on standard error what is waited for, from a thread of its own.
fn report_waits(stop: StopToken) -> io::Result<()> {
    let watch = move || {
        let mut reporter = Reporter::default();
        loop {
            thread::sleep(LOOK);
            if let Some(line) = reporter.line(stop.waits()) {
                say(&format!("perbuck: {line}"));
            }
        }
    };
    thread::Builder::new().name("waits".to_owned()).spawn(watch).map(drop)
}

/// What is said of a process that does not end by itself.
fn abandoned(left: &[String]) -> String {
    let mut text = "perbuck: aborted without waiting for an answer".to_owned();
    if !left.is_empty() {
        text += "; these settings of servers are not restored:";
        left.iter().for_each(|command| text += &format!("\n    {command}"));
        text += "\n    help: the next `perbuck run` or `perbuck capacity` of this study restores them, or execute these commands yourself";
    }
    text
}

/// Prints from another thread: one that handles signals must not wait for a reader.
fn say_beside(text: String) {
    // Without a thread the signal still does its work.
    let _ = thread::Builder::new().spawn(move || say(&text));
}

#[expect(clippy::exit, reason = "the main thread may wait for a server that never answers")]
fn end(terminal: Option<&Termios>) {
    if let Some(terminal) = terminal {
        // A password prompt may have switched the echo off.
        let _ = tcsetattr(stdin(), OptionalActions::Now, terminal);
    }
    process::exit(exit_code(ErrorKind::Interrupted).into());
}

/// Until it is dropped a password is being typed, and the first signal ends the process.
pub(crate) fn prompting() -> impl Drop {
    PROMPTING.store(true, Ordering::Relaxed);
    Prompting
}

struct Prompting;

impl Drop for Prompting {
    fn drop(&mut self) {
        PROMPTING.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::abandoned;

    #[test]
    fn settings_that_are_left_are_named_with_their_commands() {
        assert_eq!(abandoned(&[]), "perbuck: aborted without waiting for an answer");
        let text = abandoned(&["h:1: SET GLOBAL x = 1".to_owned()]);
        assert!(text.contains("are not restored:\n    h:1: SET GLOBAL x = 1\n    help: the next `perbuck run`"), "{text}");
    }
}
