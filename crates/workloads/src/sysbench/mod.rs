//! The OLTP scripts of sysbench.

use std::collections::BTreeMap;

use crate::params::Reader;

/// Parameters of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {}

impl Options {
    /// Reads them; problems go to the reader.
    pub fn read(_reader: &mut Reader<'_>) -> Self {
        Self {}
    }

    /// Every parameter with its effective value.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}
