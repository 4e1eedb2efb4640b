//! The words of `perbuck run`.

use std::path::PathBuf;

use clap::Args;

use super::{PasswordArguments, StudyArguments, deploy, fleet, metrics};

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// Folder that holds the results of all studies
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    pub(crate) results: PathBuf,
    /// Measure the limit of the client on this machine, with a simulated database that answers at once. Loads nothing and
    /// writes nothing
    #[arg(long, value_name = "DRIVER", value_parser = ["sim"], conflicts_with = "json")]
    pub(crate) driver: Option<String>,
    /// Run this deployment only, for targets that you deploy yourself (`sweep.deployments`)
    #[arg(long, value_name = "NUMBER", conflicts_with = "driver")]
    pub(crate) deployment: Option<u32>,
    /// Run the trials at this level only, of a factor that you set yourself (`by_hand`); once for each such factor
    #[arg(long, value_name = "FACTOR=LEVEL", conflicts_with = "driver")]
    pub(crate) at: Vec<String>,
    /// Ask for the plan of each analytical query after each trial; the report shows where they differ
    #[arg(long, conflicts_with = "driver")]
    pub(crate) plans: bool,
    /// Print the comparison as JSON at the end
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) password: PasswordArguments,
    #[command(flatten)]
    pub(crate) fleet: fleet::FleetArguments,
    #[command(flatten)]
    pub(crate) spending: deploy::SpendingArguments,
    #[command(flatten)]
    pub(crate) metrics: metrics::MetricsArguments,
}
