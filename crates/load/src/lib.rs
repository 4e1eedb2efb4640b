//! The load engine: it drives sessions with workloads and measures, and knows no SQL, no database and no terminal.
//!
//! Read [`driver`] and [`workload`] for the two sides it joins, then [`worker`], which is the hot loop, then
//! [`executor`], which starts the workers and collects what they saw. [`loader`] fills tables.

mod arrivals;
mod collector;
pub mod connection;
pub mod driver;
pub mod error;
pub mod executor;
pub mod gaps;
mod guest;
pub mod limit;
pub mod loader;
pub mod pace;
pub mod recorder;
pub mod shift;
pub mod sim;
pub mod statement;
mod statement_times;
pub mod stop;
pub mod totals;
pub mod values;
pub mod window;
mod worker;
pub mod workload;
