//! Everything about one trial, written once: what was asked, what ran, on what, and what was seen.
//!
//! Counters are exact; rates are never stored, only computed from counters and measured time, so that a record cannot
//! contradict itself. No type here can hold a credential.

mod agent;
mod audit;
mod build;
mod deployed;
mod flag;
mod imported;
mod machine;
mod measured;
mod metrics;
mod observed;
mod plans;
mod processors;
mod profile;
mod series;
mod storage;
mod tuned;
mod value;
mod void;
mod work;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arrivals::Arrivals;
use crate::histogram::Histogram;
use crate::load_model::Phase;
use crate::metric::RecordedMetric;
use crate::plan::TrialKey;
use crate::study::StoppingRule;
use crate::units::Seed;
pub use agent::{AgentRecord, Distance, STARTS_TOGETHER_NS, starts_apart_ns};
pub use audit::{AuditValue, Judgement};
pub use build::Build;
pub use deployed::{Deployed, DeployedNode, DeployedPod, DeployedVolume};
pub use flag::Flag;
pub use imported::Imported;
pub use machine::{
    CacheFacts, CgroupFacts, CpuFacts, DiskFacts, FactGroup, KernelFacts, LimitFacts, MachineFacts, MemoryFacts, NetworkFacts,
    NumaNode, PlatformFacts,
};
pub use measured::{
    ErrorRecord, Gap, Health, HistogramRecord, Interval, Measured, NetworkRecord, OpenLoop, PhaseRecord, StatementCounts,
    TransactionRecord, WindowEdges, WorkerHealth,
};
pub use metrics::{CounterSeries, SERIES_SCHEMA, ServerMetrics, ServerSeries, micro};
pub(crate) use observed::machine_text;
pub use observed::{Observed, arch};
pub use plans::{PLANS_SCHEMA, PlanFile, PlanShape, PlanText, Plans};
pub use processors::{MachineSamples, Percents, ProcessorTime, SERVERS, ServerMachine};
pub use profile::{MOST_SYMBOLS, Profile, SymbolSamples};
pub use series::{Series, Values};
pub use storage::{Cooled, DataSize, Prewarmed, Restarted};
pub use tuned::TunedSetting;
pub use void::{Void, VoidReason};
pub use work::ServerWork;

/// The schema number of the records that this version writes. It reads those of schema 1 too, whose metrics are words.
pub const RECORD_SCHEMA: u32 = 2;

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// [`RECORD_SCHEMA`], or the older one that it was written in.
    pub schema: u32,
    /// Version of perbuck that wrote it.
    pub perbuck: String,
    /// Name of the study.
    pub study: String,
    /// Fingerprint of everything in the study that decides what is measured.
    pub study_fingerprint: String,
    /// Which trial.
    pub key: TrialKey,
    /// Position in the order of execution, from 0.
    pub position: u32,
    /// The study's seed.
    pub seed: Seed,
    /// The seed of this trial's operations, derived from the study's.
    pub trial_seed: Seed,
    /// When it started, milliseconds since 1970 UTC.
    pub started_unix_ms: u64,
    /// The same by a clock that no program can set; absent where the system has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_boot: Option<BootTime>,
    /// How load was applied.
    pub load: LoadRecord,
    /// What was run.
    pub workload: WorkloadRecord,
    /// What it was run on.
    pub target: TargetRecord,
    /// The machine that ran perbuck.
    pub host: HostRecord,
    /// The processes that applied the load; empty where it was the one that wrote this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentRecord>,
    /// The measured window.
    pub measured: Measured,
    /// Statements from the first connection to the last, warm-up and drain included: what the server counted.
    pub statements_whole_run: StatementCounts,
    /// Errors of the whole run by code, such as `mysql 1213`.
    pub errors: BTreeMap<String, ErrorRecord>,
    /// One entry a second, warm-up included.
    pub intervals: Vec<Interval>,
    /// What an auditor looks at, where the workload has a specification that says so (TPC-C).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audit: Vec<AuditValue>,
    /// The client's own state.
    pub health: Health,
    /// Remarks that a reader of the result must see.
    pub flags: Vec<Flag>,
    /// The rule for verdicts that was in force; absent in trials of older versions, and of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<StoppingRule>,
    /// The log that it was read from; absent in a trial that perbuck measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// That it counts for nothing and was set aside; absent in a trial that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<Void>,
}

/// A time by the clock that counts from the start of the client's machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BootTime {
    /// Tells one start of a machine from another.
    pub boot: String,
    /// Milliseconds since then.
    pub ms: u64,
}

/// How load was applied.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadRecord {
    /// `closed`: each connection sends its next transaction when the last one ended. `open`: transactions are due by a
    /// schedule, and a free connection takes the next one. `streams`: each connection has a last transaction.
    pub model: String,
    /// Connections; in open loop the most transactions in flight.
    pub connections: u32,
    /// Transactions offered per second (open loop with one rate).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<u32>,
    /// How the intended starts lie in time (open loop).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// The phases of the measured window, where it has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// Threads that owned them.
    pub workers: u32,
    /// Warm-up as asked, nanoseconds.
    pub warmup_ns: u64,
    /// Measured window as asked, nanoseconds.
    pub duration_ns: u64,
    /// From which pilot trials warm-up or window come; absent where the study says both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pilots: Option<String>,
    /// Idle time before the trial as asked, nanoseconds.
    #[serde(default, skip_serializing_if = "measured::is_zero")]
    pub cooldown_ns: u64,
    /// Attempts per transaction, at most.
    pub max_attempts: u32,
}

/// What was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadRecord {
    /// sysbench, tpcc, …
    pub kind: String,
    /// Every parameter with its effective value.
    pub parameters: BTreeMap<String, String>,
    /// Fingerprint of the data (workload, parameters, seed, version), as stored in the target.
    pub data_fingerprint: String,
    /// What happened to the data before this trial: `kept` or `reloaded`.
    pub data: String,
    /// Rows per table before the trial.
    pub rows_before: BTreeMap<String, u64>,
    /// Rows per table after the trial.
    pub rows_after: BTreeMap<String, u64>,
    /// What the data took before the trial; absent where the servers do not tell, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_size: Option<DataSize>,
    /// How its data were read into the servers' memory; absent where the study does not ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prewarm: Option<Prewarmed>,
    /// How its caches were made cold before this trial; absent where the study does not ask for it, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<Cooled>,
    /// The value that is compared.
    pub metric: RecordedMetric,
}

/// What it was run on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetRecord {
    /// The address without any credential.
    pub address: String,
    /// mysql, sqlite, …
    pub driver: String,
    /// Version string of the server.
    pub version: String,
    /// Settings of the server that bear on performance, by name.
    pub variables: BTreeMap<String, String>,
    /// Differences of the server's own counters over the run (for instance `Com_select`); empty where it has none.
    pub server_counters: BTreeMap<String, i64>,
    /// What its servers executed over the run, for perbuck and for other clients; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<ServerWork>,
    /// CPU time of a server on this machine during the measured window; `None` where it cannot be told.
    pub server_cpu_ns: Option<u64>,
    /// The share of the periods of its CPU limit (`cpu.max`) in which the server was stopped in the measured window, 0 to 1, by the limit
    /// that did it most; absent where it has none or that cannot be told, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_throttled: Option<f64>,
    /// The machines of the servers, where perbuck has a process on them that is not the client, or a Prometheus that is asked watches
    /// them; empty in records of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<ServerMachine>,
    /// What perbuck set on that machine for the trial, as the study asks; empty where it asks for nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tuned: Vec<TunedSetting>,
    /// Memory in which its servers keep pages or blocks of the data; absent where they do not tell, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_memory_bytes: Option<u64>,
    /// What is known of the machine that it ran on, by source; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<Observed>,
    /// Where the server's program comes from; absent where nothing of it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// How far it is from the client. Absent where agents applied the load, which have their own, where the server is within the client or
    /// has no SQL, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<Distance>,
    /// What ran on its Kubernetes cluster before the trial; absent where perbuck deployed none, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployed: Option<Deployed>,
    /// What its servers counted of themselves in the measured window; absent where they have no such metrics, and in records of older
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<ServerMetrics>,
    /// The plans that it chose for the queries of the workload; absent unless they were asked for, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plans: Option<Plans>,
    /// Where the processes of its server spent their processor time before the window, where the study asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
}

/// The machine that ran perbuck.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostRecord {
    /// Architecture that the program was built for (`x86_64`, `aarch64`).
    pub arch: String,
    /// The emulator under which it ran, if any (`qemu-user`).
    pub emulator: Option<String>,
    /// Operating system and kernel.
    pub os: String,
    /// Processor model as the system names it.
    pub cpu_model: String,
    /// Processors that the program may use.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Whether the server shares this machine (embedded, or reached by loopback or socket).
    pub shared_with_server: bool,
    /// What else its system tells of the machine; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Box<MachineFacts>>,
}

impl LoadRecord {
    /// The model of a trial whose connections are streams.
    pub const STREAMS: &str = "streams";

    /// Whether each connection had a last transaction, and the trial no length of its own.
    pub fn is_of_streams(&self) -> bool {
        self.model == Self::STREAMS
    }
}

impl RunRecord {
    /// The machines that applied the load: that of perbuck, or those of its agents. A coordinator plays no part in what is measured.
    pub fn clients(&self) -> Vec<&HostRecord> {
        if self.agents.is_empty() { vec![&self.host] } else { self.agents.iter().map(|agent| &agent.host).collect() }
    }

    /// How far the client was from the server, or the agent that was furthest from it.
    pub fn distance(&self) -> Option<Distance> {
        let of_agents = self.agents.iter().filter_map(|agent| agent.server_distance);
        of_agents.chain(self.target.distance).max_by_key(|distance| distance.statement_ns)
    }

    /// The merged service-time histogram of all kinds.
    ///
    /// # Errors
    /// Says which histogram cannot be decoded.
    pub fn service(&self) -> Result<Histogram, String> {
        self.added(Histogram::new(), |t| &t.service)
    }

    /// Whether it has the times of its transactions; the log of an imported trial may have none.
    pub fn has_latency(&self) -> bool {
        self.measured.transactions.values().any(|t| !t.service.is_empty())
    }

    /// A histogram and those of all kinds.
    fn added(&self, mut all: Histogram, of: impl Fn(&TransactionRecord) -> &HistogramRecord) -> Result<Histogram, String> {
        for (kind, t) in &self.measured.transactions {
            of(t).add_to(&mut all).map_err(|e| format!("{kind}: {e}"))?;
        }
        Ok(all)
    }

    /// The latency that stands for the trial: service time in closed loop. In open loop response time, with those that
    /// had not ended when the window closed counted by their age, which is less than what they took in the end.
    ///
    /// # Errors
    /// As [`Self::service`].
    pub fn latency(&self) -> Result<Histogram, String> {
        self.added(self.unfinished()?, |t| self.times(t))
    }

    /// The same by kind, without [`Self::unfinished`], of which no kind is known.
    ///
    /// # Errors
    /// As [`Self::service`].
    pub fn latency_by_kind(&self) -> Result<Vec<(&str, Histogram)>, String> {
        let mut kinds = Vec::new();
        for (kind, t) in &self.measured.transactions {
            kinds.push((kind.as_str(), self.times(t).to_histogram().map_err(|e| format!("{kind}: {e}"))?));
        }
        Ok(kinds)
    }

    fn times<'t>(&self, t: &'t TransactionRecord) -> &'t HistogramRecord {
        if self.measured.open_loop.is_some() { &t.response } else { &t.service }
    }

    /// How long those that were due and not ended when the window of an open loop closed had been due; empty in closed loop.
    ///
    /// # Errors
    /// As [`Self::service`].
    pub fn unfinished(&self) -> Result<Histogram, String> {
        let Some(open) = &self.measured.open_loop else { return Ok(Histogram::new()) };
        open.unfinished.to_histogram().map_err(|e| format!("unfinished: {e}"))
    }

    /// Reads a record.
    ///
    /// # Errors
    /// Says why the text is no record of this schema, with the place in the text.
    pub fn from_json(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Numbered {
            schema: u32,
        }
        let read = serde_json::from_str::<Self>(text);
        // Only of what cannot be used is it asked whether another perbuck wrote it: reading twice takes twice as long.
        let known = |schema| (1..=RECORD_SCHEMA).contains(&schema);
        if !read.as_ref().is_ok_and(|record| known(record.schema)) {
            let numbered: Numbered = serde_json::from_str(text).map_err(|e| format!("is no run record: {e}"))?;
            if !known(numbered.schema) {
                return Err(format!("has schema {}, and this perbuck reads schema 1 to {RECORD_SCHEMA}", numbered.schema));
            }
        }
        read.map_err(|e| format!("is no run record: {e}"))
    }

    /// Writes it, pretty-printed with a final newline; the same record gives the same bytes.
    ///
    /// # Errors
    /// When a number is not finite, which JSON cannot hold.
    pub fn to_json(&self) -> Result<String, String> {
        serde_json::to_string_pretty(self).map(|s| s + "\n").map_err(|e| e.to_string())
    }
}
