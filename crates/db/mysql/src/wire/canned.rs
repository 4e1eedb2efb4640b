//! A session with a server that lives in memory, for the benchmark of the protocol alone.

use perbuck_load::error::DriverError;

use crate::session::MysqlSession;
use crate::wire::answer::ResultReader;
use crate::wire::cutter::Cutter;
use crate::wire::protocol::{capability, command, status};
use crate::wire::{PROTOCOL, Wire};
pub use perbuck_net::canned::Answers;
use perbuck_net::canned::{Asked, Canned};
use perbuck_net::link::Link;
use perbuck_net::sent::Sent;

fn read(packet: &[u8]) -> Asked {
    match packet.get(4) {
        Some(&command::STMT_PREPARE) => Asked::Prepare,
        Some(&command::STMT_EXECUTE) => Asked::Execute,
        _ => Asked::Text,
    }
}

impl MysqlSession {
    /// A session with such a server; within an event loop.
    ///
    /// # Errors
    /// As those of a real one.
    pub async fn canned(answers: Answers) -> Result<Self, DriverError> {
        let wire = Wire { link: Link::canned(Canned::new(answers, read), PROTOCOL), cutter: Cutter::default() };
        Self::new(
            wire,
            ResultReader::new(capability::DEPRECATE_EOF, status::AUTOCOMMIT),
            (Default::default(), Sent::default().session()),
        )
        .await
    }
}
