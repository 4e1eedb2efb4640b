//! How much a command says, and in which look.

use std::io::{IsTerminal, stderr, stdout};
use std::sync::atomic::{AtomicU8, Ordering};

use anstream::{AutoStream, ColorChoice};
use rustix::termios::tcgetwinsize;

/// How much is said beside the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verbosity {
    /// The result, and what went wrong.
    Quiet,
    /// What was done, too.
    Normal,
    /// Every check, and every flag of every trial, too.
    Verbose,
}

/// [`Verbosity`] as a number.
static SAID: AtomicU8 = AtomicU8::new(Verbosity::Normal as u8);

/// Sets how much this process says from now on.
pub fn set_verbosity(verbosity: Verbosity) {
    SAID.store(verbosity as u8, Ordering::Relaxed);
}

/// How much this process says.
pub fn verbosity() -> Verbosity {
    [Verbosity::Quiet, Verbosity::Normal, Verbosity::Verbose][usize::from(SAID.load(Ordering::Relaxed))]
}

/// The columns of the terminal that shows standard output; `None` where none does.
pub fn columns() -> Option<usize> {
    let size = stdout().is_terminal().then(|| tcgetwinsize(stdout()))?;
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Whether standard output takes colours: it is a terminal that has them, and neither NO_COLOR nor CLICOLOR=0 forbids them; or
/// CLICOLOR_FORCE demands them.
pub fn colour() -> bool {
    AutoStream::choice(&stdout()) != ColorChoice::Never
}

/// The same for standard error.
pub(crate) fn colour_of_errors() -> bool {
    AutoStream::choice(&stderr()) != ColorChoice::Never
}
