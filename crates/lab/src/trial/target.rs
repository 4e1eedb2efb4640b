//! What a record holds of the server of a trial.

use std::collections::BTreeMap;

use perbuck_core::run_record::{ServerMachine, TargetRecord, TunedSetting};
use perbuck_load::driver::TargetFacts;

use crate::sampler::Sampler;
use crate::stage::Stage;
use crate::watched;

/// What was seen of the server's processes and machine in the window.
pub(super) struct ServerSide {
    cpu_ns: Option<u64>,
    throttled: Option<f64>,
    machines: Vec<ServerMachine>,
    tuned: Vec<TunedSetting>,
}

impl ServerSide {
    pub(super) fn of(stage: &Stage, sampler: &mut Sampler<'_>, tuned: Vec<TunedSetting>) -> Self {
        let samples = sampler.server_samples.take();
        let own = stage.server_machine.clone().map(|machine| ServerMachine { samples, ..machine });
        let watched = stage.prometheus.as_ref().zip(sampler.window).map(|(spec, window)| watched::in_window(spec, window));
        let machines = own.into_iter().chain(watched.into_iter().flatten()).collect();
        Self { cpu_ns: sampler.server_ns, throttled: sampler.server_throttled, machines, tuned }
    }
}

pub(super) fn target_record(
    stage: &Stage,
    facts: &TargetFacts,
    server_counters: BTreeMap<String, i64>,
    side: ServerSide,
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
        machines: side.machines,
        page_memory_bytes: facts.page_memory_bytes,
        ..TargetRecord::default()
    }
}
