//! The pure ground of perbuck: no file, no clock, no network, no unseeded randomness.
//!
//! Read in this order: [`study`] (what is asked), [`plan`] (which trials, in which order), [`run_record`] (what one
//! trial recorded), [`bill`] (what a contender costs), [`compare`] (the only place where both meet), [`audit`] (whether printed
//! numbers follow from their raw numbers).
//!
//! ```
//! use perbuck_core::study::Study;
//!
//! let text = r#"
//! schema = 1
//! name = "first"
//! [[contender]]
//! name = "a"
//! target = "sqlite:a.db"
//! [[contender]]
//! name = "b"
//! target = "sqlite:b.db"
//! [[workload]]
//! name = "reads"
//! kind = "sysbench"
//! [sweep]
//! connections = [1, 8]
//! trials = 3
//! "#;
//! // No kind of workload is given, so what the workloads say is not judged.
//! let study = Study::read("first.toml", text, &[]).expect("the study has no problem");
//! let plan = study.plan();
//! assert_eq!(plan.len(), 2 * 2 * 3);
//! // The seed decides the order: it is the same on every machine.
//! assert_eq!(plan, study.plan());
//!
//! let problems = Study::read("first.toml", &text.replace("trials", "trails"), &[]).unwrap_err();
//! assert_eq!((problems.len(), problems[0].line), (1, 15));
//! ```
//!
//! Place on the floor plan: floor 0. Everything stands on it, and it stands on no other crate of perbuck.

pub mod arrivals;
pub mod audit;
pub mod bill;
pub mod buckets;
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
pub mod printable;
pub mod problem;
pub mod rng;
pub mod run_record;
pub mod stats;
pub mod steady;
pub mod study;
pub mod toml_reader;
pub mod units;
pub mod usl;
pub mod windows;
pub mod workload_kind;
