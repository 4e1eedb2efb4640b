//! Latency in the coarser buckets that monitoring keeps: counts by powers of 2^(1/32) seconds, and by round bounds.
//!
//! Every duration of a [`Histogram`] is in exactly one bucket of each kind. A histogram tells a duration within 0.1 %, and its slot
//! counts by the upper end. So a duration just below a bound, by at most 0.1 %, may count above it; none counts below its own bucket.
//!
//! ```
//! use perbuck_core::buckets::{BOUNDS_NS, Buckets};
//! use perbuck_core::histogram::Histogram;
//!
//! let mut seen = Histogram::new();
//! seen.record(1_500_000);
//! let buckets = Buckets::of(&seen);
//! // 1.5 ms lie in (2^(-301/32), 2^(-300/32)] seconds, and above 1 ms.
//! assert_eq!(buckets.exponential, [(-300, 1)]);
//! let above = buckets.round.iter().position(|count| *count == 1);
//! assert_eq!(above.map(|i| BOUNDS_NS[i]), Some(2_000_000));
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// Exponential buckets in one doubling.
pub const PER_DOUBLING: i32 = 32;

/// The upper bounds of the round buckets, in nanoseconds: 1, 2 and 5 of each power of ten from 10 µs to 50 s.
pub const BOUNDS_NS: [u64; 21] = bounds();

const fn bounds() -> [u64; 21] {
    let (mut all, mut decade, mut i) = ([0; 21], 10_000, 0);
    while i < all.len() {
        all[i] = decade * [1, 2, 5][i % 3];
        if i % 3 == 2 {
            decade *= 10;
        }
        i += 1;
    }
    all
}

/// Durations by bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buckets {
    /// How many there are.
    pub count: u64,
    /// Their exact sum in nanoseconds.
    pub sum_ns: u64,
    /// Index and count of the exponential buckets that are not empty, ascending. Index `i` holds what is above 2^((i-1)/32) seconds
    /// and at most 2^(i/32) seconds.
    pub exponential: Vec<(i32, u64)>,
    /// Counts between the bounds of [`BOUNDS_NS`], without the counts below; what is longer than the last is in none. Empty, or one for each.
    pub round: Vec<u64>,
}

/// The upper bound in seconds of an exponential bucket.
fn upper_s(index: i32) -> f64 {
    (f64::from(index) / f64::from(PER_DOUBLING)).exp2()
}

/// The index of the exponential bucket that holds a duration of at least 1 ns.
fn index_of(ns: u64) -> i32 {
    let seconds = ns as f64 / 1e9;
    let mut index = (seconds.log2() * f64::from(PER_DOUBLING)).ceil() as i32;
    // The logarithm is rounded; the bound decides.
    while upper_s(index) < seconds {
        index += 1;
    }
    while upper_s(index - 1) >= seconds {
        index -= 1;
    }
    index
}

impl Buckets {
    /// The buckets of a histogram.
    pub fn of(histogram: &Histogram) -> Self {
        let (mut exponential, mut round): (BTreeMap<i32, u64>, _) = (BTreeMap::new(), vec![0; BOUNDS_NS.len()]);
        for (ns, count) in histogram.buckets() {
            *exponential.entry(index_of(ns)).or_default() += count;
            if let Some(held) = round.get_mut(BOUNDS_NS.partition_point(|bound| *bound < ns)) {
                *held += count;
            }
        }
        let sum_ns = u64::try_from(histogram.sum_ns()).unwrap_or(u64::MAX);
        Self { count: histogram.count(), sum_ns, exponential: exponential.into_iter().collect(), round }
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        let mut all: BTreeMap<i32, u64> = self.exponential.drain(..).collect();
        for (index, count) in &other.exponential {
            let held = all.entry(*index).or_default();
            *held = held.saturating_add(*count);
        }
        self.exponential = all.into_iter().collect();
        self.round.resize(BOUNDS_NS.len(), 0);
        for (mine, theirs) in self.round.iter_mut().zip(&other.round) {
            *mine = mine.saturating_add(*theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::histogram::HIGHEST_NS;

    #[test]
    fn the_bounds_are_round() {
        assert_eq!(BOUNDS_NS[..4], [10_000, 20_000, 50_000, 100_000]);
        assert_eq!(BOUNDS_NS[20], 50_000_000_000);
    }

    #[test]
    fn a_bound_belongs_to_the_bucket_below_it() {
        // Powers of two that are whole nanoseconds: one second, and a half.
        assert_eq!((index_of(1_000_000_000), index_of(1_000_000_001)), (0, 1));
        assert_eq!((index_of(500_000_000), index_of(500_000_001)), (-32, -31));
    }

    proptest! {
        #[test]
        fn every_duration_is_in_one_bucket_of_each_kind(all in proptest::collection::vec(0u64..2 * HIGHEST_NS, 1..200)) {
            let mut seen = Histogram::new();
            all.iter().for_each(|ns| seen.record(*ns));
            let buckets = Buckets::of(&seen);
            prop_assert_eq!(buckets.exponential.iter().map(|(_, n)| n).sum::<u64>(), all.len() as u64);
            let long = seen.buckets().filter(|(ns, _)| *ns > BOUNDS_NS[20]).map(|(_, n)| n).sum::<u64>();
            prop_assert_eq!(buckets.round.iter().sum::<u64>() + long, all.len() as u64);
        }

        #[test]
        fn a_duration_is_in_its_bucket_or_within_a_thousandth_of_it(ns in 1_000u64..HIGHEST_NS) {
            let mut seen = Histogram::new();
            seen.record(ns);
            let [(index, 1)] = Buckets::of(&seen).exponential[..] else { panic!("one duration") };
            let s = ns as f64 / 1e9;
            prop_assert!(s <= upper_s(index) && s * 1.001 + 1e-9 > upper_s(index - 1), "{} in {}", s, index);
        }

        #[test]
        fn merging_equals_counting_together(a in proptest::collection::vec(1_000u64..HIGHEST_NS, 0..50), b in proptest::collection::vec(1_000u64..HIGHEST_NS, 0..50)) {
            let of = |all: &[u64]| { let mut h = Histogram::new(); all.iter().for_each(|ns| h.record(*ns)); h };
            let (mut first, second) = (Buckets::of(&of(&a)), Buckets::of(&of(&b)));
            first.merge(&second);
            let together: Vec<u64> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(&first, &Buckets::of(&of(&together)));
            prop_assert_eq!(serde_json::from_str::<Buckets>(&serde_json::to_string(&first).unwrap()).unwrap(), first);
        }
    }
}
