//! Why a point has the throughput that it has: where its processor time went, and what bound it.
//!
//! Throughput = processors × utilisation ÷ processor time of a unit of work. All of it is from sums over the trials of a point, so the
//! parts of two points multiply to their ratio without a remainder.

mod bounds;
mod profile;
mod sampled;
mod server;
mod stores;

pub use profile::{PointProfile, ProfileOf, SymbolDifference, SymbolShare};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::result::{PointResult, WorkloadResult};
use crate::metric::{Better, Counted, Metric};
use crate::run_record::RunRecord;
use crate::units::total;

/// Where the processor time of a point went, and what bound its throughput.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// The server; `None` where its processor time is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ProcessorUse>,
    /// perbuck, with an embedded database in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ProcessorUse>,
    /// What bound the throughput by what was seen, in words; empty where nothing was seen that did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bound>,
    /// What the servers did for a unit of what is compared, by their own counters; empty where they do not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<ServerWorkEach>,
    /// Where processor time went, function by function; empty where the study does not ask for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<PointProfile>,
}

/// Something that servers did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerWorkEach {
    /// What it is: `pages read`.
    pub what: String,
    /// How many for a unit of what is compared.
    pub count: f64,
}

/// The processors of a machine, and what one of its programs did with them in the measured windows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorUse {
    /// Processors of the machine.
    pub processors: u32,
    /// The share of all their time that the program had, 0 to 1.
    pub utilisation: f64,
    /// Processor time for a unit of what is compared, nanoseconds.
    pub each_ns: f64,
}

/// Something that bound the throughput of a point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// What it is.
    pub by: BoundBy,
    /// What was seen, with its numbers.
    pub text: String,
}

/// What can bind throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BoundBy {
    /// Some processors are full of interrupts while others are not.
    Interrupts,
    /// One processor is full while others are not.
    OneProcessor,
    /// All processors are full.
    Processors,
    /// A disk is full, or waited for.
    Disk,
    /// Memory is short.
    Memory,
    /// Packets are dropped or sent again.
    Network,
    /// Row locks are waited for.
    Locks,
    /// One store has most of the work while the others idle.
    Unbalanced,
    /// The client could not send more.
    Client,
    /// Processor time was limited, or another guest of the host had it.
    Throttled,
    /// The service was away.
    Pause,
}

/// Why one contender has more than another: factors that multiply to the ratio of their throughputs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decomposition {
    /// The point of the contender with most throughput.
    pub level: u32,
    /// The same of what it is compared with.
    pub base_level: u32,
    /// The throughput of all trials of that point over the other's.
    pub ratio: f64,
    /// As many times the processors of the server's machine.
    pub processors: f64,
    /// As many times the share of their time.
    pub utilisation: f64,
    /// As many times the server's processor time for a unit of work: less than 1 makes the ratio larger.
    pub each: f64,
}

/// What the trials of a point say; `None` where none of it is told.
pub(super) fn explained(trials: &[&RunRecord], metric: &Metric) -> Option<Explained> {
    let counted = total(trials.iter().map(|r| r.counted(metric)));
    let window = total(trials.iter().map(|r| r.measured.window_ns));
    // The parts of a rate multiply to it; those of a geometric mean of two tests do not.
    let is_rate = !matches!(metric.of, Counted::Published | Counted::Composite(_));
    if counted == 0 || window == 0 || metric.better == Better::Lower || !is_rate {
        return None;
    }
    let used = |cpu: u64, processors: u32| ProcessorUse {
        processors,
        utilisation: cpu as f64 / (window as f64 * f64::from(processors)),
        each_ns: cpu as f64 / counted as f64,
    };
    let server = trials.iter().map(|r| r.target.server_cpu_ns).collect::<Option<Vec<_>>>().map(total);
    let client = total(trials.iter().flat_map(|r| [r.health.client_user_ns, r.health.client_system_ns]));
    let local = trials.iter().all(|r| r.agents.is_empty());
    let mut found = Explained {
        server: server.zip(same(trials, server_processors)).map(|(cpu, n)| used(cpu, n)),
        client: Some(client).filter(|cpu| local && *cpu > 0).zip(same(trials, client_processors)).map(|(cpu, n)| used(cpu, n)),
        bounds: Vec::new(),
        each: server::Metered::of(trials).map(|m| m.each(counted)).unwrap_or_default(),
        profiles: Vec::new(),
    };
    found.profiles = profile::profiles(trials, &found);
    found.bounds = bounds::bounds(trials, &found);
    (found != Explained::default()).then_some(found)
}

/// What all trials say alike.
fn same(trials: &[&RunRecord], of: fn(&RunRecord) -> Option<u32>) -> Option<u32> {
    let first = of(trials.first()?)?;
    trials.iter().all(|r| of(r) == Some(first)).then_some(first).filter(|n| *n > 0)
}

/// The processors of the only machine of a server.
fn server_processors(r: &RunRecord) -> Option<u32> {
    let mut told = r.target.observed.iter().filter(|o| o.role.is_none()).filter_map(|o| o.vcpus);
    let first = told.next();
    let of_client = || r.host.shared_with_server.then(|| client_processors(r)).flatten();
    first.filter(|n| told.all(|other| other == *n)).or_else(of_client)
}

fn client_processors(r: &RunRecord) -> Option<u32> {
    let sampled = r.health.samples.as_ref().and_then(|s| u32::try_from(s.processors.len()).ok()).filter(|n| *n > 0);
    sampled.or(Some(r.host.cpus).filter(|n| *n > 0))
}

/// Fills in why contenders differ from what they are compared with, each at its point with most throughput.
pub(super) fn fill(result: &mut WorkloadResult, baseline: &str) {
    let why = |contender: &str, to: &str| -> Option<Decomposition> {
        let (own, base) = (result.best_of(contender)?, result.best_of(to)?);
        let server = |p: &PointResult| p.explained.as_ref()?.server;
        let (a, b) = (server(own)?, server(base)?);
        let processors = f64::from(a.processors) / f64::from(b.processors);
        let (utilisation, each) = (a.utilisation / b.utilisation, a.each_ns / b.each_ns);
        let ratio = processors * utilisation / each;
        ratio.is_finite().then_some(Decomposition {
            level: own.level,
            base_level: base.level,
            ratio,
            processors,
            utilisation,
            each,
        })
    };
    let all: Vec<Option<Decomposition>> = result
        .contenders
        .iter()
        .map(|c| {
            let to = c.control_of.as_deref().unwrap_or(baseline);
            if c.contender == to { None } else { why(&c.contender, to) }
        })
        .collect();
    for (contender, why) in result.contenders.iter_mut().zip(all) {
        contender.why = why;
    }
}
