//! What a record holds of the server of a trial.

use std::collections::BTreeMap;

use perbuck_core::run_record::{Deployed, Distance, Profile, ServerMachine, TargetRecord, TunedSetting};
use perbuck_load::driver::{ServerWork, TargetFacts};

use super::{Context, Task};
use crate::distance;
use crate::error::LabError;

use crate::sampler::Sampler;
use crate::stage::Stage;
use crate::watched;

/// What is known of the servers of a trial before it.
pub(super) struct Before {
    distance: Option<Distance>,
    pub(super) deployed: Option<Deployed>,
    pub(super) counters: BTreeMap<String, i64>,
    pub(super) work: ServerWork,
    /// Statements that ran as text so far.
    pub(super) as_text: u64,
}

impl Before {
    pub(super) fn read(context: &Context<'_>, task: &Task<'_>) -> Result<Self, LabError> {
        let (distance, deployed) = (distance_of(context, task)?, deployed(context, task)?);
        let server = &task.stage.server;
        Ok(Self { distance, deployed, counters: server.counters()?, work: server.work()?, as_text: server.text_fallbacks() })
    }
}

/// How far the servers are from this process, where it applies the load.
fn distance_of(context: &Context<'_>, task: &Task<'_>) -> Result<Option<Distance>, LabError> {
    if context.fleet.is_none() { distance::measured(task.stage) } else { Ok(None) }
}

/// What runs on the cluster of the trial's contender; `None` where perbuck deployed none.
fn deployed(context: &Context<'_>, task: &Task<'_>) -> Result<Option<Deployed>, LabError> {
    context.deployment.map_or(Ok(None), |of| of.look(&task.key.contender))
}

/// What was seen of the server's processes and machine in the window.
pub(super) struct ServerSide {
    cpu_ns: Option<u64>,
    throttled: Option<f64>,
    machines: Vec<ServerMachine>,
    tuned: Vec<TunedSetting>,
    profile: Option<Profile>,
}

impl ServerSide {
    pub(super) fn of(stage: &Stage, sampler: &mut Sampler<'_>, tuned: Vec<TunedSetting>) -> Self {
        let samples = sampler.server_samples.take();
        let own = stage.server_machine.clone().map(|machine| ServerMachine { samples, ..machine });
        let watched = stage.prometheus.as_ref().zip(sampler.window).map(|(spec, window)| watched::in_window(spec, window));
        let machines = own.into_iter().chain(watched.into_iter().flatten()).collect();
        Self {
            cpu_ns: sampler.server_ns,
            throttled: sampler.server_throttled,
            machines,
            tuned,
            profile: sampler.server_profile.take(),
        }
    }
}

pub(super) fn target_record(
    stage: &Stage,
    facts: &TargetFacts,
    server_counters: BTreeMap<String, i64>,
    (before, side): (Before, ServerSide),
) -> TargetRecord {
    TargetRecord {
        address: stage.address.clone(),
        driver: stage.driver.to_owned(),
        version: facts.version.clone(),
        variables: facts.variables.clone(),
        server_counters,
        server_cpu_ns: side.cpu_ns,
        server_throttled: side.throttled,
        tuned: side.tuned,
        profile: side.profile,
        machines: side.machines,
        page_memory_bytes: facts.page_memory_bytes,
        distance: before.distance,
        deployed: before.deployed,
        ..TargetRecord::default()
    }
}
