//! The command line, as clap types; the doc comments are the help.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use perbuck_core::load_model::HIGHEST_PER_S;
use perbuck_core::units::parse_duration_ns;

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
    /// Find the highest throughput at which each contender keeps a latency objective
    Capacity(CapacityArguments),
    /// Take the place of sysbench: put `perbuck` before a command line of one of its database scripts
    ///
    /// `perbuck sysbench --help` lists the options, which are sysbench's own; docs/commands/sysbench.md says what differs.
    Sysbench(SysbenchArguments),
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
    /// Connections that load data at the same time; 8 if not given, and always one on SQLite
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) sessions: Option<u32>,
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
    /// Drive the simulated database instead, which answers at once: the ceiling of this machine's client. Nothing is
    /// prepared and nothing is written
    #[arg(long, value_name = "DRIVER", value_parser = ["sim"], conflicts_with = "json")]
    pub(crate) driver: Option<String>,
    /// Print the comparison as JSON at the end
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) password: PasswordArguments,
}

#[derive(Debug, Args)]
pub(crate) struct CapacityArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// Search for this contender only; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) contender: Vec<String>,
    /// Search with this workload only; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Vec<String>,
    /// The percentile of the response time that the objective is about; that of the study's `slo` if not given
    #[arg(long, value_name = "PERCENT")]
    pub(crate) percentile: Option<f64>,
    /// The objective: the percentile is at most this, such as 20ms; that of the study's `slo` if not given
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ns)]
    pub(crate) at_most: Option<u64>,
    /// Transactions per second to begin with; if not given 100, then 10, then 1 where that breaks the objective
    #[arg(long, value_name = "RATE", value_parser = clap::value_parser!(u32).range(1..=i64::from(HIGHEST_PER_S)))]
    pub(crate) from: Option<u32>,
    /// The highest rate to try
    #[arg(long, value_name = "RATE", value_parser = clap::value_parser!(u32).range(1..=i64::from(HIGHEST_PER_S)))]
    pub(crate) to: Option<u32>,
    /// How far the rate that broke may lie above the rate that kept, as a share of it
    #[arg(long, value_name = "SHARE", default_value_t = 0.02)]
    pub(crate) resolution: f64,
    /// Trials of each of these two rates
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeats: u32,
    /// The most transactions in flight, others wait; the largest count of the study's sweep if not given
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) connections: Option<u32>,
    /// Time before the measured window of each trial; that of the study's sweep if not given
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ns)]
    pub(crate) warmup: Option<u64>,
    /// The measured window of each trial; that of the study's sweep if not given
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ns)]
    pub(crate) duration: Option<u64>,
    /// How the starts lie in time: `poisson` (like independent users) or `uniform`; that of the study's sweep if not given
    #[arg(long, value_name = "HOW", value_parser = ["poisson", "uniform"])]
    pub(crate) arrivals: Option<String>,
    /// Folder that holds the results of all studies
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    pub(crate) results: PathBuf,
    /// Print what was found as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) password: PasswordArguments,
}

/// The command reads its words itself, since sysbench's syntax is not clap's.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct SysbenchArguments {
    /// Options, script and command as sysbench takes them
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
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
