//! The processes that applied the load of a trial, where these were others than the one that wrote its record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{HostRecord, MachineSamples};

/// Agents whose starts may lie further apart than this are flagged, in nanoseconds.
pub const STARTS_TOGETHER_NS: u64 = 2_000_000;

/// An agent that applied a share of the load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentRecord {
    /// What the user calls it: its address.
    pub name: String,
    /// Its machine.
    pub host: HostRecord,
    /// Connections that it held.
    pub connections: u32,
    /// Threads that owned them.
    pub workers: u32,
    /// Its clock minus that of the coordinator, in nanoseconds, when the start was given.
    pub clock_offset_ns: i64,
    /// By how much that may be wrong, in nanoseconds: half of the shortest round trip.
    pub clock_error_ns: u64,
    /// How far its clock moved against that of the coordinator over the trial, in nanoseconds, as far as round trips tell.
    pub clock_drift_ns: i64,
    /// How long after the start of the trial its last worker began, in nanoseconds; 0 where all knew before.
    pub start_missed_ns: u64,
    /// CPU time of its process in user mode during the measured window, in nanoseconds.
    pub user_ns: u64,
    /// The same in the kernel.
    pub system_ns: u64,
    /// The most memory that its process has held so far, in bytes; 0 where the system does not say.
    pub peak_memory_bytes: u64,
    /// How far it is from the server; absent where the server has no SQL, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_distance: Option<Distance>,
    /// What its machine did in the measured window; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<MachineSamples>,
}

/// How far a client is from a server, by the shortest of some round trips before the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Distance {
    /// Of a statement, in nanoseconds: through every tunnel and proxy, with the time of the server.
    pub statement_ns: u64,
    /// Of a packet, in nanoseconds, as the kernel measured it: to the first program that answers. Absent where the kernel did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_ns: Option<u64>,
}

impl AgentRecord {
    /// How its machine is called: `the machine of agent load-1`.
    pub fn machine(&self) -> String {
        format!("the machine of agent {}", self.name)
    }

    /// Its true start is at most so far from the common one.
    pub fn start_error_ns(&self) -> u64 {
        self.start_missed_ns.saturating_add(self.clock_error_ns)
    }
}

/// How far apart the starts of these agents may lie, in nanoseconds.
pub fn starts_apart_ns(agents: &[AgentRecord]) -> u64 {
    let late = |a: &AgentRecord| a.start_error_ns();
    // One is late by its error, another one early by the error of its clock.
    let mut errors: Vec<u64> = agents.iter().map(late).collect();
    errors.sort_unstable();
    errors.iter().rev().take(2).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_apart_by_the_two_largest_errors() {
        let agent = |missed, error| AgentRecord { start_missed_ns: missed, clock_error_ns: error, ..AgentRecord::default() };
        assert_eq!(starts_apart_ns(&[agent(0, 30_000), agent(1_000, 40_000), agent(0, 10_000)]), 71_000);
        assert_eq!((starts_apart_ns(&[]), starts_apart_ns(&[agent(0, 5)])), (0, 5));
    }
}
