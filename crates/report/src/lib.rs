//! From a comparison to what people read: one immutable [`ReportModel`], rendered as terminal text, Markdown or HTML.
//!
//! A report is a pure function of its input: no network, no clock, no random source; the same input gives the same
//! bytes. All words and numbers are made once, in [`model`], so that every rendering says the same; the renderers only
//! lay them out and escape them for their medium.
//!
//! Read in this order: [`document`] (what a report is made of), `build` (words and numbers), then a renderer.

mod build;
pub mod difference;
pub mod document;
mod escape;
pub mod evidence;
pub mod html;
pub mod markdown;
mod number;
mod sheet;
mod svg;
pub mod text;

pub use build::{model, replay};
pub use document::ReportModel;
pub use svg::files as drawings;
