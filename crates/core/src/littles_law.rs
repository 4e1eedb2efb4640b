//! Does a closed-loop trial agree with itself? Little's law: N = X·(R + Z).
//!
//! In a closed loop each of N connections is always either in a transaction (mean response time R) or thinking (mean Z),
//! so the throughput X times R + Z must be N (Little 1961; Denning and Buzen 1978, where it holds for any observed window
//! without assumptions on distributions). Counters, clock and histogram are kept separately; where they disagree, one of
//! them is wrong.
//!
//! The windows of benchmarks are short beside the longest transactions, so their edges are accounted for: of a transaction
//! that began before the window counts what lies within it, and so does what one that is in flight at its end has run by then.
//! A ratio below 1 then is time of connections in which they were in no transaction: a connection was lost, or something was
//! not counted. The client's own time between two is part of the later one, which begins when the one before has ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far the ratio may be from 1: three percent, room for the start of the trial and for clocks that are read one after the other.
pub const TOLERANCE: f64 = 0.03;

/// Connections offered against connections accounted for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LittlesLaw {
    /// Connections of the trial, N.
    pub connections: u32,
    /// Connections in a transaction on average.
    pub busy_connections: f64,
    /// Their share of N: 1 where all the time of all connections is accounted for; 0 without connections or window.
    pub ratio: f64,
}

impl LittlesLaw {
    /// Whether the ratio is 1 within [`TOLERANCE`].
    pub fn holds(&self) -> bool {
        holds(self.ratio)
    }
}

/// Whether connections accounted for over connections offered is 1 within [`TOLERANCE`].
pub(crate) fn holds(ratio: f64) -> bool {
    (1.0 - TOLERANCE..=1.0 + TOLERANCE).contains(&ratio)
}

/// Checks a trial without think time: the time within the window of all its transactions, failed ones and those across its
/// edges included, and the length of the window; nanoseconds.
pub fn check(connections: u32, busy_ns: u128, window_ns: u64) -> LittlesLaw {
    let busy_connections = if window_ns == 0 { 0.0 } else { busy_ns as f64 / window_ns as f64 };
    let ratio = if connections == 0 { 0.0 } else { busy_connections / f64::from(connections) };
    LittlesLaw { connections, busy_connections, ratio }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_busy_connections_are_ten() {
        // 10 connections, 2 ms each time, 60 s: 300,000 transactions.
        let law = check(10, 300_000 * 2_000_000_u128, 60_000_000_000);
        assert_eq!(law, LittlesLaw { connections: 10, busy_connections: 10.0, ratio: 1.0 });
        assert!(law.holds());
    }

    #[test]
    fn three_percent_are_room() {
        let at = |n: u128| check(10, n * 1_000_000, 1_000_000_000).holds();
        assert_eq!([9_699, 9_701, 10_299, 10_301].map(at), [false, true, true, false]);
    }

    #[test]
    fn nothing_is_no_division_by_zero() {
        assert_eq!(check(0, 5_000_000, 1).ratio, 0.0);
        let law = check(5, 5_000_000, 0);
        assert_eq!((law.ratio, law.holds()), (0.0, false));
    }
}
