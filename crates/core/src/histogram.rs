//! Latency histograms: three significant digits from 1 µs to one hour, exact counts, stored as HDR V2 base64.

use std::io::Read as _;

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};

use crate::run_record::HistogramRecord;

/// Values below this are counted as this; 1 µs in nanoseconds.
pub const LOWEST_NS: u64 = 1_000;
/// The unit of counting. Were it the lowest value, everything below a millisecond would be counted in steps of 512 ns.
const UNIT_NS: u64 = 1;
/// Values above this are counted as this; the maximum is kept exactly beside the histogram. One hour.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// Values are kept exactly below 2¹¹, and in steps of 2⁻¹⁰ of their power of two above: three digits.
const SUB_BITS: u32 = 11;
/// Powers of two above the exact part, up to that of [`HIGHEST_NS`].
const POWERS: usize = (u64::BITS - HIGHEST_NS.leading_zeros() - SUB_BITS) as usize;
/// As many counts as values can be told apart: the exact ones, and the upper half of every further power.
const SLOTS: usize = (POWERS + 2) << (SUB_BITS - 1);

/// Bytes of a stored histogram without compression at most: a header, and nine for each slot.
const PLAIN_MAX: u64 = (HEADER + 9 * SLOTS) as u64;
/// Bytes of the header of HDR V2.
const HEADER: usize = 40;
/// The cookie of compressed HDR V2.
const COMPRESSED: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];

/// A histogram of durations in nanoseconds: the layout of HDR histograms (Tene) with constant bounds, so that counting
/// one is a handful of instructions. What is read and stored goes through the library that defines the format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "HistogramRecord", try_from = "HistogramRecord")]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum_ns: u128,
    max_ns: u64,
}

impl From<Histogram> for HistogramRecord {
    fn from(histogram: Histogram) -> Self {
        Self::from_histogram(&histogram)
    }
}

impl TryFrom<HistogramRecord> for Histogram {
    type Error = String;

    fn try_from(record: HistogramRecord) -> Result<Self, String> {
        record.to_histogram()
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// The slot of a value of at most [`HIGHEST_NS`].
#[inline]
fn slot(ns: u64) -> usize {
    let power = u64::BITS - (ns | ((1 << SUB_BITS) - 1)).leading_zeros() - SUB_BITS;
    ((power as usize) << (SUB_BITS - 1)) + (ns >> power) as usize
}

/// The lowest value of a slot.
fn lowest_of(slot: usize) -> u64 {
    let half = 1 << (SUB_BITS - 1);
    let power = (slot / half).saturating_sub(1);
    ((slot - power * half) as u64) << power
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self { counts: vec![0; SLOTS], total: 0, sum_ns: 0, max_ns: 0 }
    }

    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.counts[slot(ns.clamp(LOWEST_NS, HIGHEST_NS))] += 1;
        self.total += 1;
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Counts so many durations of one length.
    pub fn record_n(&mut self, ns: u64, count: u64) {
        let held = &mut self.counts[slot(ns.clamp(LOWEST_NS, HIGHEST_NS))];
        *held = held.saturating_add(count);
        self.total = self.total.saturating_add(count);
        self.sum_ns = self.sum_ns.saturating_add(u128::from(ns) * u128::from(count));
        if count > 0 {
            self.max_ns = self.max_ns.max(ns);
        }
    }

    /// How many durations were counted.
    pub fn count(&self) -> u64 {
        self.total
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
        (self.count() > 0).then(|| self.hdr().value_at_quantile((percent / 100.0).clamp(0.0, 1.0)).min(self.max_ns))
    }

    /// Adds all counts of another histogram; exact, because all histograms have the same slots.
    pub fn merge(&mut self, other: &Self) {
        if other.total == 0 {
            // Neither side's memory needs to be touched.
            return;
        }
        self.counts.iter_mut().zip(other.used()).for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
        self.total = self.total.saturating_add(other.total);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Empties it, keeping its memory.
    pub fn reset(&mut self) {
        let used = self.used().len();
        self.counts[..used].fill(0);
        (self.total, self.sum_ns, self.max_ns) = (0, 0, 0);
    }

    /// The counts up to that of the longest: most of the slots are those of minutes, which few transactions take.
    fn used(&self) -> &[u64] {
        let end = if self.total == 0 { 0 } else { slot(self.max_ns.clamp(LOWEST_NS, HIGHEST_NS)) + 1 };
        &self.counts[..end]
    }

    /// The same in the library's type.
    fn hdr(&self) -> hdrhistogram::Histogram<u64> {
        let mut hdr = hdrhistogram::Histogram::new_with_bounds(UNIT_NS, HIGHEST_NS, 3).expect("constant bounds are valid");
        for (slot, count) in self.used().iter().enumerate().filter(|(_, count)| **count > 0) {
            // Every value of ours is within its bounds.
            hdr.saturating_record_n(lowest_of(slot), *count);
        }
        hdr
    }

    /// Pairs of (highest equivalent value in ns, count) of the non-empty buckets, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let used = self.used().iter().enumerate().filter(|(_, count)| **count > 0);
        used.map(|(slot, count)| (lowest_of(slot + 1) - 1, *count))
    }

    /// HDR V2 (deflated), base64: what every HDR tool reads.
    pub fn to_base64(&self) -> String {
        let mut bytes = Vec::new();
        if V2DeflateSerializer::new().serialize(&self.hdr(), &mut bytes).is_err() {
            // Writing to a Vec has no I/O error, and the counts of a run fit the format.
            debug_assert!(false, "histogram did not serialise");
        }
        STANDARD.encode(bytes)
    }

    /// Adds what [`Self::to_base64`] wrote, with the exact sum and maximum kept beside it, without a histogram in between: a
    /// report adds those of thousands of trials. Returns how many durations it held.
    ///
    /// # Errors
    /// Says why the text is no histogram of ours; part of it may have been added.
    pub(crate) fn add_base64(&mut self, text: &str, sum_ns: u128, max_ns: u64) -> Result<u64, String> {
        let bytes = STANDARD.decode(text).map_err(|e| format!("histogram is not base64: {e}"))?;
        let plain = inflated(&bytes)?;
        let read: hdrhistogram::Histogram<u64> =
            Deserializer::new().deserialize(&mut plain.as_slice()).map_err(|e| format!("histogram is not HDR V2: {e:?}"))?;
        let (before, longest) = (self.total, slot(max_ns.clamp(LOWEST_NS, HIGHEST_NS)));
        (self.sum_ns, self.max_ns) = (self.sum_ns + sum_ns, self.max_ns.max(max_ns));
        for value in read.iter_recorded() {
            let ns = value.value_iterated_to();
            let slot = slot(ns);
            if slot > longest {
                return Err(format!("histogram holds {ns} ns, but its longest is said to be {max_ns} ns"));
            }
            let held = &mut self.counts[slot];
            let count = value.count_since_last_iteration();
            let sums = held.checked_add(count).zip(self.total.checked_add(count));
            (*held, self.total) = sums.ok_or_else(|| "histogram holds more values than can be counted".to_owned())?;
        }
        Ok(self.total - before)
    }
}

/// Stored bytes without their compression. The library takes all lengths and bounds as they are written, and asks for as much memory,
/// so they are checked before.
fn inflated(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let broken = |why: &str| format!("histogram is not HDR V2: {why}");
    let compressed = bytes.strip_prefix(&COMPRESSED).and_then(|rest| rest.get(4..)).ok_or_else(|| broken("InvalidCookie"))?;
    let mut plain = Vec::new();
    let read = ZlibDecoder::new(compressed).take(PLAIN_MAX + 1).read_to_end(&mut plain);
    read.map_err(|e| broken(&format!("it is not compressed: {e}")))?;
    if plain.len() as u64 > PLAIN_MAX {
        return Err(broken("it is longer than any of its kind"));
    }
    let field = |at: usize| plain.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_be_bytes);
    let (length, digits) = (field(0).map(|f| f & 0xffff_ffff), field(8).map(|f| f & 0xffff_ffff));
    let bounds = (field(16), field(24));
    // Those of every histogram that a perbuck wrote.
    if length != Some((plain.len().saturating_sub(HEADER)) as u64)
        || digits != Some(3)
        || bounds != (Some(UNIT_NS), Some(HIGHEST_NS))
    {
        return Err(broken("its length or its bounds are not those of perbuck's histograms"));
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{rng::OpRng, units::Seed};

    fn read(text: &str, sum_ns: u128, max_ns: u64) -> Result<Histogram, String> {
        let mut whole = Histogram::new();
        whole.add_base64(text, sum_ns, max_ns).map(|_| whole)
    }

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
        let stored = read(&a.to_base64(), a.sum_ns(), a.max_ns()).unwrap();
        assert_eq!(stored.buckets().collect::<Vec<_>>(), both.buckets().collect::<Vec<_>>());
        assert_eq!((stored.count(), stored.sum_ns(), stored.max_ns()), (both.count(), both.sum_ns(), both.max_ns()));
    }

    #[test]
    fn the_slots_are_those_of_the_library() {
        let mut rng = OpRng::new(Seed(3));
        let mut values: Vec<u64> = (0..42).flat_map(|p| [(1 << p) - 1, 1 << p, (1 << p) + 1]).collect();
        values.extend([LOWEST_NS, HIGHEST_NS - 1, HIGHEST_NS]);
        values.extend((0..20_000).map(|_| (rng.next_u64() >> 22) >> (rng.next_u64() % 32)));
        let reference = hdrhistogram::Histogram::<u64>::new_with_bounds(UNIT_NS, HIGHEST_NS, 3).unwrap();
        for ns in values.into_iter().map(|ns| ns.min(HIGHEST_NS)) {
            let slot = slot(ns);
            assert!(slot < SLOTS && lowest_of(slot) <= ns && ns < lowest_of(slot + 1), "{ns}");
            assert_eq!(lowest_of(slot), reference.lowest_equivalent(ns), "{ns}");
            assert_eq!(lowest_of(slot + 1) - 1, reference.highest_equivalent(ns), "{ns}");
        }
    }

    #[test]
    fn lengths_and_bounds_of_a_stored_histogram_are_checked_before_memory_is_asked_for() {
        let mut one = Histogram::new();
        one.record(5_000_000);
        let stored = STANDARD.decode(one.to_base64()).unwrap();
        let plain = inflated(&stored).unwrap();
        let packed = |plain: &[u8]| {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
            std::io::Write::write_all(&mut encoder, plain).unwrap();
            STANDARD.encode([&COMPRESSED[..], &[0xff; 4], &encoder.finish().unwrap()].concat())
        };
        assert_eq!(read(&packed(&plain), 5_000_000, 5_000_000).unwrap().count(), 1);
        let put = |at: usize, bytes: &[u8]| {
            let mut changed = plain.clone();
            changed[at..at + bytes.len()].copy_from_slice(bytes);
            changed
        };
        let bomb = [plain.clone(), vec![0; 50_000_000]].concat();
        for wrong in [put(4, &[0xff; 4]), put(12, &5u32.to_be_bytes()), put(16, &[0; 8]), put(24, &[0xff; 8]), bomb, Vec::new()] {
            let said = read(&packed(&wrong), 5_000_000, 5_000_000).unwrap_err();
            assert!(said.contains("is not HDR V2"), "{said}");
        }
    }

    #[test]
    fn garbage_is_refused_and_emptiness_has_no_percentile() {
        assert!(read("%%%", 0, 0).is_err());
        assert!(read("AAAA", 0, 0).is_err());
        let mut one = Histogram::new();
        one.record(5_000_000);
        let said = read(&one.to_base64(), 5_000_000, 4_000_000).unwrap_err();
        assert!(said.contains("longest is said to be 4000000 ns"), "{said}");
        assert_eq!(Histogram::new().percentile_ns(99.0), None);
        let mut h = Histogram::new();
        h.record(u64::MAX);
        assert_eq!(h.max_ns(), u64::MAX);
    }
}
