//! Which benchmarks a lab knows. A program that has others than perbuck names its own list of types.
//!
//! A registry holds functions that were made for its list: nothing else of this crate has a type parameter for it, and engine and
//! benchmark are still joined by static dispatch.

use perbuck_core::study::{Contender, Study, WorkloadSpec};
use perbuck_core::units::Seed;
use perbuck_core::workload_kind::{Parameters, WorkloadKind};
use perbuck_drivers::secret::Secret;
use perbuck_drivers::target::Target;
use perbuck_load::statement::Dialect;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::{TrialOutcome, TrialSpec};
use perbuck_workloads::params::ParamProblem;
use perbuck_workloads::{Benchmarks, Plan, Workloads};

use crate::ceiling;
use crate::csv::{self, CsvProgress, CsvRequest, CsvTable};
use crate::error::{ErrorKind, LabError};
use crate::stage::{self, Stage};

/// Writes the rows of a plan for a dialect, drawn from a seed, as files.
type WriteRows =
    fn(&Plan, (Dialect, Seed), &CsvRequest<'_>, &StopToken, &mut dyn FnMut(CsvProgress)) -> Result<Vec<CsvTable>, LabError>;

/// Joins one contender with one workload of a study.
type MakeStage = fn(&Study, &Contender, &WorkloadSpec, &Plan, &Target, &Secret) -> Result<Stage, LabError>;

/// The benchmarks that a lab knows.
#[derive(Debug, Clone, Copy)]
pub struct Registry {
    kinds: fn() -> Vec<&'static WorkloadKind>,
    plan: fn(&str, &Parameters) -> Result<Plan, Vec<ParamProblem>>,
    stage: MakeStage,
    /// Runs one trial against a database that answers at once.
    pub(crate) simulate: fn(&Plan, &TrialSpec, &StopToken) -> Result<TrialOutcome, LabError>,
    pub(crate) write_rows: WriteRows,
}

impl Registry {
    /// The registry of a list of benchmarks.
    pub fn of<List: Benchmarks>() -> Self {
        Self {
            kinds: List::kinds,
            plan: Plan::read::<List>,
            stage: stage::stage::<List>,
            simulate: ceiling::simulate::<List>,
            write_rows: csv::study::write_rows::<List>,
        }
    }

    /// What its benchmarks declare.
    pub fn kinds(&self) -> Vec<&'static WorkloadKind> {
        (self.kinds)()
    }

    /// Reads the parameters of a workload of that kind.
    ///
    /// # Errors
    /// Every problem, by parameter.
    pub fn plan(&self, kind: &str, parameters: &Parameters) -> Result<Plan, Vec<ParamProblem>> {
        (self.plan)(kind, parameters)
    }

    /// Joins one contender with one workload of a study.
    ///
    /// # Errors
    /// An unreadable certificate, a target that names nothing, or one that has not what the workload needs.
    pub fn stage(
        &self,
        study: &Study,
        contender: &Contender,
        spec: &WorkloadSpec,
        plan: &Plan,
        target: &Target,
        password: &Secret,
    ) -> Result<Stage, LabError> {
        (self.stage)(study, contender, spec, plan, target, password)
    }
}

impl Default for Registry {
    /// The benchmarks of perbuck.
    fn default() -> Self {
        Self::of::<Workloads>()
    }
}

/// That a plan is of a benchmark which the list does not have.
pub(crate) fn unknown(plan: &Plan) -> LabError {
    let message = format!("the benchmark `{}` is not registered", plan.kind.name);
    LabError::new(ErrorKind::Usage, message, "read the plan by the registry that runs it")
}
