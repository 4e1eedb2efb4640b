//! The words of a command that replaces another program: see `replaced` in main.rs.

use std::ffi::OsString;

use clap::Args;

/// All of them, which the command reads itself.
#[derive(Debug, Args)]
pub(crate) struct ReplacedArguments {
    /// Options and the rest of the command line, as that program takes them
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}
