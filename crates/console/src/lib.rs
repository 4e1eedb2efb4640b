//! The voice of perbuck's commands: standard output, a display of progress on standard error, Ctrl-C, passwords.
//!
//! The commands of `cli`, `dropin` and `serve` share it. It decides nothing.

mod progress;
mod signals;

use std::io::{self, Write, stdout};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use perbuck_core::printable::{printable, printable_json};
use perbuck_lab::{ErrorKind, LabError};
use serde::Serialize;

pub use progress::{Display, say};
pub use signals::{TRIAL_STOPS, stop_by_signal, stop_on_signal};

/// Prints text on standard output, without what would steer a terminal. A reader that closed the pipe has seen enough, which is no error.
pub fn print(text: &str) -> Result<(), LabError> {
    match stdout().write_all(printable(text).as_bytes()).and_then(|()| stdout().flush()) {
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
    rpassword::prompt_password(printable(prompt))
}

/// The exit code of a failure (docs/exit-codes.md).
pub fn exit_code(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Failed => 1,
        ErrorKind::Usage => 2,
        ErrorKind::Target => 3,
        ErrorKind::Refused => 4,
        ErrorKind::Files => 5,
        ErrorKind::Worse => 6,
        ErrorKind::OtherMachines => 7,
        ErrorKind::Interrupted => 130,
    }
}

/// Prints a failure on standard error and gives its exit code.
pub fn fail(error: &LabError) -> ExitCode {
    say(&format!("perbuck: {error}"));
    ExitCode::from(exit_code(error.kind()))
}
