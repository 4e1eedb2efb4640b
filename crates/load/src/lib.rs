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
mod failover;
pub mod gaps;
pub mod lifecycle;
pub mod limit;
pub mod loader;
pub mod observer;
pub mod pace;
pub mod recorder;
pub mod sim;
mod start;
pub mod statement;
mod statement_times;
pub mod stop;
mod terminal;
pub mod totals;
pub mod trial;
pub mod values;
pub mod window;
mod worker;
pub mod workload;
