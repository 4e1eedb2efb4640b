//! A study with its options: the front of the library.

use std::path::{Path, PathBuf};

use perbuck_load::stop::StopToken;

use crate::error::LabError;
use crate::inputs::{self, Inputs};
use crate::preflight::{self, Preflight};
use crate::progress::Progress;
use crate::rates::Rates;
use crate::registry::Registry;
use crate::results::{self, Basis, Results};
use crate::run::{self, RunOptions};
use crate::stage;

/// What is the same for every step of a study.
#[derive(Debug, Clone)]
pub struct LabOptions {
    /// Targets in place of those of the contenders, by name.
    pub targets: inputs::Targets,
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
            targets: inputs::Targets::new(),
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
        Self::of(inputs::read((study, &options.targets), options.prices.as_deref(), options.registry)?, options)
    }

    /// The same of a study that was read.
    ///
    /// # Errors
    /// A study of published results, which is not measured.
    pub fn of(inputs: Inputs, options: LabOptions) -> Result<Self, LabError> {
        let mut inputs = inputs::to_measure(inputs)?;
        inputs.rates = Rates::of(&options.run.results);
        Ok(Self { inputs, options })
    }

    /// The study with its bills, targets and workloads.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Connects to every target and looks whether the study can run there: see [`preflight`]. [`Self::run`] does the same first.
    ///
    /// # Errors
    /// A password that cannot be read, or a request to stop. What is wrong with a target is in the answer.
    pub fn preflight(&self, progress: &mut dyn Progress, stop: &StopToken) -> Result<Preflight, LabError> {
        let passwords = stage::passwords(&self.inputs, self.options.run.ask_password)?;
        let request = preflight::Request::of_trials(&self.inputs, &self.options.run.results, self.options.run.fleet.is_some());
        preflight::look(&self.inputs, request, &passwords, progress, stop)
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
