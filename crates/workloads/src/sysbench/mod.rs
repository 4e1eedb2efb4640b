//! The OLTP scripts of sysbench 1.0.20 and 1.1 with their statements, options, tables and order of random draws, on tables
//! that either program can make and the other can use.
//!
//! What differs, on purpose: every event is a function of the seed, so a retried event sends the same statements; where
//! the code of sysbench does something else than its documentation says, ours does what is documented (see [`compat_notes`]);
//! data depend on the seed and the row alone, so that many sessions can load one table; every INSERT of the load names its
//! id.

mod compat;
mod data;
mod options;
mod random;
mod registration;
mod schema;
mod script;
mod terminal;

pub use compat::{Compat, compat_notes};
pub use data::{SysbenchData, SysbenchPart};
pub use options::{OPTIONS, Options, RandType, option_help, option_value};
pub use random::Ids;
pub(crate) use random::Zipfian;
pub use registration::{KIND, ROWS_ACKNOWLEDGED, ROWS_PER_SECOND};
pub use schema::{cleanup, prewarm};
pub use script::{SCRIPTS, Script};
pub use terminal::{Sysbench, SysbenchTerminal};
