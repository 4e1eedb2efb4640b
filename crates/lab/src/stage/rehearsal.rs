//! A stage without a server: the driver is the simulated one.

use std::marker::PhantomData;
use std::time::Duration;

use perbuck_core::study::{Contender, Study, WorkloadSpec};
use perbuck_database::Target;
use perbuck_database::registry::DriverAction;
use perbuck_database::secret::Secret;
use perbuck_load::sim::SimDriver;
use perbuck_load::stop::StopToken;
use perbuck_workloads::{Benchmarks, Plan};

use super::{Join, Stage, WithDriver, data_seed};
use crate::error::LabError;
use crate::registry;

/// A stage with a database that answers at once and holds nothing.
pub(crate) fn rehearsal<List: Benchmarks>(
    study: &Study,
    contender: &Contender,
    spec: &WorkloadSpec,
    plan: &Plan,
    (target, _): (&dyn Target, &Secret),
    stop: &StopToken,
) -> Result<Stage, LabError> {
    let join = Join { contender, spec, seed: data_seed(study, spec), target, stop };
    let driver = SimDriver { service: Duration::ZERO, ..SimDriver::default() };
    WithDriver { join, plan, list: PhantomData::<List> }.with_driver(driver).ok_or_else(|| registry::unknown(plan))
}
