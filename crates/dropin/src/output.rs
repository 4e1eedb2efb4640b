//! Where the lines of a run go.

use perbuck_console::reader_gone;
use perbuck_lab::error::{ErrorKind, LabError};

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

/// Whether anybody reads on: a load that runs for nobody only keeps the database busy.
pub(crate) fn heard() -> Result<(), LabError> {
    if reader_gone() {
        let message = "standard output was closed by its reader, so the run was stopped and thrown away";
        return Err(LabError::new(ErrorKind::Failed, message, "write the output to a file, or let its reader read to the end"));
    }
    Ok(())
}
