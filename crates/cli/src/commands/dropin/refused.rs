//! Why a command line is refused, and a password as it was typed.

use std::ffi::OsString;

/// Why a command line is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) struct Refused {
    /// What is wrong, as the other program words it where it has words for it.
    pub(in crate::commands) message: String,
    /// Whether it ends a run and is no usage error: sysbench has a log line for the former (`FATAL: …` on standard output).
    pub(in crate::commands) fatal: bool,
    /// The way out.
    pub(in crate::commands) help: String,
}

impl Refused {
    /// An error in the words of the command line.
    pub(in crate::commands) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), fatal: false, help: help.into() }
    }

    /// An error that ends the run.
    pub(in crate::commands) fn fatal(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), fatal: true, help: help.into() }
    }
}

/// A password as it was typed; never printed.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::commands) struct Typed(pub(in crate::commands) OsString);

impl std::fmt::Debug for Typed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Typed(…)")
    }
}
