//! Pairs of keys and values in the order of keys: what a load sends at once.

use std::ops::Range;

#[derive(Debug, Default)]
pub(crate) struct Pairs {
    bytes: Vec<u8>,
    /// Where key and value of each lie.
    ranges: Vec<(Range<usize>, Range<usize>)>,
}

impl Pairs {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ranges.clear();
    }

    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        let middle = start + key.len();
        self.ranges.push((start..middle, middle..self.bytes.len()));
    }

    pub(crate) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.ranges.sort_by(|(a, _), (b, _)| bytes[a.clone()].cmp(&bytes[b.clone()]));
    }

    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(crate) fn key(&self, index: usize) -> &[u8] {
        self.ranges.get(index).map_or(&[], |(key, _)| &self.bytes[key.clone()])
    }

    /// Those from a index on.
    pub(crate) fn from(&self, index: usize) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        let one = |(key, value): &(Range<usize>, Range<usize>)| (&self.bytes[key.clone()], &self.bytes[value.clone()]);
        self.ranges.get(index..).unwrap_or_default().iter().map(one)
    }
}
