//! The load engine: it runs workloads on sessions and measures. It knows no database, no terminal of a user, and of SQL only
//! how tables are dropped and counted.
//!
//! Read [`driver`] and [`workload`] for the two sides it joins, then `worker`, which is the hot loop, then
//! [`executor`], which starts the workers and collects what they saw. [`loader`] fills tables.
//!
//! ```
//! use std::sync::Arc;
//!
//! use perbuck_core::{load_model::LoadModel, units::Seed};
//! use perbuck_load::connection::Connection;
//! use perbuck_load::driver::Session;
//! use perbuck_load::error::DriverError;
//! use perbuck_load::statement::{Catalogue, StatementId, Verb};
//! use perbuck_load::workload::{Done, Operation, Terminal, TerminalId, Workload};
//! use perbuck_load::{executor::run_trial, limit::Tolerance, observer::Unobserved, share::Share, sim::SimDriver, stop::StopToken, trial::TrialSpec};
//!
//! /// One statement a transaction.
//! struct Reads(Arc<Catalogue>);
//! struct Reader;
//!
//! impl Workload for Reads {
//!     type Terminal = Reader;
//!     fn catalogue(&self) -> Arc<Catalogue> {
//!         self.0.clone()
//!     }
//!     fn kinds(&self) -> Vec<&str> {
//!         vec!["read"]
//!     }
//!     fn terminal(&self, _: TerminalId) -> Reader {
//!         Reader
//!     }
//! }
//!
//! impl Terminal for Reader {
//!     fn kind(&mut self, _: &Operation) -> u8 {
//!         0
//!     }
//!     async fn transaction<S: Session>(&mut self, c: &mut Connection<S>, _: &mut Operation) -> Result<Done, DriverError> {
//!         c.execute(StatementId(0)).await?;
//!         Ok(Done::committed(0))
//!     }
//! }
//!
//! let mut catalogue = Catalogue::default();
//! catalogue.add(Verb::Select, "one row");
//! let spec = TrialSpec {
//!     load: LoadModel::closed(),
//!     phases: Vec::new(),
//!     connections: 4,
//!     workers: Some(1),
//!     warmup_ns: 0,
//!     duration_ns: 50_000_000,
//!     max_attempts: 1,
//!     seed: Seed(42),
//!     drain_ns: 1_000_000_000,
//!     max_events: Some(100),
//!     streams: false,
//!     time_statements: false,
//!     tolerance: Tolerance::All,
//!     share: Share::WHOLE,
//! };
//! let (driver, workload) = (Arc::new(SimDriver::default()), Arc::new(Reads(Arc::new(catalogue))));
//! let outcome = run_trial(&spec, &driver, &workload, &StopToken::default(), &mut Unobserved).expect("nothing fails here");
//! assert_eq!(outcome.terminals.len(), 4);
//! assert!(outcome.measured.transactions["read"].committed > 0);
//! ```
//!
//! Place on the floor plan: floor 1, a tool. It stands on `core` and `event`; databases and workloads stand on it.

mod arrivals;
pub mod batch;
mod collector;
pub mod connection;
pub mod copy_scope;
pub mod driver;
pub mod error;
pub mod executor;
mod failover;
mod gaps;
pub mod latch;
mod lifecycle;
pub mod limit;
pub mod listed;
pub mod loader;
pub mod meter;
pub mod observer;
pub mod order;
mod pacer;
pub mod preflight;
pub mod query;
pub mod recorder;
pub mod records;
pub mod share;
pub mod sim;
mod start;
pub mod statement;
pub mod statement_times;
pub mod stop;
mod terminal;
pub mod totals;
pub mod trial;
pub mod values;
pub mod watch;
pub mod window;
mod worker;
pub mod workload;
