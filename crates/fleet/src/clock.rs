//! How far another process's clock is from this one's, by round trips (Cristian 1989): the answer was given at some moment of the round trip,
//! so the shortest round trip bounds the error best.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Round trips that are kept; older ones are of no use, because clocks drift.
const KEPT: usize = 64;

/// A steady clock, in nanoseconds from any moment.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The other clock minus this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// In nanoseconds.
    pub ns: i64,
    /// It is wrong by no more than that: half of the round trip.
    pub error_ns: i64,
}

/// Two steady clocks may drift apart by so much of the time: the system slews each by 500 millionths at most.
const DRIFT_PER_MILLION: i64 = 1_000;

/// The last round trips, each with when it ended.
#[derive(Debug, Default)]
pub(crate) struct Trips(VecDeque<(i64, Offset)>);

impl Trips {
    /// A question that left at `sent`, was answered at `there` by the other clock, and whose answer came at `back`.
    pub(crate) fn add(&mut self, sent: i64, there: i64, back: i64) {
        let half = (back - sent).max(0) / 2;
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back((back, Offset { ns: there - (sent + half), error_ns: half + 1 }));
    }

    /// The shortest of them: twice the error that it left.
    pub(crate) fn shortest(&self) -> Option<Duration> {
        let least = self.0.iter().map(|(_, offset)| offset.error_ns).min()?;
        Some(Duration::from_nanos(2 * least.unsigned_abs()))
    }

    /// The best of them at this time: the clocks may have drifted since.
    pub(crate) fn best(&self, now: i64) -> Option<Offset> {
        let aged = |(at, offset): &(i64, Offset)| {
            let drift_ns = (now - at).max(0) / 1_000_000 * DRIFT_PER_MILLION;
            Offset { error_ns: offset.error_ns + drift_ns, ..*offset }
        };
        self.0.iter().map(aged).min_by_key(|offset| offset.error_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_counts_and_bounds_the_error() {
        let mut trips = Trips::default();
        assert_eq!(trips.best(0), None);
        // The other clock is 1000 ahead; once the way back took long.
        for (sent, there, back) in [(0, 1_040, 100), (200, 1_206, 210), (400, 1_405, 700)] {
            trips.add(sent, there, back);
        }
        let best = trips.best(700).unwrap();
        assert_eq!((best.ns, best.error_ns), (1_001, 6));
        assert!((best.ns - 1_000).abs() <= best.error_ns);
        (0..100).for_each(|i| trips.add(i, i + 2_050, i + 100));
        assert_eq!(trips.best(200).unwrap().ns, 2_000, "old ones are forgotten");
        // A second later the clocks may be a millisecond further apart.
        assert_eq!(trips.best(1_000_000_199).unwrap().error_ns, 1_000_051);
    }
}
