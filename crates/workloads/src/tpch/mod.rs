//! TPC-H by the specification, revision 3.0.1; clause numbers in comments refer to it.

mod data;
mod queries;
mod scale;

pub use data::{DataOptions, TpchData, TpchPart};
pub use scale::Scale;
