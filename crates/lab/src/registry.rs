//! Which databases and benchmarks a lab knows. A program that has others than perbuck names its own lists of types.
//!
//! A registry holds functions that were made for its lists: nothing else of this crate has a type parameter for it, and engine and
//! benchmark are still joined by static dispatch.

use std::sync::Arc;

use perbuck_core::study::{Contender, Study, WorkloadSpec};
use perbuck_core::workload_kind::{Parameters, WorkloadKind};
use perbuck_database::address::TargetProblem;
use perbuck_database::registry::AnyTarget;
use perbuck_database::secret::Secret;
use perbuck_database::{Databases, Dialect, Target};
use perbuck_load::error::DriverError;
use perbuck_load::stop::StopToken;
use perbuck_load::watch::Waiting;
use perbuck_workloads::params::ParamProblem;
use perbuck_workloads::{Benchmarks, Plan};

use crate::ceiling;
use crate::databases::{AllBenchmarks, AllDatabases};
use crate::error::LabError;
use crate::servers::ready;
use crate::stage::{self, Stage, Trials};

type MakeStage = fn(&Study, &Contender, &WorkloadSpec, &Plan, (&dyn Target, &Secret), &StopToken) -> Result<Stage, LabError>;

/// The databases and benchmarks that a lab knows.
#[derive(Debug, Clone, Copy)]
pub struct Registry {
    parse: fn(&str) -> Result<AnyTarget, TargetProblem>,
    pub(crate) dialects: fn() -> Vec<&'static dyn Dialect>,
    pub(crate) version: fn(&dyn Target, &Secret, &Waiting) -> Result<String, DriverError>,
    kinds: fn() -> Vec<&'static WorkloadKind>,
    plan: fn(&str, &Parameters) -> Result<Plan, Vec<ParamProblem>>,
    stage: MakeStage,
    rehearsal: MakeStage,
    pub(crate) simulated: fn(&Plan) -> Result<Arc<dyn Trials>, LabError>,
}

impl Registry {
    /// The registry of a list of databases and one of benchmarks.
    pub fn of<Known: Databases, List: Benchmarks>() -> Self {
        Self {
            parse: Known::parse,
            dialects: Known::dialects,
            version: ready::version::<Known>,
            kinds: List::kinds,
            plan: Plan::read::<List>,
            stage: stage::stage::<Known, List>,
            rehearsal: stage::rehearsal::rehearsal::<List>,
            simulated: ceiling::simulated::<Known, List>,
        }
    }

    /// Reads the address of a database.
    ///
    /// # Errors
    /// Names what is wrong and the way out, without ever quoting what may be a password.
    pub fn target(&self, text: &str) -> Result<AnyTarget, TargetProblem> {
        (self.parse)(text)
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

    /// Joins one contender with one workload of a study. A request to `stop` ends what is waited for.
    ///
    /// # Errors
    /// An unreadable certificate, a target that names nothing, or one that has not what the workload needs.
    pub fn stage(
        &self,
        study: &Study,
        contender: &Contender,
        spec: &WorkloadSpec,
        plan: &Plan,
        (target, password): (&AnyTarget, &Secret),
        stop: &StopToken,
    ) -> Result<Stage, LabError> {
        (self.stage)(study, contender, spec, plan, (&**target, password), stop)
    }

    /// The same with a simulated database in place of the target's, which answers every statement at once: what a run prints, without
    /// a server.
    ///
    /// # Errors
    /// A workload that this registry does not know.
    pub fn rehearsal(
        &self,
        study: &Study,
        spec: &WorkloadSpec,
        plan: &Plan,
        target: &AnyTarget,
        stop: &StopToken,
    ) -> Result<Stage, LabError> {
        (self.rehearsal)(study, study.baseline(), spec, plan, (&**target, &Secret::default()), stop)
    }
}

impl Default for Registry {
    /// The databases and benchmarks of perbuck.
    // Inlined into another crate, it would be compiled there again with every pair of them: 5 MB of program, minutes of a build.
    #[inline(never)]
    fn default() -> Self {
        Self::of::<AllDatabases, AllBenchmarks>()
    }
}

/// That a plan is of a benchmark which the list does not have.
pub(crate) fn unknown(plan: &Plan) -> LabError {
    let message = format!("the benchmark `{}` is not registered", plan.kind.name);
    LabError::usage(message, "read the plan by the registry that runs it")
}

/// That a target is of a database which the list does not have.
pub(crate) fn unregistered(target: &dyn Target) -> LabError {
    let message = format!("the database of {} is not registered", target.address());
    LabError::usage(message, "read the target by the registry that runs it")
}
