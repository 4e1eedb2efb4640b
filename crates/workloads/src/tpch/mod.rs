//! TPC-H by the specification, revision 3.0.1; clause numbers in comments refer to it.
//!
//! A trial is the power test and after it the throughput test: [`Tpch`] runs both, and the metric is made of both (5.4). [`TpchData`] makes the data
//! of dbgen. What other implementations get wrong and this one keeps: an answer is compared with the right one, and a wrong one is a
//! failed query; every query belongs to the geometric mean; Q11's fraction follows the scale; each stream draws its own parameters.
//!
//! What differs from an audited run, on purpose: no tests of ACID properties, and sizes below 1.

mod data;
mod kinds;
mod options;
mod queries;
mod refresher;
mod registration;
mod scale;
mod terminal;

pub use data::{DataOptions, TpchData, TpchPart};
pub use kinds::KINDS;
pub use options::{Options, Values};
pub(crate) use options::{chosen, chosen_text};
pub(crate) use queries::order;
pub use registration::{KIND, QPH_READ, QPHH, QUERIES_PER_HOUR};
pub use scale::Scale;
pub use terminal::{Tpch, TpchTerminal};

/// How many queries there are (2.4).
const QUERIES: usize = 22;
