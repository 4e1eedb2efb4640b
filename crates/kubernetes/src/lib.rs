//! Kubernetes as a blocking library: objects are applied, read, listed and deleted as JSON. What an object means is not known here.
//!
//! Place on the floor plan: floor 1, a tool. It stands on the crate `kube`, whose asynchronous runtime stays inside.

mod api;
mod connect;
mod discovery;
mod download;
mod error;
mod event_loop;
mod objects;
mod request;
mod yaml;

pub use api::{Api, Applied, Change, Found, Kind};
pub use connect::Context;
pub use error::{ApiError, ErrorKind};
pub use yaml::yaml;

#[cfg(test)]
mod tests;
