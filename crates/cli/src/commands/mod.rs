//! The commands, one file each; every one returns its error instead of exiting.

pub(crate) mod audit;
pub(crate) mod capacity;
pub(crate) mod ceiling;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod demo;
mod dropin;
pub(crate) mod prepare;
pub(crate) mod price;
pub(crate) mod prices;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod sysbench;
pub(crate) mod tpcc;
pub(crate) mod verify;
pub(crate) mod ycsb;

use std::io::{ErrorKind, Write, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

use perbuck_load::stop::StopToken;
use serde::Serialize;

use crate::error::{CliError, Exit};
use crate::progress::say;

/// Prints text on standard output. A reader that closed the pipe has seen enough, which is no error.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    match stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => {
            READER_GONE.store(true, Ordering::Relaxed);
            Ok(())
        }
        Err(e) => Err(CliError::new(Exit::Files, format!("cannot write the output: {e}"), "")),
        Ok(()) => Ok(()),
    }
}

/// Whether standard output was found closed by its reader.
static READER_GONE: AtomicBool = AtomicBool::new(false);

/// Whether whoever read standard output has closed it, as far as [`print`] has seen.
pub(crate) fn reader_gone() -> bool {
    READER_GONE.load(Ordering::Relaxed)
}

/// Prints a value as JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    let text =
        serde_json::to_string_pretty(value).map_err(|e| CliError::new(Exit::Failed, format!("cannot write JSON: {e}"), ""))?;
    print(&(text + "\n"))
}

/// What the first Ctrl-C does to a study.
pub(crate) const TRIAL_STOPS: &str = "stopping; this trial is thrown away";

/// A token that Ctrl-C and SIGTERM raise: once to stop gracefully, twice to abort. `doing` says what the first one does.
pub(crate) fn stop_on_signal(doing: &'static str) -> Result<StopToken, CliError> {
    stop_by_signal(StopToken::default(), doing)
}

/// The same by a token that says what becomes of what was measured.
pub(crate) fn stop_by_signal(stop: StopToken, doing: &'static str) -> Result<StopToken, CliError> {
    let raised = stop.clone();
    let handler = move || {
        say(&format!("\nperbuck: {doing}. Once more aborts."));
        raised.request();
    };
    ctrlc::set_handler(handler).map_err(|e| CliError::new(Exit::Failed, format!("cannot listen for Ctrl-C: {e}"), ""))?;
    Ok(stop)
}
