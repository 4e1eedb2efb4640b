//! Dated price snapshots and what a contender costs by them.
//!
//! Read in this order: [`snapshot`] (what a price list holds), [`catalogue`] (the lists that come with perbuck),
//! [`bill()`] (a contender's bill of materials), [`lint()`] (what looks wrong in a list). Nothing here reads a file: a
//! caller who has a list of its own hands its text to [`Snapshot::read`].

mod bill;
mod catalogue;
mod lint;
#[cfg(test)]
mod published;
mod read;
pub mod snapshot;
mod volume;

pub use bill::bill;
pub use catalogue::{Bundled, catalogue, find};
pub use lint::{Warning, lint};
pub use snapshot::Snapshot;
