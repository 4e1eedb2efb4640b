//! The arguments of the commands that read results: of trials, or published ones.

use std::path::PathBuf;

use clap::Args;
use perbuck_lab::LabError;
use perbuck_lab::inputs::{self, PublishedTexts};
use perbuck_lab::results::Basis;

use super::{FormArguments, StudyArguments};

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The results folder of a study, such as results/my-study
    #[arg(value_name = "RESULTS")]
    pub(crate) results: PathBuf,
    /// Compare RESULTS with this older results folder, and end with exit code 6 if a contender became worse
    #[arg(long, value_name = "OLD", conflicts_with_all = ["study", "prices"])]
    pub(crate) baseline: Option<PathBuf>,
    /// With --baseline: the relative difference that counts, such as 0.05; that of the study if not given
    #[arg(long, value_name = "SHARE", requires = "baseline", value_parser = share)]
    pub(crate) margin: Option<f64>,
    #[command(flatten)]
    pub(crate) basis: BasisArguments,
    /// Print the comparison as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// With --baseline: also write the verdicts to this file as JUnit XML
    #[arg(long, value_name = "FILE", requires = "baseline")]
    pub(crate) junit: Option<PathBuf>,
    /// With --baseline: also print GitHub annotations, an error for each result that became worse
    #[arg(long, requires = "baseline", conflicts_with = "json")]
    pub(crate) github: bool,
}

/// A share between 0 and 1, bounds not included.
fn share(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().map_err(|_| "not a number; give a share such as 0.05".to_owned())?;
    if value > 0.0 && value < 1.0 { Ok(value) } else { Err("not between 0 and 1; give a share such as 0.05".to_owned()) }
}

/// What a comparison uses in addition to the records.
#[derive(Debug, Clone, Args)]
pub(crate) struct BasisArguments {
    /// Take prices, summary and decision from this study file instead of the stored one
    #[arg(long, value_name = "FILE")]
    pub(crate) study: Option<PathBuf>,
    /// Use this price snapshot file instead of the stored one
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
    /// Compare in spite of a warning: `emulated`, `client-limited`, `foreign-load` or `errors`; with --baseline also `workloads` or `environment`
    #[arg(long, value_name = "WHY", value_parser = ["emulated", "client-limited", "foreign-load", "errors", "workloads", "environment"])]
    pub(crate) insist: Vec<String>,
}

impl BasisArguments {
    /// What the library takes.
    pub(crate) fn basis(&self) -> Basis {
        Basis { study: self.study.clone(), prices: self.prices.clone(), insist: self.insist.clone(), ..Basis::default() }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The results folder of a study, such as results/my-study
    #[arg(value_name = "RESULTS")]
    pub(crate) results: PathBuf,
    #[command(flatten)]
    pub(crate) basis: BasisArguments,
    /// Folder for the files; the results folder itself if not given
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: FormArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// A folder of results, or the results folder of one study
    #[arg(value_name = "RESULTS", default_value = "results")]
    pub(crate) results: PathBuf,
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 7330)]
    pub(crate) port: u16,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// A report.html, or a results folder that holds one
    #[arg(value_name = "REPORT")]
    pub(crate) report: PathBuf,
    /// Compare the page with the records of this results folder; that of the report if a folder is given
    #[arg(long, value_name = "FOLDER")]
    pub(crate) results: Option<PathBuf>,
    /// Compare the embedded study with this file instead of the folder's
    #[arg(long, value_name = "FILE")]
    pub(crate) study: Option<PathBuf>,
    /// Compare the embedded prices with this file instead of the folder's
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
    /// Write the embedded study, prices and records to this folder, which must not exist
    #[arg(long, value_name = "FOLDER")]
    pub(crate) extract: Option<PathBuf>,
    /// Print what matches and what differs as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A study with published results.
#[derive(Debug, Args)]
pub(crate) struct PublishedArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// Take the results from this CSV file: workload, contender, connections, and a column for each metric
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
}

impl PublishedArguments {
    pub(crate) fn texts(&self) -> Result<PublishedTexts, LabError> {
        inputs::published_texts(
            (&self.study.path, &self.study.targets.of()),
            self.study.prices.as_deref(),
            self.results.as_deref(),
        )
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    #[command(flatten)]
    pub(crate) published: PublishedArguments,
    /// Folder for the files; results/<name of the study> if not given
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: FormArguments,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    #[command(flatten)]
    pub(crate) published: PublishedArguments,
    /// End with exit code 1 if a number is inconsistent, or a claim or check does not hold
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
