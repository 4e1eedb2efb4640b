//! A server that lives in memory and always says the same, for the benchmark of the protocol alone: what a statement
//! costs without the kernel.

use std::sync::Arc;
use std::time::Duration;

use perbuck_load::error::DriverError;

use crate::session::MysqlSession;
use crate::wire::answer::ResultReader;
use crate::wire::cutter::Cutter;
use crate::wire::protocol::{capability, command};
use crate::wire::{PROTOCOL, Wire};
use perbuck_net::InMemory;
use perbuck_net::link::Link;

/// The answers.
#[derive(Debug, Clone)]
pub struct Answers {
    /// To every prepare: whole packets.
    pub prepared: Vec<u8>,
    /// To every execution of a prepared statement.
    pub executed: Vec<u8>,
    /// To every text.
    pub text: Vec<u8>,
    /// Bytes that one read brings, at most.
    pub at_once: usize,
}

impl Wire {
    pub(crate) fn canned(answers: Answers, read_timeout: Duration) -> Self {
        let link = Link::canned(Box::new(Canned::new(answers)), read_timeout, PROTOCOL);
        Self { link, cutter: Cutter::default() }
    }
}

/// The server's end.
pub(crate) struct Canned {
    answers: Answers,
    asked: u8,
    said: usize,
}

impl Canned {
    pub(crate) fn new(answers: Answers) -> Self {
        Self { answers, asked: command::QUERY, said: 0 }
    }
}

impl InMemory for Canned {
    fn hear(&mut self, bytes: &[u8]) -> usize {
        self.asked = bytes.get(4).copied().unwrap_or(command::QUERY);
        self.said = 0;
        bytes.len()
    }

    fn say(&mut self, room: &mut [u8]) -> usize {
        let answer = match self.asked {
            command::STMT_PREPARE => &self.answers.prepared,
            command::STMT_EXECUTE => &self.answers.executed,
            _ => &self.answers.text,
        };
        let rest = answer.get(self.said..).unwrap_or_default();
        let count = rest.len().min(room.len()).min(self.answers.at_once);
        room[..count].copy_from_slice(&rest[..count]);
        self.said += count;
        count
    }
}

impl MysqlSession {
    /// A session with such a server; within an event loop.
    ///
    /// # Errors
    /// As those of a real one.
    pub async fn canned(answers: Answers) -> Result<Self, DriverError> {
        let wire = Wire::canned(answers, Duration::from_secs(60));
        // The flag for autocommit, as after any login.
        Self::new(wire, ResultReader::new(capability::DEPRECATE_EOF, 2), Arc::default()).await
    }
}
