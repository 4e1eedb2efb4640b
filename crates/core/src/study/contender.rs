//! A contender: what is driven, where it runs, and what it costs.

use std::collections::BTreeMap;

use super::{DeclaredBuild, DeploySpec, Discount, Fee, Located, Node, ServerSpec, Traffic, TransactionChoice, Tuning};

/// One system under test.
#[derive(Debug, Clone, Default)]
pub struct Contender {
    /// Path-safe name.
    pub name: String,
    /// The contender that it repeats as an A/A control: the same system, measured a second time.
    pub control_of: Option<String>,
    /// What reports call it; the name where not given.
    pub label: String,
    /// Architecture of the priced machines, as declared (`aarch64`, `x86_64`).
    pub arch: Option<String>,
    /// Where load goes; `None` for a contender that is only priced.
    pub target: Option<Located<String>>,
    /// A private server to start and to drive; never beside a target.
    pub server: Option<ServerSpec>,
    /// A cluster that perbuck makes, and drives; never beside a server.
    pub deploy: Option<DeploySpec>,
    /// Global settings of the target's servers that hold while its trials run, by name in lower case.
    pub server_settings: BTreeMap<String, Located<String>>,
    /// Settings of its server's machine that hold while its trials run.
    pub tuning: Option<Tuning>,
    /// Where the program of its server comes from, as declared.
    pub build: Option<DeclaredBuild>,
    /// How its transactions work; what is not here is left to the server.
    pub transactions: Vec<Located<TransactionChoice>>,
    /// How long its servers may take to come to rest after a load, in nanoseconds; `None` is what the database needs.
    pub wait_ready_ns: Option<Located<u64>>,
    /// TiFlash replicas of every table, from 1; `None` leaves them as they are.
    pub tiflash_replicas: Option<Located<u32>>,
    /// A file that holds the password; read only when connecting.
    pub password_file: Option<Located<String>>,
    /// Copies of the data, as declared.
    pub replication_factor: Option<u32>,
    /// A price snapshot of its own, where contenders have different providers.
    pub snapshot: Option<Located<String>>,
    /// A region of its own, in place of those of the study.
    pub region: Option<Located<String>>,
    /// The priced machines.
    pub nodes: Vec<Node>,
    /// Fees, licences and support, in the order of the file.
    pub fees: Vec<Fee>,
    /// Billed bytes.
    pub traffic: Vec<Traffic>,
    /// What is taken off the bill.
    pub discounts: Vec<Discount>,
    /// Line of its header.
    pub line: usize,
}

impl Contender {
    /// Whether it has something to drive: a target, or what perbuck makes.
    pub fn is_driven(&self) -> bool {
        self.target.is_some() || self.server.is_some() || self.deploy.is_some()
    }

    /// The address that decides what is measured; that of a deployed cluster is another each time.
    pub fn fixed_target(&self) -> Option<&str> {
        self.target.as_ref().filter(|_| self.deploy.is_none()).map(|target| target.value.as_str())
    }
}
