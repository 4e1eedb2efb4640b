//! Messages `io.prometheus.client.MetricFamily` (prometheus/client_model), with classic and native buckets in one histogram.

use perbuck_core::buckets::{BOUNDS_NS, Buckets, PER_DOUBLING};
use perbuck_grpc::proto::{put_bytes, put_message, put_uint, put_varint};

use crate::{Family, Kind, Sample, Value};

/// The resolution of native buckets: 2^schema of them in one doubling.
const SCHEMA: i32 = PER_DOUBLING.ilog2() as i32;

/// Durations of at most this many seconds would count as zero; perbuck counts none below 1 µs.
const ZERO_THRESHOLD_S: f64 = 1e-9;

/// Empty buckets between two others that are cheaper than a new span.
const LONGEST_GAP: i32 = 2;

/// Families, each with its length before it.
pub(crate) fn families<'a>(families: impl Iterator<Item = &'a Family>) -> Vec<u8> {
    let mut out = Vec::new();
    for family in families {
        let mut message = Vec::new();
        put_bytes(&mut message, 1, family.full_name().as_bytes());
        put_bytes(&mut message, 2, family.help.as_bytes());
        let (kind, field) = match family.kind {
            Kind::Counter => (0, 3),
            Kind::Gauge | Kind::Info => (1, 2),
            Kind::Histogram => (4, 7),
        };
        put_uint(&mut message, 3, kind);
        family.samples.iter().for_each(|sample| put_message(&mut message, 4, |m| metric(m, field, sample)));
        put_varint(&mut out, message.len() as u64);
        out.extend(message);
    }
    out
}

fn metric(out: &mut Vec<u8>, field: u32, sample: &Sample) {
    for (name, value) in &sample.labels {
        put_message(out, 1, |m| {
            put_bytes(m, 1, name.as_bytes());
            put_bytes(m, 2, value.as_bytes());
        });
    }
    put_message(out, field, |m| match &sample.value {
        Value::Number(value) => put_double(m, 1, *value),
        Value::Durations(buckets) => histogram(m, buckets),
    });
}

fn histogram(out: &mut Vec<u8>, buckets: &Buckets) {
    put_uint(out, 1, buckets.count);
    put_double(out, 2, buckets.sum_ns as f64 / 1e9);
    let mut below = 0;
    for (i, bound) in BOUNDS_NS.iter().enumerate() {
        below += buckets.round.get(i).copied().unwrap_or_default();
        put_message(out, 3, |m| {
            put_uint(m, 1, below);
            put_double(m, 2, *bound as f64 / 1e9);
        });
    }
    put_uint(out, 5, zigzag(i64::from(SCHEMA)));
    put_double(out, 6, ZERO_THRESHOLD_S);
    let (spans, counts) = spans(&buckets.exponential);
    for (offset, length) in spans {
        put_message(out, 12, |m| {
            put_uint(m, 1, zigzag(i64::from(offset)));
            put_uint(m, 2, u64::from(length));
        });
    }
    let (mut before, mut deltas) = (0, Vec::new());
    for count in counts {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        put_varint(&mut deltas, zigzag(count - before));
        before = count;
    }
    put_bytes(out, 13, &deltas);
}

/// Runs of buckets, as the distance from the run before (from index 0 for the first) and the length, and the counts of all of them.
/// Without any bucket there is one empty run: it tells a native histogram from a classic one.
fn spans(buckets: &[(i32, u64)]) -> (Vec<(i32, u32)>, Vec<u64>) {
    let (mut spans, mut counts): (Vec<(i32, u32)>, _) = (Vec::new(), Vec::new());
    let mut next = 0;
    for (index, count) in buckets {
        let gap = index.saturating_sub(next);
        match spans.last_mut() {
            Some((_, length)) if gap <= LONGEST_GAP => {
                *length += gap.unsigned_abs() + 1;
                counts.extend((0..gap).map(|_| 0));
            }
            _ => spans.push((gap, 1)),
        }
        counts.push(*count);
        next = index + 1;
    }
    if spans.is_empty() {
        spans.push((0, 0));
    }
    (spans, counts)
}

/// A signed number so that those near zero are short.
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Appends a field that holds a double; 0 is written, too, because the reader tells it from none.
fn put_double(out: &mut Vec<u8>, field: u32, value: f64) {
    put_varint(out, u64::from(field) << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use perbuck_grpc::proto::{Value as Field, bytes, elements, fields, numbers, take_varint, uints};
    use proptest::prelude::*;

    use super::*;
    use crate::Format;
    use crate::tests::examples;

    fn unzigzag(value: u64) -> i64 {
        (value >> 1) as i64 ^ -((value & 1) as i64)
    }

    /// The native buckets of a histogram's message.
    fn native(message: &[u8]) -> Vec<(i32, u64)> {
        let mut deltas = Vec::new();
        for field in fields(message) {
            let (13, value) = field.unwrap() else { continue };
            numbers(value, |n| deltas.push(unzigzag(n))).unwrap();
        }
        let (mut index, mut count, mut all) = (0, 0, Vec::new());
        let mut deltas = deltas.into_iter();
        for span in elements(message, 12) {
            let [offset, length] = uints(span.unwrap(), [1, 2]).unwrap();
            index += unzigzag(offset) as i32;
            for _ in 0..length {
                count += deltas.next().unwrap();
                all.push((index, count as u64));
                index += 1;
            }
        }
        assert_eq!(deltas.next(), None);
        all.retain(|(_, count)| *count > 0);
        all
    }

    #[test]
    fn families_come_back_as_they_were() {
        let written = Format::Protobuf.write(&examples());
        let (mut rest, mut names) = (&written[..], Vec::new());
        let mut last = &written[..];
        while !rest.is_empty() {
            let length = take_varint(&mut rest).unwrap() as usize;
            let [name, _] = bytes(&rest[..length], [1, 2]).unwrap();
            names.push(String::from_utf8_lossy(name).into_owned());
            (last, rest) = rest.split_at(length);
        }
        assert_eq!(names, ["perbuck_transactions_total", "perbuck_trial_info", "perbuck_latency_seconds"]);
        let metric = elements(last, 4).next().unwrap().unwrap();
        let [label, histogram] = bytes(metric, [1, 7]).unwrap();
        assert_eq!(bytes(label, [1, 2]).unwrap(), [&b"study"[..], b"a\\b\n\"c\""]);
        let [count, schema] = uints(histogram, [1, 5]).unwrap();
        assert_eq!((count, unzigzag(schema)), (3, 5));
        let Value::Durations(buckets) = &examples()[2].samples[0].value else { panic!("a histogram") };
        assert_eq!(native(histogram), buckets.exponential);
        let classic: Vec<u64> = elements(histogram, 3).map(|b| uints(b.unwrap(), [1]).unwrap()[0]).collect();
        assert_eq!((classic.len(), classic[0], classic[1], classic[20]), (21, 0, 1, 2));
    }

    #[test]
    fn nothing_counted_is_a_native_histogram_all_the_same() {
        let mut message = Vec::new();
        histogram(&mut message, &Buckets::default());
        assert_eq!(elements(&message, 12).count(), 1);
        assert!(fields(&message).any(|f| matches!(f, Ok((6, Field::Fixed(_))))));
    }

    proptest! {
        #[test]
        fn every_bucket_comes_back(counts in proptest::collection::btree_map(-640i32..400, 1u64..1 << 40, 0..60)) {
            let buckets = Buckets { exponential: counts.into_iter().collect(), ..Buckets::default() };
            let mut message = Vec::new();
            histogram(&mut message, &buckets);
            prop_assert_eq!(native(&message), buckets.exponential);
        }
    }
}
