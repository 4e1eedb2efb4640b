//! A study with its options: the front of the library.

use std::path::{Path, PathBuf};

use perbuck_load::stop::StopToken;

use crate::error::LabError;
use crate::inputs::{self, Inputs};
use crate::progress::Progress;
use crate::registry::Registry;
use crate::results::{self, Basis, Results};
use crate::run::{self, RunOptions};

/// What is the same for every step of a study.
#[derive(Debug, Clone)]
pub struct LabOptions {
    /// A price snapshot in place of the one that the study names.
    pub prices: Option<PathBuf>,
    /// The benchmarks that there are.
    pub registry: Registry,
    /// Where records go, and what is run.
    pub run: RunOptions,
}

impl Default for LabOptions {
    fn default() -> Self {
        Self {
            prices: None,
            registry: Registry::default(),
            run: RunOptions { results: PathBuf::from("results"), ..RunOptions::default() },
        }
    }
}

/// A study that was read and checked.
pub struct Lab {
    inputs: Inputs,
    options: LabOptions,
}

impl Lab {
    /// Reads and checks a study file; nothing is started and no target is reached.
    ///
    /// # Errors
    /// An unreadable file, or every problem of the study at once, with lines.
    pub fn open(study: &Path, options: LabOptions) -> Result<Self, LabError> {
        let inputs = inputs::read_to_measure(study, options.prices.as_deref(), options.registry)?;
        Ok(Self { inputs, options })
    }

    /// The study with its bills, targets and workloads.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Prepares what is missing, runs every trial that is not on disk, checks the data, and compares.
    ///
    /// # Errors
    /// The first failure. Finished trials are kept, and the same call goes on with the others.
    pub fn run(&self, progress: &mut dyn Progress, stop: &StopToken) -> Result<Results, LabError> {
        let root = run::study(&self.inputs, &self.options.run, progress, stop)?;
        results::read(&root, &Basis { registry: self.options.registry, ..Basis::default() })
    }

    /// The results folder of the study.
    pub fn folder(&self) -> PathBuf {
        self.options.run.results.join(&self.inputs.study.name)
    }
}
