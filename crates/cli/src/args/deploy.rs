//! Arguments of `perbuck deploy`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use perbuck_core::units::parse_duration_ns;

use super::StudyArguments;

#[derive(Debug, Args)]
pub(crate) struct DeployArguments {
    #[command(subcommand)]
    pub(crate) command: DeployCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeployCommand {
    /// Write the files of a deployment for review, with what each part costs. Reaches nothing
    Render(RenderArguments),
    /// Make the clusters of a study, after saying what they cost and asking
    Up(UpArguments),
    /// Compare what runs with the bill, and say what it has cost
    Status(DeployedArguments),
    /// Delete the clusters of a study, with everything on them
    Down(DownArguments),
}

#[derive(Debug, Args)]
pub(crate) struct RenderArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// Folder for the files; files of the same names are replaced
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct DeployedArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// Folder that holds the results of all studies
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    pub(crate) results: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct UpArguments {
    #[command(flatten)]
    pub(crate) of: DeployedArguments,
    #[command(flatten)]
    pub(crate) spending: SpendingArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DownArguments {
    #[command(flatten)]
    pub(crate) of: DeployedArguments,
    /// Wait until the deployment has expired, and then take it down: what `--ttl` starts
    #[arg(long, hide = true)]
    pub(crate) when_expired: bool,
}

/// How money is spent on clusters.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct SpendingArguments {
    /// Deploy without asking
    #[arg(long, help_heading = "Deployments")]
    pub(crate) yes: bool,
    /// Take the clusters down after this time, such as 8h, once no perbuck here works on the study. A process on this machine does it, and ends with a restart of the machine
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ns, help_heading = "Deployments")]
    pub(crate) ttl: Option<u64>,
}
