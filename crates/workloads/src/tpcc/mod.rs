//! TPC-C by the specification, revision 5.11.

use std::collections::BTreeMap;

use crate::params::Reader;

/// What a TPC-C run may be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// W of the specification (1.2.1): how many warehouses the database has.
    pub warehouses: u32,
}

impl Options {
    /// Reads `warehouses` (1 to 100 000, 1 where absent).
    pub fn read(reader: &mut Reader<'_>) -> Self {
        let warehouses = reader.int("warehouses", 1..=100_000, 1);
        Self { warehouses: u32::try_from(warehouses).unwrap_or(1) }
    }

    /// Every parameter with its effective value.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("warehouses".to_owned(), self.warehouses.to_string())])
    }
}
