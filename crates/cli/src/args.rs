//! The command line, as clap types; the doc comments are the help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// The database price-performance lab: drives databases with standard workloads, prices the systems under test, compares
/// them with stated uncertainty, and writes the report.
#[derive(Debug, Parser)]
#[command(name = "perbuck", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare two settings of an embedded database, with no server and no flags, and write a report
    Demo(DemoArguments),
    /// Report every problem of a study file, with its line and the way out
    Check(CheckArguments),
    /// Print the bills of a study's contenders
    Price(PriceArguments),
    /// Load the data that a study needs, and check them
    Prepare(PrepareArguments),
    /// Run a study: prepare what is missing, go on where it was interrupted
    Run(RunArguments),
    /// Compare the contenders of a results folder
    Compare(CompareArguments),
    /// Write the report of a results folder as HTML and Markdown
    Report(ReportArguments),
}

#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Folder for databases, results and the report; must not exist
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}

/// A study and the prices to apply to it.
#[derive(Debug, Args)]
pub(crate) struct StudyArguments {
    /// The study file
    #[arg(value_name = "STUDY")]
    pub(crate) path: PathBuf,
    /// Use this price snapshot file instead of a bundled one
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// Print the problems as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PriceArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// Print the bills as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// How passwords are found; none is ever taken from the command line, which every user of the machine can read.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct PasswordArguments {
    /// Ask for the password of every contender that has none in PERBUCK_<CONTENDER>_PASSWORD or `password_file`
    #[arg(long)]
    pub(crate) ask_password: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PrepareArguments {
    /// The study file
    #[arg(value_name = "STUDY")]
    pub(crate) study: PathBuf,
    /// Load the data anew even where they are there
    #[arg(long, conflicts_with = "check")]
    pub(crate) force: bool,
    /// Load nothing; only check the data that are there
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) password: PasswordArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// Folder that holds the results of all studies
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    pub(crate) results: PathBuf,
    /// Print the comparison as JSON at the end
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) password: PasswordArguments,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The results folder of a study, such as results/my-study
    #[arg(value_name = "RESULTS")]
    pub(crate) results: PathBuf,
    #[command(flatten)]
    pub(crate) basis: BasisArguments,
    /// Print the comparison as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a comparison is based on besides the records.
#[derive(Debug, Clone, Args)]
pub(crate) struct BasisArguments {
    /// Take prices, summary and decision from this study file instead of the stored one
    #[arg(long, value_name = "FILE")]
    pub(crate) study: Option<PathBuf>,
    /// Use this price snapshot file instead of the stored one
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
    /// Compare all the same: `emulated`, `client-limited` or `errors`
    #[arg(long, value_name = "WHY", value_parser = ["emulated", "client-limited", "errors"])]
    pub(crate) insist: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The results folder of a study, such as results/my-study
    #[arg(value_name = "RESULTS")]
    pub(crate) results: PathBuf,
    #[command(flatten)]
    pub(crate) basis: BasisArguments,
    /// Folder for report.html and report.md; the results folder itself if not given
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// Print the report model as JSON instead of writing files
    #[arg(long, conflicts_with = "output")]
    pub(crate) json: bool,
}
