//! `perbuck serve RESULTS`

use perbuck_console::print;
use perbuck_lab::LabError;

use crate::args::ServeArguments;

/// Serves until the user stops it.
pub(crate) fn run(arguments: &ServeArguments) -> Result<(), LabError> {
    perbuck_serve::serve(&arguments.results, arguments.port, |port| {
        print(&format!("http://127.0.0.1:{port}/  (Ctrl-C ends it)\n"))
    })
}
