//! Arguments of agents, and of commands that use them.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use perbuck_lab::fleet::PORT;

/// Which agents apply the load.
#[derive(Debug, Args)]
pub(crate) struct FleetArguments {
    /// Apply the load from these agents instead of this process, as host:port,host:port; the port is 7117 if not given. ssh://user@host starts one there. contender=host,host where the study has `client.stands` = "beside"
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',', help_heading = "Agents")]
    pub(crate) agents: Vec<String>,
    #[command(flatten)]
    pub(crate) token: TokenArguments,
    /// When an agent is lost, wait until it is back; without this, go on with the others
    #[arg(long, requires = "agents", help_heading = "Agents")]
    pub(crate) wait_for_agents: bool,
}

/// Where the token is.
#[derive(Debug, Args)]
pub(crate) struct TokenArguments {
    /// File with the token that agents and coordinator share; `perbuck fleet token` makes one. PERBUCK_FLEET_TOKEN may hold it instead
    #[arg(long, value_name = "FILE", help_heading = "Agents")]
    pub(crate) token_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    /// Address to listen at, of this machine
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::from(([0, 0, 0, 0], PORT)))]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) token: TokenArguments,
}

#[derive(Debug, Args)]
pub(crate) struct FleetCommandArguments {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Print a new token
    Token,
    /// Measure each agent and the network to it, and say how many the study needs
    Check(FleetCheckArguments),
}

#[derive(Debug, Args)]
pub(crate) struct FleetCheckArguments {
    #[command(flatten)]
    pub(crate) study: super::StudyArguments,
    /// Folder that holds the results of all studies
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    pub(crate) results: PathBuf,
    #[command(flatten)]
    pub(crate) fleet: FleetArguments,
}
