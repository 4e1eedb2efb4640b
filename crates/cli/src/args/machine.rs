//! Arguments of the commands that look at this machine.

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
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
