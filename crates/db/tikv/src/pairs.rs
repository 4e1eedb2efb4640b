//! Pairs of keys and values in the order of keys: what a load sends at once.

use std::ops::Range;

/// The pairs.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    bytes: Vec<u8>,
    /// Where key and value of each lie.
    places: Vec<(Range<usize>, Range<usize>)>,
}

impl Pairs {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// Adds a pair.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        let middle = start + key.len();
        self.places.push((start..middle, middle..self.bytes.len()));
    }

    /// Puts them in the order of their keys.
    pub(crate) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.places.sort_by(|(a, _), (b, _)| bytes[a.clone()].cmp(&bytes[b.clone()]));
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn key(&self, place: usize) -> &[u8] {
        self.places.get(place).map_or(&[], |(key, _)| &self.bytes[key.clone()])
    }

    /// Those from a place on.
    pub(crate) fn from(&self, place: usize) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        let one = |(key, value): &(Range<usize>, Range<usize>)| (&self.bytes[key.clone()], &self.bytes[value.clone()]);
        self.places.get(place..).unwrap_or_default().iter().map(one)
    }
}
