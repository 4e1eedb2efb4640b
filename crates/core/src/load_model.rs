//! How load is applied: closed loop, where each connection sends its next transaction when the last one ended, or open
//! loop, where transactions are due by a schedule whatever the target does; either in phases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arrivals::{Arrivals, RatePhase};

/// The highest rate that may be asked for, in transactions per second; far above what one machine can send.
pub const HIGHEST_PER_S: u32 = 100_000_000;

/// How load is applied in one trial, from the start of its warm-up to the end of its window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum LoadModel {
    /// Each active connection sends its next transaction when the last one ended.
    Closed {
        /// How many connections are active, one step after another; empty means all of them, all the time.
        steps: Vec<ConnectionStep>,
    },
    /// Transactions are due by a schedule; a free connection takes the next one.
    Open {
        /// How the intended starts lie in time.
        arrivals: Arrivals,
        /// The rate, one phase after another.
        phases: Vec<RatePhase>,
    },
}

/// A time with a number of active connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionStep {
    /// Its length in nanoseconds.
    pub length_ns: u64,
    /// Active connections: those with the lowest numbers.
    pub connections: u32,
}

/// One phase of the measured window, as a study declares it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Its length in nanoseconds: whole seconds.
    pub length_ns: u64,
    /// What it applies.
    pub load: PhaseLoad,
}

/// The load of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseLoad {
    /// Open loop: transactions per second, going linearly from one to the other.
    Rate {
        /// At its begin.
        from_per_s: f64,
        /// At its end.
        to_per_s: f64,
    },
    /// Closed loop with this many active connections.
    Connections(u32),
}

impl PhaseLoad {
    /// For tables: `500/s`, `500/s to 2000/s`, `64 connections`.
    pub fn text(&self) -> String {
        match self {
            Self::Rate { from_per_s, to_per_s } if from_per_s == to_per_s => format!("{from_per_s}/s"),
            Self::Rate { from_per_s, to_per_s } => format!("{from_per_s}/s to {to_per_s}/s"),
            Self::Connections(1) => "1 connection".to_owned(),
            Self::Connections(n) => format!("{n} connections"),
        }
    }
}

impl LoadModel {
    /// All connections, closed loop.
    pub fn closed() -> Self {
        Self::Closed { steps: Vec::new() }
    }

    /// One rate over warm-up and window.
    pub fn rate(per_s: u32, arrivals: Arrivals, whole_ns: u64) -> Self {
        let rate = f64::from(per_s);
        Self::Open { arrivals, phases: vec![RatePhase { length_ns: whole_ns, from_per_s: rate, to_per_s: rate }] }
    }

    /// Phases over the window; the warm-up has what the first one begins with. Phases are all of one kind.
    pub fn phased(phases: &[Phase], arrivals: Arrivals, warmup_ns: u64) -> Self {
        let (mut rates, mut steps) = (Vec::new(), Vec::new());
        for (i, phase) in phases.iter().enumerate() {
            match phase.load {
                PhaseLoad::Rate { from_per_s, to_per_s } => {
                    if i == 0 {
                        rates.push(RatePhase { length_ns: warmup_ns, from_per_s, to_per_s: from_per_s });
                    }
                    rates.push(RatePhase { length_ns: phase.length_ns, from_per_s, to_per_s });
                }
                PhaseLoad::Connections(connections) => {
                    let early = if i == 0 { warmup_ns } else { 0 };
                    steps.push(ConnectionStep { length_ns: phase.length_ns + early, connections });
                }
            }
        }
        if rates.is_empty() { Self::Closed { steps } } else { Self::Open { arrivals, phases: rates } }
    }

    /// Whether transactions are due by a schedule.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// From when on a connection is active, in nanoseconds since the start of the warm-up, not before `at_ns`; `None`
    /// when never again.
    pub fn active_from(&self, connection: u32, at_ns: u64) -> Option<u64> {
        let Self::Closed { steps } = self else { return Some(at_ns) };
        if steps.is_empty() {
            return Some(at_ns);
        }
        let mut start = 0;
        for step in steps {
            let end = start + step.length_ns;
            if at_ns < end && connection < step.connections {
                return Some(at_ns.max(start));
            }
            start = end;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(seconds: u64, n: u32) -> Phase {
        Phase { length_ns: seconds * 1_000_000_000, load: PhaseLoad::Connections(n) }
    }

    #[test]
    fn connections_are_active_in_their_steps() {
        let model = LoadModel::phased(&[connections(2, 1), connections(3, 4), connections(1, 2)], Arrivals::Uniform, 500);
        let s = 1_000_000_000;
        assert_eq!(model.active_from(0, 7), Some(7));
        assert_eq!(model.active_from(1, 7), Some(2 * s + 500));
        assert_eq!(model.active_from(3, 2 * s + 501), Some(2 * s + 501));
        assert_eq!(model.active_from(3, 5 * s + 500), None);
        assert_eq!(model.active_from(1, 5 * s + 500), Some(5 * s + 500));
        assert_eq!(model.active_from(0, 6 * s + 500), None);
        assert_eq!(LoadModel::closed().active_from(9, 3), Some(3));
    }

    #[test]
    fn the_warm_up_has_the_rate_that_the_first_phase_begins_with() {
        let ramp = Phase { length_ns: 5, load: PhaseLoad::Rate { from_per_s: 10.0, to_per_s: 50.0 } };
        let LoadModel::Open { phases, .. } = LoadModel::phased(&[ramp, ramp], Arrivals::Poisson, 3) else {
            panic!("rates are open loop")
        };
        let seen: Vec<_> = phases.iter().map(|p| (p.length_ns, p.from_per_s, p.to_per_s)).collect();
        assert_eq!(seen, [(3, 10.0, 10.0), (5, 10.0, 50.0), (5, 10.0, 50.0)]);
        assert_eq!(ramp.load.text(), "10/s to 50/s");
    }
}
