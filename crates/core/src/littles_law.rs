//! Does a closed-loop trial agree with itself? Little's law: N = X·(R + Z).
//!
//! In a closed loop each of N connections is always either in a transaction (mean response time R) or thinking (mean Z),
//! so the throughput X times R + Z must be N (Little 1961; Denning and Buzen 1978, where it holds for any observed window
//! without assumptions on distributions). Counters, clock and histogram are kept separately; where they disagree, one of
//! them is wrong.
//!
//! A ratio a little below 1 is where the client spends time between two transactions: drawing the next operation,
//! recording the last, waiting to be scheduled. Far below 1, connections stood idle: the client was the limit, or
//! connections were lost. Above 1 stands only what the edges of the window add: a transaction that began before the window
//! and ended in it counts with its full response time, one cut off by the end does not count; about R/window either way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far the ratio may be from 1: three percent, room for the client's own time and the window's edges.
pub const TOLERANCE: f64 = 0.03;

/// Connections offered against connections accounted for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LittlesLaw {
    /// Connections of the trial, N.
    pub connections: u32,
    /// Connections in a transaction on average, X·R.
    pub busy_connections: f64,
    /// X·(R + Z) / N: 1 where all the time of all connections is accounted for; 0 without connections or window.
    pub ratio: f64,
}

impl LittlesLaw {
    /// Whether the ratio is 1 within [`TOLERANCE`].
    pub fn holds(&self) -> bool {
        (1.0 - TOLERANCE..=1.0 + TOLERANCE).contains(&self.ratio)
    }
}

/// Checks a trial without think time; see [`check_with_think_time`].
pub fn check(connections: u32, completed_and_failed: u64, mean_response_ns: f64, window_ns: u64) -> LittlesLaw {
    check_with_think_time(connections, completed_and_failed, mean_response_ns, window_ns, 0.0)
}

/// Checks a trial: all transactions that ended in the window (failed ones held a connection too), the mean of their
/// response times and of the pauses after them, and the length of the window; times in nanoseconds.
pub fn check_with_think_time(
    connections: u32,
    completed_and_failed: u64,
    mean_response_ns: f64,
    window_ns: u64,
    mean_think_ns: f64,
) -> LittlesLaw {
    let per_window = |ns: f64| if window_ns == 0 { 0.0 } else { completed_and_failed as f64 * ns / window_ns as f64 };
    let accounted = per_window(mean_response_ns + mean_think_ns);
    let ratio = if connections == 0 { 0.0 } else { accounted / f64::from(connections) };
    LittlesLaw { connections, busy_connections: per_window(mean_response_ns), ratio }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_busy_connections_are_ten() {
        // 10 connections, 2 ms each time, 60 s: 300,000 transactions.
        let law = check(10, 300_000, 2e6, 60_000_000_000);
        assert_eq!(law, LittlesLaw { connections: 10, busy_connections: 10.0, ratio: 1.0 });
        assert!(law.holds());
    }

    #[test]
    fn think_time_is_accounted_for_but_not_busy() {
        // 100 connections, 5 ms of work and 20 ms of thinking, 10 s: 40,000 transactions on 20 busy connections.
        let law = check_with_think_time(100, 40_000, 5e6, 10_000_000_000, 2e7);
        assert_eq!((law.busy_connections, law.ratio), (20.0, 1.0));
        assert!(!check(100, 40_000, 5e6, 10_000_000_000).holds());
    }

    #[test]
    fn three_percent_are_room() {
        let at = |n| check(10, n, 1e6, 1_000_000_000).holds();
        assert_eq!([9_699, 9_701, 10_299, 10_301].map(at), [false, true, true, false]);
    }

    #[test]
    fn nothing_is_no_division_by_zero() {
        assert_eq!(check(0, 5, 1e6, 1).ratio, 0.0);
        let law = check(5, 5, 1e6, 0);
        assert_eq!((law.ratio, law.holds()), (0.0, false));
    }
}
