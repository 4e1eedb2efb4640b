//! The rows of the eight tables, equal to those of dbgen, and the two refresh functions.

mod checks;
mod dataset;
mod ddl;
mod expected;
pub(in crate::tpch) mod refresh;
mod rows;
mod schema;
mod stream;
mod sums;
#[cfg(test)]
mod tests;
mod text;

use perbuck_load::driver::BulkTable;

pub use dataset::{DataOptions, TpchData, TpchPart};

/// The tables that the refresh functions change: `orders` and `lineitem`.
pub(in crate::tpch) fn refreshed_tables() -> [BulkTable; 2] {
    [schema::ORDERS, schema::LINEITEM].map(|table| ddl::bulk(&schema::TABLES[table]))
}

/// How many orders there are before and after a refresh.
pub(in crate::tpch) fn orders(scale: super::Scale) -> u64 {
    rows::Counts::of(scale).orders as u64
}
