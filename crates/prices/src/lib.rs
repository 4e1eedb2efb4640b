//! Dated price snapshots and what a contender costs by them.
//!
//! Read in this order: [`snapshot`] (what a price list holds), [`catalogue`] (the lists that come with perbuck),
//! [`bill()`] (a contender's bill of materials), [`lint()`] (what looks wrong in a list), [`diff()`] (what two lists have
//! otherwise), [`import`] (from the providers' own lists). Nothing here opens a file: a caller who has a list of its own hands its
//! text to [`Snapshot::read`], or a reader to [`import::import`].
//!
//! ```
//! use perbuck_prices::{Snapshot, catalogue};
//!
//! let bundled = catalogue().iter().find(|b| b.name == "aws-2021-03").expect("it comes with perbuck");
//! let list = Snapshot::read("prices/aws-2021-03.toml", bundled.text).expect("the list has no problem");
//! let machine = list.region("us-west-2").and_then(|region| region.instance("r6g.2xlarge")).expect("it is listed");
//! assert_eq!(machine.usd_per_hour.to_string(), "$0.40");
//! assert_eq!(machine.usd_per_hour.0, 403_200, "micro-dollars: money is exact");
//! ```
//!
//! Place on the floor plan: floor 1, a tool. It stands on `core` alone.

mod bill;
mod bills;
mod catalogue;
#[cfg(test)]
mod coverage;
mod diff;
mod extras;
mod facts;
pub mod import;
mod lint;
mod overlay;
pub mod pairs;
#[cfg(test)]
mod published;
mod read;
mod released;
pub mod snapshot;
mod volume;
mod write;

pub use bill::bill;
pub use bills::{Priced, bills};
pub use catalogue::{Bundled, catalogue, find};
pub use diff::{Change, Difference, diff};
pub use facts::Lists;
pub use lint::{Finding, Rule, disagreements, lint};
pub use overlay::read_prices;
pub use snapshot::Snapshot;
pub use write::overlay_of;
