//! The command lines of other benchmark programs: `perbuck sysbench`, `perbuck tpcc`, `perbuck tpch` and `perbuck ch` (go-tpc),
//! `perbuck ycsb` (go-ycsb, YCSB), and `perbuck pgbench`.
//!
//! ```
//! use std::ffi::OsString;
//!
//! // `perbuck sysbench --version`; the words are read by a parser of our own, and the exit code is sysbench's.
//! let code = perbuck_dropin::sysbench::run(&[OsString::from("--version")], perbuck_dropin::sysbench::Called::Perbuck);
//! assert_eq!(code, std::process::ExitCode::SUCCESS);
//! ```
//!
//! A command line goes one way: words (`flags` where their syntax is pflag's, else a parser of the command's own), `secret`
//! (takes a password off them), the values with their limits, `target`, then `run` with a [`Load`](load::Load) and the
//! [`Printer`](run::Printer) of the command, then `keep`. A command holds its words, its mapping to a workload and a target,
//! and its printer; everything else is here, once.
//!
//! Place on the floor plan: floor 4, a door beside `cli` and `serve`. It stands on `lab`, and shares the voice of the doors
//! (`console`). It decides nothing that a user of the library would miss.

mod advice;
mod agents;
#[cfg(test)]
mod cases;
pub mod ch;
mod duration;
mod flags;
mod go_tpc;
#[cfg(test)]
mod golden;
mod keep;
mod load;
mod notes;
mod option;
mod output;
pub mod pgbench;
mod refused;
mod run;
mod secret;
mod study;
mod style;
pub mod sysbench;
mod target;
pub mod tpcc;
pub mod tpch;
pub mod ycsb;
