//! What coordinator and agents tell each other.

use std::collections::BTreeMap;

use perbuck_core::run_record::{Distance, Flag, HostRecord, MachineSamples};
use perbuck_load::executor::WorkerOutcome;
use perbuck_load::recorder::Second;
use perbuck_load::share::Share;
use perbuck_load::trial::TrialSpec;
use perbuck_load::workload::NewRecords;
use serde::{Deserialize, Serialize};

use super::options::AgentAddress;
use crate::error::Failure;

/// To an agent.
#[derive(Serialize, Deserialize)]
pub(super) enum Order {
    /// What is measured.
    Study(StudyOrder),
    /// Apply a share of a trial: open the connections, and wait for the start.
    Trial(Box<TrialOrder>),
    /// The measured window opens then, by the agent's clock.
    Start { opens_ns: i64 },
    /// Say the same text again.
    Echo(String),
    /// Drive a workload of the study against the simulated driver.
    Ceiling { study: StudyOrder, workload: String, spec: Box<TrialSpec> },
    /// Stop: the first time the load ends, the second time at once.
    Stop,
    /// After the trial: insert the new records that are missing.
    Fill(FillOrder),
}

/// A study, as its coordinator has read it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct StudyOrder {
    /// What messages call its file.
    pub(super) name: String,
    pub(super) text: String,
    /// The price list that it names, which reading it needs: name and text.
    pub(super) prices: Option<(String, String)>,
    /// How contenders are reached, by name; those alone that are measured.
    pub(super) reached: BTreeMap<String, Reached>,
    /// The most load that it applies at once.
    pub(super) most: Load,
    /// Whether its workloads are applied to the simulated driver, and no contender is reached.
    pub(super) simulated: bool,
}

impl StudyOrder {
    /// What one agent is told, which shares its contenders with so many in all.
    pub(super) fn of_agent(&self, agent: &AgentAddress, of: u32) -> Self {
        let mut own = self.clone();
        own.reached.retain(|_, reached| self.simulated || agent.contender.as_ref().is_none_or(|by| *by == reached.by));
        own.most.connections = own.most.connections.div_ceil(of.max(1));
        own
    }
}

/// What one process has to hold.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Load {
    pub(crate) connections: u32,
    /// Load threads; as many as processors if not given.
    pub(crate) threads: Option<u32>,
}

/// How a contender is reached. It travels over TLS alone, and no file holds it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Reached {
    /// Its address, where that is not the one in the study.
    pub(super) address: Option<String>,
    pub(super) password: Vec<u8>,
    /// The contender whose agents drive it: itself, or that of which it is the control.
    #[serde(skip)]
    pub(super) by: String,
}

/// A share of a trial.
#[derive(Serialize, Deserialize)]
pub(super) struct TrialOrder {
    /// Names in the study.
    pub(super) contender: String,
    pub(super) workload: String,
    pub(super) spec: TrialSpec,
    /// Whether seconds are wanted by kind of transaction.
    pub(super) by_kind: bool,
    /// Whether a first request to stop ends the window and keeps what was measured.
    pub(super) keeps: bool,
}

/// What is missing of the new records of a share that has ended.
#[derive(Serialize, Deserialize)]
pub(super) struct FillOrder {
    /// Names in the study.
    pub(super) contender: String,
    pub(super) workload: String,
    pub(super) share: Share,
    /// The number after the last that any share gave out.
    pub(super) up_to: u64,
}

/// From an agent.
#[derive(Serialize, Deserialize)]
pub(super) enum Answer {
    /// It can drive the study.
    Prepared(Box<Prepared>),
    /// It cannot do what was ordered, and why.
    Failed(Failure),
    /// All connections of its share are open.
    Ready,
    /// A second of one worker is over.
    Second(Box<Second>),
    /// Its share has ended.
    Ended(Box<ShareReport>),
    /// Its share was stopped.
    Stopped,
    /// The text that it was told.
    Echo(String),
    /// What it can drive, and its machine.
    Ceiling { statements_per_s: f64, host: Box<HostRecord> },
    /// No record of its share is missing any more; so many were.
    Filled(u64),
}

/// What an agent says of itself before the first trial.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Prepared {
    /// Its machine.
    pub(super) host: HostRecord,
    /// How far the servers of contenders are, where that can be told.
    pub(super) distances: BTreeMap<String, Distance>,
}

/// What an agent saw of its share.
#[derive(Serialize, Deserialize)]
pub(super) struct ShareReport {
    pub(super) workers: Vec<WorkerOutcome>,
    /// How long after the start of the trial it learned of it.
    pub(super) start_missed_ns: u64,
    pub(super) user_ns: u64,
    pub(super) system_ns: u64,
    pub(super) peak_memory_bytes: u64,
    /// What its machine did in the window.
    pub(super) samples: Option<MachineSamples>,
    /// What was wrong with its machine.
    pub(super) flags: Vec<Flag>,
    /// Statements that ran as text, because the server would prepare no more.
    pub(super) as_text: u64,
    /// What its sessions sent, counted as the server counts its work.
    pub(super) sent: u64,
    /// How it numbered its new records, where the workload numbers them.
    pub(super) new_records: Option<NewRecords>,
}
