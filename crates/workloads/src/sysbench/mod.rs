//! The OLTP scripts of sysbench 1.0.20: point_select, read_only, read_write and write_only, with its statements,
//! options, tables and order of random draws, on tables that either program can make and the other can use.
//!
//! What differs, on purpose: every event is a function of the seed, so a retried event sends the same statements; the
//! `special` distribution does what its documentation says (see [`Distribution::Special`]); data depend on the seed and
//! the row alone, so that many sessions can load one table; every INSERT of the load names its id.

mod data;
mod options;
mod random;
mod terminal;

pub use data::{SysbenchData, SysbenchPart};
pub use options::{Options, RandType, Script};
pub use random::Distribution;
pub use terminal::{Sysbench, SysbenchTerminal};
