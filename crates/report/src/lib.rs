//! From a comparison to what people read: one immutable [`ReportModel`], rendered as terminal text, Markdown or HTML.
//!
//! A report is a pure function of its input: no network, no clock, no random source. The same input gives the same bytes.
//! [`model()`] makes all words and numbers once, so that every rendering says the same. A renderer only lays them out and
//! escapes them for its medium. An HTML page also embeds the records that it was made from: see [`evidence`].
//!
//! ```
//! use perbuck_core::{compare, study::Study};
//!
//! let study = Study::read(
//!     "study.toml",
//!     r#"
//!     schema = 1
//!     name = "fsync"
//!     question = "What does a commit cost?"
//!     [[contender]]
//!     name = "full"
//!     target = "sqlite:full.db"
//!     [[workload]]
//!     name = "rw"
//!     kind = "sysbench"
//!     [sweep]
//!     connections = [1]
//!     duration = "1m"
//!     trials = 3
//!     "#,
//!     &[], // no kind of workload has anything to add to the report
//! )
//! .map_err(|problems| problems[0].to_string())?;
//! let (records, bills) = (Vec::new(), Vec::new()); // nothing was measured, nothing has a price
//! let comparison = compare::compare(&study, &records, &bills, &[]).map_err(|refused| format!("{refused:?}"))?;
//! let report = perbuck_report::model(&study, &comparison, &records);
//! assert!(perbuck_report::html::render(&report).contains("<h1>What does a commit cost?</h1>"));
//! assert!(perbuck_report::markdown::render(&report).starts_with("# What does a commit cost?"));
//! # Ok::<(), String>(())
//! ```
//!
//! Read in this order: [`document`] (what a report is made of), `model` (words and numbers), then a renderer.

pub mod dataset;
pub mod difference;
pub mod document;
mod escape;
pub mod evidence;
pub mod html;
pub mod markdown;
mod model;
mod number;
pub mod pipeline;
mod sheet;
mod svg;
pub mod text;
pub mod trial;

pub use document::ReportModel;
pub use model::{model, page_of, replay};
pub use number::utc;
pub use svg::over_time::{OverTime, RunOfPoints, over_time};
pub use svg::power::{PowerLine, power_chart};
pub use svg::slide::{Slide, diagram, slides};
