//! perbuck's pipeline as a library: a study file becomes a plan, the plan trials, the trials records, the records a comparison.
//!
//! ```no_run
//! use perbuck_lab::{Lab, LabOptions, progress::Quiet};
//! use perbuck_load::stop::StopToken;
//! use perbuck_report::text::{Screen, verdicts};
//!
//! let lab = Lab::open("study.toml".as_ref(), LabOptions::default())?;
//! let results = lab.run(&mut Quiet, &StopToken::default())?;
//! print!("{}", verdicts(&results.study, &results.comparison, Screen::default()));
//! # Ok::<(), perbuck_lab::LabError>(())
//! ```
//!
//! Place on the floor plan: floor 3. The doors (`cli`, `dropin`, `serve`) stand on it; it stands on the rooms of databases and
//! workloads and on the tools. It prints nothing, asks nothing, and does not end the process.

pub mod capacity;
pub mod ceiling;
mod cold;
mod counters;
pub mod csv;
pub mod data;
pub mod databases;
pub mod deploy;
pub mod disk;
mod distance;
pub mod doctor;
pub mod error;
pub mod estimate;
pub mod facts;
mod flags;
pub mod fleet;
pub mod folder;
mod globals;
pub mod import;
pub mod init;
pub mod inputs;
mod lab;
pub mod lease;
pub mod live;
mod looks;
mod machine_sampler;
pub mod metering;
mod noise;
pub mod planned;
mod plans;
pub mod power;
pub mod preflight;
pub mod prepare;
pub mod prepared;
mod prewarm;
pub mod process;
mod profile;
pub mod progress;
pub mod rates;
pub mod registry;
pub mod replay;
pub mod replica;
pub mod report;
mod rest;
pub mod results;
pub mod run;
mod sampler;
pub mod servers;
mod session;
pub mod sidecar;
pub mod stage;
mod steps;
pub mod store;
pub mod stored;
#[cfg(target_os = "linux")]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported/system.rs"]
mod system;
pub mod tiflash;
pub mod trial;
mod tuning;
mod used;
pub mod verify;
mod void;
mod watched;

pub use error::{ErrorKind, LabError};
pub use lab::{Lab, LabOptions};
