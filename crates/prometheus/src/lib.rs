//! What a Prometheus server holds of machines with node_exporter, as the samples of a record.
//!
//! Place on the floor plan: floor 1, a tool. [`Server`] asks by blocking calls; [`machines`] is a pure function of the answers.

mod machines;
mod server;

pub use machines::{FAMILIES, Window, machines};
pub use server::{Found, Server};
