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
    /// Write what a study deploys as files to review, with what each part costs
    Render(RenderArguments),
    /// Bring the clusters of a study up, after saying what they cost and asking
    Up(UpArguments),
    /// Say what is up, how it differs from the bill, and what it has cost
    Status(DeployedArguments),
    /// Take the clusters of a study down
    Down(DownArguments),
}

#[derive(Debug, Args)]
pub(crate) struct RenderArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// Folder for the files; those of the same names are written over
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
    /// Take the clusters down after this time, such as 8h, if no perbuck runs the study then. A process on this machine does it
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ns, help_heading = "Deployments")]
    pub(crate) ttl: Option<u64>,
}
