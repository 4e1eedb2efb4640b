//! What this machine's client could do if the database took no time: each point against the simulated driver.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use perbuck_core::plan::TrialKey;
use perbuck_core::units::{Seed, thousands};
use perbuck_core::workload_kind::WorkloadKind;
use perbuck_database::Databases;
use perbuck_database::dialect::Feature;
use perbuck_load::executor::run_trial;
use perbuck_load::observer::Unobserved;
use perbuck_load::sim::SimDriver;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::{TrialOutcome, TrialSpec};
use perbuck_workloads::{Benchmark, BenchmarkAction, Benchmarks, Plan};

use crate::error::LabError;
use crate::inputs::Inputs;
use crate::progress::Progress;
use crate::registry::{self, Registry};
use crate::trial;

/// The headings of the table that [`run`] makes; those of numbers start with `#`.
pub const HEADS: &str =
    "workload | #offered/s | #connections | #load threads | #operations/s | #operations/s and core | #ns of CPU each";

/// Runs every point of the study once against the simulated driver; returns a table. Nothing is written.
///
/// # Errors
/// A workload that reads values, which the simulated driver does not have; a failed trial.
pub fn run(inputs: &Inputs, progress: &mut dyn Progress, stop: &StopToken) -> Result<Vec<Vec<String>>, LabError> {
    let mut out = Vec::new();
    for (workload, plan) in inputs.study.workloads.iter().zip(&inputs.plans) {
        for (connections, rate_per_s) in inputs.study.sweep_of(&workload.name).points() {
            let (contender, workload_name) = ("sim".to_owned(), workload.name.clone());
            let key = TrialKey { contender, workload: workload_name, connections, rate_per_s, deployment: None, trial: 1 };
            progress.passing(&format!("{}: {connections} connections", workload.name));
            if plan.needs_values() {
                return Err(needs_values(&workload.name, inputs.registry));
            }
            let outcome = (inputs.registry.simulate)(plan, &trial::spec(&inputs.study, &key), stop)?;
            let offered = if inputs.study.sweep.is_open() {
                rate_per_s.map_or("phases".to_owned(), |r| thousands(r.into()))
            } else {
                "all".to_owned()
            };
            out.push(row(&workload.name, offered, connections, &outcome));
        }
    }
    Ok(out)
}

/// One trial against a database that answers at once. Each statement goes through the event loop once, as a real one.
pub(crate) fn simulate<Known: Databases, List: Benchmarks>(
    plan: &Plan,
    spec: &TrialSpec,
    stop: &StopToken,
) -> Result<TrialOutcome, LabError> {
    List::with_benchmark(plan, Simulation::<Known> { spec, stop, known: PhantomData }).ok_or_else(|| registry::unknown(plan))?
}

struct Simulation<'a, Known> {
    spec: &'a TrialSpec,
    stop: &'a StopToken,
    known: PhantomData<Known>,
}

impl<Known: Databases> BenchmarkAction for Simulation<'_, Known> {
    type Output = Result<TrialOutcome, LabError>;

    fn run<B: Benchmark>(self, options: &B) -> Self::Output {
        // The simulated driver takes the words of any.
        let Some(dialect) = Known::dialects().into_iter().find(|d| d.lacks(Feature::Sql).is_none()) else {
            return Err(LabError::usage("no database with SQL is registered", ""));
        };
        let driver = Arc::new(SimDriver { service: Duration::ZERO, ..SimDriver::default() });
        let workload = Arc::new(options.workload(dialect, Seed(0)));
        run_trial(self.spec, &driver, &workload, self.stop, &mut Unobserved)
            .map_err(|e| LabError::trial("the simulated driver", &e))
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
