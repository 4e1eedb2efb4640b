//! Where the lines of a run go, and lines that several commands print.

use std::collections::BTreeMap;

use perbuck_console::reader_gone;
use perbuck_core::run_record::ErrorRecord;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::prepare::statistics;
use perbuck_load::loader::LoadProgress;

/// Standard output, which programs read, and standard error, which people read.
pub(crate) trait Streams {
    /// Writes text on standard output.
    fn print(&mut self, text: &str) -> Result<(), LabError>;
    /// Writes a line on standard error.
    fn say(&mut self, text: &str);
}

/// Those of this process.
pub(crate) struct Standard;

impl Streams for Standard {
    fn print(&mut self, text: &str) -> Result<(), LabError> {
        perbuck_console::print(text)
    }

    fn say(&mut self, text: &str) {
        perbuck_console::say(text);
    }
}

/// Standard output alone: what is meant for people is left out.
pub(crate) struct PrintsOnly;

impl Streams for PrintsOnly {
    fn print(&mut self, text: &str) -> Result<(), LabError> {
        perbuck_console::print(text)
    }

    fn say(&mut self, _text: &str) {}
}

/// Says on standard error how long the statistics of a load took: the programs that these commands replace gather none.
pub(crate) fn say_statistics(p: &LoadProgress) {
    if let Some(text) = statistics(p) {
        perbuck_console::say(&format!("perbuck: {text}"));
    }
}

/// Fails where the reader of standard output has closed it: a load whose lines are not read only keeps the database busy.
pub(crate) fn heard() -> Result<(), LabError> {
    if reader_gone() {
        let message = "standard output was closed by its reader, so the run was stopped and thrown away";
        return Err(LabError::new(ErrorKind::Failed, message, "write the output to a file, or let its reader read to the end"));
    }
    Ok(())
}

/// Errors by code, a line each.
pub(crate) fn errors_by_code(errors: &BTreeMap<String, ErrorRecord>) -> String {
    let line = |(code, error): (&String, &ErrorRecord)| {
        let (label, example) = (format!("{code} ({}):", error.class), error.example.lines().next().unwrap_or(""));
        format!("    {label:<37}{:<6} {example}\n", error.count)
    };
    errors.iter().map(line).collect()
}
