//! The rows of the eight tables, equal to those of dbgen, and the two refresh functions.
#![cfg_attr(not(test), expect(dead_code, reason = "the benchmark that runs the queries comes with its options"))]

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

pub use dataset::{DataOptions, TpchData, TpchPart};
