//! What the command prints: sysbench's log lines on standard output, as much of them as `--verbosity` allows, and what is
//! meant for a person on standard error.

use std::process::ExitCode;

use perbuck_console::{print, reader_gone, say};
use perbuck_lab::error::LabError;

use crate::output::{PrintsOnly, Standard, Streams};
use crate::refused::Refused;

/// The verbosities that sysbench has for warnings, for lines of a report, and for remarks on the way.
const WARNING: u8 = 2;
const NOTICE: u8 = 3;
const INFO: u8 = 4;

/// The name by which the command was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Called {
    /// `perbuck sysbench`.
    Perbuck,
    /// `sysbench`, as by a link of that name: the lines are those of sysbench, and what perbuck adds is left out below verbosity 4.
    Sysbench,
}

/// Where lines go and which of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Log {
    /// 0 to 5.
    verbosity: u8,
    /// Whether standard output is the log; it is not where it holds JSON or CSV.
    on_stdout: bool,
    pub(super) called: Called,
}

impl Log {
    pub(super) fn new(verbosity: u8, on_stdout: bool, called: Called) -> Self {
        Self { verbosity, on_stdout, called }
    }

    /// Whether perbuck adds lines of its own to those of sysbench.
    pub(super) fn adds(self) -> bool {
        self.called == Called::Perbuck || self.verbosity >= INFO
    }

    /// Where the lines of a run go.
    pub(super) fn streams(self) -> Box<dyn Streams> {
        if self.adds() { Box::new(Standard) } else { Box::new(PrintsOnly) }
    }

    /// Lines of a report, with their ends.
    pub(super) fn notice(self, text: &str, out: &mut dyn Streams) -> Result<(), LabError> {
        self.line(NOTICE, text, out)
    }

    pub(super) fn info(self, text: &str, out: &mut dyn Streams) -> Result<(), LabError> {
        self.line(INFO, text, out)
    }

    /// Something that the reader of the numbers should know.
    pub(super) fn warning(self, text: &str, out: &mut dyn Streams) -> Result<(), LabError> {
        if self.on_stdout {
            return self.line(WARNING, &format!("WARNING: {text}\n"), out);
        }
        if self.verbosity >= WARNING {
            out.say(&format!("perbuck: {text}"));
        }
        Ok(())
    }

    /// A warning that sysbench prints before it knows its verbosity.
    pub(super) fn deprecated(self, text: &str, out: &mut dyn Streams) -> Result<(), LabError> {
        if !self.on_stdout {
            out.say(&format!("perbuck: {text}"));
        }
        self.line(0, &format!("WARNING: {text}\n"), out)
    }

    /// A line that no verbosity turns off.
    pub(super) fn fatal(self, text: &str, out: &mut dyn Streams) -> Result<(), LabError> {
        self.line(0, &format!("FATAL: {text}\n"), out)
    }

    fn line(self, priority: u8, text: &str, out: &mut dyn Streams) -> Result<(), LabError> {
        if self.on_stdout && self.verbosity >= priority { out.print(text) } else { Ok(()) }
    }

    /// What ends the run: sysbench's line on standard output, the way out on standard error. The exit code is sysbench's,
    /// which knows no other than 1. The line of a pipe that is closed has no reader.
    pub(super) fn refused(self, refused: &Refused) -> ExitCode {
        if refused.fatal && self.on_stdout {
            if print(&format!("FATAL: {}\n", refused.message)).is_err() {
                return ExitCode::FAILURE;
            }
            if reader_gone() {
                say(&refused.message);
            }
        } else {
            say(&refused.message);
        }
        if !refused.help.is_empty() && self.adds() {
            say(&format!("    help: {}", refused.help));
        }
        ExitCode::FAILURE
    }
}
