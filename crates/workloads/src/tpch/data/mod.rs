//! The rows of the eight tables, equal to those of dbgen, and the two refresh functions.

mod checks;
mod dataset;
mod ddl;
mod expected;
#[cfg_attr(not(test), expect(dead_code, reason = "the power and throughput tests will call it"))]
pub(in crate::tpch) mod refresh;
mod rows;
mod schema;
mod stream;
mod sums;
#[cfg(test)]
mod tests;
mod text;

pub use dataset::{DataOptions, TpchData, TpchPart};
