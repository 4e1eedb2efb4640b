//! The voice of perbuck's commands: standard output, a display of progress on standard error, Ctrl-C, passwords.
//!
//! The commands of `cli`, `dropin` and `serve` share it. It decides nothing.

mod progress;
mod signals;
mod verbosity;

use std::io::{self, IsTerminal, Write, stdout};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};
use perbuck_core::printable::{printable, printable_json, printable_styled};
use perbuck_lab::{ErrorKind, LabError};
use serde::Serialize;

pub use progress::{Display, say};
pub use signals::{TRIAL_STOPS, stop_by_signal, stop_on_signal};
pub use verbosity::{Verbosity, colour, columns, set_verbosity, verbosity};

/// Prints text on standard output, without what would steer a terminal. A reader that closed the pipe has seen enough, which is no error.
pub fn print(text: &str) -> Result<(), LabError> {
    write(&printable(text))
}

/// Prints the text of a report, which may hold styles, and nothing else that would steer a terminal.
pub fn print_styled(text: &str) -> Result<(), LabError> {
    write(&printable_styled(text))
}

fn write(text: &str) -> Result<(), LabError> {
    match progress::beside_bar(|| stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush())) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
            READER_GONE.store(true, Ordering::Relaxed);
            Ok(())
        }
        Err(e) => Err(LabError::new(ErrorKind::Files, format!("cannot write the output: {e}"), "")),
        Ok(()) => Ok(()),
    }
}

/// Whether standard output was found closed by its reader.
static READER_GONE: AtomicBool = AtomicBool::new(false);

/// Whether the reader of standard output has closed it, as far as [`print()`] has seen.
pub fn reader_gone() -> bool {
    READER_GONE.load(Ordering::Relaxed)
}

/// Prints a value as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), LabError> {
    print(&json_text(value)?)
}

/// Prints a value as JSON where that is asked for, and else its text.
pub fn print_either(json: bool, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), LabError> {
    if json { print_json(value) } else { print(&text()) }
}

/// The same where the text is that of a report, which may hold styles.
pub fn print_report(json: bool, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), LabError> {
    if json { print_json(value) } else { print_styled(&text()) }
}

/// Prints a hint for what to do next, which is no result.
pub fn print_hint(text: &str) -> Result<(), LabError> {
    if verbosity() == Verbosity::Quiet { Ok(()) } else { print(text) }
}

/// A value as the JSON that is printed.
pub fn json_text(value: &impl Serialize) -> Result<String, LabError> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| printable_json(&text).into_owned() + "\n")
        .map_err(|e| LabError::new(ErrorKind::Failed, format!("cannot write JSON: {e}"), ""))
}

/// Asks for the password of a contender.
///
/// # Errors
/// As [`prompt_password`].
pub fn ask_password(contender: &str) -> io::Result<String> {
    prompt_password(&format!("Password of contender {contender}: "))
}

/// Asks for a password at the terminal, without showing it.
///
/// # Errors
/// There is no terminal.
pub fn prompt_password(prompt: &str) -> io::Result<String> {
    let _prompting = signals::prompting();
    progress::beside_bar(|| rpassword::prompt_password(printable(prompt)))
}

/// Asks a question at the terminal; true where the answer is yes.
///
/// # Errors
/// There is no terminal.
pub fn confirm(question: &str) -> io::Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(io::Error::other("standard input is no terminal"));
    }
    let _prompting = signals::prompting();
    progress::beside_bar(|| {
        write!(io::stderr(), "{} [y/N] ", printable(question))?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
    })
}

/// The exit code of a failure (docs/exit-codes.md).
pub fn exit_code(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Failed => 1,
        ErrorKind::Usage => 2,
        ErrorKind::Target | ErrorKind::AgentLost => 3,
        ErrorKind::Refused => 4,
        ErrorKind::Files => 5,
        ErrorKind::Worse => 6,
        ErrorKind::OtherMachines => 7,
        ErrorKind::Interrupted => 130,
    }
}

/// Prints a failure on standard error and gives its exit code.
pub fn fail(error: &LabError) -> ExitCode {
    let text = format!("perbuck: {error}");
    if verbosity::colour_of_errors() {
        progress::say_styled(&styled_failure(&printable(&text)));
    } else {
        say(&text);
    }
    ExitCode::from(exit_code(error.kind()))
}

/// The words that a reader looks for first, in their styles.
fn styled_failure(text: &str) -> String {
    let (red, bold) = (AnsiColor::Red.on_default().bold(), Style::new().bold());
    let text = text.replacen("perbuck:", &format!("{red}perbuck:{red:#}"), 1);
    text.replacen("help:", &format!("{bold}help:{bold:#}"), 1)
}
