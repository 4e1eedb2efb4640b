//! Arguments of the commands that look at this machine.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct FactsArguments {
    /// Ask the cloud's metadata service for the instance type, if the machine itself does not tell it
    #[arg(long)]
    pub(crate) cloud: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Examine this machine by SSH in place of the one at hand: ssh://root@db1
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Set what can be set, after the script that restores it was written to this new file
    #[arg(long, value_name = "UNDO", conflicts_with = "json")]
    pub(crate) apply: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
