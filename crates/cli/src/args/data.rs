//! Arguments of `perbuck data`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{PasswordArguments, StudyArguments};

#[derive(Debug, Args)]
pub(crate) struct DataArguments {
    #[command(subcommand)]
    pub(crate) command: DataCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Load what is missing and save the data, with what made them
    Save(MoveArguments),
    /// Put saved data where `perbuck run` finds them; refuses those that were made otherwise
    Restore(MoveArguments),
    /// List the data in an archive
    List(ListArguments),
    /// Remove data from an archive, with what saves that were cut off left there
    Drop(DropArguments),
}

#[derive(Debug, Args)]
pub(crate) struct MoveArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// A folder, s3://BUCKET/PREFIX or gs://BUCKET/PREFIX
    #[arg(value_name = "ARCHIVE")]
    pub(crate) archive: String,
    /// Folder that holds the results of all studies
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    pub(crate) results: PathBuf,
    #[command(flatten)]
    pub(crate) password: PasswordArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// A folder, s3://BUCKET/PREFIX or gs://BUCKET/PREFIX
    #[arg(value_name = "ARCHIVE")]
    pub(crate) archive: String,
    /// Print the manifests as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DropArguments {
    /// A folder, s3://BUCKET/PREFIX or gs://BUCKET/PREFIX
    #[arg(value_name = "ARCHIVE")]
    pub(crate) archive: String,
    /// The data of this contender alone; all of them if none is given
    #[arg(value_name = "CONTENDER")]
    pub(crate) contenders: Vec<String>,
}
