//! The pure ground of perbuck: no file, no clock, no network, no unseeded randomness.
//!
//! Read in this order: [`study`] (what is asked), [`plan`] (which trials, in which order), [`run_record`] (what one
//! trial left behind), [`bill`] (what a contender costs), [`compare`] (the only place where both meet), [`audit`] (whether printed
//! figures follow from their raw numbers).

pub mod arrivals;
pub mod audit;
pub mod bill;
pub mod capacity;
pub mod compare;
pub mod exact;
pub mod formula;
pub mod histogram;
pub mod littles_law;
pub mod load_model;
pub mod metric;
pub mod parallel;
pub mod plan;
pub mod problem;
pub mod rng;
pub mod run_record;
pub mod stats;
pub mod steady;
pub mod study;
pub mod toml_reader;
pub mod units;
pub mod usl;
pub mod workload_kind;
