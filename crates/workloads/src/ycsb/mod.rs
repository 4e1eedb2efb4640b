//! The core workload of YCSB (Cooper et al., "Benchmarking cloud serving systems with YCSB", SoCC 2010) with the properties
//! of YCSB and of go-ycsb, on SQL tables that either of them can make and the other can use.
//!
//! [`keys`], [`values`] and [`draw`] say what an operation does and know no database; [`schema`] and [`terminal`] say it in SQL.
//! What differs from both programs, on purpose: scans are ordered, a read that finds nothing is counted as missing, a key that is
//! there already is counted as such, and every row of the load or of an INSERT is a function of the seed and its number.

mod counter;
mod data;
mod draw;
mod end;
mod keys;
mod options;
mod registration;
mod row;
mod schema;
mod stripe;
mod terminal;
mod values;

#[cfg(test)]
mod tests;

pub use data::{YcsbData, YcsbPart};
pub use options::{Compat, Options, PROPERTIES, WORKLOADS, preset, property_value};
pub use registration::KIND;
pub use terminal::{KINDS, Ycsb, YcsbTerminal};

/// Positions in [`KINDS`].
pub mod kind {
    /// One row by its key.
    pub const READ: u8 = 0;
    /// One row, changed.
    pub const UPDATE: u8 = 1;
    /// One new row.
    pub const INSERT: u8 = 2;
    /// Rows from a key on, in the order of keys.
    pub const SCAN: u8 = 3;
    /// One row read, then changed.
    pub const READ_MODIFY_WRITE: u8 = 4;
}
