//! What a reader must know beside the numbers of a trial.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A remark that a reader of the result must see.
#[derive(Debug, Clone, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "flag", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Flag {
    /// The program ran under an emulator: its times say nothing about the machine.
    Emulated {
        /// Which one.
        emulator: String,
    },
    /// The client was the limit.
    ClientLimited {
        /// What was full.
        why: String,
    },
    /// More than one in a hundred transactions failed.
    ManyErrors {
        /// Transactions given up in the measured window.
        failed: u64,
        /// Transactions completed in it.
        completed: u64,
    },
    /// The metric has no value: it needs transactions that failed, or did not end.
    NoValue {
        /// Which ones.
        why: String,
    },
    /// The service was away for at least a second.
    Gap {
        /// Total length in milliseconds.
        total_ms: u64,
    },
    /// The server would prepare no more statements, so some ran as text, which costs it more.
    TextStatements {
        /// Statements of connections that could not be prepared.
        count: u64,
    },
    /// Transactions did not end within the drain limit.
    Aborted {
        /// How many.
        count: u64,
    },
    /// Operations did not find a row that must be there, or found one that was not as it must be (YCSB).
    WrongRows {
        /// Operations of the measured window that did not find their row.
        missing: u64,
        /// Operations, and rows of scans, that found wrong values.
        wrong: u64,
    },
    /// Replayed statements returned or changed another number of rows than when they were recorded.
    Diverged {
        /// Statements with another number.
        statements: u64,
        /// Statements whose recorded number is known.
        compared: u64,
    },
    /// Open loop: the target completed fewer transactions than were offered, and the rest still waited at the end.
    Overloaded {
        /// Due in the measured window.
        offered: u64,
        /// Completed in it.
        completed: u64,
        /// Due, and not started or not ended when the window closed.
        unfinished: u64,
    },
    /// Pods of the system under test moved, or started again, within the trial.
    PodsChanged {
        /// What changed, each in words.
        changes: Vec<String>,
    },
    /// Closed loop: a transaction that was in flight at the end of the window had run for much longer by then than any that was
    /// completed in it, so that percentiles and maximum leave the longest out.
    StillRunning {
        /// For how long the oldest had run, in milliseconds.
        oldest_ms: u64,
        /// The longest that was completed, in milliseconds.
        longest_completed_ms: u64,
    },
    /// The throughput had not settled when the measured window opened, or drifted in it.
    Unsettled {
        /// What was seen.
        why: String,
    },
    /// The machine of the client did not get the processor time that it wanted.
    Throttled {
        /// Who held it back, and how much.
        why: String,
    },
    /// The clock of the machine of the client was set within the window, or the machine stood still.
    ClockTrouble {
        /// By how much it jumped, milliseconds.
        jump_ms: i64,
    },
    /// The client sent more than one in a thousand segments again: the network lost packets, or the server did not take them.
    PacketLoss {
        /// Segments that it sent again in the measured window.
        retransmitted: u64,
        /// Segments that it sent in it.
        sent: u64,
    },
    /// What is read of the server after a trial could not be read: its counters, or the rows of its tables.
    ServerAway {
        /// What it answered.
        why: String,
    },
    /// Other clients than perbuck used the server for more than 1 % of its work.
    ForeignLoad {
        /// What they had executed, warm-up and drain included.
        foreign: u64,
        /// What the server executed for all its clients.
        all: u64,
        /// `statements` or `transactions`.
        unit: String,
    },
    /// The server is made for functional tests: its times say nothing about the product.
    FunctionalServer {
        /// What makes it one.
        why: String,
    },
    /// Regions or their leaders moved, regions split, or writes were stalled, in the cluster that was measured.
    ClusterChanged {
        /// What changed, warm-up and drain included, and by how much: `leaders_moved`, `regions`.
        changes: BTreeMap<String, i64>,
    },
    /// One of several servers executed more than 10 % above or below its equal share.
    UnevenServers {
        /// Statements that each of them executed, warm-up and drain included.
        statements: Vec<u64>,
    },
    /// The agents may have started further apart than two milliseconds.
    AgentsApart {
        /// How far at most, in microseconds.
        apart_us: u64,
    },
    /// Little's law does not hold for the recorded values: something was not counted.
    LittlesLaw {
        /// Busy connections by the recorded values.
        busy: f64,
        /// Connections that there were.
        connections: u32,
    },
}

impl Flag {
    /// Its name, as in a record: `client-limited`.
    pub fn name(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        value["flag"].as_str().unwrap_or_default().to_owned()
    }

    /// One sentence for people.
    pub fn text(&self) -> String {
        match self {
            Self::Emulated { emulator } => format!("ran under {emulator}: its times say nothing about the hardware"),
            Self::ClientLimited { why } => format!("limited by the client: {why}"),
            Self::ManyErrors { failed: 0, completed: 0 } => "no transaction was completed in the measured time".to_owned(),
            Self::ManyErrors { failed, completed: 0 } => {
                format!("no transaction was completed in the measured time, and {failed} failed")
            }
            Self::ManyErrors { failed, completed } => format!("{failed} transactions failed beside {completed} completed"),
            Self::NoValue { why } => format!("it has no value: {why}"),
            Self::Gap { total_ms } => format!("nothing completed for {:.1} s", *total_ms as f64 / 1000.0),
            Self::TextStatements { count } => {
                format!("{count} statements ran as text, because the server would prepare no more (max_prepared_stmt_count)")
            }
            Self::Aborted { count } => format!("{count} transactions did not end within the drain limit"),
            Self::WrongRows { missing, wrong } => {
                format!("{missing} operations did not find a row that must be there, and {wrong} found wrong rows")
            }
            Self::Diverged { statements, compared } => {
                format!("diverged: {statements} of {compared} statements had other row counts than recorded")
            }
            Self::Overloaded { offered, completed, unfinished } => {
                format!("could not keep the rate: {offered} offered, {completed} completed, {unfinished} unfinished at the end")
            }
            Self::StillRunning { oldest_ms, longest_completed_ms } => format!(
                "a transaction had run for {oldest_ms} ms when the window closed, and the longest that was completed took \
                 {longest_completed_ms} ms: the target passes connections over or stood still, and such times are in no percentile"
            ),
            Self::ServerAway { why } => format!("the server could not be asked for its counters after the trial: {why}"),
            Self::Throttled { why } => format!("the client's machine lacked CPU time: {why}"),
            Self::ClockTrouble { jump_ms } => format!(
                "the clock of the client's machine jumped by {:.1} s: it was set, or the machine stood still",
                *jump_ms as f64 / 1000.0
            ),
            Self::PacketLoss { retransmitted, sent } => {
                let percent = *retransmitted as f64 * 100.0 / (*sent).max(1) as f64;
                format!("packet loss: the client sent {retransmitted} of {sent} segments again ({percent:.1} %)")
            }
            Self::ForeignLoad { foreign, all, unit } => {
                let percent = *foreign as f64 * 100.0 / (*all).max(1) as f64;
                format!("other clients used the server: {foreign} of its {all} {unit} were theirs ({percent:.1} %)")
            }
            Self::Unsettled { why } => format!("not in a steady state: {why}"),
            Self::FunctionalServer { why } => {
                format!("for functional use alone: {why}, so its numbers say nothing about the product")
            }
            Self::ClusterChanged { changes } => {
                let all: Vec<String> = changes.iter().map(|(what, by)| format!("{} {by:+}", what.replace('_', " "))).collect();
                format!("the cluster changed while it was measured: {}", all.join(", "))
            }
            Self::UnevenServers { statements } => {
                let all = statements.iter().sum::<u64>().max(1) as f64;
                let shares: Vec<String> = statements.iter().map(|n| format!("{:.0}", *n as f64 * 100.0 / all)).collect();
                format!("the servers had uneven shares of the statements: {} %", shares.join(" : "))
            }
            Self::PodsChanged { changes } => format!("the cluster changed within the trial: {}", changes.join(", ")),
            Self::AgentsApart { apart_us } => {
                format!("the agents may have started {:.1} ms apart", *apart_us as f64 / 1000.0)
            }
            Self::LittlesLaw { busy, connections } => {
                format!("Little's law fails: the numbers account for {busy:.1} busy connections of {connections}")
            }
        }
    }

    /// Whether `compare` refuses a trial with this flag unless told otherwise, and the word that tells it.
    pub fn refused_unless(&self) -> Option<&'static str> {
        match self {
            Self::Emulated { .. } => Some("emulated"),
            Self::ClientLimited { .. } => Some("client-limited"),
            Self::ManyErrors { .. } | Self::WrongRows { .. } => Some("errors"),
            Self::ForeignLoad { foreign, all, .. } => (foreign * 20 > *all).then_some("foreign-load"),
            Self::NoValue { .. }
            | Self::Gap { .. }
            | Self::TextStatements { .. }
            | Self::Aborted { .. }
            | Self::Diverged { .. }
            | Self::Overloaded { .. }
            | Self::StillRunning { .. }
            | Self::Throttled { .. }
            | Self::ClockTrouble { .. }
            | Self::PacketLoss { .. }
            | Self::Unsettled { .. }
            | Self::ServerAway { .. }
            | Self::FunctionalServer { .. }
            | Self::ClusterChanged { .. }
            | Self::UnevenServers { .. }
            | Self::AgentsApart { .. }
            | Self::PodsChanged { .. }
            | Self::LittlesLaw { .. } => None,
        }
    }
}
