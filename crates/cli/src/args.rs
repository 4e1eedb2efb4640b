//! The command line, as clap types; the doc comments are the help.

#![allow(rustdoc::invalid_html_tags, reason = "doc comments are the help, which is plain text")]

pub(crate) mod data;
pub(crate) mod deploy;
mod evaluation;
pub(crate) mod fleet;
mod form;
mod machine;
mod metrics;
mod replaced;
mod run;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use perbuck_core::load_model::HIGHEST_PER_S;
use perbuck_core::units::parse_duration_ns;
use perbuck_lab::inputs::Targets;
use perbuck_lab::stage::AskPassword;

pub(crate) use evaluation::{
    AuditArguments, CompareArguments, ReplayArguments, ReportArguments, ServeArguments, VerifyArguments,
};
pub(crate) use form::FormArguments;
pub(crate) use machine::{DoctorArguments, FactsArguments};
use replaced::ReplacedArguments;
pub(crate) use run::RunArguments;

/// The database price-performance lab: drives databases with standard workloads, prices the systems under test, compares
/// them with stated uncertainty, and writes the report.
#[derive(Debug, Parser)]
#[command(name = "perbuck", version, propagate_version = true, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print only the result and what went wrong
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print every check and every flag of every trial, too
    #[arg(short, long, global = true, help_heading = "Output")]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare two settings of an embedded database, with no server and no flags, and write a report
    Demo(DemoArguments),
    /// Write a first study for your databases: asks what it needs, or takes it as flags
    Init(InitArguments),
    /// List the studies of a results folder, with their state and answer
    List(StudiesArguments),
    /// Check a study file: print every problem with its line and how to mend it
    Check(CheckArguments),
    /// Print what a study would run: its data, its points, its order and its time
    Plan(PlanArguments),
    /// Print the bills of a study's contenders
    Price(PriceArguments),
    /// List, show, check, compare and import price lists
    Prices(crate::commands::prices::args::PricesArguments),
    /// Load the data that a study needs, and check them
    Prepare(PrepareArguments),
    /// Save and restore prepared data, in a folder or in a bucket: save, restore, list, drop
    Data(data::DataArguments),
    /// Run a study: load missing data, and resume after an interruption
    Run(RunArguments),
    /// Apply a share of the load of trials that another machine coordinates
    Agent(fleet::AgentArguments),
    /// Make a token for agents, and check them
    Fleet(fleet::FleetCommandArguments),
    /// Deploy a study on Kubernetes: render, up, status, down
    Deploy(deploy::DeployArguments),
    /// Find the highest throughput at which each contender keeps a latency objective
    Capacity(CapacityArguments),
    // The next six read their words themselves, in the syntax of the program that they replace: see `replaced` in main.rs.
    /// Replace sysbench: put `perbuck` before a command line of one of its database scripts
    ///
    /// `perbuck sysbench --help` lists the options, which are sysbench's own; docs/commands/sysbench.md says what differs.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Sysbench(ReplacedArguments),
    /// Replace `go-tpc tpcc` and `tiup bench tpcc`: write `perbuck tpcc` instead
    ///
    /// `perbuck tpcc --help` lists the options, which are go-tpc's own; docs/commands/tpcc.md says what differs.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Tpcc(ReplacedArguments),
    /// Replace `go-tpc tpch` and `tiup bench tpch`: write `perbuck tpch` instead
    ///
    /// `perbuck tpch --help` lists the options, which are go-tpc's own; docs/commands/tpch.md says what differs.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Tpch(ReplacedArguments),
    /// Replace `go-tpc ch` and `tiup bench ch`: write `perbuck ch` instead
    ///
    /// `perbuck ch --help` lists the options, which are go-tpc's own; docs/commands/ch.md says what differs.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Ch(ReplacedArguments),
    /// Replace go-ycsb: write `perbuck ycsb` instead
    ///
    /// `perbuck ycsb --help` lists the properties, which are those of YCSB and go-ycsb; docs/commands/ycsb.md says what differs.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Ycsb(ReplacedArguments),
    /// Replace pgbench: write `perbuck pgbench` instead, on PostgreSQL, MySQL and TiDB
    ///
    /// `perbuck pgbench --help` lists the options, which are pgbench's own; docs/commands/pgbench.md says what differs.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Pgbench(ReplacedArguments),
    /// Read logs of sysbench, go-tpc, YCSB, HammerDB, pgbench and BenchBase as trials of a study
    Import(crate::commands::import::ImportArguments),
    /// Print a Grafana dashboard for what `perbuck run --metrics` and `perbuck serve` export
    Dashboard,
    /// Compare the contenders of a results folder
    Compare(CompareArguments),
    /// Write the report of a results folder as HTML and Markdown
    Report(ReportArguments),
    /// Show results in a browser on this machine, and follow a running study
    Serve(ServeArguments),
    /// Make a report again from the data that it embeds, and show where the page, its data or the records differ
    Verify(VerifyArguments),
    /// Write the report of a published study, from its printed results instead of trials
    Replay(ReplayArguments),
    /// Recompute every number that a published study prints, and name the rule that gives its digits
    Audit(AuditArguments),
    /// Print the facts of this machine that bear on performance, as records hold them
    Facts(FactsArguments),
    /// Say what of this machine spoils a measurement, what it costs, and what mends it. Changes nothing
    Doctor(DoctorArguments),
    /// Print the completions of a shell
    Completions(CompletionsArguments),
    /// Write man pages of all commands
    Man(ManArguments),
    /// Show a command's help, or a page of the reference
    Help(HelpArguments),
}

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// The study file to write; must not exist
    #[arg(value_name = "STUDY", default_value = "study.toml")]
    pub(crate) study: PathBuf,
    /// What to compare: two-versions, two-settings, arm-vs-x86, sizing or tidb-on-kubernetes
    #[arg(long, value_name = "NAME")]
    pub(crate) template: Option<String>,
    /// The address of a database without its password; once for each server of the template
    #[arg(long, value_name = "URL")]
    pub(crate) target: Vec<String>,
    /// The machine that is priced, such as m7i.large; once for each machine of the template
    #[arg(long, value_name = "TYPE")]
    pub(crate) instance: Vec<String>,
    /// The price list: `perbuck prices list`
    #[arg(long, value_name = "NAME")]
    pub(crate) snapshot: Option<String>,
    /// The region of the prices
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
    #[command(flatten)]
    pub(crate) password: PasswordArguments,
}

#[derive(Debug, Args)]
pub(crate) struct StudiesArguments {
    /// The folder that holds the results of studies
    #[arg(value_name = "FOLDER", default_value = "results")]
    pub(crate) results: PathBuf,
}

/// A shell that completes commands.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The folder for the pages, which is made
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct HelpArguments {
    /// A command, or a page of the reference; all of them are listed without one
    #[arg(value_name = "TOPIC")]
    pub(crate) topic: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Folder for databases, results and the report; must not exist
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}

/// A study, its targets and the prices to apply to it.
#[derive(Debug, Args)]
pub(crate) struct StudyArguments {
    /// The study file
    #[arg(value_name = "STUDY")]
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) targets: TargetArguments,
    /// Use this price snapshot file instead of a bundled one
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
}

/// Addresses that are not in the study.
#[derive(Debug, Args)]
pub(crate) struct TargetArguments {
    /// Give a contender this target, in place of the study's; once for each contender
    #[arg(long = "target", value_name = "CONTENDER=URL", value_parser = named)]
    given: Vec<(String, String)>,
}

impl TargetArguments {
    pub(crate) fn of(&self) -> Targets {
        self.given.iter().cloned().collect()
    }
}

fn named(text: &str) -> Result<(String, String), String> {
    let (name, rest) = text.split_once('=').ok_or("write it as CONTENDER=URL, such as arm=mysql://root@10.0.0.1/")?;
    Ok((name.to_owned(), rest.to_owned()))
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// Connect to every target, and look whether the study can run there
    #[arg(long)]
    pub(crate) connect: bool,
    /// Print the problems as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) password: PasswordArguments,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// Take the scatter of trials from these results, to tell what more trials would find
    #[arg(long, value_name = "RESULTS")]
    pub(crate) pilot: Option<PathBuf>,
    /// Draw the detectable differences against machine time (SVG)
    #[arg(long, value_name = "FILE")]
    pub(crate) chart: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PriceArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a picture of the machines and volumes of all contenders (SVG)
    #[arg(long, value_name = "FILE")]
    pub(crate) diagram: Option<PathBuf>,
}

/// How passwords are found; none is ever taken from the command line, which every user of the machine can read.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct PasswordArguments {
    /// Ask for the password of every contender that has none in PERBUCK_<CONTENDER>_PASSWORD or `password_file`
    #[arg(long)]
    pub(crate) ask_password: bool,
}

impl PasswordArguments {
    /// How a password is asked for; `None` where it is not.
    pub(crate) fn asked(self) -> Option<AskPassword> {
        self.ask_password.then_some(perbuck_console::ask_password as AskPassword)
    }
}

#[derive(Debug, Args)]
pub(crate) struct PrepareArguments {
    /// The study file
    #[arg(value_name = "STUDY")]
    pub(crate) study: PathBuf,
    #[command(flatten)]
    pub(crate) targets: TargetArguments,
    /// Load the data again even if they exist; drops only tables that perbuck made
    #[arg(long, conflicts_with = "check")]
    pub(crate) force: bool,
    /// Load nothing; only check the data that are there
    #[arg(long)]
    pub(crate) check: bool,
    /// Connections that load data at the same time; 8 if not given, and always one on SQLite
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) sessions: Option<u32>,
    #[command(flatten)]
    pub(crate) files: FileArguments,
    #[command(flatten)]
    pub(crate) password: PasswordArguments,
}

/// Files in place of a load.
#[derive(Debug, Args)]
pub(crate) struct FileArguments {
    /// Write the rows as files for bulk importers; connects to no target
    #[arg(long, value_name = "TYPE", value_parser = ["csv"], requires = "output_dir", conflicts_with_all = ["force", "check", "sessions", "ask_password"])]
    pub(crate) output_type: Option<String>,
    /// Folder for the files; perbuck creates it, and overwrites nothing in it
    #[arg(long, value_name = "FOLDER", requires = "output_type")]
    pub(crate) output_dir: Option<PathBuf>,
    /// Write only these tables, such as `item,stock`
    #[arg(long, value_name = "TABLE,…", value_delimiter = ',', requires = "output_type")]
    pub(crate) tables: Vec<String>,
    /// Files for each table; 1 if not given
    #[arg(long, value_name = "COUNT", requires = "output_type", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) files: Option<u32>,
    /// CSV dialect: `mysql` (MySQL, MariaDB, TiDB Lightning) or `postgres`; that of the targets if not given
    #[arg(long, value_name = "FORMAT", value_parser = ["mysql", "postgres"], requires = "output_type")]
    pub(crate) csv_format: Option<String>,
    /// Threads that make the rows; one per processor if not given. The files are the same for any number
    #[arg(long, value_name = "COUNT", requires = "output_type", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) threads: Option<u32>,
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
    /// First rate of the search, in transactions per second; 100 if not given, then 10, then 1 if that breaks the objective
    #[arg(long, value_name = "RATE", value_parser = clap::value_parser!(u32).range(1..=i64::from(HIGHEST_PER_S)))]
    pub(crate) from: Option<u32>,
    /// The highest rate to try
    #[arg(long, value_name = "RATE", value_parser = clap::value_parser!(u32).range(1..=i64::from(HIGHEST_PER_S)))]
    pub(crate) to: Option<u32>,
    /// End the search when the lowest broken rate is at most this share above the highest kept rate
    #[arg(long, value_name = "SHARE", default_value_t = 0.02)]
    pub(crate) resolution: f64,
    /// Trials at each of these two rates
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeats: u32,
    /// Limit of transactions in flight, others wait; the largest count of the sweep if not given
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) connections: Option<u32>,
    /// Time before the measured window of each trial; that of the sweep if not given
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ns)]
    pub(crate) warmup: Option<u64>,
    /// The measured window of each trial; that of the sweep if not given
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ns)]
    pub(crate) duration: Option<u64>,
    /// How transactions arrive: `poisson` (like independent users) or `uniform`; that of the study's sweep if not given
    #[arg(long, value_name = "HOW", value_parser = ["poisson", "uniform"])]
    pub(crate) arrivals: Option<String>,
    /// Also say what it costs a month to serve so many transactions per second, on each contender
    #[arg(long, value_name = "RATE", value_parser = clap::value_parser!(u32).range(1..=i64::from(HIGHEST_PER_S)))]
    pub(crate) demand: Option<u32>,
    /// Folder that holds the results of all studies
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    pub(crate) results: PathBuf,
    /// Print what was found as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) password: PasswordArguments,
    #[command(flatten)]
    pub(crate) fleet: fleet::FleetArguments,
}
