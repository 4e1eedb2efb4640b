//! A session with a server that lives in memory and always says the same.

use crate::session::PostgresSession;
use crate::wire::messages::status;
use crate::wire::{PROTOCOL, Wire};
pub(crate) use perbuck_net::canned::Answers;
use perbuck_net::canned::{Asked, Canned};
use perbuck_net::link::Link;
use perbuck_net::sent::Sent;

/// A session with such a server; within an event loop.
pub(crate) fn session(answers: Answers) -> PostgresSession {
    let read = |message: &[u8]| match message.first() {
        // Close, with which a Parse that names its statement begins, and Bind, or the Parse of an unnamed one.
        Some(b'C') => Asked::Prepare,
        Some(b'B' | b'P') => Asked::Execute,
        _ => Asked::Text,
    };
    let wire = Wire { link: Link::canned(Canned::new(answers, read), PROTOCOL) };
    PostgresSession::new(wire, status::IDLE, Sent::default().session())
}
