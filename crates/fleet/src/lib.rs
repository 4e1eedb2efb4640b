//! The wire between a coordinator and its agents: messages in frames, under TLS, between two that know the same token; and how far their
//! clocks are apart. What the messages say is not known here.
//!
//! Place on the floor plan: floor 1, a tool.

mod build;
mod channel;
mod clock;
mod handshake;
mod token;
mod wire;

pub use build::Build;
pub use channel::{Channel, Received};
pub use clock::{Clock, Offset};
pub use handshake::{FleetError, accept, reach};
pub use token::Token;

/// The version of the protocol. Two programs that do not speak the same one refuse each other.
pub const PROTOCOL: u32 = 2;

#[cfg(test)]
mod tests;
