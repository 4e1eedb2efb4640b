//! A server that lives in memory and always says the same.

use std::time::Duration;

use crate::session::PostgresSession;
use crate::wire::Wire;
use crate::wire::messages::status;
use perbuck_net::InMemory;

/// The answers.
#[derive(Debug, Clone)]
pub(crate) struct Answers {
    /// To every prepare: whole messages.
    pub(crate) prepared: Vec<u8>,
    /// To every execution of a prepared statement.
    pub(crate) executed: Vec<u8>,
    /// To every text.
    pub(crate) text: Vec<u8>,
    /// Bytes that one read brings, at most.
    pub(crate) at_once: usize,
}

/// The server's end.
pub(crate) struct Canned {
    answers: Answers,
    asked: u8,
    said: usize,
}

impl InMemory for Canned {
    fn hear(&mut self, bytes: &[u8]) -> usize {
        self.asked = bytes.first().copied().unwrap_or_default();
        self.said = 0;
        bytes.len()
    }

    fn say(&mut self, room: &mut [u8]) -> usize {
        let answer = match self.asked {
            b'C' => &self.answers.prepared,
            b'B' => &self.answers.executed,
            _ => &self.answers.text,
        };
        let rest = answer.get(self.said..).unwrap_or_default();
        let count = rest.len().min(room.len()).min(self.answers.at_once);
        room[..count].copy_from_slice(&rest[..count]);
        self.said += count;
        count
    }
}

/// A session with such a server; within an event loop.
pub(crate) fn session(answers: Answers) -> PostgresSession {
    let server = Canned { answers, asked: 0, said: 0 };
    PostgresSession::new(Wire::canned(server, Duration::from_secs(60)), status::IDLE)
}
