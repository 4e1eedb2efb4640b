//! A study: the question, the contenders, the workloads, the sweep, the price basis and the decision rule.
//!
//! [`Study::read`] turns a TOML file into a checked [`Study`] or into all of its problems. What only other crates can
//! judge (a workload's parameters, a target's address, an instance's price) keeps its line, so that the caller can
//! report it with the same precision.

mod attached;
mod audit;
mod build;
mod changes;
mod client;
mod contender;
mod costs;
mod decision;
mod deploy;
mod factor;
mod prometheus;
mod published;
mod read;
mod results_csv;
mod server;
mod sweep;
mod told;
mod transactions;
mod tuning;
mod windows;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::attached::{
    Attached, LogNamed, contenders_of, files_named, logs_named, scripts_named, targets_given, without_target,
};
pub use self::build::DeclaredBuild;
pub use self::client::{ClientSpec, Stands, WIDE_AREA_NS};
pub use self::contender::Contender;
pub use self::prometheus::PrometheusSpec;
pub use self::server::{ConfigFile, ServerSpec, is_variable_name};
pub use self::sweep::{NO_LIMIT_NS, Prewarm, Profiled, Reset, Sweep};
pub use self::transactions::TransactionChoice;
pub use self::tuning::{Tuning, no_setting};
pub use self::windows::{Auto, FoundWindow, with_windows, with_windows_of};
pub use crate::bill::Rounding;
use crate::metric::Metric;
pub use crate::toml_reader::{Located, Scalar};
use crate::units::{MicroUsd, Seed};
use crate::workload_kind::WorkloadKind;
pub use costs::{Discount, Fee, FeeTerms, Payment, Scenario, SnapshotRule, Traffic, TrafficAmount};
pub use decision::{Budget, Decision, Slo, StoppingRule, Until};
pub use deploy::{ADMIN, CLIENT, DeploySpec, Provider};
pub use factor::{Factor, FactorLevel, base_of};
pub use published::{AuditSpec, Claim, PrintedNumber, Published, ResultRow, Rule, is_date};
pub use results_csv::CsvRow;
pub use told::{Counts, Measure, PointsClaim, Quantifier, Said, Sample, Told};

/// The schema number that this version reads.
pub const STUDY_SCHEMA: i64 = 1;

/// A checked study.
#[derive(Debug, Clone)]
pub struct Study {
    /// Path-safe name; also the folder of its results.
    pub name: String,
    /// The question in the reader's words.
    pub question: String,
    /// Index into `contenders`: the one that others are compared with.
    pub baseline: usize,
    /// Every random stream of the study comes from it.
    pub seed: Seed,
    /// Whether its trials may run on other machines than it declares.
    pub notional: bool,
    /// Whether its trials were read from the logs of other programs. Its sweep is then what the logs hold.
    pub imported: bool,
    /// How a contender becomes money.
    pub price: PriceBasis,
    /// Where the client stands.
    pub client: ClientSpec,
    /// The systems under test, at least one.
    pub contenders: Vec<Contender>,
    /// The workloads, at least one; with factors those of every combination of levels.
    pub workloads: Vec<WorkloadSpec>,
    /// What is varied beside them.
    pub factors: Vec<Factor>,
    /// Which points are measured and how long.
    pub sweep: Sweep,
    /// How the points of a workload become one number.
    pub summary: Summary,
    /// When a difference counts.
    pub decision: Decision,
    /// Published results that stand in place of trials.
    pub published: Option<Published>,
    /// Published results that the study repeats: what it measures stands beside them.
    pub beside: Option<Published>,
    /// Printed numbers and claims to be audited.
    pub audit: AuditSpec,
}

/// How a contender becomes money.
#[derive(Debug, Clone)]
pub struct PriceBasis {
    /// Name of a price snapshot; `None` prices nothing.
    pub snapshot: Option<Located<String>>,
    /// Regions to price in; the first is the headline.
    pub regions: Vec<Located<String>>,
    /// Hours that a month is billed.
    pub hours_per_month: u32,
    /// Months of the total system cost.
    pub horizon_months: u32,
    /// How snapshots of volumes are billed.
    pub volume_snapshots: SnapshotRule,
    /// When money is rounded.
    pub round: Rounding,
    /// A remark printed with every bill.
    pub note: String,
    /// Other ways to pay, priced beside the one of the study.
    pub scenarios: Vec<Scenario>,
}

/// Machines of one role.
#[derive(Debug, Clone)]
pub struct Node {
    /// tidb, tikv, pd, mysql, bench, …
    pub role: String,
    /// Instance type, as the snapshot spells it.
    pub instance: String,
    /// What the price list says of that type; `None` before it was asked, and of a type that it does not have.
    pub machine: Option<Machine>,
    /// How many of them.
    pub count: u32,
    /// Over how many zones they are spread; `None` where the study does not say.
    pub zones: Option<u32>,
    /// The zone of all of them, where the study names it.
    pub zone: Option<String>,
    /// False for machines that are shown but not billed (the load client).
    pub priced: bool,
    /// How they are paid.
    pub payment: Payment,
    /// The volumes on each of them.
    pub volumes: Vec<Volume>,
    /// The volume that each of them boots from; `None` where the study does not say.
    pub root_volume: Option<Volume>,
    /// Line in the study.
    pub line: usize,
}

/// A machine type as a price list describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Machine {
    /// `aarch64` or `x86_64`.
    pub arch: String,
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Virtual CPUs on one physical core; `None` where that is not known.
    pub vcpus_per_core: Option<u32>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// What its network and its volumes can carry.
    pub rates: Rates,
}

/// What a machine may send and store; each value only where it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rates {
    /// Network, Mbit/s in each direction.
    pub network_mbit_s: Rate,
    /// All its volumes together, Mbit/s.
    pub volume_mbit_s: Rate,
    /// All its volumes together, operations per second.
    pub volume_iops: Rate,
}

/// A rate that holds for ever, and one that holds while credit lasts. A benchmark of minutes can lie inside the credit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rate {
    /// What holds for as long as one likes.
    pub baseline: Option<u32>,
    /// What holds for a while; `None` where it is not known or no higher.
    pub burst: Option<u32>,
}

/// What a volume has without paying more than for its size, as a price list describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Included {
    /// The unit of its size: `GB` or `GiB`.
    pub unit: String,
    /// Operations per second; `None` where the list does not say.
    pub iops: Option<u32>,
    /// Throughput in MiB/s.
    pub mib_s: Rate,
}

/// A block volume.
#[derive(Debug, Clone)]
pub struct Volume {
    /// gp2, gp3, pd-ssd, …
    pub kind: String,
    /// Size in GB as billed.
    pub size_gb: u32,
    /// What the price list says of its kind in that size; `None` before it was asked, and of a kind that it does not have.
    pub included: Option<Included>,
    /// Provisioned operations per second; `None` is what the size includes.
    pub iops: Option<u32>,
    /// Provisioned throughput in MiB/s; `None` is what the size includes.
    pub throughput_mib_s: Option<u32>,
    /// The study's own price of each for a month, with everything but snapshots; `None` is that of the price list.
    pub usd_per_month: Option<MicroUsd>,
    /// How many of them each machine has.
    pub count: u32,
    /// Whether daily snapshots are kept.
    pub daily_snapshots: bool,
    /// GB that change in a day, for the rule of snapshots that counts them.
    pub daily_change_gb: u32,
    /// Line in the study.
    pub line: usize,
}

/// A workload as a study declares it.
#[derive(Debug, Clone)]
pub struct WorkloadSpec {
    /// Path-safe name; at levels of factors `name@level,level`.
    pub name: String,
    /// Its level of each factor, as a position among those.
    pub at: Vec<usize>,
    /// sysbench, tpcc, …
    pub kind: Located<String>,
    /// What is known of that kind; `None` of one that this program does not have.
    pub known: Option<&'static WorkloadKind>,
    /// The database (or SQLite file suffix) that holds its tables; `None` is the one of the target.
    pub database: Option<String>,
    /// What happens to the data between trials; `None` is the workload's own default.
    pub reset: Option<Reset>,
    /// The number that is compared; `None` is the workload's own.
    pub metric: Option<Metric>,
    /// How its points become one number; `None` is the rule of the study.
    pub summary: Option<Summary>,
    /// The sweep of the study with what this workload has of its own; `None` where that is nothing.
    pub sweep: Option<Sweep>,
    /// Its weight in the geometric mean over all workloads; above 0.
    pub weight: f64,
    /// Everything else of its table.
    pub parameters: BTreeMap<String, Located<Scalar>>,
    /// Line of its header.
    pub line: usize,
}

/// How the points of a workload become one number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Summary {
    /// The arithmetic mean over these connection counts (or rates, in open loop).
    MeanOver(Vec<u32>),
    /// The highest mean over all points.
    Peak,
}

impl Study {
    /// The rule in force for a workload.
    pub fn rule_of(&self, workload: &str) -> StoppingRule {
        let Decision { confidence, margin, until, .. } = &self.decision;
        let (trials, deployments) = (self.sweep_of(workload).trials, self.sweep.deployments);
        let least = until.as_ref().map(|until| until.least.min(trials));
        StoppingRule { confidence: *confidence, margin: *margin, trials, deployments, least }
    }

    /// The contender that others are compared with.
    pub fn baseline(&self) -> &Contender {
        &self.contenders[self.baseline]
    }

    /// The contender of that name.
    pub fn contender(&self, name: &str) -> Option<&Contender> {
        self.contenders.iter().find(|c| c.name == name)
    }

    /// Position of the contender of that name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.contenders.iter().position(|c| c.name == name)
    }

    /// The sweep of a workload.
    pub fn sweep_of(&self, workload: &str) -> &Sweep {
        self.workload(workload).and_then(|w| w.sweep.as_ref()).unwrap_or(&self.sweep)
    }

    /// The most connections at the same time in any trial, with those beside the load.
    pub fn most_connections(&self) -> u32 {
        let most = |w: &WorkloadSpec| Some(self.sweep_of(&w.name).connections.iter().max()?.saturating_add(w.beside()));
        self.workloads.iter().filter_map(most).max().unwrap_or(0)
    }

    /// The workload of that name.
    pub fn workload(&self, name: &str) -> Option<&WorkloadSpec> {
        self.workloads.iter().find(|w| w.name == name)
    }

    /// The study that the reader makes of a text with these contenders (name and target) and this workload (name, kind and
    /// parameters), where nothing else differs from its default; lines are 0.
    pub fn collected<'c>(
        (name, question): (&str, &str),
        contenders: impl IntoIterator<Item = (&'c str, &'c str)>,
        (workload, kind): (&str, &'static WorkloadKind),
        parameters: &BTreeMap<String, Scalar>,
        sweep: Sweep,
    ) -> Self {
        let located = |value: &str| Located { value: value.to_owned(), line: 0 };
        let contender = |(name, target): (&str, &str)| Contender {
            name: name.to_owned(),
            label: name.to_owned(),
            target: Some(located(target)),
            ..Contender::default()
        };
        let workload = WorkloadSpec {
            name: workload.to_owned(),
            at: Vec::new(),
            kind: located(kind.name),
            known: Some(kind),
            database: None,
            reset: None,
            metric: None,
            summary: None,
            sweep: None,
            weight: 1.0,
            parameters: parameters.iter().map(|(key, value)| (key.clone(), Located { value: value.clone(), line: 0 })).collect(),
            line: 0,
        };
        Self {
            name: name.to_owned(),
            question: question.to_owned(),
            baseline: 0,
            notional: false,
            imported: false,
            seed: Seed(read::DEFAULT_SEED as u64),
            price: PriceBasis::default(),
            client: ClientSpec::default(),
            contenders: contenders.into_iter().map(contender).collect(),
            workloads: vec![workload],
            factors: Vec::new(),
            sweep,
            summary: Summary::Peak,
            decision: Decision::default(),
            published: None,
            beside: None,
            audit: AuditSpec::default(),
        }
    }
}
