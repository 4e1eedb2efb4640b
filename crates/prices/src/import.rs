//! From a public price list to a price snapshot: machines on demand with Linux and shared tenancy, volumes where the list has them.
//!
//! Every format reads its list as a stream and hands what it finds to a [`Collector`]; what it leaves out is counted by reason.
//! The result is the text of a snapshot file, read back before it is handed out, so that a list that comes through can be used.

mod aws;
mod aws_csv;
mod aws_json;
mod azure;
mod collect;
mod gcp;
mod infracost;
mod names;
mod number;
mod plain;
mod skypilot;
mod stream;
mod table;
#[cfg(test)]
mod tests;
mod vantage;

use std::collections::BTreeMap;
use std::io::BufRead;

use perbuck_core::problem::Problem;

use crate::snapshot::{Machine, Snapshot};
use crate::write::write;
use collect::Collector;

/// The formats of public price lists that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// An AWS offer file of AmazonEC2, `index.json` of a region.
    AwsJson,
    /// The same as `index.csv`.
    AwsCsv,
    /// `instances.json` of ec2instances.info.
    Ec2Instances,
    /// `vms.csv` of the SkyPilot catalogue.
    Skypilot,
    /// Pages of the Azure retail prices API.
    Azure,
    /// Pages of the SKUs of Compute Engine in the Google Cloud billing API.
    Gcp,
    /// The products file of infracost's cloud-pricing-api.
    Infracost,
    /// A table with a header: region, type, price of an hour.
    Csv,
}

impl Format {
    /// All formats with their words on the command line.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::AwsJson, "aws-json"),
        (Self::AwsCsv, "aws-csv"),
        (Self::Ec2Instances, "ec2instances"),
        (Self::Skypilot, "skypilot"),
        (Self::Azure, "azure"),
        (Self::Gcp, "gcp"),
        (Self::Infracost, "infracost"),
        (Self::Csv, "csv"),
    ];

    /// What such a file is, for the source of its prices.
    fn describe(self) -> &'static str {
        match self {
            Self::AwsJson | Self::AwsCsv => "AWS offer file",
            Self::Ec2Instances => "instances.json of ec2instances.info",
            Self::Skypilot => "SkyPilot catalogue",
            Self::Azure => "Azure retail prices API",
            Self::Gcp => "Google Cloud billing SKUs",
            Self::Infracost => "infracost cloud-pricing-api products",
            Self::Csv => "table of prices",
        }
    }
}

/// What to take out of a list.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The name of the snapshot, that of its file.
    pub name: String,
    /// The date of the list, `2026-07-20`.
    pub date: String,
    /// How messages and the source of the prices call the list.
    pub file: String,
    /// Only these regions; all where empty.
    pub regions: Vec<String>,
    /// Only these families; all where empty.
    pub families: Vec<String>,
    /// The provider, where the list does not say it.
    pub provider: Option<String>,
    /// Take prices of spare capacity, too.
    pub spot: bool,
    /// Take prices with a commitment, too.
    pub commitments: bool,
    /// Sizes of machines beyond those of the bundled catalogue, for lists that have none.
    pub machines: Vec<Machine>,
}

/// What came out of a list, not yet a file: the hash of the list is known when all of it was read.
#[derive(Debug)]
pub struct Imported {
    snapshot: Snapshot,
    origin: String,
    /// What the user should know, one sentence each.
    pub notes: Vec<String>,
    /// How many rows were left out, by reason.
    pub skipped: BTreeMap<String, u64>,
}

/// Why a list cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// 1-based line; 0 where it is not known.
    pub line: u64,
    /// What is wrong, naming the thing.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl ImportError {
    fn new(line: u64, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { line, message: message.into(), help: help.into() }
    }
}

/// Reads a list as a stream.
///
/// # Errors
/// The first thing of the list that cannot be read, with its line; or that nothing was left to import.
pub fn import(format: Format, list: &mut dyn BufRead, options: &Options) -> Result<Imported, ImportError> {
    let mut collector = Collector::new(options);
    let version = match format {
        Format::AwsJson => aws_json::read(list, &mut collector)?,
        Format::AwsCsv => aws_csv::read(list, &mut collector)?,
        Format::Ec2Instances => vantage::read(list, &mut collector)?,
        Format::Skypilot => skypilot::read(list, &mut collector)?,
        Format::Azure => azure::read(list, &mut collector)?,
        Format::Gcp => gcp::read(list, &mut collector)?,
        Format::Infracost => infracost::read(list, &mut collector)?,
        Format::Csv => plain::read(list, &mut collector)?,
    };
    let version = if version.is_empty() { version } else { format!(", {version}") };
    let origin = format!("{} of {}{version}, file {}", format.describe(), options.date, options.file);
    collector.finish(options, origin)
}

/// The sizes of machines in a table with a header, for [`Options::machines`].
///
/// # Errors
/// The first row that cannot be read, with its line.
pub fn machines(table: &mut dyn BufRead) -> Result<Vec<Machine>, ImportError> {
    plain::machines(table)
}

impl Imported {
    /// The text of the snapshot file and what it says; `hash` of the list becomes part of the source of each price.
    ///
    /// # Errors
    /// Problems of the text as a snapshot, which would be a defect of the importer.
    pub fn into_file(mut self, hash: &str) -> Result<(String, Snapshot), Vec<Problem>> {
        let source = format!("{}, SHA-256 {hash}", self.origin);
        let origins = self.snapshot.regions.iter_mut().flat_map(|r| {
            let volumes = r.volumes.iter_mut().map(|v| &mut v.capacity.origin);
            r.instances.iter_mut().map(|i| &mut i.origin).chain(volumes).chain(r.volume_snapshot.as_mut().map(|s| &mut s.origin))
        });
        for origin in origins.chain(self.snapshot.listed.iter_mut().map(|l| &mut l.origin)) {
            origin.source.clone_from(&source);
        }
        let text = write(&self.snapshot);
        let snapshot = Snapshot::read(&self.snapshot.name, &text)?;
        Ok((text, snapshot))
    }

    /// How many machines are priced in how many regions, and how many kinds of volume.
    pub fn counts(&self) -> (usize, usize, usize) {
        let regions = &self.snapshot.regions;
        let machines = regions.iter().map(|r| r.instances.len()).sum();
        (machines, regions.len(), regions.iter().map(|r| r.volumes.len()).sum())
    }
}
