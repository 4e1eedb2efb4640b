//! Latency histograms: three significant digits from 1 µs to one hour, exact counts, stored as HDR V2 base64.

use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

/// Values below this are counted as this; 1 µs in nanoseconds.
pub const LOWEST_NS: u64 = 1_000;
/// The unit of counting. Were it the lowest value, everything below a millisecond would be counted in steps of 512 ns.
const UNIT_NS: u64 = 1;
/// Values above this are counted as this; the maximum is kept exactly beside the histogram. One hour.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// A histogram of durations in nanoseconds.
#[derive(Debug, Clone)]
pub struct Histogram {
    inner: hdrhistogram::Histogram<u64>,
    sum_ns: u128,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram.
    ///
    /// # Panics
    /// Never: the bounds are constants that the histogram accepts.
    pub fn new() -> Self {
        let inner = hdrhistogram::Histogram::new_with_bounds(UNIT_NS, HIGHEST_NS, 3).expect("constant bounds are valid");
        Self { inner, sum_ns: 0, max_ns: 0 }
    }

    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.inner.saturating_record(ns.max(LOWEST_NS));
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// How many durations were counted.
    pub fn count(&self) -> u64 {
        self.inner.len()
    }

    /// The exact sum of all durations.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The exact longest duration; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The exact mean; `None` when empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// The value at or below which `percent` (0 to 100) of the durations lie, never above the exact maximum;
    /// `None` when empty.
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.inner.value_at_quantile((percent / 100.0).clamp(0.0, 1.0)).min(self.max_ns))
    }

    /// Adds all counts of another histogram; exact, because all histograms share their bounds.
    pub fn merge(&mut self, other: &Self) {
        if self.inner.add(&other.inner).is_err() {
            // All histograms have the same constant bounds, so `add` has no reason to fail.
            debug_assert!(false, "histograms with other bounds");
        }
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Empties it, keeping its memory.
    pub fn reset(&mut self) {
        self.inner.reset();
        self.sum_ns = 0;
        self.max_ns = 0;
    }

    /// Pairs of (highest equivalent value in ns, count) of the non-empty buckets, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.inner.iter_recorded().map(|v| (v.value_iterated_to(), v.count_since_last_iteration()))
    }

    /// HDR V2 (deflated), base64: what every HDR tool reads.
    pub fn to_base64(&self) -> String {
        let mut bytes = Vec::new();
        if V2DeflateSerializer::new().serialize(&self.inner, &mut bytes).is_err() {
            // Writing to a Vec has no I/O error, and the counts of a run fit the format.
            debug_assert!(false, "histogram did not serialise");
        }
        STANDARD.encode(bytes)
    }

    /// Reads what [`Self::to_base64`] wrote, with the exact sum and maximum kept beside it.
    ///
    /// # Errors
    /// Says why the text is no histogram of ours.
    pub fn from_base64(text: &str, sum_ns: u128, max_ns: u64) -> Result<Self, String> {
        let bytes = STANDARD.decode(text).map_err(|e| format!("histogram is not base64: {e}"))?;
        let read: hdrhistogram::Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| format!("histogram is not HDR V2: {e:?}"))?;
        let mut whole = Self::new();
        whole.inner.add(&read).map_err(|e| format!("histogram has other bounds than ours: {e:?}"))?;
        whole.sum_ns = sum_ns;
        whole.max_ns = max_ns;
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{rng::OpRng, units::Seed};

    #[test]
    fn percentiles_of_a_known_distribution_are_within_three_digits() {
        let mut h = Histogram::new();
        let mut values: Vec<u64> = Vec::new();
        let mut rng = OpRng::new(Seed(1));
        for _ in 0..200_000 {
            let ns = (-(1.0 - rng.unit_f64()).ln() * 2e6) as u64 + 1_000;
            values.push(ns);
            h.record(ns);
        }
        values.sort_unstable();
        for percent in [50.0, 90.0, 95.0, 99.0, 99.9, 100.0] {
            let exact = values[((percent / 100.0 * values.len() as f64).ceil() as usize).max(1) - 1] as f64;
            let got = h.percentile_ns(percent).unwrap() as f64;
            assert!((got - exact).abs() <= exact * 0.001 + 1.0, "p{percent}: {got} against {exact}");
        }
        assert_eq!(h.percentile_ns(100.0), values.last().copied());
        assert_eq!(h.sum_ns(), values.iter().map(|v| u128::from(*v)).sum::<u128>());
    }

    #[test]
    fn merging_equals_recording_together_and_survives_storage() {
        let (mut a, mut b, mut both) = (Histogram::new(), Histogram::new(), Histogram::new());
        for i in 1..5_000u64 {
            let ns = i * i * 37;
            let half = if i % 3 == 0 { &mut a } else { &mut b };
            half.record(ns);
            both.record(ns);
        }
        a.merge(&b);
        let stored = Histogram::from_base64(&a.to_base64(), a.sum_ns(), a.max_ns()).unwrap();
        assert_eq!(stored.buckets().collect::<Vec<_>>(), both.buckets().collect::<Vec<_>>());
        assert_eq!((stored.count(), stored.sum_ns(), stored.max_ns()), (both.count(), both.sum_ns(), both.max_ns()));
    }

    #[test]
    fn garbage_is_refused_and_emptiness_has_no_percentile() {
        assert!(Histogram::from_base64("%%%", 0, 0).is_err());
        assert!(Histogram::from_base64("AAAA", 0, 0).is_err());
        assert_eq!(Histogram::new().percentile_ns(99.0), None);
        let mut h = Histogram::new();
        h.record(u64::MAX);
        assert_eq!(h.max_ns(), u64::MAX);
    }
}
