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
    /// Load the disk of this folder for some seconds by fio, and say what it does; nothing else is examined
    #[arg(long, value_name = "FOLDER", conflicts_with = "apply")]
    pub(crate) disk: Option<PathBuf>,
    /// Seconds of that load
    #[arg(long, value_name = "SECONDS", requires = "disk", default_value_t = 15, value_parser = clap::value_parser!(u32).range(3..=300))]
    pub(crate) seconds: u32,
    /// Say beside it what the volumes of this study's bill have
    #[arg(long, value_name = "STUDY", requires = "disk")]
    pub(crate) study: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
