//! Why a command did not do its work, and a password as it was typed.

use std::ffi::OsString;

use perbuck_lab::error::LabError;

/// Why a command did not do its work.
#[derive(Debug)]
pub(crate) enum End {
    /// Its words are wrong, or what they ask for cannot be.
    Refused(Refused),
    /// Anything else.
    Failed(LabError),
}

impl From<Refused> for End {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<LabError> for End {
    fn from(error: LabError) -> Self {
        Self::Failed(error)
    }
}

/// Why a command line is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// What is wrong, as the other program words it where it has words for it.
    pub(crate) message: String,
    /// Whether it ends a run and is no usage error: sysbench has a log line for the former (`FATAL: …` on standard output).
    pub(crate) fatal: bool,
    /// The way out.
    pub(crate) help: String,
}

impl Refused {
    /// An error in the words of the command line.
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), fatal: false, help: help.into() }
    }

    /// An error that ends the run.
    pub(crate) fn fatal(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), fatal: true, help: help.into() }
    }
}

/// A password as it was typed; never printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Typed(pub(crate) OsString);

impl std::fmt::Debug for Typed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Typed(…)")
    }
}
