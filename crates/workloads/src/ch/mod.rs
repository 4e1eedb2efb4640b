//! CH-benCHmark: the transactions of TPC-C and 22 analytical queries on the same tables at the same time (Cole et al., "The mixed workload
//! CH-benCHmark", DBTest 2011). What each does to the other is its result.
//!
//! Tables and transactions are those of [`crate::tpcc`], with NATION, REGION and SUPPLIER beside them. Each query stream walks the queries in an
//! order of TPC-H's Appendix A for as long as the trial lasts. Two more terminals look how fresh the queries' data are: one commits the number
//! of a marker, the other waits until the queries' server shows it.

mod data;
mod freshness;
mod kinds;
mod nations;
mod options;
mod queries;
mod registration;
mod stream;
mod terminal;

#[cfg(test)]
mod tests;

pub use data::ChData;
pub use freshness::{read_marker, write_marker};
pub use kinds::{KINDS, LAG, is_query};
pub use options::Options;
pub use queries::all as queries;
pub use registration::{KIND, QUERIES_PER_HOUR};
pub use terminal::{Ch, ChTerminal};
