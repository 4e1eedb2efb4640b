//! What this machine's client could do if the database took no time: each point against the simulated driver.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::{AuditValue, Measured};
use perbuck_core::units::{Seed, thousands};
use perbuck_core::workload_kind::WorkloadKind;
use perbuck_database::Databases;
use perbuck_database::dialect::Feature;
use perbuck_load::driver::Driver as _;
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::executor::{Agent, Coordinator, WorkerOutcome, run_apart, run_share, run_trial};
use perbuck_load::observer::{Observer, Unobserved};
use perbuck_load::share::Share;
use perbuck_load::sim::SimDriver;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::{RunError, TrialOutcome, TrialSpec};
use perbuck_load::workload::{NewRecords, Workload};
use perbuck_workloads::{Benchmark, BenchmarkAction, Benchmarks, Plan};

use crate::error::LabError;
use crate::fleet::{Fleet, FleetOptions};
use crate::inputs::Inputs;
use crate::progress::Progress;
use crate::registry::{self, Registry};
use crate::stage::Trials;
use crate::trial;

/// The headings of the table that [`run`] makes; those of numbers start with `#`.
pub const HEADS: &str =
    "workload | #offered/s | #connections | #load threads | #operations/s | #operations/s and core | #ns of CPU each";

/// What trials against the simulated driver call their contender.
pub(crate) const CONTENDER: &str = "sim";

/// Runs every point of the study once against the simulated driver, by agents if there are any; returns a table. Nothing is written.
///
/// # Errors
/// A workload that reads values, which the simulated driver does not have; a failed trial; an agent that is not there or is lost.
pub fn run(
    inputs: &Inputs,
    agents: Option<&FleetOptions>,
    progress: &mut dyn Progress,
    stop: &StopToken,
) -> Result<Vec<Vec<String>>, LabError> {
    let all = || inputs.study.workloads.iter().zip(&inputs.plans);
    if let Some((workload, _)) = all().find(|(_, plan)| plan.needs_values()) {
        return Err(needs_values(&workload.name, inputs.registry));
    }
    let fleet = agents.map(|options| Fleet::simulating(options, inputs, stop, progress)).transpose()?;
    let mut out = Vec::new();
    for (workload, plan) in all() {
        let trials = (inputs.registry.simulated)(plan)?;
        for (connections, rate_per_s) in inputs.study.sweep_of(&workload.name).points() {
            let (contender, workload_name) = (CONTENDER.to_owned(), workload.name.clone());
            let key = TrialKey { contender, workload: workload_name, connections, rate_per_s, deployment: None, trial: 1 };
            progress.passing(&format!("{}: {connections} connections", workload.name));
            let spec = trial::spec(&inputs.study, &key);
            let outcome = match &fleet {
                Some(fleet) => fleet.apply((&key, &spec), &*trials, stop, &mut Unobserved).map(|applied| applied.outcome),
                None => trials.run(&spec, stop, &mut Unobserved),
            };
            let offered = if inputs.study.sweep.is_open() {
                rate_per_s.map_or("phases".to_owned(), |r| thousands(r.into()))
            } else {
                "all".to_owned()
            };
            out.push(row(&workload.name, offered, connections, &outcome.map_err(|e| failed(&e))?));
        }
    }
    Ok(out)
}

/// Why a trial against the simulated driver failed.
pub(crate) fn failed(error: &RunError) -> LabError {
    LabError::trial("the simulated driver", error)
}

/// Trials against a database that answers at once. Each statement goes through the event loop once, as a real one.
pub(crate) fn simulated<Known: Databases, List: Benchmarks>(plan: &Plan) -> Result<Arc<dyn Trials>, LabError> {
    List::with_benchmark(plan, Simulation::<Known>(PhantomData)).ok_or_else(|| registry::unknown(plan))?
}

struct Simulation<Known>(PhantomData<Known>);

impl<Known: Databases> BenchmarkAction for Simulation<Known> {
    type Output = Result<Arc<dyn Trials>, LabError>;

    fn run<B: Benchmark>(self, options: &B) -> Self::Output {
        if const { !SimDriver::MEANS.cover(B::Workload::NEEDS) } {
            return Err(LabError::usage("the simulated driver returns no values", ""));
        }
        // The simulated driver takes the words of any.
        let Some(dialect) = Known::dialects().into_iter().find(|d| d.lacks(Feature::Sql).is_none()) else {
            return Err(LabError::usage("no database with SQL is registered", ""));
        };
        let driver = Arc::new(SimDriver { service: Duration::ZERO, ..SimDriver::default() });
        Ok(Arc::new(Simulated { driver, workload: Arc::new(options.workload(dialect, Seed(0))) }))
    }
}

/// A workload with the simulated driver. No data, so there is nothing to fill or to audit.
struct Simulated<W> {
    driver: Arc<SimDriver>,
    workload: Arc<W>,
}

impl<W: Workload> Trials for Simulated<W> {
    fn run(&self, spec: &TrialSpec, stop: &StopToken, observer: &mut dyn Observer) -> Result<TrialOutcome, RunError> {
        run_trial(spec, &self.driver, &self.workload, stop, observer)
    }

    fn run_apart(
        &self,
        spec: &TrialSpec,
        agents: (Vec<Box<dyn Agent + '_>>, Duration),
        stop: &StopToken,
        observer: &mut dyn Observer,
    ) -> Result<TrialOutcome, RunError> {
        run_apart(spec, &*self.workload, agents, stop, observer)
    }

    fn run_share(
        &self,
        spec: (&TrialSpec, bool),
        stop: &StopToken,
        coordinator: &mut dyn Coordinator,
    ) -> Result<Vec<WorkerOutcome>, RunError> {
        run_share(spec, &self.driver, &self.workload, stop, coordinator)
    }

    fn new_records(&self, _share: Share) -> Option<NewRecords> {
        None
    }

    fn fill(&self, _share: Share, _up_to: u64) -> Result<u64, LabError> {
        Ok(0)
    }

    fn explain(&self, _doing: &str, _sql: &str, _limit: Duration) -> Result<String, DriverError> {
        Err(DriverError::client(ErrorClass::Failed, "no plan", "the simulated database has no plans"))
    }

    fn try_statements(&self, _seed: Seed) -> Result<(), DriverError> {
        Ok(())
    }

    fn audit(&self, _measured: &Measured) -> Result<Vec<AuditValue>, LabError> {
        Ok(Vec::new())
    }
}

/// Why a workload cannot run against the simulated driver, and what can.
fn needs_values(name: &str, registry: Registry) -> LabError {
    let able = |kind: &&WorkloadKind| {
        let when = kind.without_values?;
        Some(if when.is_empty() { format!("\"{}\"", kind.name) } else { format!("\"{}\" {when}", kind.name) })
    };
    let able: Vec<String> = registry.kinds().iter().filter_map(able).collect();
    let message = format!("workload `{name}` reads values, and the simulated driver returns none");
    let help = format!("measure the ceiling with a workload of kind {}", able.join(", or "));
    LabError::usage(message, help)
}

/// Operations are statements. They are counted over the window, and so is the CPU time of the load threads.
fn row(name: &str, offered: String, connections: u32, outcome: &TrialOutcome) -> Vec<String> {
    let seconds = outcome.measured.window_ns as f64 / 1e9;
    let operations = outcome.measured.statements.total() as f64;
    let cpu_ns: u64 = outcome.health.workers.iter().map(|w| w.cpu_ns).sum();
    let each = cpu_ns as f64 / operations.max(1.0);
    vec![
        name.to_owned(),
        offered,
        connections.to_string(),
        outcome.workers.to_string(),
        thousands((operations / seconds) as u64),
        if operations > 0.0 && each > 0.0 { thousands((1e9 / each) as u64) } else { "unknown".to_owned() },
        format!("{each:.0}"),
    ]
}
